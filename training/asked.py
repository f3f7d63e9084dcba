"""What rows are made from: a family's documents, its questions, and claims on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from evaluation.measures.scores import contains
from grounding.stems import figures, stems

K = 4  # passages of a row


@dataclass(frozen=True)
class Claim:
    """A statement, how far the row's passages support it as an answer, and how it was made."""

    text: str
    label: Literal["full", "partial", "none"]
    kind: str


@dataclass(frozen=True)
class Asked:
    """A question, its gold answers, and the names of its own documents; ``gold`` is what its passages must hold.

    ``instead`` is the answer of the question that this one was made from by changing a word.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    kind: str
    documents: tuple[str, ...]
    language: str = "en"
    gold: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    instead: str = ""


@dataclass(frozen=True)
class Family:
    """Documents by file name and the questions on them."""

    name: str
    documents: Mapping[str, str]
    asked: Sequence[Asked]

    @cached_property
    def siblings(self) -> dict[str, list[Asked]]:
        """The questions on each document."""
        found: dict[str, list[Asked]] = {}
        for one in self.asked:
            for name in one.documents:
                found.setdefault(name, []).append(one)
        return found


def holds(text: str, answer: str, question: str) -> bool:
    """Whether the text has the answer, or of a long one nearly all the stems that the question has not."""
    if contains(text, answer):
        return True
    wanted = stems(answer) - stems(question)
    close = len(wanted & stems(text)) >= 0.8 * len(wanted)
    return len(wanted) >= 4 and close and figures(answer) <= figures(text)
