"""Format the figures of an evaluation as text: for the terminal, and as CSV files."""

import csv
import io
from collections.abc import Mapping, Sequence

from core.text import as_json, clean
from evaluation.measures.joined_rows import Row, rows_of
from evaluation.measures.metrics import terms_of_reading
from evaluation.measures.scores import read_by
from evaluation.measures.statistics import Estimate
from evaluation.measures.summary import BY_KEY, MAIN_METRICS, METRICS, RAG, RATIOS, Summary, Unit
from evaluation.records import BASELINE, Example, Judgements, Record

NONE = "–"
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")


def format_value(value: float | None, unit: Unit, sign: bool = False) -> str:
    """Format a value with the digits that its unit deserves; a dash for None."""
    if value is None:
        return NONE
    digits = 2 if unit in ("share", "score") else 1 if unit == "seconds" or abs(value) < 100 else 0
    if unit == "total":
        return f"{value:,.0f}"
    if value == 0 and unit in ("count", "seconds"):
        return "0"
    text = f"{value:{'+' if sign else ''},.{digits}f}"
    # A difference that rounds to zero has no sign.
    return text.lstrip("+-") if float(text.replace(",", "")) == 0 else text.replace("-", "−")


def bounds(estimate: Estimate, unit: Unit, sign: bool = False) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f"[{format_value(estimate.low, unit, sign)}, {format_value(estimate.high, unit, sign)}]"


def with_bounds(estimate: Estimate, unit: Unit, sign: bool = False) -> str:
    return f"{format_value(estimate.value, unit, sign)} {bounds(estimate, unit, sign)}".rstrip()


def p_shown(p: float | None) -> str:
    """Format a p value, not below the resolution of the permutations."""
    return NONE if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def table_rows(summary: Summary) -> list[list[str]]:
    """Return the main metrics: a header, then a row for each with the value and interval of every system."""
    rows = [["", *(system.name for system in summary.systems)]]
    for key in MAIN_METRICS:
        metric = BY_KEY[key]
        if any(system[key].value is not None for system in summary.systems):
            rows.append([metric.title, *(with_bounds(system[key], metric.unit) for system in summary.systems)])
    failed = [str(system.failed) for system in summary.systems]
    rows.append(["Examples", *(str(system.n) for system in summary.systems)])
    return [*rows, ["Failed", *failed]] if any(system.failed for system in summary.systems) else rows


def rag_rows(summary: Summary) -> list[list[str]]:
    """Return the RAG metrics of every system and their paired difference from plain; no rows if nothing was read.

    A metric of the judge has no row if the judge gave no verdict. A value that is not known is a dash.
    """
    differences = {one.metric: -one.difference for one in summary.differences if one.system == BASELINE}
    header = ["RAG metrics", *(system.name for system in summary.systems)]
    rows = [header + ([f"{summary.baseline} − {BASELINE}", "both read"] if differences else [])]
    for metric in map(BY_KEY.__getitem__, RAG):
        found = [system[metric.key] for system in summary.systems]
        if not metric.key.endswith("_judge") or any(one.value is not None for one in found):
            cells = [with_bounds(one, metric.unit) + (f" n {one.n}" if one.n else "") for one in found]
            if differences:
                gap = differences[metric.key]
                cells += [with_bounds(gap, metric.unit, sign=True), str(gap.n)]
            rows.append([metric.title, *cells])
    return rows if any(system[key].value is not None for system in summary.systems for key in RAG) else []


def cost_rows(summary: Summary) -> list[list[str]]:
    """Return the total costs of every system, and their ratios to another system's, over the examples of both.

    A ratio has its interval. There are no rows if nothing was asked.
    """
    pairs = list(dict.fromkeys((one.system, one.against) for one in summary.ratios))
    ratios = {(one.system, one.metric): one.ratio for one in summary.ratios}
    rows = [["Cost, total", *(system.name for system in summary.systems), *(f"{a} ÷ {b}" for a, b in pairs)]]
    for metric in map(BY_KEY.__getitem__, RATIOS):
        total = BY_KEY[f"{metric.key}_total"]
        totals = [format_value(system[total.key].value, total.unit) for system in summary.systems]
        rows.append([metric.title, *totals, *(with_bounds(ratios[name, metric.key], "score") for name, _ in pairs)])
    return rows if any(system.n for system in summary.systems) else []


