"""Damage a copy of an index, open it, sync it, query it, and judge the answers."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Self

from langchain_core.documents import Document

from core.errors import RequestError
from retrieval.library.library import Library
from retrieval.store import Search
from tests.unit.retrieval.fakes import BagOfWords

FILES = ("index.sqlite", "vectors.faiss", "manifest.json")
PAGE = 4096
GOLDEN = 0.6180339887498949  # its multiples, without their whole part, lie evenly however many there are
LEAST = 0.1  # of the flips strike each file, however small it is
OTHERS = ("cut", "deleted", "exchanged", "zeroed")  # each a twentieth of the rounds
MOST_BYTES = 30
ASKED = 4  # questions a round
CHECKED = 12  # questions of a second try, and after a check


@dataclass(frozen=True)
class Harm:
    """The kind of damage, the file, and its bytes before and afterwards (None if deleted)."""

    kind: str
    name: str
    before: bytes
    after: bytes | None

    def lasts(self, folder: Path) -> bool:
        """True if the damage is still in the file."""
        path = folder / self.name
        now = path.read_bytes() if path.exists() else None
        if now is None or self.after is None or len(self.after) != len(self.before) or len(now) != len(self.after):
            return now == self.after
        return all(left == new for old, new, left in zip(self.before, self.after, now, strict=True) if old != new)


def harm(folder: Path, number: int, seed: int, others: Sequence[Path]) -> Harm:
    """Damage the index in ``folder`` as round ``number`` does; swapped files come from ``others``."""
    dice = Random(f"{seed} {number}")
    turn = number % 20
    kind = OTHERS[turn // 5] if turn % 5 == 4 else ("one byte" if turn % 2 else "some bytes")
    sizes = [(folder / name).stat().st_size for name in FILES]
    if kind in OTHERS:
        name = dice.choice(FILES[:2] if kind == "zeroed" else FILES)
    else:
        (name,) = dice.choices(FILES, [max(size, LEAST * sum(sizes)) for size in sizes])
    path = folder / name
    before = path.read_bytes()
    data = bytearray(before)
    place = int((number * GOLDEN + seed * GOLDEN / 7) % 1 * len(data))
    if kind == "deleted":
        path.unlink()
        return Harm(kind, name, before, None)
    if kind == "cut":
        del data[place:]
    elif kind == "zeroed":
        place -= place % PAGE
        data[place : place + PAGE] = bytes(len(data[place : place + PAGE]))
    elif kind == "exchanged":
        data = bytearray((dice.choice(others) / name).read_bytes())
    else:
        for at in [place] if kind == "one byte" else _places(place, len(data), dice):
            data[at] ^= dice.randrange(1, 256)
    path.write_bytes(data)
    return Harm(kind, name, before, bytes(data))


def _places(first: int, size: int, dice: Random) -> list[int]:
    count = min(size, dice.randint(2, MOST_BYTES))
    if dice.random() < 0.5:
        return [min(first, size - count) + step for step in range(count)]
    return sorted({first, *dice.sample(range(size), count - 1)})


@dataclass(frozen=True)
class Answer:
    text: str
    source: str
    page: int | None
    row: int | None
    offset: int | None
    date: str | None

    @classmethod
    def of(cls, document: Document) -> Self:
        told = document.metadata
        page, row, offset = (told.get(key) for key in ("page", "row", "offset"))
        return cls(document.page_content, str(told.get("source")), page, row, offset, told.get("date"))


@dataclass(frozen=True)
class Question:
    text: str
    way: Search
    right: Answer


@dataclass
class Bench:
    """The intact index, its documents, other indexes, the questions, and all true answers."""

    home: Path
    documents: Path
    others: list[Path]
    questions: list[Question]
    known: set[Answer]


@dataclass
class Try:
    """One attempt: notes and errors reported, and violations."""

    said: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    refused: bool = False


@dataclass
class Round:
    harm: str
    name: str
    outcome: str
    wrong: list[str]


def play(bench: Bench, number: int, seed: int, copy: Path) -> Round:
    """Damage a copy of the index and query it; retry once if it refuses; verify it where the harm lasts."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(bench.home, copy)
    done = harm(copy, number, seed, bench.others)
    dice = Random(f"questions {seed} {number}")
    tried = attempt(copy, bench, dice.sample(bench.questions, ASKED))
    wrong = tried.wrong
    if tried.refused:
        again = attempt(copy, bench, dice.sample(bench.questions, CHECKED))
        wrong += again.wrong + ([f"refuses again: {again.said}"] if again.refused else [])
    lasts = done.lasts(copy)
    if lasts and not wrong:
        after = attempt(copy, bench, dice.sample(bench.questions, CHECKED), verified=True)
        wrong += [f"after a check: {text}" for text in after.wrong + after.said]
    outcome = "said and mended" if tried.said else "unharmed" if lasts else "mended silently"
    return Round(done.kind, done.name, "violation" if wrong else outcome, wrong)


def attempt(copy: Path, bench: Bench, questions: Sequence[Question], *, verified: bool = False) -> Try:
    one = Try()
    try:
        with Library.open(copy, BagOfWords(), embedding_name="bow") as library:
            if verified:
                library.verify()
            one.said += library.sync().notes
            if not library.sources():  # the roots were lost as well
                library.add([bench.documents])
                one.said += library.sync().notes
            for question in questions:
                found = library.store.similarity_search(question.text, 4, search=question.way)
                one.wrong += lies(question, [Answer.of(document) for document in found], bench.known)
    except RequestError as error:
        one.refused = True
        one.said.append(str(error))
    except Exception as error:  # noqa: BLE001 - any other is a violation
        one.wrong.append(f"{type(error).__name__}: {error}")
    return one


def lies(question: Question, found: Sequence[Answer], known: set[Answer]) -> list[str]:
    wrong = [f"{one} is in no document" for one in found if one not in known]
    if not wrong and found[:1] != [question.right]:
        rank = found.index(question.right) + 1 if question.right in found else 0
        wrong.append(f"by {question.way} the best passage {f'is number {rank}' if rank else 'is not found'}")
    return wrong
