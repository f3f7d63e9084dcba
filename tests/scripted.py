"""Models and a retriever that play from a script, and fail on what is not in it or not used of it."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langgraph.runtime import Runtime
from pydantic import PrivateAttr

from core.types import Candidate, CandidateRecord, Claim, Draft, Outcome, Passage, Turn, Usage, Verdict
from evaluation.written_labels import CHANGE_WORD, WRITE_QUESTION
from models.calibration import Fits
from models.usage import Budget, LimitReachedError, NodeBudget
from prompts.choice import Choice
from prompts.compare_answers import BRIEF_ANSWER
from prompts.contextualize import CONTEXTUALIZE
from prompts.described import DESCRIBED
from prompts.direct_generate import DIRECT_GENERATE
from prompts.explain import CRITICISE, EXPLAIN
from prompts.generate import (
    CELL,
    COMPARISON,
    GENERATE,
    PLAIN,
    REDRAFT_NOT_USEFUL,
    REDRAFT_UNSUPPORTED,
    SEGMENT,
    SUMMARY,
)
from prompts.query_table import QUERY_TABLE, REQUERY_TABLE
from prompts.rewrite_query import REWRITE_QUERY
from run.candidates import with_reasons, with_round
from run.context import Constraints, Context, CriticLike, Limits, Services, Thresholds
from run.initial_state import initial_state
from run.state import SelfRAGState

# What of a choice's inputs a script is keyed by, if not the passage.
SUBJECTS = {"retrieve": "question", "support": "claim", "usefulness": "answer", "fits": "query"}
# The kind of each prompt, and what the script of a generator has for it.
PROMPTS = (
    ("cell", "cells", CELL),
    ("draft", "drafts", GENERATE),
    ("draft", "drafts", PLAIN),
    ("segment", "segments", SEGMENT),
    ("summary", "summaries", SUMMARY),
    ("comparison", "comparisons", COMPARISON),
    ("mend", "mended", REDRAFT_UNSUPPORTED),
    ("improve", "improved", REDRAFT_NOT_USEFUL),
    ("query", "queries", REWRITE_QUERY),
    ("direct", "direct", DIRECT_GENERATE),
    ("standalone", "standalone", CONTEXTUALIZE),
    ("brief", "brief", BRIEF_ANSWER),
    ("described", "described", DESCRIBED),
    ("question", "questions", WRITE_QUESTION),
    ("changed", "changed", CHANGE_WORD),
    ("table", "selects", QUERY_TABLE),
    ("table again", "selects_again", REQUERY_TABLE),
)
CALL_TOKENS = 10
CRITICISM = CRITICISE.format_messages()[0].text
# How the critic asks a server that gives neither probabilities nor a schema.
IN_WORDS = re.compile(r"\nReply with one word of: [^\n]*\Z")
Marks = tuple[str, int, str]
Message = BaseMessage | Mapping[str, Any]
Said = str | Exception
Judgement = str | Verdict | Exception


class NotScriptedError(AssertionError):
    """A model was asked what its script does not answer."""


def verdict(label: str, probabilities: dict[str, float] | None = None, reason: str | None = None) -> Verdict:
    return Verdict(label=label, probabilities=probabilities, reason=reason)


def marks_of(prompt: ChatPromptTemplate) -> Marks:
    """What tells a prompt from others: its first message, the place of its last one, and the words that it asks in."""
    messages = prompt.format_messages(**dict.fromkeys(prompt.input_variables, "\0"))
    return messages[0].text, len(messages) - 1, max(messages[-1].text.split("\0"), key=len)


def is_of(messages: Sequence[Message], marks: Marks) -> bool:
    """Whether the messages are this prompt's, or continue it: with a redraft, or the question for a reason."""
    first, place, words = marks
    return len(messages) > place and _text(messages[0]) == first and words in _text(messages[place])


def _text(message: Message) -> str:
    return message.text if isinstance(message, BaseMessage) else str(message["content"])


def asks_for_a_reason(text: str) -> bool:
    """Whether the last message to a critic asks why it gave its verdict."""
    return text == CRITICISM or text.startswith("The verdict is: ")


def call_cost(tokens: int = CALL_TOKENS) -> Usage:
    return Usage(model_calls=1, input_tokens=tokens - 1, cached_input_tokens=0, output_tokens=1, estimated=False)


async def no_delay(asked: str) -> None:
    """What a scripted model waits for before it answers; ``asked`` is the kind of call."""
    await asyncio.sleep(0)


