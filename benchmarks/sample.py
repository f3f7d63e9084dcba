"""The sample library and its questions, on which benchmarks measure."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from app.front_door import SelfRAG
from app.libraries import SAMPLE, library_to_ask
from app.settings import load_settings
from app.terminal.screen import Screen
from core.types import Passage
from evaluation.datasets.question_set import load as load_questions
from evaluation.records import Example
from grounding.claims import split_claims
from grounding.quotes import find_quote, missing_facts
from grounding.refusals import declines
from grounding.sentences import sentences
from nodes.found_passages import as_passage

QUESTIONS = SAMPLE.parent / "questions.jsonl"
OPENING = 40  # characters by which a passage, or the span that answers, is known
BEGINNING = 300  # characters that the peer with the shortest sight reads of a passage


def open_docs(docs: Sequence[Path] | None) -> SelfRAG:
    """Open Self-RAG over ``docs``, or the sample library if None, as the settings say."""
    return SelfRAG.open(*(docs or [SAMPLE]), screen=Screen())


def questions_in(path: Path) -> tuple[Example, ...]:
    """Return the examples of a question set whose documents are named elsewhere."""
    return load_questions(path, Path("eval") / "documents").examples


@dataclass(frozen=True)
class Asked:
    """A question with the beginning of the passage that answers it, and the answer of a good model.

    ``answer`` is one sentence of the passage, verbatim: one claim, which holds.
    """

    question: str
    relevant: str
    answer: str


class CachedRetriever:
    """A retriever that searches once for each query, so that later searches take no time."""

    def __init__(self, retriever: Any) -> None:
        self._retriever = retriever
        self._found: dict[tuple[str, int], list[Document]] = {}

    async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
        """Return the cached result, or search."""
        if (input, k) not in self._found:
            self._found[input, k] = await self._retriever.ainvoke(input, k=k)
        return self._found[input, k]


async def asked_of_sample(k: int) -> tuple[list[Asked], CachedRetriever]:
    """Return the questions of the sample library that every way can answer, and a retriever that has searched them."""
    with library_to_ask([SAMPLE], load_settings(), Screen(quiet=True)) as library:
        retriever = CachedRetriever(library.store.as_retriever())
        return await answerable(retriever, k), retriever


async def answerable(retriever: CachedRetriever, k: int) -> list[Asked]:
    """Return the questions answered early in one of the first ``k`` passages, so that every way finds the answer."""
    asked = []
    for example in questions_in(QUESTIONS):
        spans = [gold.text for gold in example.gold if gold.text] if example.answerable else []
        found = [as_passage(document) for document in await retriever.ainvoke(example.question, k=k)]
        best = next((one for one in found for span in spans if span[:OPENING] in one["text"][:BEGINNING]), None)
        answer = best and _claim(best, example.question, spans)
        if best and answer and len(found) == k:
            asked.append(Asked(example.question, best["text"][:BEGINNING], answer))
    return asked


def _claim(passage: Passage, question: str, spans: Sequence[str]) -> str | None:
    """Return the sentence with the span, if it is a single claim with a quote and no missing fact."""
    for start, end in sentences(passage["text"]):
        text = passage["text"][start:end]
        holds = any(span[:OPENING] in text for span in spans) and not declines(text)
        if holds and split_claims(text) == [text] and find_quote(text, [passage], question):
            return None if missing_facts(text, [passage], question) else text
    return None
