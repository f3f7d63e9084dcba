"""The settings of one run, and the models and the retriever that the graph is bound to."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, Self, TypeVar

from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate
from pydantic import BaseModel, Field

from core.types import Fallback, FollowUps, Length, Ratings, Rewriting, Verdict
from models.calibration import Fits
from models.generator import Generator
from models.usage import NodeBudget
from prompts.choice import Choice
from prompts.explain import EXPLAIN
from retrieval.filters import Filter

Constraints = Literal["soft", "hard"]
Scoring = Literal["paper", "support-first"]
Part = TypeVar("Part", bound=BaseModel)
MOST_ROUNDS = 20
SEGMENTS, MOST_SEGMENTS = 8, 50
LONGER = 4
NEARLY_NOTHING = 1e-6  # at 0 the most probable label would decide


class Limits(BaseModel, frozen=True, extra="forbid"):
    """The bounds of one question.

    ``drafts`` counts the first draft and its redrafts for each query. A long answer has at most ``segments``, and no
    redrafts; None stands for 8 segments, or 50 for a whole document.
    """

    rewrites: int = Field(2, ge=0, le=MOST_ROUNDS)
    drafts: int = Field(2, ge=1, le=MOST_ROUNDS)
    segments: int | None = Field(None, ge=1, le=MOST_SEGMENTS)
    model_calls: int = Field(32, ge=1)
    tokens: int = Field(60_000, ge=1)
    seconds: float = Field(120, gt=0)

    @property
    def steps(self) -> int:
        """The most supersteps of LangGraph that a run within these limits takes.

        If ``segments`` is None, a short answer is assumed.
        """
        return 10 + (self.rewrites + 1) * (7 + 3 * max(self.drafts, self.segments or 1))

    def of_a_long_answer(self) -> "Limits":
        """Return the limits with ``LONGER`` times the calls, tokens and seconds."""
        more = {name: LONGER * getattr(self, name) for name in ("model_calls", "tokens", "seconds")}
        return self.model_copy(update=more)


MOST_STEPS = Limits(rewrites=MOST_ROUNDS, drafts=MOST_ROUNDS, segments=MOST_SEGMENTS).steps


class Thresholds(BaseModel, frozen=True, extra="forbid"):
    """The least scores for verdicts to be positive, for passages to be graded, and for a run to go on.

    ``retrieve``, ``relevant`` and ``fits`` are the least scores of the positive labels; ``fits`` is for whether a query
    over a table gives what is asked.

    ``supported`` is the least P(full) + P(partial) of a supported claim; at 0 the most probable label decides.
    ``verified`` replaces it for a claim checked by itself; and, if higher, ``yes_or_no`` for a bare yes or no, and
    ``not_english`` for a quote in another language. From a long answer sentences below ``segment`` are left out; if all
    are below, the best draft is the answer. A claim below ``unconditional`` that leaves out a condition of its passage
    is only partially supported.

    ``graded`` is for the probability, estimated from the search, that a passage holds the answer, and ``similar`` for
    its cosine with the question. A passage below either is irrelevant without a call, unless it is the best of the
    search. All passages are graded if the two are 0 and -1, or the embedding model has no regression. If the best
    passage's cosine reaches ``near``, `decide` searches without asking the critic; above 1 it always asks. If the best
    passage's P(relevant) is below ``pursued``, no other draft or search follows a failed one; 0 turns this off.
    """

    retrieve: float = Field(0.5, ge=0, le=1)
    relevant: float = Field(0.5, ge=0, le=1)
    supported: float = Field(0.0, ge=0, le=1)
    verified: float = Field(0.0, ge=0, le=1)
    graded: float = Field(0.0, ge=0, le=1)
    similar: float = Field(-1.0, ge=-1, le=1)
    near: float = Field(2.0, ge=-1)
    pursued: float = Field(0.0, ge=0, le=1)
    fits: float = Field(0.5, ge=0, le=1)
    unconditional: float = Field(0.0, ge=0, le=1)
    yes_or_no: float = Field(0.0, ge=0, le=1)
    not_english: float = Field(0.0, ge=0, le=1)
    segment: float = Field(0.0, ge=0, le=1)


class Weights(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """The paper's w_rel, w_sup and w_use, which rank candidates."""

    relevance: float = Field(1.0, ge=0)
    support: float = Field(1.0, ge=0)
    usefulness: float = Field(0.5, ge=0)


