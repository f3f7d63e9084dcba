"""Explain where self-rag wins against plain and where it loses, in counts and in plain sentences made by code."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evaluation.measures.joined_rows import correct
from evaluation.measures.statistics import Estimate, exact_share
from evaluation.records import BASELINE, DISAGREED, FAILED, IDENTICAL, OURS, TIE, UNREADABLE, Example, Pair, Record
from evaluation.reporting.tables import with_bounds

SHORT_QUESTION, LONG_QUESTION = 7, 13
MIN_QUESTIONS = 5
KINDS = ("expected", "length", "relevant", "searches", "outcome")
WITHOUT = {
    IDENTICAL: "were identical and not asked about",
    DISAGREED: "got another preference when the order of the answers was changed",
    UNREADABLE: "got a reply that is not in the form asked for",
    FAILED: "got no reply, because the model failed or refused",
}


@dataclass(frozen=True)
class Group:
    """Questions of one kind, counted by whose answer is right by the labels.

    ``what`` describes them, such as "unanswerable questions". Unlabelled questions count only in ``questions``.
    """

    kind: str
    what: str
    questions: int
    both: int
    ours: int
    other: int
    neither: int

    @property
    def labelled(self) -> int:
        return self.both + self.ours + self.other + self.neither

    @property
    def share(self) -> Estimate:
        """Return self-rag's share of the questions that exactly one system gets right, with its exact interval."""
        return exact_share(self.ours, self.ours + self.other)


@dataclass(frozen=True)
class Analysis:
    """Counts for all questions and for each kind, and sentences that sum them up."""

    overall: Group
    groups: list[Group]
    lines: list[str]


def analysis(examples: Sequence[Example], records: Sequence[Record]) -> Analysis:
    """Compare self-rag with plain on the examples that both were asked."""
    mine = {record["example"]: record for record in records if record["system"] == OURS and not record["error"]}
    theirs = {record["example"]: record for record in records if record["system"] == BASELINE and not record["error"]}
    shared = [example for example in examples if example.id in mine and example.id in theirs]

    def group(kind: str, what: str, members: Iterable[Example]) -> Group:
        chosen = list(members)
        outcomes = [(correct(one, mine[one.id]), correct(one, theirs[one.id])) for one in chosen]
        return Group(
            kind=kind,
            what=what,
            questions=len(chosen),
            both=outcomes.count((True, True)),
            ours=outcomes.count((True, False)),
            other=outcomes.count((False, True)),
            neither=outcomes.count((False, False)),
        )

    kinds = {example.id: question_kinds(example, mine[example.id]) for example in shared}
    names = dict.fromkeys(pair for found in kinds.values() for pair in found.items())
    groups = [
        group(kind, what, (one for one in shared if kinds[one.id].get(kind) == what))
        for kind, what in sorted(names, key=lambda name: KINDS.index(name[0]))
    ]
    overall = group("all", "all questions", shared)
    return Analysis(overall, groups, analysis_sentences(overall, groups))


def question_kinds(example: Example, record: Record) -> dict[str, str]:
    """Classify the question by its labels, its length, and what self-rag did with it."""
    words = len(example.question.split())
    relevant = sum(seen["relevant"] is True for seen in record["seen"])
    searches = len(record["queries"]) if record["seen"] else 0
    if words <= SHORT_QUESTION:
        length = f"questions of at most {SHORT_QUESTION} words"
    elif words < LONG_QUESTION:
        length = f"questions of {SHORT_QUESTION + 1} to {LONG_QUESTION - 1} words"
    else:
        length = f"questions of at least {LONG_QUESTION} words"
    kinds = {"expected": _expected(example), "length": length}
    if searches:
        few = {0: "none", 1: "one"}.get(relevant, "two or more")
        kinds["relevant"] = f"questions with {few} of the passages first found relevant to {OURS}"
        kinds["searches"] = f"questions that {OURS} searched for {'once' if searches == 1 else 'more than once'}"
    kinds["outcome"] = f"questions that {OURS} ended as {record['outcome'].replace('_', ' ')}"
    return kinds


def analysis_sentences(overall: Group, groups: Sequence[Group]) -> list[str]:
    """Write the counts as sentences: all questions, then the kinds with the greatest differences first.

    A kind is won or lost if the interval of self-rag's share lies above or below ½.
    """
    lines = []
    if overall.labelled:
        lines.append(
            f"Of {overall.labelled} questions with labels, both are right on {overall.both}, {OURS} alone on "
            f"{overall.ours}, {BASELINE} alone on {overall.other}, neither on {overall.neither}."
        )
    large = sorted((one for one in groups if one.labelled >= MIN_QUESTIONS), key=lambda one: one.other - one.ours)
    won = [one for one in large if (one.share.low or 0) > 0.5]
    lost = [one for one in reversed(large) if one.share.high is not None and one.share.high < 0.5]
    open_ = [one for one in large if one not in won and one not in lost and one.ours != one.other]
    lines += [_line(one, f"{OURS} wins") for one in won]
    lines += [_line(one, f"{OURS} loses") for one in lost]
    lines += [_line(one, "Neither is clearly ahead") for one in open_]
    even = [one.what for one in large if one.ours == one.other]
    return [*lines, f"Neither is ahead on {'; '.join(even)}."] if even else lines


def judge_lines(pairs: Sequence[Pair], labelled: Sequence[tuple[Pair, str]] = ()) -> list[str]:
    """Count which of two systems the judge prefers, and separately the pairs on which it has no preference.

    ``labelled`` are the pairs with exactly one right answer by the labels, each with the system that gave it.
    """
    counts = Counter(pair.preference for pair in pairs)
    asked = len(pairs) - counts[IDENTICAL]
    lines = []
    if asked:
        one, other = pairs[0].one, pairs[0].other
        share = with_bounds(exact_share(counts[one], counts[one] + counts[other]), "share")
        lines.append(
            f"Of {asked} pairs of answers the judge prefers {one} on {counts[one]} and {other} on {counts[other]}, a "
            f"share of {share} for {one}, and sees a tie on {counts[TIE]}."
        )
    lines += [f"{counts[key]} of {len(pairs)} {why}: no preference." for key, why in WITHOUT.items() if counts[key]]
    if labelled:
        decided = [(pair, name) for pair, name in labelled if pair.verdict]
        agreed = sum(pair.verdict == name for pair, name in decided)
        lines.append(
            f"Where exactly one of the two is right ({len(labelled)}), the judge decided {len(decided)} "
            f"and agreed with the labels on {agreed}."
        )
    return lines


def _line(group: Group, who: str) -> str:
    return (
        f"{who} on {group.what} ({group.labelled}): {OURS} alone is right on {group.ours}, {BASELINE} alone on "
        f"{group.other}, a share of {with_bounds(group.share, 'share')} for {OURS}."
    )


def _expected(example: Example) -> str:
    if example.route == "direct":
        return "questions that need no documents"
    if example.answerable is False:
        return "unanswerable questions"
    return "answerable questions" if example.answerable or example.references else "questions without labels"