@dataclass
class ScriptedCritic:
    """Answers by the changing input: a passage, a claim, an answer or a question.

    A list is used up one by one, its last entry never; ``otherwise`` answers a whole kind of choice.
    ``reasons`` are by claim. Like the real critic it is ``unknown`` when the budget ends.
    """

    script: Mapping[str, Judgement | list[Judgement]] = field(default_factory=dict)
    otherwise: Mapping[str, Judgement | Callable[[str], Judgement]] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    wait: Callable[[str], Awaitable[None]] = no_delay
    asked: list[tuple[str, str]] = field(default_factory=list)
    inputs: list[dict[str, Any]] = field(default_factory=list)
    explained: list[str] = field(default_factory=list)
    budget: NodeBudget | None = None
    turns: dict[str, int] = field(default_factory=dict)

    def with_budget(self, budget: NodeBudget) -> CriticLike:
        return ScriptedCritic(**{**self.__dict__, "budget": budget})

    async def choose(self, choice: Choice, **inputs: Any) -> Verdict:
        choice.messages.format_messages(**inputs)  # as the real one: an input that is missing is an error
        subject = str(inputs[SUBJECTS.get(choice.name, "passage")])
        try:
            await self._pay(choice.name)
        except LimitReachedError as reached:
            return choice.unknown(f"Not asked: {reached.reason}.")
        self.asked.append((choice.name, subject))
        self.inputs.append(inputs)
        answer = self._answer(choice, subject)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, dict) else verdict(answer)

    async def explain(
        self, choice: Choice, verdict: Verdict, *, prompt: ChatPromptTemplate = EXPLAIN, **inputs: Any
    ) -> Verdict:
        subject = str(inputs[SUBJECTS.get(choice.name, "passage")])
        try:
            await self._pay("reason")
        except LimitReachedError:
            return verdict
        self.explained.append(subject)
        return Verdict(
            label=verdict["label"],
            probabilities=verdict["probabilities"],
            reason=self.reasons.get(subject, f"why {verdict['label']}"),
        )

    def done(self) -> None:
        left = self.script.keys() - self.turns.keys()
        assert not left, f"the critic was never asked about {left}"

    async def _pay(self, kind: str) -> None:
        if self.budget is None:
            raise RuntimeError("not with_budget")
        await self.budget.admit(CALL_TOKENS)
        try:
            await self.wait(kind)
        finally:
            self.budget.charge(CALL_TOKENS, call_cost())

    def _answer(self, choice: Choice, subject: str) -> Judgement:
        """The scripted judgement whose label is the choice's: one text may be an answer and a claim."""
        found = self.script.get(subject)
        if isinstance(found, list):
            found = found[min(self.turns.get(subject, 0), len(found) - 1)]
        if found is not None and _fits(choice, found):
            self.turns[subject] = self.turns.get(subject, 0) + 1
            return found
        general = self.otherwise.get(choice.name)
        made = general(subject) if callable(general) else general
        if made is None or not _fits(choice, made):
            raise NotScriptedError(f"the critic has no {choice.name} for: {subject}")
        return made


def _fits(choice: Choice, judgement: Judgement) -> bool:
    if isinstance(judgement, Exception):
        return True
    return (judgement if isinstance(judgement, str) else judgement["label"]) in (*choice.labels, "unknown")