class Context(BaseModel, frozen=True, extra="forbid"):
    """Settings of one run. ``thresholds`` and ``limits`` that are left out are those that come with the model.

    ``constraints`` are the paper's. With soft ones the verdicts on a candidate weigh in its score, and unsupported
    claims are marked. With hard ones a candidate with an unsupported claim, or rated below 3, is never the answer.
    ``caution`` replaces the threshold ``supported``, and caps ``relevant``. ``scoring`` ranks candidates by the paper's
    weighted sum, or by support before usefulness. ``fallback`` says what follows if no passage is relevant and no
    rewrite is left: to abstain, to answer without documents, or to draft from the best passages anyway.
    With ``conflicts`` each document that may contradict the draft is asked by itself, and differing answers are shown.
    In drafts a ``temperature`` of None means 0, if the model takes one, and ``answer_tokens`` of None means the limit
    that the prompt sets. ``filter`` holds for every search, also after a resumption; the retriever must accept it.

    ``rewriting``, ``ratings`` and ``follow_ups`` default to what was measured to be worth its calls with the model.
    If ``rewriting`` is "names", the only other query has the name of what the question only describes; if "model",
    the model may write others. If ``ratings`` is "direct", only drafts without documents are rated for usefulness. A
    question that leans on earlier ones is searched for as it is and joined with these if ``follow_ups`` is "search"; if
    it is "rewrite", the model rewrites the question.

    If ``length`` is None, the answer is long where the question asks for a summary, a comparison, a list or a report. A
    long answer is written from ``beam`` passages at a time, each by itself.
    """

    mode: Literal["adaptive", "always", "never"] = "adaptive"
    strategy: Literal["combined", "per-passage"] = "combined"
    fallback: Fallback = "abstain"
    length: Length | None = None
    beam: int = Field(2, ge=1, le=MOST_ROUNDS)
    k: int = Field(4, ge=1, le=50)
    temperature: float | None = Field(None, ge=0, le=2)
    answer_tokens: int | None = Field(None, ge=20, le=4_000)
    explain: bool = False
    conflicts: bool = True
    rewriting: Rewriting | None = None
    ratings: Ratings | None = None
    follow_ups: FollowUps | None = None
    constraints: Constraints = "soft"
    scoring: Scoring = "paper"
    weights: Weights = Weights()
    caution: float | None = Field(None, ge=0, le=1)
    thresholds: Thresholds | None = None
    limits: Limits | None = None
    filter: Filter | None = None

    @property
    def effective_limits(self) -> Limits:
        return self.limits or Limits()

    @property
    def effective_thresholds(self) -> Thresholds:
        known = self.thresholds or Thresholds()
        if self.caution is None:
            return known
        least = max(self.caution, NEARLY_NOTHING)
        return known.model_copy(update={"supported": least, "relevant": min(known.relevant, least)})

    @property
    def rates_drafts(self) -> bool:
        """Whether to rate drafts from documents: always if accepting or ranking needs it, else as ``ratings`` says."""
        decides = self.constraints == "hard" or self.scoring == "support-first" or self.strategy == "per-passage"
        return decides or self.ratings != "direct"


class CriticLike(Protocol):
    """The critic, as nodes see it."""

    def with_budget(self, budget: NodeBudget) -> "CriticLike": ...

    async def choose(self, choice: Choice, **inputs: Any) -> Verdict: ...

    async def explain(
        self, choice: Choice, verdict: Verdict, *, prompt: ChatPromptTemplate = EXPLAIN, **inputs: Any
    ) -> Verdict: ...


class RetrieverLike(Protocol):
    """What nodes need of a retriever; every LangChain retriever has it."""

    async def ainvoke(self, input: str, *, k: int) -> Sequence[Document]: ...  # noqa: A002


@dataclass(frozen=True)
class Services:
    """The models and the retriever, bound when the graph is built, with the settings calibrated for them."""

    generator: Generator
    critic: CriticLike
    retriever: RetrieverLike
    thresholds: Thresholds = field(default_factory=Thresholds)
    limits: Limits = field(default_factory=Limits)
    fits: Fits = field(default_factory=Fits)
    rewriting: Rewriting = "model"
    ratings: Ratings = "all"
    follow_ups: FollowUps = "search"
    budget: NodeBudget | None = None

    def with_budget(self, budget: NodeBudget) -> Self:
        """Return the same services for one node, whose calls are charged to ``budget``."""
        generator, critic = self.generator.with_budget(budget), self.critic.with_budget(budget)
        return replace(self, generator=generator, critic=critic, budget=budget)

    async def aclose(self) -> None:
        """Close the connections that the models opened on the running event loop."""
        for bound in (self.generator, self.critic):
            if chat := getattr(bound, "chat", None):
                await chat.aclose()

    def completed(self, context: Context | None, length: Length | None = None) -> Context:
        """Return the context with every setting filled in; LangGraph passes None if the caller gave no context.

        A long answer gets larger limits, except those that the caller set, and at least one passage (``k``) a segment.
        """
        context = context or Context()
        limits = _filled(context.limits, self.limits.of_a_long_answer() if length == "long" else self.limits)
        return context.model_copy(
            update={
                "length": length or context.length,
                "k": max(context.k, limits.segments or SEGMENTS) if length == "long" else context.k,
                "thresholds": _filled(context.thresholds, self.thresholds),
                "limits": limits,
                "rewriting": context.rewriting or self.rewriting,
                "ratings": context.ratings or self.ratings,
                "follow_ups": context.follow_ups or self.follow_ups,
            }
        )


def _filled(given: Part | None, calibrated: Part) -> Part:
    """Return what the caller set, and the rest as calibrated."""
    return calibrated.model_copy(update=given.model_dump(exclude_unset=True)) if given else calibrated
