"""Let a model judge answers and the passages behind them: by the metrics of RAGAS, and by comparing two answers."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.prompts import ChatPromptTemplate

from core.types import UNKNOWN, Passage, Verdict
from evaluation.judging.criteria import COMPARE, COMPARE_MAX_TOKENS, opinion_of, reference_text
from evaluation.judging.judge_prompts import NO_ANSWER, QUESTIONS, QUESTIONS_MAX_TOKENS, USEFUL
from evaluation.judging.saved_replies import Replies, key_of, model_name
from evaluation.measures.joined_rows import agreement_of
from evaluation.measures.scores import abstained, bare_answer, later_passages, read_by
from evaluation.records import OURS, Example, Judgements, Opinion, Pair, Record
from grounding.claims import split_claims
from models.failures import TransientModelError, UnusableRequestError
from models.usage import unlimited
from nodes.concurrency import gather_bounded
from prompts.choice import Choice
from prompts.delimiters import as_data, delimited
from prompts.hallucination_check import SUPPORT
from run.context import Services

QUESTIONS_EACH = 3
CONCURRENCY = 4
BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.):])\s*")
Embed = Callable[[list[str]], Any]


async def judge_records(
    services: Services,
    embed: Embed,
    examples: Sequence[Example],
    records: Sequence[Record],
    store_path: Path,
    progress: Callable[[int, int], None] | None = None,
    *,
    concurrency: int = CONCURRENCY,
) -> Judgements:
    """Judge every record that has no error, and compare self-rag with each of the other systems.

    ``embed`` maps texts to rows of an array. Replies are appended to ``store_path`` (JSONL) and reused. ``progress``
    receives the number of judgements done and their total. A judgement that the model failed to give is None, and asked
    again the next time.
    """
    places = {example.id: place for place, example in enumerate(examples)}
    judged = [record for record in records if record["error"] is None and record["example"] in places]
    # In the order of the examples: calls that share passages run together, for the server's prompt cache.
    judged.sort(key=lambda record: places[record["example"]])
    answers = {(record["system"], record["example"]): record for record in judged}
    read = {
        key: (example, record)
        for key, record in answers.items()
        for example in [examples[places[record["example"]]]]
        if reference_of(example) and read_by(record)
    }
    compared = {
        (system, example): (answers[OURS, example], record)
        for (system, example), record in answers.items()
        if system != OURS and (OURS, example) in answers
    }
    with Replies(store_path) as replies:
        judge = Judge(services.with_budget(unlimited()), replies)
        kinds: list[dict[tuple[str, str], Callable[[], Awaitable[Any]]]] = [
            {key: partial(judge.faithfulness, record) for key, record in answers.items()},
            {key: partial(judge.questions, record) for key, record in answers.items()},
            {key: partial(judge.useful, *both) for key, both in read.items()},
            {key: partial(judge.recall, *both) for key, both in read.items()},
            {key: partial(judge.pair, *both) for key, both in compared.items()},
        ]
        calls = [call for kind in kinds for call in kind.values()]
        given = iter(await gather_bounded(calls, concurrency, progress))
    faithfulness, asked, useful, recall, pairs = ({key: next(given) for key in kind} for kind in kinds)
    relevancy = await asyncio.to_thread(relevancies, embed, list(answers.values()), list(asked.values()))
    return Judgements(
        faithfulness=faithfulness,
        relevancy=dict(zip(answers, relevancy, strict=True)),
        useful=useful,
        recall=recall,
        pairs=list(pairs.values()),
        agreement=agreement_of(examples, judged, pairs.values()),
        asked=judge.asked,
        unanswered=judge.unanswered,
        reason=judge.reason,
    )


@dataclass
class Judge:
    """A judge that asks the critic and the generator of ``services``, each question once.

    It counts the questions ``asked`` and those left ``unanswered``; ``reason`` says why the last was left unanswered.
    """

    services: Services
    replies: Replies
    asked: int = 0
    unanswered: int = 0
    reason: str | None = None

    def _count(self, reply: object, reason: str | None = None) -> None:
        self.asked += 1
        if reply is None:
            self.unanswered, self.reason = self.unanswered + 1, reason or self.reason

    async def faithfulness(self, record: Record) -> float | None:
        """Return RAGAS' faithfulness: |claims that the passages fully support| / |claims|.

        None for an abstention, without passages, or if the judge gave no verdict on some claim.
        """
        passages = passages_of(record)
        if abstained(record) or not passages or not record.get("read", passages):
            return None
        return await self._supported("faithfulness", record, passages, bare_answer(record))

    async def recall(self, example: Example, record: Record) -> float | None:
        """Return RAGAS' context recall: the share of the reference's claims that the read passages fully support."""
        passages = _passages(seen["text"] for seen in read_by(record))
        return await self._supported("context recall", record, passages, reference_of(example) or "")

    async def useful(self, example: Example, record: Record) -> list[bool] | None:
        """Judge whether each passage that was read helps to arrive at the reference; None if a verdict is missing."""
        inputs = {"question": as_data(example.question), "reference": as_data(reference_of(example) or "")}
        about = {"kind": "context precision", "example": record["example"]}
        labels = [
            await self._choose(USEFUL, about, passage=delimited(_passages([seen["text"]])), **inputs)
            for seen in read_by(record)
        ]
        return None if UNKNOWN in labels else [label == "useful" for label in labels]

    async def _supported(self, kind: str, record: Record, passages: list[Passage], text: str) -> float | None:
        """Return the share of claims that the passages fully support; None without claims, or if one has no verdict."""
        inputs = {"question": as_data(record["question"]), "passages": delimited(passages), "draft": as_data(text)}
        about = {"kind": kind, "system": record["system"], "example": record["example"]}
        labels = [
            await self._choose(SUPPORT, {**about, "claim": claim}, claim=as_data(claim), **inputs)
            for claim in split_claims(text)
        ]
        if not labels or UNKNOWN in labels:
            return None
        return sum(label == "fully supported" for label in labels) / len(labels)

    async def questions(self, record: Record) -> list[str] | None:
        """Generate questions that the answer answers; an empty list for an abstention, None if the judge wrote none."""
        if abstained(record):
            return []
        about = {"kind": "questions", "system": record["system"], "example": record["example"]}
        written, failure = await self.write(QUESTIONS, about, QUESTIONS_MAX_TOKENS, answer=as_data(bare_answer(record)))
        self._count(None if failure else written, failure)
        lines = [BULLET.sub("", line).strip() for line in written.splitlines()]
        return [line for line in lines if line][:QUESTIONS_EACH] or None

    async def pair(self, one: Record, other: Record, references: Sequence[str] = ()) -> Pair:
        """Compare two answers on the criteria in both orders; identical answers need no call."""
        found = Pair(one["example"], one["system"], other["system"])
        if answer_for_judge(one) == answer_for_judge(other):
            return found
        inputs = {
            "passages": delimited(passages_of(one, other)),
            "question": as_data(one["question"]),
            "reference": reference_text(as_data(" / ".join(references)) if references else None),
        }
        opinions = await self._opinion(one, other, inputs), await self._opinion(other, one, inputs)
        return replace(found, opinions=opinions)

    async def _opinion(self, first: Record, second: Record, inputs: Mapping[str, Any]) -> Opinion:
        systems = {"first": first["system"], "second": second["system"]}
        about = {"kind": "criteria", "example": first["example"], **systems}
        answers = {"first": as_data(answer_for_judge(first)), "second": as_data(answer_for_judge(second))}
        text, failure = await self.write(COMPARE, about, COMPARE_MAX_TOKENS, **inputs, **answers)
        opinion = opinion_of(text, systems, failure)
        self._count(opinion.preferred, failure or "The reply is not in the form asked for.")
        return opinion

    async def write(
        self, prompt: ChatPromptTemplate, about: Mapping[str, Any], max_tokens: int, **inputs: Any
    ) -> tuple[str, str | None]:
        """Return what the generator writes, and None; or, if it fails or refuses, an empty text and the error."""
        failure: str | None = None

        async def ask() -> str | None:
            nonlocal failure
            try:
                return await self.services.generator.write(prompt, max_tokens=max_tokens, hidden=True, **inputs)
            except (TransientModelError, UnusableRequestError) as error:
                failure = str(error)
                return None

        key = key_of(model_name(self.services.generator), prompt.format_messages(**inputs))
        return await self.replies.get_or_ask(key, about, ask) or "", failure

    async def _choose(self, choice: Choice, about: Mapping[str, Any], **inputs: Any) -> str:
        reason = None

        async def ask() -> Verdict | None:
            nonlocal reason
            verdict = await self.services.critic.choose(choice, **inputs)
            reason = verdict["reason"]
            # A reply that is no label is kept; a model that failed is asked again.
            failed = verdict["label"] == UNKNOWN and not (reason or "").startswith("The reply")
            return None if failed else verdict

        key = key_of(model_name(self.services.critic), choice.messages.format_messages(**inputs))
        verdict = await self.replies.get_or_ask(key, about, ask)
        label = str(verdict["label"]) if verdict else UNKNOWN
        self._count(None if label == UNKNOWN else label, verdict["reason"] if verdict else reason)
        return label


def answer_for_judge(record: Record) -> str:
    """Return the answer as the judge of pairs reads it; all abstentions read the same."""
    return NO_ANSWER if abstained(record) else bare_answer(record).strip()


def passages_of(*records: Record) -> list[Passage]:
    """Collect the passages that the systems read, each once: of the first search, of later ones, and those cited."""
    texts: list[str] = []
    for record in records:
        texts += [seen["text"] for seen in record["seen"]] + later_passages(record)
        texts += [one["passage"] for one in record["citations"] if one.get("passage")]
    return _passages(dict.fromkeys(texts))


def reference_of(example: Example) -> str | None:
    """Return the first reference, by which passages are judged; None if the example is unanswerable or has none."""
    return example.references[0] if example.answerable and example.references else None


def relevancies(embed: Embed, records: Sequence[Record], questions: Sequence[list[str] | None]) -> list[float | None]:
    """Return RAGAS' answer relevancy: the mean cosine of the question with questions generated from its answer.

    0 for an abstention, None if no question was generated.
    """
    pairs = list(zip(records, questions, strict=True))
    texts = list(dict.fromkeys(text for record, asked in pairs if asked for text in (record["question"], *asked)))
    rows = np.asarray(embed(texts), dtype=float) if texts else np.zeros((0, 1))
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    vectors = dict(zip(texts, rows, strict=True))

    def relevancy(question: str, asked: list[str] | None) -> float | None:
        if not asked:
            return None if asked is None else 0.0
        return float(np.mean([vectors[question] @ vectors[one] for one in asked]))

    return [relevancy(record["question"], asked) for record, asked in pairs]


def _passages(texts: Iterable[str]) -> list[Passage]:
    return [Passage(id=text, text=text, source="", page=None, row=None, similarity=None) for text in texts]
