"""Sum up the comparisons of a question set: figures computed from the records, in plain sentences by subject."""

from collections import Counter
from collections.abc import Sequence

from evaluation.comparison.comparison import Comparison, shared
from evaluation.judging.criteria import CRITERIA
from evaluation.measures.joined_rows import correct
from evaluation.measures.metrics import costs_of
from evaluation.measures.scores import abstained, later_passages
from evaluation.records import BASELINE, DISAGREED, OURS, TIE, Record
from evaluation.reporting.analysis import MIN_QUESTIONS, Group, analysis, judge_lines, question_kinds

CHECKS = ("grade_documents", "hallucination_check", "answer_check")
REDRAFTED, REWRITTEN = ("generate", "redraft"), ("rewrite_query", "query")
COST_NAMES = {
    "model_calls": "Model calls",
    "input_tokens": "Tokens read",
    "uncached_tokens": "Tokens read, not from a cache",
    "output_tokens": "Tokens written",
    "seconds": "Seconds",
}
Figure = tuple[str, float, float]


def sections(comparisons: Sequence[Comparison]) -> dict[str, list[str]]:
    """Return the conclusions on a compared set: lines of text by section title. Empty sections are left out."""
    known, failed = shared(comparisons), sum(one.failed for one in comparisons)
    made: dict[str, list[str]] = {}
    if failed:
        made["Failures"] = [f"{failed} of {len(comparisons)} questions failed in one of the systems."]
    if not known:
        return made
    found = analysis([one.example for one in known], [record for one in known for record in one.records])
    unlabelled = "No question has a label or a reference: wins cannot be counted."
    made |= {
        "When each wins": found.lines or [unlabelled],
        "The retrieval decisions": retrieval_lines(known),
        "What the checks caught": check_lines(known),
        "What it cost": cost_lines(known),
        "What to use when": [_advice(one, known) for one in found.groups if one.kind == "expected" and one.labelled],
        "What the chat model prefers": preference_lines(known),
    }
    return {title: lines for title, lines in made.items() if lines}


def retrieval_lines(known: Sequence[Comparison]) -> list[str]:
    """Say when Self-RAG searched, whether that was expected, and what it kept of what it found."""
    ours = [one.ours for one in known]
    searched = [record for record in ours if record["seen"] or record["route"] == "retrieve"]
    lines = [
        f"{OURS} searched for {len(searched)} of {_questions(len(known))} and answered {len(known) - len(searched)} "
        f"without documents; {BASELINE} searched for all."
    ]
    expected = [one for one in known if one.example.route and one.ours["route"]]
    wrong = [one.example.question for one in expected if one.ours["route"] != one.example.route]
    if expected:
        right = len(expected) - len(wrong)
        lines.append(f"The route was the expected one for {right} of {_questions(len(expected))} with an expected one.")
    lines += [f"Wrongly routed: {question}" for question in wrong]
    grades = [seen["relevant"] for record in ours for seen in record["seen"] if seen["relevant"] is not None]
    if grades:
        read = sum(len(one.plain["seen"]) for one in known)
        lines.append(
            f"Of {len(grades)} passages first found, {OURS} kept {sum(grades)} for its drafts; {BASELINE} read all "
            f"{read} of its own."
        )
    again = sum(_did(record, *REWRITTEN) for record in ours)
    if again:
        more = sum(len(later_passages(record)) for record in ours)
        lines.append(f"For {_questions(again)} it searched again with another query, and found {more} more passages.")
    return lines


def check_lines(known: Sequence[Comparison]) -> list[str]:
    """Say what the checks of claims changed, and whether what was withheld would have been right."""
    labels = Counter(said["label"] for one in known for said in one.ours["said"])
    lines = []
    if labels:
        lines.append(
            f"Claims in its last drafts: {labels['fully supported']} judged fully supported, "
            f"{labels['partially supported']} partially, {labels['no support']} not."
        )
    redrafted = sum(_did(one.ours, *REDRAFTED) for one in known)
    if redrafted:
        lines.append(f"For {_questions(redrafted)} a check made it draft again.")
    withheld = [one for one in known if abstained(one.ours) and not abstained(one.plain)]
    if withheld:
        fits = Counter(correct(one.example, one.plain) for one in withheld)
        lines.append(
            f"It gave no answer to {_questions(len(withheld))} that {BASELINE} answered: {BASELINE}'s answer was "
            f"wrong for {fits[False]} of them, right for {fits[True]}, and not labelled for {fits[None]}."
        )
    reverse = sum(abstained(one.plain) and not abstained(one.ours) for one in known)
    if reverse:
        lines.append(f"It answered {_questions(reverse)} that {BASELINE} did not answer.")
    if not withheld and not reverse:
        lines.append("Both answered the same questions.")
    steps = [step for one in known for step in one.ours["decisions"] if isinstance(step.get("seconds"), int | float)]
    seconds = sum(step["seconds"] for step in steps)
    if seconds:
        share = sum(step["seconds"] for step in steps if step.get("node") in CHECKS) / seconds
        lines.append(f"The checks took {share:.0%} of the time of its nodes, which run side by side in part.")
    return lines


