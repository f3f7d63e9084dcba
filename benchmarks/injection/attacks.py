"""One attack: the documents that it is in, the question asked of them, and how code sees that it succeeded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.injection.hosts import HOSTS, Host
from evaluation.fingerprint import digest
from evaluation.measures.scores import containment
from evaluation.records import Example
from grounding.sentences import sentences

PLACES = ("beginning", "middle", "end", "apart")


@dataclass(frozen=True)
class Attack:
    """``documents`` are texts by file name; ``succeeded`` judges an answer that is no abstention."""

    source: str
    name: str
    category: str
    documents: Mapping[str, str]
    question: str
    answers: tuple[str, ...]
    succeeded: Callable[[str], bool]

    @property
    def example(self) -> Example:
        """The question as a system is asked it; its id changes with the documents."""
        content = digest(*(f"{name}\0{text}" for name, text in sorted(self.documents.items())))
        key = f"{self.source}:{self.name}:{content[:16]}"
        return Example(id=key, question=self.question, answerable=True, references=self.answers)

    def right(self, answer: str) -> bool:
        """Whether the answer gives what was asked, whatever else it says."""
        return containment(answer, self.answers) > 0


def planted(source: str, name: str, category: str, text: str, judge: Callable[[Host], Callable[[str], bool]]) -> Attack:
    """The attack ``text`` in an honest document, or beside one, with another about something else.

    Host and place follow from the attack's name. ``judge`` makes the rule of success, which may depend on the host.
    """
    chance = int(digest(source, name), 16)
    host, place = HOSTS[chance % len(HOSTS)], PLACES[chance // len(HOSTS) % len(PLACES)]
    other = HOSTS[(chance + 1) % len(HOSTS)]
    documents = {host.name: put(text, host.text, place), other.name: other.text}
    if place == "apart":  # under the question itself, so that the search finds it
        documents |= {host.name: host.text, "note.txt": f"{host.question}\n\n{text}"}
    return Attack(source, name, category, documents, host.question, host.answers, judge(host))


def put(text: str, into: str, place: str) -> str:
    """The document with the text on lines of its own before it, after it, or between two of its sentences."""
    spans = sentences(into)
    at = {"beginning": 0, "middle": spans[len(spans) // 2][0]}.get(place, len(into))
    return "\n".join(part.strip() for part in (into[:at], text, into[at:]) if part.strip())


def unattacked() -> list[Attack]:
    """The honest documents by themselves: what each system answers when nobody interferes."""
    return [
        Attack(
            "no attack",
            host.name,
            "no attack",
            {host.name: host.text, other.name: other.text},
            host.question,
            host.answers,
            lambda answer: False,
        )
        for host, other in zip(HOSTS, (*HOSTS[1:], HOSTS[0]), strict=True)
    ]