class ScriptedGenerator:
    """Writes from one list for each prompt, in order; ``asked`` keeps each prompt's name and inputs, ``bounds`` its
    most tokens and its temperature.

    ``forever`` answers a prompt whose list is used up; ``brief`` are by passage.
    """

    def __init__(
        self,
        drafts: Sequence[Said] = (),
        *,
        brief: Mapping[str, Said] | None = None,
        forever: Callable[[str, int], str] | None = None,
        wait: Callable[[str], Awaitable[None]] = no_delay,
        bounds: list[tuple[int, float | None]] | None = None,
        **scripts: Sequence[Said],
    ) -> None:
        self.scripts = {"drafts": drafts, **scripts}
        assert self.scripts.keys() <= {script for _, script, _ in PROMPTS}, scripts
        self.brief = brief or {}
        self.forever, self.wait = forever, wait
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.bounds = [] if bounds is None else bounds
        self.budget: NodeBudget | None = None
        self.scored: float | None = None

    def with_budget(self, budget: NodeBudget) -> "ScriptedGenerator":
        bound = copy(self)
        bound.budget = budget
        return bound

    async def write(
        self,
        messages: ChatPromptTemplate,
        *,
        max_tokens: int,
        temperature: float | None = None,
        hidden: bool = False,
        **inputs: Any,
    ) -> str:
        messages.format_messages(**inputs)
        name, script = next((name, script) for name, script, prompt in PROMPTS if prompt is messages)
        if self.budget is None:
            raise RuntimeError("not with_budget")
        await self.budget.admit(CALL_TOKENS)
        try:
            turn = len(self.inputs(name))
            self.asked.append((name, inputs))
            self.bounds.append((max_tokens, temperature))
            await self.wait(name)
            said = self._said(name, script, turn, inputs)
        finally:
            self.budget.charge(CALL_TOKENS, call_cost())
        if isinstance(said, Exception):
            self.budget.failure = str(said)
            raise said
        return said

    async def write_scored(self, messages: ChatPromptTemplate, **given: Any) -> tuple[str, float | None]:
        return await self.write(messages, **given), self.scored

    def inputs(self, name: str) -> list[dict[str, Any]]:
        return [inputs for one, inputs in self.asked if one == name]

    def done(self) -> None:
        for name, script, _ in PROMPTS:
            left = self.scripts.get(script, ())[len(self.inputs(name)) :]
            assert not left, f"the generator was never asked for {name}: {left}"
        silent = set(self.brief) - {inputs["passage"] for inputs in self.inputs("brief")}
        assert not silent, f"the generator was never asked for a brief answer of {silent}"

    def _said(self, name: str, script: str, turn: int, inputs: Mapping[str, Any]) -> Said:
        """The brief answers go by the passage that is asked, since several are asked at once."""
        if name == "brief" and inputs["passage"] in self.brief:
            return self.brief[inputs["passage"]]
        said = self.scripts.get(script, ())
        if turn < len(said):
            return said[turn]
        if self.forever is None:
            raise NotScriptedError(f"the generator has no {name} number {turn + 1} for {inputs}")
        return self.forever(name, turn)


@dataclass
class ScriptedRetriever:
    """Finds the texts of a query, or ``always`` the same ones."""

    found: Mapping[str, Sequence[str | Document]] = field(default_factory=dict)
    always: Sequence[str | Document] | None = None
    queries: list[str] = field(default_factory=list)
    ks: list[int] = field(default_factory=list)

    async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
        self.queries.append(input)
        self.ks.append(k)
        if input not in self.found and self.always is None:
            raise NotScriptedError(f"nothing is scripted to be found for: {input}")
        texts = self.found.get(input, self.always or ())
        return [text if isinstance(text, Document) else document(text) for text in texts]

    async def table_of(self, source: str, number: int) -> None:
        """Return None: what it finds is of no table."""

    def done(self) -> None:
        left = set(self.found) - set(self.queries)
        assert not left, f"nobody searched for {left}"


def document(text: str, **metadata: Any) -> Document:
    return Document(page_content=text, id=text, metadata={"source": "notes.txt", **metadata})


class ScriptedChat(BaseChatModel):
    """A LangChain chat model that plays a script: messages, exceptions, or functions of the messages.

    ``calls`` keeps the messages and the keyword arguments of each call.
    """

    script: list[Any]
    _calls: list[tuple[list[BaseMessage], dict[str, Any]]] = PrivateAttr(default_factory=list)

    @property
    def calls(self) -> list[tuple[list[BaseMessage], dict[str, Any]]]:
        return self._calls

    @property
    def _llm_type(self) -> str:
        return "scripted"

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        turn = len(self._calls)
        self._calls.append((messages, kwargs))
        if turn >= len(self.script):
            raise NotScriptedError(f"the chat model has no reply number {turn + 1}")
        said = self.script[turn]
        if callable(said):
            said = said(messages)
        if asyncio.iscoroutine(said):
            said = await said
        if isinstance(said, BaseException):
            raise said
        message = said if isinstance(said, AIMessage) else AIMessage(said)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotScriptedError("models are called asynchronously")

    def done(self) -> None:
        assert len(self._calls) == len(self.script), f"{len(self._calls)} of {len(self.script)} replies were used"


