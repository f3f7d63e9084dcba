"""The sample library and its questions, on which benchmarks measure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from app.front_door import SelfRAG
from app.libraries import SAMPLE
from app.screen import Screen
from benchmarks.documents import load
from core.types import Passage
from evaluation.datasets.question_set import load as load_questions
from evaluation.records import Example
from grounding.claims import split_claims
from grounding.quotes import find_quote, missing_facts
from grounding.refusals import declines
from grounding.sentences import sentences
from grounding.stems import stems
from nodes.retrieve import as_passage
from retrieval.splitter import split

QUESTIONS = SAMPLE.parent / "questions.jsonl"
OPENING = 40  # characters by which a passage, or the span that answers, is known
BEGINNING = 300  # characters that the peer with the shortest sight reads of a passage


def open_docs(docs: Sequence[Path] | None) -> SelfRAG:
    """Self-RAG over ``docs``, or the sample library if None, as the settings say."""
    return SelfRAG.open(*(docs or [SAMPLE]), screen=Screen())


def questions_in(path: Path) -> tuple[Example, ...]:
    """The examples of a question set whose documents are named elsewhere."""
    return load_questions(path, Path("eval") / "documents").examples


@dataclass(frozen=True)
class Asked:
    """A question with the passages that answer it, the best first, and the answer of a good model.

    ``answer`` is one sentence of the best passage, verbatim: one claim, which holds.
    """

    question: str
    relevant: tuple[str, ...]
    answer: str


class KeywordRetriever:
    """Rank passages in memory by the weight of the stems they share with the query."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._words = [(stems(document.page_content), document) for document in documents]
        counts = Counter(word for words, _ in self._words for word in words)
        self._weights = {word: math.log(len(self._words) / count) for word, count in counts.items()}

    async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
        """The ``k`` best passages, the best first."""
        wanted = stems(input)
        scores = [sum(self._weights[word] for word in wanted & words) for words, _ in self._words]
        order = sorted(range(len(scores)), key=lambda number: -scores[number])
        return [self._words[number][1] for number in order[:k]]


class CachedRetriever:
    """Search once for each query, so that later searches take no time."""

    def __init__(self, retriever: Any) -> None:
        self._retriever = retriever
        self._found: dict[tuple[str, int], list[Document]] = {}

    async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
        """As the retriever."""
        if (input, k) not in self._found:
            self._found[input, k] = await self._retriever.ainvoke(input, k=k)
        return self._found[input, k]


def sample_retriever(folder: Path = SAMPLE) -> KeywordRetriever:
    """A retriever over the folder's documents, split as an index splits them."""
    return KeywordRetriever([passage for path in sorted(folder.iterdir()) for passage in split(load(path))])


async def answerable(retriever: Any, k: int, relevant: int, path: Path = QUESTIONS) -> list[Asked]:
    """The questions answered early in one of the first ``k`` passages, so that every way finds the answer.

    ``relevant`` is how many of the passages the model calls so: the one that answers, and the next best.
    """
    asked = []
    for example in questions_in(path):
        spans = [gold.text for gold in example.gold if gold.text] if example.answerable else []
        found = [as_passage(document) for document in await retriever.ainvoke(example.question, k=k)]
        best = next((one for one in found for span in spans if span[:OPENING] in one["text"][:BEGINNING]), None)
        answer = best and _claim(best, example.question, spans)
        if best and answer and len(found) == k:
            others = [one for one in found if one["id"] != best["id"]]
            kept = tuple(one["text"][:BEGINNING] for one in [best, *others][:relevant])
            asked.append(Asked(example.question, kept, answer))
    return asked


def _claim(passage: Passage, question: str, spans: Sequence[str]) -> str | None:
    """The sentence with the span, if it is a single claim with a quote and no missing fact."""
    for start, end in sentences(passage["text"]):
        text = passage["text"][start:end]
        holds = any(span[:OPENING] in text for span in spans) and not declines(text)
        if holds and split_claims(text) == [text] and find_quote(text, [passage], question):
            return None if missing_facts(text, [passage], question) else text
    return None