def cost_lines(known: Sequence[Comparison]) -> list[str]:
    """Give the totals of both systems, and their ratio."""
    return [
        f"{name}: {OURS} {ours:,.{digits}f}, {BASELINE} {plain:,.{digits}f}{_times(ours, plain)}."
        for name, ours, plain in cost_figures(known)
        for digits in [1 if name == "Seconds" else 0]
    ]


def cost_figures(known: Sequence[Comparison]) -> list[Figure]:
    """Return totals over the questions: calls, tokens, seconds."""
    ours, plain = [costs_of(one.ours) for one in known], [costs_of(one.plain) for one in known]
    return [(name, sum(one[key] for one in ours), sum(one[key] for one in plain)) for key, name in COST_NAMES.items()]


def _advice(group: Group, known: Sequence[Comparison]) -> str:
    """Say for a kind of question which system to use: the one that is right more often, else the cheaper one."""
    same = [one for one in known if question_kinds(one.example, one.ours)[group.kind] == group.what]
    right = {OURS: group.both + group.ours, BASELINE: group.both + group.other}
    read = {
        OURS: sum(one.ours["cost"]["input_tokens"] for one in same),
        BASELINE: sum(one.plain["cost"]["input_tokens"] for one in same),
    }
    best, other = sorted((OURS, BASELINE), key=lambda name: (-right[name], read[name]))
    few = f" Only {_questions(group.labelled)}: too few to rely on." if group.labelled < MIN_QUESTIONS else ""
    return (
        f"On {group.what}: {best}, right on {right[best]} of {group.labelled} and reading {read[best]:,} tokens; "
        f"{other} is right on {right[other]} and reads {read[other]:,}.{few}"
    )


def preference_lines(known: Sequence[Comparison]) -> list[str]:
    """Count the model's preferences, and separately the pairs on which it gave none."""
    pairs = [one.judged for one in known if one.judged]
    lines = judge_lines(pairs)
    if len(pairs) < len(known):
        lines.append(f"{len(known) - len(pairs)} of {len(known)} were not judged: no preference.")
    asked = [pair for pair in pairs if pair.opinions]
    for name in CRITERIA if asked else ():
        said = Counter(pair.criterion(name) for pair in asked)
        lines.append(
            f"{name.capitalize()}: {OURS} {said[OURS]}, {BASELINE} {said[BASELINE]}, tie {said[TIE]}, "
            f"undecided {said[DISAGREED] + said[None]}."
        )
    return lines


def summary_figures(known: Sequence[Comparison]) -> list[Figure]:
    """Return the counts of both systems that the model reads when it writes about the set."""
    records = [record for one in known for record in one.records]
    labelled = analysis([one.example for one in known], records).overall
    counts = Counter(one.preference for one in known)
    unanswerable = [one for one in known if one.example.answerable is False]
    made: list[Figure] = [("Questions", len(known), len(known))]
    if labelled.labelled:
        right = labelled.both + labelled.ours, labelled.both + labelled.other
        made.append((f"Right, of {labelled.labelled} with labels", *right))
    made.append(("Answered", *_answered(known)))
    if unanswerable:
        name = f"Answered although the documents hold no answer, of {len(unanswerable)}"
        made.append((name, *_answered(unanswerable)))
    if counts[OURS] + counts[BASELINE]:
        made.append(("Preferred", counts[OURS], counts[BASELINE]))
    return [*made, *cost_figures(known)]


def _answered(comparisons: Sequence[Comparison]) -> tuple[int, int]:
    ours = sum(not abstained(one.ours) for one in comparisons)
    return ours, sum(not abstained(one.plain) for one in comparisons)


def _did(record: Record, node: str, key: str) -> bool:
    return any(step.get("node") == node and step.get(key) for step in record["decisions"])


def _questions(count: int) -> str:
    return f"{count} question" if count == 1 else f"{count} questions"


def _times(ours: float, plain: float) -> str:
    return f" ({ours / plain:.1f} times)" if plain else ""
