"""The result of a question: what ``ask`` returns and what ``--json`` prints."""

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from app.drawing.picture import Picture, run_picture
from app.results.stamp import Stamp, bare_stamp
from core import types
from core.errors import RequestError
from nodes.finish import quotes_of
from run.candidates import confidence, is_supported, lowest_support
from run.state import SelfRAGState, standalone_question

if TYPE_CHECKING:
    import pandas

SPENT = ("model_calls", "input_tokens", "cached_input_tokens", "output_tokens")
KEPT = ("question", "answer", "outcome", "stop_reason", "queries", "decision", "citations")  # of the state
TABLED = (
    *("question", "answer", "outcome", "stop_reason", "used_retrieval", "queries", "retrieved", "relevant"),
    *("support", "support_level", "usefulness", "usefulness_rating", "confidence"),
)


class JudgedClaim(BaseModel, frozen=True):
    """A statement and its verdict."""

    text: str
    label: str
    probabilities: dict[str, float] | None
    reason: str | None


class ResultClaim(JudgedClaim):
    """A statement of the answer, its verdict, and the ids of the citations that carry it."""

    citations: list[int]


class CandidateClaim(JudgedClaim):
    """A statement of a candidate, its verdict, and the quote that supports it, if any."""

    quote: types.Quote | None


class ResultCandidate(BaseModel, frozen=True):
    """A draft that was ranked, its scores, and why it was chosen or not; ``round`` counts from 1."""

    round: int
    text: str
    passages: list[str]
    relevance: float | None
    support: float | None
    usefulness: float | None
    score: float
    claims: list[CandidateClaim]
    chosen: bool
    reason: str


class FoundPassage(BaseModel, frozen=True):
    """A passage that a search found."""

    id: str
    source: str
    title: str | None
    heading: str | None
    page: int | None
    row: int | None
    text: str
    similarity: float | None


class ResultPassage(FoundPassage):
    """A passage that a search of the question found, and its relevance verdict if it was graded."""

    verdict: types.Verdict | None


class ResultUsage(types.Usage):
    """What the question cost, and how long it took."""

    seconds: float


class Result(BaseModel, frozen=True):
    """The answer with its evidence, its cost and the path that led to it; docs/json.md explains each field.

    ``model_dump(mode="json")`` is what ``--json`` prints.
    """

    question: str
    standalone: str
    answer: str
    length: types.Length = "short"  # defaults are for kept answers of older versions, which lack the field
    left_out: list[str] = []
    outcome: types.Outcome | None
    stop_reason: types.StopReason | None
    queries: list[str]
    decision: types.Verdict | None
    retrieved: int
    relevant: int
    support: float | None
    usefulness: float | None
    used_retrieval: bool
    support_level: types.SupportLevel | None
    usefulness_rating: int | None
    confidence: float | None = None
    claims: list[ResultClaim]
    citations: list[types.Citation]
    conflicts: list[types.Conflict]
    passages: list[ResultPassage]
    candidates: list[ResultCandidate]
    path: list[dict[str, Any]]
    usage: ResultUsage
    stamp: Stamp
    calibration: str | None

    def turn(self) -> types.Turn:
        """Return what to append to the conversation that the next question is asked in."""
        return types.Turn(question=self.question, standalone=self.standalone, answer=self.answer, outcome=self.outcome)

    def picture(self) -> Picture:
        """Draw the path of the run; a notebook shows the picture, and its ``save(path)`` writes it."""
        return run_picture(self.model_dump())


class Results(list[Result]):
    """The results of several questions, in the order of the questions."""

    def to_pandas(self) -> "pandas.DataFrame":
        """Return a table with a row for each question; lists of texts stay lists. Raises `RequestError` without pandas.

        ``contexts`` are the passages that the answer was written from, ``quotes`` the quotes of its citations.
        """
        try:
            import pandas
        except ImportError as error:
            raise RequestError("to_pandas() needs pandas, which is not installed: pip install pandas.") from error
        return pandas.DataFrame(
            [_row(result) for result in self], columns=[*TABLED, "contexts", "quotes", *SPENT, "seconds", "estimated"]
        )


