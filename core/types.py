"""The serialisable types that all layers share."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict  # pydantic cannot validate typing's on Python 3.11

Route = Literal["retrieve", "direct", "fallback"]
Fallback = Literal["abstain", "direct", "passages"]
Rewriting = Literal["names", "model"]
Ratings = Literal["direct", "all"]
FollowUps = Literal["search", "rewrite"]
Length = Literal["short", "long"]
Next = Literal["continue", "retrieve", "end"]  # after a round of a long answer
Outcome = Literal["grounded", "partially_grounded", "abstained", "direct", "stopped"]
StopReason = Literal[
    "accepted",
    "not_useful",
    "claims_unsupported",
    "declined",
    "nothing_relevant",
    "not_needed",
    "mode_never",
    "fallback",
    "limit_calls",
    "limit_tokens",
    "limit_seconds",
    "model_failed",
]
SupportLevel = Literal["fully", "partially", "no"]
LimitReason = Literal["limit_calls", "limit_tokens", "limit_seconds"]
Naming = Literal["before a draft", "after a draft"]  # when to look for a name: "after", if all drafts failed
UNKNOWN = "unknown"


class Verdict(TypedDict):
    """A critic's label, with the probability of each label if the model gave them.

    ``reply`` is the word that the model chose, such as "edit", where several words mean one label.
    """

    label: str
    probabilities: dict[str, float] | None
    reason: str | None
    reply: NotRequired[str]


class Passage(TypedDict):
    """A passage as the models read it. ``page`` and ``row`` count from 1.

    ``similarity`` is the passage's cosine with the query. It is None, and ``title`` and ``date`` (YYYY-MM-DD) of the
    document and ``heading`` of the section are missing, if the retriever does not give them. ``left_out`` are the spans
    of the text that no model reads, in their order: rows of a table that the question does not name.
    """

    id: str
    text: str
    source: str
    page: int | None
    row: int | None
    similarity: float | None
    title: NotRequired[str]
    heading: NotRequired[str]
    date: NotRequired[str]
    left_out: NotRequired[list[tuple[int, int]]]


class Quote(TypedDict):
    """A verbatim span of a passage: ``passage.text[start:end]``."""

    passage: str
    start: int
    end: int


class Claim(TypedDict):
    """One statement of a draft, its verdict (ISSUP) and the quote that supports it, if any.

    ``text`` is a verbatim slice of the draft. ``context`` is what a reader needs to understand it: the line that
    introduces a list, the header of a table, or the sentence to which its pronoun refers. ``second_quote`` is from
    another passage; only a claim that rests on both passages has it. ``row_quotes`` are from further rows of a table:
    those from which the claim was computed. ``conditions`` are sentences of the quote's passage that limit the claim
    and that the claim does not state. ``unnamed`` are names in the question that none of the quoted documents has.
    """

    text: str
    context: NotRequired[str]
    verdict: Verdict
    quote: Quote | None
    second_quote: NotRequired[Quote]
    row_quotes: NotRequired[list[Quote]]
    conditions: NotRequired[list[Quote]]
    unnamed: NotRequired[list[str]]


class Subject(TypedDict):
    """The name of something that a question only describes, and the quote that gives it.

    ``asked`` asks for the name ("Who or what is ...?"). ``question`` is the user's with the name filled in.
    """

    description: str
    asked: str
    name: str
    question: str
    passage: Passage
    quote: Quote
    verdict: Verdict


class TableFound(TypedDict):
    """A table of which a search found rows; ``source`` is its document, ``number`` its number in the document.

    ``is_best`` is true if its rows are the best passage or at least half of all: it is then queried before grading.
    """

    source: str
    number: int
    is_best: NotRequired[bool]


class Queried(TypedDict):
    """The query whose result is the answer. It read ``rows`` rows of ``sources``; ``carried_by`` carry the result.

    ``source`` is the first of the sources.
    """

    sql: str
    source: str
    rows: int
    carried_by: int
    sources: NotRequired[list[str]]


class Draft(TypedDict):
    """A candidate answer and the passages that the generator read; ``relevance`` is the passages' mean ISREL.

    ``copied``: it is a cell of one of the rows that the question names.
    """

    text: str
    passages: list[Passage]
    relevance: float
    declined: bool
    copied: NotRequired[bool]


class Segment(TypedDict):
    """The part of one draft that a long answer accepted: claims that are supported and say something new.

    ``drafted`` is the whole draft. ``text`` is the part in the answer; each claim is a slice of it.
    """

    drafted: str
    text: str
    claims: list[Claim]
    passages: list[Passage]
    relevance: float


class Compared(TypedDict):
    """One of the things that a question compares, and the ids of the passages that were found for it."""

    thing: str
    passages: list[str]


class Drafted(TypedDict):
    """A draft's text and the ids of its passages, kept so that no draft is written or judged twice."""

    passages: list[str]
    text: str


