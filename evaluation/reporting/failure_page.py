"""List failures for reading: each with its question, answer, verdicts, passages and trace."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.markup import Html, highlight_quotes, joined, table, tag
from core.passages import place_of
from core.step_wording import spent
from core.text import as_json, location
from evaluation.measures.joined_rows import Row, rows_of
from evaluation.measures.scores import is_gold
from evaluation.records import Example, Record

MAX_SHOWN = 60
KINDS = {
    "wrong": "Wrong answer",
    "answered": "Answered though unanswerable",
    "abstained": "Abstained though answerable",
    "misquoted": "Right answer whose quote misses the gold",
    "misrouted": "Wrong route",
}


def failure_kinds(row: Row) -> list[str]:
    """Return the kinds of failure that a row shows; none if everything known about it is right."""
    example, scores = row.example, row.scores
    shown = {
        "wrong": not scores.abstained and example.answerable is not False and scores.right is False,
        "answered": not scores.abstained and example.answerable is False,
        "abstained": scores.abstained and example.answerable is True,
        "misquoted": scores.citation_gold is False,
        "misrouted": scores.route_right is False,
    }
    return [kind for kind, found in shown.items() if found]


def failures(examples: Sequence[Example], records: Sequence[Record]) -> Html:
    """List all failures by system and kind, folded; of each kind the first 60 of a system."""
    return joined(*(_system(name, list(rows.values())) for name, rows in rows_of(examples, records).items()))


def _system(name: str, rows: list[Row]) -> Html:
    found = {kind: [row for row in rows if kind in failure_kinds(row)] for kind in KINDS}
    counts = " · ".join(f"{KINDS[kind].lower()} {len(rows)}" for kind, rows in found.items() if rows)
    if not counts:
        return tag("p", tag("strong", name), f": no failures among {len(rows)} examples.")
    heading = tag("summary", tag("strong", name), tag("span", f" {counts} (of {len(rows)} examples)", class_="muted"))
    return tag("details", heading, *(_kind(KINDS[kind], rows) for kind, rows in found.items() if rows), class_="system")


def _kind(title: str, rows: list[Row]) -> Html:
    more = len(rows) - MAX_SHOWN
    rest = tag("p", f"{more} more are in the records.", class_="muted") if more > 0 else None
    return joined(tag("h3", f"{title} ({len(rows)})"), *map(_case, rows[:MAX_SHOWN]), rest)


def _case(row: Row) -> Html:
    example, record = row.example, row.record
    expected: list[object] = [tag("span", one, class_="said") for one in example.references] or ["no reference"]
    if example.answerable is False:
        expected = ["no answer: the documents do not hold one"]
        if example.plausible:
            expected.append(tag("span", "plausible but wrong: " + "; ".join(example.plausible), class_="muted"))
    gold = [location(one.source, one.page, one.row) + (f" · “{one.text}”" if one.text else "") for one in example.gold]
    ended = [record["outcome"], record["stop_reason"]]
    if record["confidence"] is not None:
        ended.append(f"confidence {record['confidence']:.2f}")
    answer = tag("span", record["answer"] or "none", class_="said" if record["answer"] else "muted")
    terms: dict[str, Sequence[object]] = {
        "Expected": expected,
        "Gold": gold,
        "Answer": [answer, tag("span", " · ".join(filter(None, ended)), class_="muted")],
        "Route": [_route(row)],
        "Searched for": record["queries"],
        "Claims": [_claims(record)] if record["said"] else [],
        "Quotes": [_quote(one) for one in record["citations"]],
        "Passages": list(_passages(row)),
        "Trace": [_trace(record["decisions"])] if record["decisions"] else [],
        "Cost": [spent(record["cost"], record["cost"]["seconds"])],
    }
    told = [joined(tag("dt", name), *(tag("dd", one) for one in found)) for name, found in terms.items() if found]
    return tag("details", tag("summary", example.question), tag("dl", *told), class_="case")


def _route(row: Row) -> str:
    score = row.record["route_score"]
    parts = [row.record["route"] or "none", f"P(retrieve) {score:.2f}" if score is not None else ""]
    expected = f"expected {row.example.route}" if row.example.route else ""
    return " · ".join(part for part in [*parts, expected] if part)


def _claims(record: Record) -> Html:
    rows = (
        (
            tag("td", said["text"], class_="said"),
            tag("td", said["label"] or "–"),
            tag("td", "–" if said["score"] is None else f"{said['score']:.2f}", class_="number"),
            tag("td", f"“{said['quote']}”", class_="said") if said["quote"] else tag("td", "no quote", class_="muted"),
        )
        for said in record["said"]
    )
    return table(("claim", "verdict", "score", "quote"), tag("tbody", *(tag("tr", *cells) for cells in rows)))


def _quote(citation: Mapping[str, Any]) -> Html:
    quote = f"“{citation.get('quote') or ''}”"
    place = place_of({"source": None, "page": None, "row": None, **citation})
    return joined(tag("span", quote, class_="said"), " ", tag("span", place, class_="muted"))


def _passages(row: Row) -> Iterable[Html]:
    quotes = [one["quote"] for one in row.record["said"] if one["quote"]]
    quotes += [str(one["quote"]) for one in row.record["citations"] if one.get("quote")]
    for rank, seen in enumerate(row.record["seen"], 1):
        judged = {True: "judged relevant", False: "judged irrelevant", None: "not judged"}[seen["relevant"]]
        score = "" if seen["relevance"] is None else f" {seen['relevance']:.2f}"
        label = {True: "gold", False: "not gold", None: "not labelled"}[is_gold(row.example, seen)]
        line = tag(
            "p",
            f"{rank} · {place_of(seen)} · {judged}{score} · ",
            tag("span", label, class_="gold" if label == "gold" else None),
        )
        yield joined(line, tag("blockquote", highlight_quotes(seen["text"], quotes)))


def _trace(decisions: Sequence[Mapping[str, Any]]) -> Html:
    steps = []
    for step in decisions:
        rest = {key: one for key, one in step.items() if key not in ("node", "seconds")}
        seconds = step.get("seconds")
        took = f" {seconds:.1f} s" if isinstance(seconds, int | float) else ""
        shown = as_json(rest, default=str) if rest else ""
        steps.append(tag("li", tag("strong", step.get("node", "step")), took, " ", tag("code", shown)))
    return tag("ol", *steps)