def _row(result: Result) -> dict[str, Any]:
    texts = {passage.id: passage.text for passage in result.passages}
    lists = {
        "contexts": [texts[identity] for one in result.candidates if one.chosen for identity in one.passages],
        "quotes": [citation["quote"] for citation in result.citations],
    }
    return {name: getattr(result, name) for name in TABLED} | lists | dict(result.usage)


def result_of(state: SelfRAGState, stamp: Stamp | None = None, calibration: str | None = None) -> Result:
    """Make the result of the graph's final state; without a ``stamp`` its models and documents are unknown."""
    best = state["best"] if state["outcome"] in ("grounded", "partially_grounded", "direct", "abstained") else None
    cited = bool(best and best["draft"]["passages"])
    use = best["use"] if best else None
    kept = set(state.get("kept", []))
    known: dict[str, Any] = {name: value for name, value in state.items() if name in KEPT}
    return Result.model_construct(
        **known,
        standalone=standalone_question(state),
        length=state.get("length", "short"),
        left_out=state.get("left_out", []),
        retrieved=len({one["id"] for one in state["passages"]} - kept),
        relevant=len(set(state["relevant"]) - kept),
        support=best["support"] if best and cited and best["claims"] else None,
        usefulness=best["usefulness"] if best and use else None,
        used_retrieval=state["outcome"] in ("grounded", "partially_grounded"),
        support_level=lowest_support(best["claims"]) if best else None,
        usefulness_rating=int(use["label"]) if use and use["label"] != types.UNKNOWN else None,
        confidence=confidence(best) if best else None,
        claims=_claims(best, state["citations"]) if best else [],
        conflicts=state.get("conflicts", []),
        passages=[_passage(one, state["verdicts"].get(one["id"])) for one in state.get("found", state["passages"])],
        candidates=[_candidate(one) for one in state.get("candidates", [])],
        path=[_step(step) for step in state["path"]],
        usage=ResultUsage(**state["usage"], seconds=round(state["seconds"], 3)),
        stamp=stamp or bare_stamp(),
        calibration=calibration,
    )


def numbers_of(claim: types.Claim, best: types.Candidate, citations: list[types.Citation]) -> list[int]:
    """Return the ids of the citations that carry the claim; none for a claim that is not supported."""
    if not is_supported(claim):
        return []
    texts = {passage["id"]: passage["text"] for passage in best["draft"]["passages"]}
    places = [(texts[one["passage"]], one["start"], one["end"]) for one in quotes_of(claim)]
    return [one["id"] for one in citations if (one["passage"], one["start"], one["end"]) in places]


def _claims(best: types.Candidate, citations: list[types.Citation]) -> list[ResultClaim]:
    return [
        ResultClaim(text=claim["text"], **claim["verdict"], citations=numbers_of(claim, best, citations))
        for claim in best["claims"]
    ]


def _step(step: types.Step) -> dict[str, Any]:
    spent = {name: step.get(name, 0) for name in SPENT}
    return {"node": step["node"], "seconds": step["seconds"], **spent, **step["decided"]}


def _passage(found: types.Passage, verdict: types.Verdict | None) -> ResultPassage:
    known: dict[str, Any] = {name: found.get(name) for name in FoundPassage.model_fields}
    return ResultPassage.model_construct(**known, verdict=verdict)


def _candidate(one: types.CandidateRecord) -> ResultCandidate:
    return ResultCandidate(
        **{name: one[name] for name in ("round", "text", "passages", "score", "chosen", "reason")},
        relevance=one["relevance"] if one["passages"] else None,
        support=one["support"] if one["claims"] else None,
        usefulness=one["usefulness"] if one["use"] else None,
        claims=[
            CandidateClaim(
                text=claim["text"], **claim["verdict"], quote=claim["quote"] if is_supported(claim) else None
            )
            for claim in one["claims"]
        ],
    )
