"""Render rows as the prompts of a critic's choices."""

from __future__ import annotations

import json
import lzma
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from core.types import Passage
from evaluation.measures.scores import right_answer
from grounding.answers import repeats_question
from grounding.claims import statements
from grounding.refusals import declines
from nodes.check_claim import asked_alone
from prompts.choice import Choice
from prompts.delimiters import as_data, delimited
from prompts.grade_documents import RELEVANCE
from prompts.hallucination_check import SUPPORT

WRONG = 1  # passages without the answer, of each row
DRAFTS, DRAFT = "drafts", "draft"
ALONE = "alone"  # how a claim's kind begins that is judged by itself, whatever the row asks
ONE_MORE = 0.3  # of the rows, whose claims are read with a second passage


@dataclass(frozen=True)
class TrainingExample:
    """A choice asked about one row: the prompt's inputs, the reply that is right, and where it comes from."""

    inputs: Mapping[str, str]
    reply: str
    id: str
    family: str
    kind: str
    group: str  # questions of one passage stay together when rows are held out


def rows_of(folder: Path, families: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Read the rows of these families, as `training.rows` wrote them."""
    for family in families:
        with lzma.open(folder / f"{family}.jsonl.xz", "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)


def with_drafts(rows: Iterable[Mapping[str, Any]], folder: Path) -> Iterator[Mapping[str, Any]]:
    """Add to the rows' claims what `training.drafts` let the model answer."""
    drafts = defaultdict(list)
    for one in rows_of(folder, [DRAFTS]):
        drafts[one["id"]].append(one["text"])
    for row in rows:
        texts = dict.fromkeys(drafts[row["id"]])
        new = [{"text": text, "label": label, "kind": DRAFT} for text in texts if (label := draft_label(row, text))]
        yield {**row, "claims": [*row["claims"], *new]}


def draft_label(row: Mapping[str, Any], text: str) -> str | None:
    """Return ``full`` for a right draft and ``none`` for one on a question without an answer.

    None where there is nothing to judge (it declines, repeats the question or is more than one statement), and where
    it may be right in other words.
    """
    if declines(text) or repeats_question(text, row["question"]) or len(statements(text)) != 1:
        return None
    if not row["answers"]:
        return "none"
    return "full" if right_answer(text, row["answers"], row["question"]) else None


def relevance_examples(row: Mapping[str, Any]) -> list[TrainingExample]:
    """Ask about the passages that hold the answer, and about the best of the others.

    For a twisted question that is the passage that it was written against. Passages without a label are left out.
    """
    if not row["question"]:
        return []
    right = [one["text"] for one in row["passages"] if one["label"] == 1]
    wrong = [one["text"] for one in row["passages"] if one["label"] == 0][:WRONG]
    question = as_data(row["question"])
    return [
        TrainingExample(
            {"question": question, "passage": as_data(text)},
            reply,
            row["id"],
            row["family"],
            row["kind"] if reply == "yes" or (not right and text == wrong[0]) else "near",
            text[:60],
        )
        for reply, texts in (("yes", right), ("no", wrong))
        for text in texts
    ]


def read_with(row: Mapping[str, Any]) -> list[str]:
    """Return what claims on a row are read with: the passages that hold the answer or the best, perhaps one more."""
    found = row["passages"]
    read = [one["text"] for one in found if one["label"] == 1] or [found[0]["text"]]
    more = [one["text"] for one in found if one["text"] not in read]
    if more and Random(row["id"]).random() < ONE_MORE:
        read = [*read, more[0]]
    return read


def shown(texts: Sequence[str]) -> str:
    """Render passages as the graph renders them for a prompt."""
    return delimited([Passage(id="", text=one, source="", page=None, row=None, similarity=None) for one in texts])


def support_examples(row: Mapping[str, Any]) -> list[TrainingExample]:
    """Ask about each claim."""
    read = read_with(row)
    replies = {"full": "yes", "partial": "partly", "none": "no"}
    return [
        TrainingExample(
            {"question": as_data(question), "passages": shown(read), "claim": as_data(one["text"])},
            replies[one["label"]],
            row["id"],
            row["family"],
            f"{row['kind']}/{one['kind']}",
            read[0][:60],
        )
        for one in row["claims"]
        for question in [asked_alone(one["text"]) if one["kind"].startswith(ALONE) else row["question"]]
    ]


def draft_examples(row: Mapping[str, Any]) -> list[TrainingExample]:
    """Ask the generator, as the graph asks it."""
    inputs = {"question": as_data(row["question"]), "passages": shown(read_with(row))}
    return [TrainingExample(inputs, "", row["id"], row["family"], row["kind"], "")]


CHOICES: dict[str, tuple[Choice, Callable[[Mapping[str, Any]], list[TrainingExample]]]] = {
    "relevance": (RELEVANCE, relevance_examples),
    "support": (SUPPORT, support_examples),
}
