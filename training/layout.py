"""Render rows as the prompts of a critic's choice, split where an adapter begins, and packed for reading."""

from __future__ import annotations

import json
import lzma
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
from models.prefix_cache import common_prefix
from prompts.choice import Choice
from prompts.delimiters import as_data, numbered
from prompts.grade_documents import RELEVANCE
from prompts.hallucination_check import SUPPORT

PACK = 512  # tokens read in one pass
SHARED = 32  # tokens that prompts must begin with alike to be read together
WRONG = 1  # passages without the answer, of each row
DRAFTS, DRAFT = "drafts", "draft"
ONE_MORE = 0.3  # of the rows, whose claims are read with a second passage


@dataclass(frozen=True)
class TrainingExample:
    """A choice asked about one row: the prompt's inputs, the reply that is right, and where it comes from."""

    inputs: Mapping[str, str]
    reply: str
    family: str
    kind: str
    group: str  # questions of one passage stay together when rows are held out


@dataclass(frozen=True)
class PrefixGroup:
    """Prompts that share a prefix, as tokens, without the part that all prompts begin with.

    Each prompt is one of ``branches``: it begins with so many tokens of ``prefix``, goes on with tokens of its own, and
    ends with ``ending``, where an adapter works.
    """

    prefix: Sequence[int]
    ending: Sequence[int] = ()
    branches: Sequence[tuple[int, Sequence[int]]] = ((0, ()),)

    def __len__(self) -> int:
        return len(self.prefix) + sum(len(rest) + len(self.ending) for _, rest in self.branches)


@dataclass(frozen=True)
class Layout:
    """Prompts as tokens: all begin with ``fixed`` and end with ``ending``; ``middles`` stand between."""

    fixed: list[int]
    middles: list[list[int]]
    ending: list[int]

    def group(self, numbers: Sequence[int]) -> PrefixGroup:
        """Return these prompts as branches of the longest."""
        prefix = max((self.middles[one] for one in numbers), key=len)
        cuts = [len(common_prefix([self.middles[one], prefix])) for one in numbers]
        rests = [self.middles[one][cut:] for one, cut in zip(numbers, cuts, strict=True)]
        return PrefixGroup(prefix, self.ending, list(zip(cuts, rests, strict=True)))


def rows_of(folder: Path, families: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Read the rows of these families, as `training.rows` wrote them."""
    for family in families:
        with lzma.open(folder / f"{family}.jsonl.xz", "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)


def with_drafts(rows: Iterable[Mapping[str, Any]], folder: Path) -> Iterator[Mapping[str, Any]]:
    """Add to the rows' claims what `training.drafts` let the model answer."""
    drafts = {one["id"]: one["text"] for one in rows_of(folder, [DRAFTS])}
    for row in rows:
        label = draft_label(row, drafts[row["id"]]) if row["id"] in drafts else None
        new = [{"text": drafts[row["id"]], "label": label, "kind": DRAFT}] if label else []
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

    The best of a twisted question is what it was twisted against. Passages that cannot be told are left out.
    """
    right = [one["text"] for one in row["passages"] if one["label"] == 1]
    wrong = [one["text"] for one in row["passages"] if one["label"] == 0][:WRONG]
    question = as_data(row["question"])
    return [
        TrainingExample(
            {"question": question, "passage": as_data(text)},
            reply,
            row["family"],
            row["kind"] if reply == "yes" or not right else "near",
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
    return numbered([Passage(id="", text=one, source="", page=None, row=None, similarity=None) for one in texts])


def support_examples(row: Mapping[str, Any]) -> list[TrainingExample]:
    """Ask about each claim."""
    read = read_with(row)
    replies = {"full": "yes", "partial": "partly", "none": "no"}
    return [
        TrainingExample(
            {"question": as_data(row["question"]), "passages": shown(read), "claim": as_data(one["text"])},
            replies[one["label"]],
            row["family"],
            f"{row['kind']}/{one['kind']}",
            read[0][:60],
        )
        for one in row["claims"]
    ]


CHOICES: dict[str, tuple[Choice, Callable[[Mapping[str, Any]], list[TrainingExample]]]] = {
    "relevance": (RELEVANCE, relevance_examples),
    "support": (SUPPORT, support_examples),
}


def laid_out(prompts: Sequence[list[int]]) -> Layout:
    """Split tokenised prompts into what all begin with, what all end with, and what stands between."""
    fixed = common_prefix(prompts)
    rests = [one[len(fixed) :] for one in prompts]
    ending = common_prefix([one[::-1] for one in rests])[::-1]
    return Layout(fixed, [one[: len(one) - len(ending)] for one in rests], ending)


def prefix_groups(layout: Layout, size: int = PACK) -> list[list[int]]:
    """Group the numbers of prompts that begin alike, by at most ``size`` tokens; longer ones are left out."""
    found: list[list[int]] = []
    middles = layout.middles
    for number in sorted(range(len(middles)), key=lambda one: middles[one]):
        alike = found and len(common_prefix([middles[found[-1][0]], middles[number]])) >= SHARED
        if alike and len(layout.group([*found[-1], number])) <= size:
            found[-1].append(number)
        elif len(layout.group([number])) <= size:
            found.append([number])
    return found


def packs(lengths: Sequence[int], size: int = PACK) -> list[list[int]]:
    """Group numbers of at most ``size`` tokens each into packs of as many, the longest first."""
    left = sorted(range(len(lengths)), key=lambda one: -lengths[one])
    found: list[list[int]] = []
    while left:
        room, pack, rest = size, [], []
        for one in left:
            if lengths[one] <= room:
                pack.append(one)
                room -= lengths[one]
            else:
                rest.append(one)
        found.append(pack)
        left = rest
    return found