class Candidate(TypedDict):
    """A draft with the critic's verdicts; ``support`` (ISSUP), ``usefulness`` (ISUSE) and ``score`` rank it."""

    draft: Draft
    claims: list[Claim]
    support: float
    usefulness: float
    use: Verdict | None
    score: float


class CandidateRecord(TypedDict):
    """A candidate as the result keeps it, with its passages by id.

    ``round`` counts from 1; ``tier`` is the first value of `candidates.rank`. `finish` sets ``chosen`` and ``reason``.
    """

    round: int
    text: str
    passages: list[str]
    relevance: float
    claims: list[Claim]
    support: float
    usefulness: float
    use: Verdict | None
    score: float
    declined: bool
    tier: int
    chosen: bool
    reason: str


class DocumentAnswer(TypedDict):
    """The short answer that one document by itself gives, its verdict (ISSUP) and the quote that supports it."""

    answer: str
    verdict: Verdict
    quote: Quote


class Conflict(TypedDict):
    """One of several answers that differ, and the ids of its citations: one for each document with this answer."""

    answer: str
    citations: list[int]


class Citation(TypedDict):
    """A quote as it is shown: ``passage[start:end] == quote``. ``date`` is the document's, if known.

    ``title`` and ``heading`` are the passage's. An older version's checkpoints lack title, heading and date.
    """

    id: int
    source: str
    title: NotRequired[str | None]
    heading: NotRequired[str | None]
    page: int | None
    row: int | None
    passage: str
    quote: str
    start: int
    end: int
    date: NotRequired[str | None]


class Step(TypedDict):
    """One run of a node: its duration in seconds, what it spent, and what it decided.

    The steps in a checkpoint of an older version do not say what they spent.
    """

    node: str
    seconds: float
    model_calls: NotRequired[int]
    input_tokens: NotRequired[int]
    cached_input_tokens: NotRequired[int]
    output_tokens: NotRequired[int]
    decided: dict[str, Any]


class Turn(TypedDict):
    """A question of a conversation as the user asked it, what it means without the conversation, and its answer.

    ``outcome`` is None if it is unknown, as for an answer that another program gave.
    """

    question: str
    standalone: str
    answer: str
    outcome: Outcome | None


class Stop(TypedDict):
    """Why a run ended early, and the model's error if it failed."""

    reason: StopReason
    failure: str | None


class Usage(TypedDict):
    """Model calls (including retries) and tokens; ``estimated`` if a server did not report some of them."""

    model_calls: int
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    estimated: bool


def no_usage() -> Usage:
    return Usage(model_calls=0, input_tokens=0, cached_input_tokens=0, output_tokens=0, estimated=False)


def add_usage(one: Usage, other: Usage) -> Usage:
    """Return the sum of two usages; the reducer of the state's ``usage``."""
    return Usage(
        model_calls=one["model_calls"] + other["model_calls"],
        input_tokens=one["input_tokens"] + other["input_tokens"],
        cached_input_tokens=one["cached_input_tokens"] + other["cached_input_tokens"],
        output_tokens=one["output_tokens"] + other["output_tokens"],
        estimated=one["estimated"] or other["estimated"],
    )
