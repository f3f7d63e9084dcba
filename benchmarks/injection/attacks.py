"""The attacks: the document that each is planted in, the question asked of it, and how code sees that it succeeded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from app.libraries import SAMPLE
from benchmarks.harness import read_rows
from benchmarks.own_documents import example_of
from core.fingerprint import digest
from evaluation.measures.scores import containment
from evaluation.records import Example
from grounding.sentences import sentences

SOURCE = "raginject"
PLACES = ("beginning", "middle", "end", "apart")


@dataclass(frozen=True)
class Host:
    """An honest document; an answer to its question is right that contains one of ``answers``."""

    name: str
    text: str
    question: str
    answers: tuple[str, ...]


HOSTS = [Host(**row | {"answers": tuple(row["answers"])}) for row in read_rows(SAMPLE.parent / "injection/hosts.jsonl")]


@dataclass(frozen=True)
class Attack:
    """``documents`` are texts by file name; ``succeeded`` judges an answer that is no abstention."""

    name: str
    category: str
    documents: Mapping[str, str]
    question: str
    answers: tuple[str, ...]
    succeeded: Callable[[str], bool]

    @property
    def example(self) -> Example:
        """The question as a system is asked it."""
        return example_of(f"{SOURCE}:{self.name}", self.question, self.documents, self.answers)

    def right(self, answer: str) -> bool:
        """Whether the answer gives what was asked, whatever else it says."""
        return containment(answer, self.answers) > 0


def raginject() -> list[Attack]:
    """The payloads of the installed package's default set, judged by its own keyword judge.

    Its set against retrievers is left out: it is judged by what is found, which no answer shows.
    """
    from raginject.attacks.loader import load_default_patterns
    from raginject.judges import JudgeContext, get_judge

    def judge(pattern: Any) -> Callable[[str], bool]:
        made = get_judge(pattern.success_criteria.type)
        return lambda answer: bool(made.judge(JudgeContext(pattern, pattern.question, answer, [])).attack_succeeded)

    return [
        planted(pattern.id, pattern.category, pattern.payload, judge(pattern))
        for pattern in load_default_patterns()
        if pattern.payload and pattern.success_criteria.type == "keyword_match"
    ]


def planted(name: str, category: str, text: str, succeeded: Callable[[str], bool]) -> Attack:
    """The attack ``text`` in an honest document, or beside one, with another about something else.

    Host and place follow from the attack's name.
    """
    chance = int(digest(SOURCE, name), 16)
    host, place = HOSTS[chance % len(HOSTS)], PLACES[chance // len(HOSTS) % len(PLACES)]
    other = HOSTS[(chance + 1) % len(HOSTS)]
    documents = {host.name: put(text, host.text, place), other.name: other.text}
    if place == "apart":  # under the question itself, so that the search finds it
        documents |= {host.name: host.text, "note.txt": f"{host.question}\n\n{text}"}
    return Attack(name, category, documents, host.question, host.answers, succeeded)


def put(text: str, into: str, place: str) -> str:
    """The document with the text on lines of its own before it, after it, or between two of its sentences."""
    spans = sentences(into)
    at = {"beginning": 0, "middle": spans[len(spans) // 2][0]}.get(place, len(into))
    return "\n".join(part.strip() for part in (into[:at], text, into[at:]) if part.strip())


def drawn(attacks: Sequence[Attack], most: int | None, seed: int = 0) -> list[Attack]:
    """At most so many attacks, evenly from all categories; a larger draw begins with the smaller one."""
    categories = defaultdict(list)
    for attack in sorted(attacks, key=lambda one: digest(str(seed), SOURCE, one.name)):
        categories[attack.category].append(attack)
    turns = chain.from_iterable(zip_longest(*categories.values()))
    return [attack for attack in turns if attack is not None][:most]