def tables_of(summary: Summary) -> list[list[list[str]]]:
    """Return the tables for the terminal: the main metrics, the RAG metrics, and the costs."""
    return [rows for rows in (table_rows(summary), rag_rows(summary), cost_rows(summary)) if rows]


def records_csv(examples: Sequence[Example], records: Sequence[Record], judgements: Judgements | None = None) -> str:
    """Write one row for each system and example with every score; an empty cell is not known.

    ``contexts_read`` is a JSON list of the passages that the generator read.
    """
    judged = terms_of_reading(judgements or Judgements())
    rows = [row for of_system in rows_of(examples, records).values() for row in of_system.values()]
    return csv_text(
        [
            _cells(row)
            | {"contexts_read": as_json([seen["text"] for seen in read_by(row.record)])}
            | {key: terms[0] / terms[1] if (terms := judged[key](row)) else None for key in RAG}
            for row in rows
        ]
    )


def _cells(row: Row) -> dict[str, object]:
    example, record, scores, cost = row.example, row.record, row.scores, row.record["cost"]
    told: Mapping[str, object] = {**record, **cost}
    relevance = [seen["relevance"] for seen in record["seen"] if seen["relevance"] is not None]
    support = [said["score"] for said in record["said"] if said["score"] is not None]
    return {
        "system": record["system"],
        "example": example.id,
        "question": example.question,
        "references": " | ".join(example.references),
        "answerable": example.answerable,
        "route_expected": example.route,
        **{key: told[key] for key in ("route", "route_score", "outcome", "stop_reason", "answer", "confidence")},
        **vars(scores),
        "passages": len(record["seen"]),
        "relevance_max": max(relevance, default=None),
        "claims": len(record["said"]),
        "support_min": min(support, default=None),
        "citations": len(record["citations"]),
        "usefulness": record["usefulness"],
        **{key: told[key] for key in ("model_calls", "input_tokens", "cached_input_tokens")},
        "uncached_input_tokens": cost["input_tokens"] - cost["cached_input_tokens"],
        **{key: told[key] for key in ("output_tokens", "seconds", "estimated")},
    }


def metrics_csv(summary: Summary) -> str:
    """Write one row per system and metric, then one per difference from the baseline, named by ``against``.

    Last come the ratios of total costs, with ``_ratio`` after the metric's name.
    """
    lines: list[list[object]] = []
    for system in summary.systems:
        for metric in METRICS:
            one = system[metric.key]
            lines.append([system.name, None, metric.key, metric.title, one.value, one.low, one.high, None, one.n])
    for compared in summary.differences:
        gap, title = compared.difference, BY_KEY[compared.metric].title
        names = [compared.system, compared.baseline, compared.metric, title]
        lines.append([*names, gap.value, gap.low, gap.high, gap.p, gap.n])
    for cost in summary.ratios:
        names = [cost.system, cost.against, f"{cost.metric}_ratio", f"{BY_KEY[cost.metric].title}, ratio"]
        lines.append([*names, cost.ratio.value, cost.ratio.low, cost.ratio.high, None, cost.ratio.n])
    header = ("system", "against", "metric", "title", "value", "low", "high", "p", "n")
    return csv_text([dict(zip(header, line, strict=True)) for line in lines])


def csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Write comma-separated values; text that a spreadsheet would take for a formula is prefixed with an apostrophe."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        cells = ((name, clean(cell) if isinstance(cell, str) else cell) for name, cell in row.items())
        writer.writerow({name: escape_formula(cell) for name, cell in cells})
    return out.getvalue()


def escape_formula(cell: object) -> object:
    """Escape a cell whose first visible character would start a formula in a spreadsheet."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, str) and (cell.lstrip().startswith(FORMULA) or cell.startswith(FORMULA)):
        return "'" + cell
    return cell
