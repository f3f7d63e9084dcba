"""What people say of answers, kept as labelled examples in the form that `eval` reads."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, Field

from app.results.result import Result
from core.errors import RequestError
from core.files import make_private_folder, read_regular
from core.json_lines import append, open_lines
from core.text import as_json, is_blank, shown_path
from core.types import Outcome

Judgement = Literal["right", "wrong", "missing"]
LARGEST = 100_000_000  # bytes of one person's feedback
START = b'{"run": "'
SUFFIX = ".jsonl"


class Feedback(BaseModel, extra="forbid", frozen=True):
    """What a person says of an answer: right, wrong, or that something is missing in it; perhaps the right answer."""

    judgement: Judgement
    answer: str | None = Field(None, max_length=8_000)
    comment: str | None = Field(None, max_length=2_000)


class Label(BaseModel, frozen=True):
    """A person's feedback with the question and the answer that it is about; the last label of a run counts.

    Labels of older versions lack ``standalone`` and ``calibration``.
    """

    run: str
    at: datetime
    feedback: Feedback
    question: str
    standalone: str | None = None
    outcome: Outcome | None
    answer: str
    gold: list[dict[str, Any]]
    calibration: str | None = None

    def example(self) -> dict[str, Any]:
        """Return the label as a row of a question set, with the reference answer as far as it is known.

        A right answer is the reference, and its quotes are the gold spans. Otherwise the reference is what the person
        wrote, if anything. ``answerable`` is left out if the feedback does not tell it. The question is the standalone
        one, as rows are asked without a conversation.
        """
        question = self.standalone or self.question
        row: dict[str, Any] = {"question": question, "id": self.run, "feedback": self.feedback.judgement}
        if question != self.question:
            row["follow_up"] = self.question
        if self.feedback.comment:
            row["comment"] = self.feedback.comment
        if self.feedback.judgement != "right":
            written = self.feedback.answer
            known = written or self.feedback.judgement == "missing" or self.outcome == "abstained"
            return row | ({"answerable": True} if known else {}) | ({"answer": written} if written else {})
        if self.outcome == "abstained":
            return row | {"answerable": False, "outcome": "abstained"}
        if self.outcome == "direct":
            return row | {"route": "direct", "outcome": "direct"}
        return row | {"answerable": True, "outcome": self.outcome, "answer": self.answer, "gold": self.gold}


class FeedbackStore(Protocol):
    """A store of labels, which are what people said of answers: in files, or in a database."""

    def add(self, owner: str, run: str, feedback: Feedback, result: Result) -> None:
        """Keep a label durably. Raises `RequestError` if it cannot be kept."""

    def labels(self) -> list[Label]:
        """Return the last label of each run of all owners, the oldest first. Raises `RequestError`."""


class FeedbackFolder:
    """A folder with one append-only file of labels for each owner."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, owner: str, run: str, feedback: Feedback, result: Result) -> None:
        line = as_json(feedback_label(run, feedback, result).model_dump(mode="json")).encode("utf-8", "replace") + b"\n"
        path = self._folder / f"{owner or 'own'}{SUFFIX}"
        try:
            make_private_folder(self._folder)
            descriptor, _ = open_lines(path, START, lambda line: any(labels_in([line])))
            try:
                append(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise RequestError(f"The feedback cannot be kept in {shown_path(path)} ({error.strerror}).") from error

    def labels(self) -> list[Label]:
        last: dict[str, Label] = {}
        for path in sorted(self._folder.glob(f"*{SUFFIX}")):
            try:
                lines = read_regular(path, LARGEST).splitlines()
            except OSError as error:
                raise RequestError(f"{shown_path(path)} cannot be read ({error.strerror}).") from error
            last |= {label.run: label for label in labels_in(lines)}
        return sorted(last.values(), key=lambda one: one.at)


def examples_of(labels: Iterable[Label]) -> list[dict[str, Any]]:
    """Return the rows of a question set, without questions that are blank."""
    return [label.example() for label in labels if not is_blank(label.question)]


def feedback_label(run: str, feedback: Feedback, result: Result) -> Label:
    """Return a label, dated now, of what a person says of a result."""
    gold = [
        {"text": one["quote"], "source": one["source"], "page": one["page"], "row": one["row"]}
        for one in result.citations
    ]
    asked = {name: getattr(result, name) for name in ("question", "standalone", "outcome", "answer", "calibration")}
    return Label(run=run, at=datetime.now(UTC), feedback=feedback, **asked, gold=gold)


def labels_in(lines: Iterable[bytes]) -> Iterator[Label]:
    """Yield the labels in lines of JSON; other lines are left out."""
    for line in lines:
        with suppress(ValueError, RecursionError):
            yield Label.model_validate(json.loads(line))
