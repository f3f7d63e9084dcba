"""Score one record: each score is a pure function of an example and a system's record of it.

A score is None if a label that it needs is missing.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from core.wording import WORDINGS
from core.words import CJK
from evaluation.records import Example, Gold, Record, Seen
from grounding.numerals import numbers
from grounding.refusals import declines
from grounding.stems import figures, fold, stems

ARTICLES = frozenset(("a", "an", "the"))
BARE = frozenset(("yes", "no", "true", "false", "none"))
SHORT = 8
CITED = re.compile(r"(?<!\s)\s*\[\d{1,2}(?:\s*,\s*\d{1,2})*\]")


@lru_cache(maxsize=16384)
def tokens(text: str) -> tuple[str, ...]:
    """Return SQuAD's normalised tokens: folded, without punctuation and the articles ``a``, ``an``, ``the``.

    All currency signs are left out, as SQuAD leaves out $.
    """
    kept = "".join(one for one in fold(text) if not _is_left_out(one))
    return tuple(word for word in kept.split() if word not in ARTICLES)


def _is_left_out(sign: str) -> bool:
    category = unicodedata.category(sign)
    return sign in string.punctuation or category[0] == "P" or category == "Sc"


def contains(text: str, span: str) -> bool:
    """Return True if the span's tokens occur contiguously in the text's; in unspaced scripts, its characters."""
    wanted, given = tokens(span), tokens(text)
    if not wanted:
        return False
    if CJK.search(span):
        return "".join(wanted) in "".join(given)
    return f" {' '.join(wanted)} " in f" {' '.join(given)} "


def bare_answer(record: Record) -> str:
    """Return the answer without what `finish` adds to a draft, and without numbered citations."""
    answer = record["answer"]
    for wording in WORDINGS.values():
        answer = answer.removeprefix(wording.not_from_documents)
        for note in (wording.meant, wording.condition, wording.unnamed, wording.disagree, wording.queried):
            answer = answer.partition(f"\n\n{note.partition('{')[0]}")[0]
        for mark in wording.marks.values():
            answer = answer.replace(mark, "")
    return CITED.sub("", answer)


def abstained(record: Record) -> bool:
    """Return True if the outcome is abstained or stopped, or the answer is empty or declines."""
    return record["outcome"] in ("abstained", "stopped") or declines(bare_answer(record))


def exact_match(answer: str, references: Sequence[str]) -> float:
    """Return 1 if tokens(answer) == tokens(reference) for some reference, else 0 (SQuAD's)."""
    return float(any(tokens(answer) == tokens(reference) for reference in references))


def token_f1(answer: str, references: Sequence[str]) -> float:
    """Return the maximum over references of 2PR / (P + R) on common tokens (SQuAD's)."""
    return max((_f1(tokens(answer), tokens(reference)) for reference in references), default=0.0)


def _f1(said: tuple[str, ...], wanted: tuple[str, ...]) -> float:
    if not said or not wanted:
        return float(said == wanted)
    common = sum((Counter(said) & Counter(wanted)).values())
    return 2 * common / (len(said) + len(wanted))


def containment(answer: str, references: Sequence[str]) -> float:
    """Return 1 if some reference's tokens occur contiguously in the answer's, else 0."""
    return float(any(contains(answer, reference) for reference in references))


def holds_long(answer: str, reference: str, question: str) -> bool:
    """Whether it holds a long reference: |stems(reference) ∩ stems(answer + question)| >= ½ |stems(reference)|.

    A reference of more than 8 tokens is long. The answer itself must have a stem of the reference that the question
    lacks and, if the reference has figures that the question lacks, one of these figures.
    """
    wanted, asked, said = stems(reference), stems(question), stems(answer)
    if len(tokens(reference)) <= SHORT or 2 * len(wanted & (said | asked)) < len(wanted):
        return False
    new = figures(reference) - numbers(question)
    return bool((wanted - asked) & said) and (not new or bool(new & numbers(answer)))


def right_answer(answer: str, references: Sequence[str], question: str = "") -> bool:
    """Return True if the answer contains a reference, has an F1 >= ½ and all its figures, or `holds_long` of it."""
    said = numbers(f"{answer} {question}")
    return containment(answer, references) > 0 or any(
        (token_f1(answer, [reference]) >= 0.5 and figures(reference) <= said) or holds_long(answer, reference, question)
        for reference in references
    )


def right(example: Example, record: Record) -> bool | None:
    """Return True if the system answered rightly; unanswerable questions have no right answer; None if unlabelled."""
    if example.answerable is False:
        return False
    if not example.references:
        return None
    return not abstained(record) and right_answer(bare_answer(record), example.references, example.question)


def draft_right(example: Example, record: Record) -> bool | None:
    """Apply `right` to the answer, or to the claims withheld in an abstention; None if there is no text or no label."""
    text = bare_answer(record)
    if abstained(record):
        text = " ".join(said["text"] for said in record["said"])
    if declines(text) or (example.answerable is not False and not example.references):
        return None
    return example.answerable is not False and right_answer(text, example.references, example.question)


def gold_spans(example: Example) -> tuple[str, ...]:
    """Return the texts that identify gold passages: gold spans, and references of 1 to 8 tokens except a yes or no."""
    texts = [gold.text for gold in example.gold if gold.text and tokens(gold.text)]
    for reference in example.references:
        found = tokens(reference)
        if 0 < len(found) <= SHORT and not (len(found) == 1 and found[0] in BARE):
            texts.append(reference)
    return tuple(dict.fromkeys(texts))


def holds_gold(example: Example, text: str, source: str | None) -> bool | None:
    """Return True if the text holds a gold span and comes from a gold source, if one is given; None without a span.

    For an unanswerable example no text is gold.
    """
    if example.answerable is False:
        return False
    spans = gold_spans(example)
    if not spans:
        return None
    sourced = any(gold.source for gold in example.gold)
    if sourced and source is not None and not is_gold_source(example, source):
        return False
    return any(contains(text, span) for span in spans)


def is_gold_source(example: Example, source: str) -> bool:
    """Return True if a gold span has this source: the same path, or one path is the end of the other."""
    return any(gold.source and _same_source(source, gold.source) for gold in example.gold)


def _same_source(one: str, other: str) -> bool:
    one, other = one.replace("\\", "/"), other.replace("\\", "/")
    return one == other or one.endswith("/" + other) or other.endswith("/" + one)


def is_gold(example: Example, seen: Seen) -> bool | None:
    """Apply ``holds_gold`` to a retrieved passage."""
    return holds_gold(example, seen["text"], seen["source"])


def gold_labels(example: Example, passages: Sequence[Seen]) -> list[bool] | None:
    """Return ``is_gold`` of each passage; None if unanswerable, unlabelled or without passages."""
    labels = [label for seen in passages if (label := is_gold(example, seen)) is not None]
    return None if example.answerable is False else labels or None


def precision_over_ranks(labels: Sequence[bool]) -> float:
    """Return RAGAS' context precision, Σ_k precision@k · label_k / Σ_k label_k; 0 if no label is true."""
    hits = [rank for rank, label in enumerate(labels, 1) if label]
    return sum(found / rank for found, rank in enumerate(hits, 1)) / len(hits) if hits else 0.0


def read_by(record: Record) -> list[Seen]:
    """Return the passages that the generator read, in its order.

    If the record lacks ``read``, these are all passages found for a system that only drafts, and none for others.
    """
    steps = record["decisions"]
    only_drafts = len(steps) == 1 and steps[0].get("node") == "generate" and bool(steps[0].get("text"))
    return record.get("read", record["seen"] if only_drafts else [])


def later_passages(record: Record) -> list[str]:
    """Return the texts of passages that a later search found and the first did not, each once."""
    first = {seen["text"] for seen in record["seen"]}
    found = [step["passages"] for step in record["decisions"] if isinstance(step.get("passages"), list)]
    return [text for text in dict.fromkeys(chain.from_iterable(found)) if text not in first]


def decided_route(record: Record) -> bool:
    """Return True if the system chose the route itself, rather than having only one."""
    decided = any("verdict" in step for step in record["decisions"] if step.get("node") == "decide")
    return record["route"] is not None and (decided or record["route_score"] is not None)


@dataclass(frozen=True)
class Scores:
    """All scores of one record."""

    abstained: bool
    right: bool | None
    exact_match: float | None
    f1: float | None
    containment: float | None
    squad_f1: float | None
    route_right: bool | None
    recall_at_k: float | None
    context_precision: float | None
    citation_gold: bool | None
    supported_share: float | None
    read_precision: float | None
    read_gold: float | None
    read_recall: float | None


def score(example: Example, record: Record) -> Scores:
    """Compute every score of a record, as `summary.METRICS` defines them.

    Scores that compare words are None without references or for an unanswerable example. Scores of what was read are
    None unless the example is known to be answerable.
    """
    declined, answer = abstained(record), bare_answer(record)
    references = () if example.answerable is False else example.references
    counts = 0.0 if declined else 1.0
    f1 = counts * token_f1(answer, references) if references else None
    found = gold_labels(example, record["seen"])
    read = gold_labels(example, read_by(record)) if example.answerable else None
    judged = [said["label"] for said in record["said"] if said["label"] is not None and not declined]
    return Scores(
        abstained=declined,
        right=right(example, record),
        exact_match=counts * exact_match(answer, references) if references else None,
        f1=f1,
        containment=counts * containment(answer, references) if references else None,
        squad_f1=float(declined) if example.answerable is False else f1,
        route_right=record["route"] == example.route if example.route and decided_route(record) else None,
        recall_at_k=None if found is None else float(any(found)),
        context_precision=None if found is None else precision_over_ranks(found),
        citation_gold=quotes_gold(example, record),
        supported_share=sum(label == "fully supported" for label in judged) / len(judged) if judged else None,
        read_precision=None if read is None else precision_over_ranks(read),
        read_gold=None if read is None else sum(read) / len(read),
        read_recall=None if read is None else recall_of_spans(example, read_by(record)),
    )


def quotes_gold(example: Example, record: Record) -> bool | None:
    """Return True if some quote of a right answer holds a gold span; None if the answer is wrong or cites nothing."""
    if not right(example, record) or not record["citations"]:
        return None
    labels = [holds_gold(example, one.get("quote") or "", one.get("source")) for one in record["citations"]]
    return None if None in labels else any(labels)


def recall_of_spans(example: Example, passages: Sequence[Seen]) -> float:
    """Return the share of the gold spans that a passage holds.

    Without gold spans return 1 if a passage holds any short reference, else 0: one is enough, as they are alternatives.
    """
    spans = [gold for gold in example.gold if gold.text and tokens(gold.text)]
    if not spans:
        return float(any(is_gold(example, seen) for seen in passages))

    def held(gold: Gold) -> bool:
        sources = [seen for seen in passages if gold.source is None or _same_source(seen["source"], gold.source)]
        return any(contains(seen["text"], gold.text or "") for seen in sources)

    return sum(map(held, spans)) / len(spans)
