"""Damage a copy of an index, open it, sync it, query it, and judge the answers."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Self

import numpy as np
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
CHECKED = 12  # questions after a check
MISSED = "the best passage is not found"


@dataclass(frozen=True)
class Harm:
    """The kind of damage, the file, and its bytes afterwards (None if deleted)."""

    kind: str
    name: str
    where: str
    before: bytes
    after: bytes | None

    def lasts(self, folder: Path) -> bool:
        """True if the damage is still in the file."""
        path = folder / self.name
        if not path.exists() or self.after is None:
            return path.exists() == (self.after is not None)
        now = path.read_bytes()
        if len(self.after) != len(self.before):
            return now == self.after
        if len(now) != len(self.after):
            return False
        old, left, new = (np.frombuffer(data, dtype=np.uint8) for data in (self.before, self.after, now))
        return bool((new == left)[old != left].all())


def harm(folder: Path, number: int, seed: int, others: Sequence[Path]) -> Harm:
    """Damage the index in ``folder`` as round ``number`` does; swapped files come from ``others``."""
    dice = Random(f"{seed} {number}")
    turn = number % 20
    kind = OTHERS[turn // 5] if turn % 5 == 4 else ("one byte" if turn % 2 else "some bytes")
    name = _file(folder, dice) if kind.endswith(("byte", "bytes")) else dice.choice(FILES)
    if kind == "zeroed":
        name = dice.choice(FILES[:2])
    path = folder / name
    before = path.read_bytes()
    data = bytearray(before)
    place = int((number * GOLDEN + seed * GOLDEN / 7) % 1 * len(data))
    where = f"at {place} of {len(data)}"
    if kind == "deleted":
        path.unlink()
        return Harm(kind, name, "", before, None)
    if kind == "cut":
        del data[place:]
    elif kind == "zeroed":
        place -= place % PAGE
        data[place : place + PAGE] = bytes(len(data[place : place + PAGE]))
    elif kind == "exchanged":
        other = dice.choice(others)
        data = bytearray((other / name).read_bytes())
        where = f"for that of {other.name}"
    else:
        places = [place] if kind == "one byte" else _places(place, len(data), dice)
        for at in places:
            data[at] ^= dice.randrange(1, 256)
        where += f" and {len(places) - 1} more" if len(places) > 1 else ""
    path.write_bytes(data)
    return Harm(kind, name, where, before, bytes(data))


def _file(folder: Path, dice: Random) -> str:
    sizes = [(folder / name).stat().st_size for name in FILES]
    return dice.choices(FILES, [max(size, LEAST * sum(sizes)) for size in sizes])[0]


def _places(first: int, size: int, dice: Random) -> list[int]:
    """Two to thirty offsets, adjacent or scattered."""
    count = min(size, dice.randint(2, MOST_BYTES))
    if dice.random() < 0.5:
        return [min(first, size - count) + step for step in range(count)]
    return sorted({first, *dice.sample(range(size), count - 1)})


@dataclass(frozen=True)
class Answer:
    """A passage with its source metadata."""

    text: str
    source: str
    page: int | None
    row: int | None
    offset: int | None
    date: str | None

    @classmethod
    def of(cls, document: Document) -> Self:
        """The answer for a retrieved document."""
        told = document.metadata
        page, row, offset = (told.get(key) for key in ("page", "row", "offset"))
        return cls(document.page_content, str(told.get("source")), page, row, offset, told.get("date"))


@dataclass(frozen=True)
class Question:
    """A query, its search mode, and the right answer."""

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
    """One attempt: notes and errors reported, violations, and whether documents had to be added again."""

    said: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    refused: bool = False
    named_again: bool = False


@dataclass
class Round:
    """The result of one round."""

    number: int
    harm: str
    name: str
    outcome: str
    named_again: bool = False
    embedded: int = 0
    verified: bool | None = None
    said: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def play(bench: Bench, number: int, seed: int, copy: Path) -> Round:
    """Damage a copy of the index and query it; retry once if it refuses."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(bench.home, copy)
    done = harm(copy, number, seed, bench.others)
    dice, model = Random(f"questions {seed} {number}"), BagOfWords()
    tries = [attempt(copy, bench, dice.sample(bench.questions, ASKED), model)]
    if tries[0].refused:
        tries.append(attempt(copy, bench, bench.questions, model))
    wrong = [text for one in tries for text in one.wrong]
    wrong += [f"refuses again: {text}" for one in tries[1:] if one.refused for text in one.said]
    lasts, verified = done.lasts(copy), None
    if lasts and not wrong:
        verified, again = check(copy, bench, dice.sample(bench.questions, CHECKED), model)
        wrong += [f"after a check: {text}" for text in again]
    return Round(
        number,
        f"{done.kind} {done.where}".strip(),
        done.name,
        outcome_of(wrong, tries, lasts),
        named_again=any(one.named_again for one in tries),
        embedded=len(model.texts),
        verified=verified,
        said=[text for one in tries for text in one.said],
        wrong=wrong,
    )


def play_some(bench: Bench, numbers: Sequence[int], seed: int, copy: Path, parent: Connection) -> None:
    """Play the rounds and send each result to the parent."""
    for number in numbers:
        one = play(bench, number, seed, copy)
        parent.send_bytes(json.dumps(asdict(one), default=str).encode("utf-8", "backslashreplace"))


def outcome_of(wrong: Sequence[str], tries: Sequence[Try], lasts: bool) -> str:
    """Classify a round; ``missed`` means only true answers, but the right passage was not ranked first."""
    if wrong:
        return "missed" if all(MISSED in text for text in wrong) else "violation"
    if any(one.said for one in tries):
        return "said and mended"
    return "unharmed" if lasts else "mended silently"


def attempt(copy: Path, bench: Bench, questions: Sequence[Question], model: BagOfWords) -> Try:
    """Open, sync and query once."""
    one = Try()
    try:
        with Library.open(copy, model, embedding_name="bow") as library:
            one.said += library.sync().notes
            if not library.sources():
                one.named_again = True
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
    """Violations in the passages retrieved for a question."""
    wrong = [f"{one} is in no document" for one in found if one not in known]
    if not wrong and found[:1] != [question.right]:
        rank = found.index(question.right) + 1 if question.right in found else 0
        wrong.append(f"by {question.way} {MISSED} ({f'it is number {rank}' if rank else f'not among {len(found)}'})")
    return wrong


def check(copy: Path, bench: Bench, questions: Sequence[Question], model: BagOfWords) -> tuple[bool, list[str]]:
    """Verify the index; return whether that finds the damage, and violations afterwards."""
    try:
        with Library.open(copy, model, embedding_name="bow") as library:
            report = library.verify()
    except Exception as error:  # noqa: BLE001 - a check mends, or says what it cannot mend in its report
        return True, [f"{type(error).__name__}: {error}"]
    after = attempt(copy, bench, questions, model)
    return bool(report.repairs or report.problems), after.wrong + after.said