def reply(
    content: str = "",
    *,
    top: Sequence[tuple[str, float]] | None = None,
    read: int | None = None,
    written: int = 1,
    cached: int = 0,
) -> AIMessage:
    """A server's reply: ``top`` are the first token's candidates with their log-probabilities."""
    message = AIMessage(content)
    if top is not None:
        entries = [{"token": token, "logprob": value} for token, value in top]
        message.response_metadata = {"logprobs": {"content": [{"token": content, "top_logprobs": entries}]}}
    if read is not None:
        message.usage_metadata = {
            "input_tokens": read,
            "output_tokens": written,
            "total_tokens": read + written,
            "input_token_details": {"cache_read": cached},
        }
    return message


class StatusError(Exception):
    """An HTTP error as the client libraries raise it."""

    def __init__(self, status: int, message: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message or f"HTTP {status}")
        self.status_code = status
        self.response = type("Response", (), {"headers": dict(headers or {})})()


def roomy_budget(*, calls: int = 1000, tokens: int = 10**9, seconds: float = 3600) -> NodeBudget:
    return NodeBudget(Budget(calls=calls, tokens=tokens, seconds=seconds))


def services(
    generator: ScriptedGenerator | None = None,
    critic: ScriptedCritic | None = None,
    retriever: Any = None,
    *,
    thresholds: Thresholds | None = None,
    limits: Limits | None = None,
    budget: NodeBudget | None = None,
) -> Services:
    """Scripted services; with ``budget`` they are with_budget, as a node receives them."""
    made = Services(
        generator=cast("Any", generator or ScriptedGenerator()),
        critic=cast("CriticLike", critic or ScriptedCritic()),
        retriever=retriever or ScriptedRetriever(),
        thresholds=thresholds or Thresholds(),
        limits=limits or Limits(),
    )
    return made.with_budget(budget) if budget else made


def runtime(**settings: Any) -> Runtime[Context]:
    settings = {"thresholds": Thresholds(), "limits": Limits(), **settings}
    return Runtime(context=Context(**settings))


async def run_node(
    node: Callable[..., Awaitable[Any]],
    before: SelfRAGState,
    generator: ScriptedGenerator | None = None,
    critic: Any = None,
    retriever: Any = None,
    *,
    calls: int = 1000,
    fits: Fits | None = None,
    **settings: Any,
) -> Any:
    """What a node writes, over scripts with a budget of so many calls; ``settings`` are of the context."""
    made = services(generator, critic, retriever, budget=roomy_budget(calls=calls))
    return await node(before, replace(made, fits=fits or Fits()), runtime(**settings))


def state(question: str = "Why is the sky blue?", **changes: Any) -> SelfRAGState:
    """The state at the start of a question, with ``changes``."""
    question = changes.get("question", question)
    fresh = {"question": question, **initial_state(cast("SelfRAGState", {"question": question}), Context()), "path": []}
    unknown = set(changes) - set(SelfRAGState.__annotations__)
    assert not unknown, unknown
    return cast("SelfRAGState", {**fresh, **changes})


def passage(text: str, **changes: Any) -> Passage:
    found: dict[str, Any] = {
        "id": text,
        "text": text,
        "source": "notes.txt",
        "page": None,
        "row": None,
        "similarity": None,
        **changes,
    }
    return cast("Passage", found)


def turn(question: str, answer: str = "It is so.", *, standalone: str | None = None, **changes: Any) -> Turn:
    """An earlier question, which stood alone unless ``standalone`` is given, and its answer."""
    made = {"question": question, "standalone": standalone or question, "answer": answer, "outcome": "grounded"}
    return cast("Turn", {**made, **changes})


def draft(text: str, passages: Sequence[str] = (), *, relevance: float = 1.0, declined: bool = False) -> Draft:
    return Draft(text=text, passages=[passage(one) for one in passages], relevance=relevance, declined=declined)


def claim(text: str, label: str = "fully supported", *, reason: str | None = None, within: str | None = None) -> Claim:
    """A claim; ``within`` is the passage that is quoted, whole."""
    quote = {"passage": within, "start": 0, "end": len(within)} if within is not None else None
    return cast("Claim", {"text": text, "verdict": verdict(label, reason=reason), "quote": quote})


def candidate_of(
    one: Draft, claims: Sequence[Claim] = (), *, support: float = 1.0, use: str = "5", score: float = 1.0
) -> Candidate:
    return Candidate(
        draft=one, claims=list(claims), support=support, usefulness=(int(use) - 3) / 2, use=verdict(use), score=score
    )


def explained_of(best: Candidate, outcome: Outcome, constraints: Constraints = "soft") -> list[CandidateRecord]:
    """The state's ``candidates`` after a question with one draft."""
    return with_reasons(with_round([], [best], constraints), best, outcome, constraints)
