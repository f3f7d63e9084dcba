"""What a caller may turn in one run, and the models that the graph is bound to."""

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
NEARLY_NOTHING = 1e-6  # 0 would leave it to the labels


class Limits(BaseModel, frozen=True, extra="forbid"):
    """The bounds of one question.

    ``drafts`` counts the first draft and its redrafts for each query. A long answer has at most ``segments``, without
    redrafts: 8, or 50 over a whole document.
    """

    rewrites: int = Field(2, ge=0, le=MOST_ROUNDS)
    drafts: int = Field(2, ge=1, le=MOST_ROUNDS)
    segments: int | None = Field(None, ge=1, le=MOST_SEGMENTS)
    model_calls: int = Field(32, ge=1)
    tokens: int = Field(60_000, ge=1)
    seconds: float = Field(120, gt=0)

    @property
    def steps(self) -> int:
        """Steps of the graph, of those side by side one, that no run within these limits exceeds.

        Without ``segments`` that is of a short answer.
        """
        return 10 + (self.rewrites + 1) * (7 + 3 * max(self.drafts, self.segments or 1))

    def of_a_long_answer(self) -> "Limits":
        """Return the bounds with as many calls, tokens and seconds as ``LONGER`` short answers may take."""
        more = {name: LONGER * getattr(self, name) for name in ("model_calls", "tokens", "seconds")}
        return self.model_copy(update=more)


MOST_STEPS = Limits(rewrites=MOST_ROUNDS, drafts=MOST_ROUNDS, segments=MOST_SEGMENTS).steps


class Thresholds(BaseModel, frozen=True, extra="forbid"):
    """The least score with which a verdict of two labels is positive, and with which a passage is graded at all.

    ``supported`` is the least P(full) + P(partial) with which a claim is supported at all; at 0 the most probable label
    decides. ``verified`` is the same for a claim that is checked by itself, without a question. ``graded`` is of the
    probability, by what the search tells, that a passage holds the answer, and ``similar`` of its cosine with the
    question; below either a passage is irrelevant without a call, unless it is the best of the search. At 0 and -1 all
    are graded; without the embedding model's regression they are anyway. ``near`` is the cosine of the best passage
    from which `decide` need not ask the critic whether to search; above 1 it always does. ``pursued`` is the best
    passage's P(relevant) from which a failed draft is followed by another, and a search without success as well; at 0
    they always are. ``fits`` is of P(a query over a table gives what is asked).
    ``unconditional`` is the least P(full) + P(partial) with which a claim is fully supported though it leaves out a
    condition that its passage puts on it.
    ``yes_or_no`` is the same as ``supported`` for a bare yes or no, where it is higher.
    ``segment`` is the same for a sentence of a long answer, which is left out below it if any other is not.
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
    segment: float = Field(0.0, ge=0, le=1)


class Weights(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """The paper's w_rel, w_sup and w_use, which rank candidates."""

    relevance: float = Field(1.0, ge=0)
    support: float = Field(1.0, ge=0)
    usefulness: float = Field(0.5, ge=0)


class Context(BaseModel, frozen=True, extra="forbid"):
    """Settings of one run. Each of ``thresholds`` and ``limits`` that is left out is the one that comes with the model.

    ``constraints`` are the paper's: with soft ones what the critics say of a candidate weighs in its score, and
    what is not supported is marked; with hard ones a candidate that has an unsupported claim, or is rated below
    3, is never given as an answer. ``caution`` replaces the threshold ``supported``, and ``relevant`` where that is
    higher. ``scoring`` ranks candidates by the paper's sum of ``weights``, or by support before usefulness.
    ``fallback`` is what follows when no passage is relevant and no rewrite is left: an answer without documents, or one
    drafted from the best passages all the same. With ``conflicts`` each document that may answer otherwise than the
    draft is asked by itself, and what differs is shown. ``temperature`` and ``answer_tokens`` are
    those of drafts; None is 0, where the model takes one, and the prompt's own length. ``filter`` holds for every
    search of the question, also when it is resumed; a retriever must know it if it is set.

    With ``rewriting`` ``names`` only the name of what the question describes leads to another query; with ``model`` the
    model writes one where there is none. ``ratings`` says which drafts are rated for usefulness: ``all``, or only those
    written without documents. ``follow_ups`` says what becomes of a question that leans on earlier ones: with
    ``search`` it is joined with them and both are searched for, with ``rewrite`` the model writes it anew. None is what
    was measured to be worth its calls with the model.

    A ``length`` of None is long where the question asks for a summary, a comparison, a list or a report. A long answer
    is written from ``beam`` passages at a time, each by itself.
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
        """Whether drafts from documents are rated: where ratings decide or rank, they are in any case."""
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
        """The context with every setting present: LangGraph passes None where a caller gave none.

        A long answer has more room, unless the caller set limits, and is written from a passage for each segment.
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
    """What the caller set, and the rest as calibrated."""
    return calibrated.model_copy(update=given.model_dump(exclude_unset=True)) if given else calibrated
