"""Write the report of an evaluation: one self-contained HTML page, two CSV files and the picture for a README."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from core.files import FOLDER_MODE, replace_private
from core.markup import Html, joined, table, tag
from core.text import as_json
from evaluation.measures.joined_rows import labelled_pairs
from evaluation.measures.summary import BY_KEY, METRICS, Metric, MetricDifference, Summary, SystemSummary
from evaluation.records import Dataset, Example, Judgements, Pair, Record
from evaluation.reporting import charts as pictures
from evaluation.reporting import tables
from evaluation.reporting.analysis import analysis, judge_lines
from evaluation.reporting.failure_page import failures
from evaluation.reporting.html_document import html_document, row_of_figures, table_of_figures
from evaluation.reporting.routes import route_lists

RAG_NOTE = (
    "As RAGAS defines them, of what the generator read; the share of gold stands beside them. Of a question that a "
    "system read nothing for it has none, but for answer relevancy, which is of every answer. The difference is paired "
    "over the questions for which both read something. A dash is not known: precision and recall need gold spans, or a "
    "reference and the judge; faithfulness and answer relevancy need the judge."
)
COST_NOTE = "Sums over the examples asked, and ratios of the sums over those that both systems were asked."
RISK_NOTE = (
    "Answers are added from the most to the least confident. A marker shows where the system itself stops; a system "
    "without confidences has only that."
)
QUALITY_NOTE = "Up and to the left is better. Lines are 95 % intervals."
RELEVANCE_NOTE = "Each row is scaled to its highest bar; counts are in brackets."


def write_report(
    folder: Path,
    dataset: Dataset,
    examples: Sequence[Example],
    records: Sequence[Record],
    summary: Summary,
    judgements: Judgements | None = None,
) -> list[Path]:
    """Write ``report.html``, ``records.csv``, ``metrics.csv``, ``summary.json``, ``overview.svg``; return the paths.

    Each replaces its predecessor atomically. Raises ``OSError``.
    """
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    files = {
        "report.html": evaluation_report(dataset.name, examples, records, summary, judgements),
        "records.csv": tables.records_csv(examples, records, judgements),
        "metrics.csv": tables.metrics_csv(summary),
        "summary.json": as_json(asdict(summary), indent=1),
        "overview.svg": pictures.overview(summary),
    }
    replace_private({folder / name: content.encode("utf-8", errors="replace") for name, content in files.items()})
    return [folder / name for name in files]


def evaluation_report(
    name: str,
    examples: Sequence[Example],
    records: Sequence[Record],
    summary: Summary,
    judgements: Judgements | None = None,
) -> Html:
    """Build the report of an evaluation as an HTML page."""
    unknown = summary.examples - summary.answerable - summary.unanswerable
    counts = [f"{summary.examples} examples", f"{summary.answerable} answerable", f"{summary.unanswerable} not"]
    counts += [f"{unknown} unlabelled"] if unknown else []
    lines = analysis(examples, records).lines
    systems = list(enumerate(summary.systems))
    risk, quality = pictures.risk_coverage_charts(summary), pictures.cost_quality(summary)
    return html_document(
        f"Evaluation: {name}",
        tag("h1", f"Evaluation: {name}"),
        tag("p", ", ".join(counts), ". Brackets and bars are 95 % bootstrap intervals over examples.", class_="muted"),
        tag("div", pictures.overview(summary), class_="wide picture"),
        _section("rag", "RAG metrics", *_grid(tables.rag_rows(summary), RAG_NOTE)),
        _section("totals", "What it cost in all", *_grid(tables.cost_rows(summary), COST_NOTE)),
        _section("figures", "Figures", _figures(summary)),
        _section("differences", f"Differences from {summary.baseline}", *_differences(summary)),
        _section("analysis", "When it wins, and when it does not", *([_list(lines)] if lines else [])),
        _section("routes", "The route of each question", *route_lists(examples, records)),
        _section("preferences", "What the judge prefers", *_preferences(examples, records, judgements)),
        _section("calibration", "Calibration of the verdicts", *_calibration(summary)),
        _section("risk", "Risk against coverage", *_drawn(systems, risk, RISK_NOTE, "one")),
        _section("cost", "Cost against quality", *_drawn(systems, quality, QUALITY_NOTE, "two")),
        _section("relevance", "Relevance scores by label", *_drawn((), pictures.relevance(summary), RELEVANCE_NOTE)),
        _section("failures", "Failures to read", failures(examples, records)),
        _section("definitions", "How each figure is defined", _definitions()),
    )


def _list(lines: Iterable[str]) -> Html:
    return tag("ul", *(tag("li", line) for line in lines))


def _section(key: str, title: str, *content: object) -> Html | None:
    return tag("section", tag("h2", title), *content, id=key) if content else None


def _figures(summary: Summary) -> Html:
    names = [joined(pictures.sign(number), " ", one.name) for number, one in enumerate(summary.systems)]
    body = []
    for group, metrics in groupby(METRICS, key=lambda metric: metric.group):
        known = [one for one in metrics if any(system[one.key].n for system in summary.systems)]
        if known:
            title = tag("th", group, colspan=len(summary.systems) + 1, scope="rowgroup")
            body.append(tag("tbody", tag("tr", title, class_="group"), *(_figure(one, summary) for one in known)))
    asked = [tag("td", one.n, tag("small", f"{one.failed} failed" if one.failed else "")) for one in summary.systems]
    last = tag("tbody", tag("tr", tag("th", "Examples asked", scope="row"), *asked))
    return table(("", *names), *body, last, class_="figures")


def _figure(metric: Metric, summary: Summary) -> Html:
    values = [one.value for system in summary.systems if (one := system[metric.key]).value is not None]
    shown_values = {tables.format_value(value, metric.unit) for value in values}
    top = max(values, key=lambda value: metric.better * value, default=None) if metric.better else None
    best = tables.format_value(top, metric.unit) if top is not None else None
    cells = []
    for system in summary.systems:
        one = system[metric.key]
        value = tables.format_value(one.value, metric.unit)
        strong = value == best and len(shown_values) > 1
        note = tag("small", f"{tables.bounds(one, metric.unit)} n {one.n}") if one.value is not None else None
        cells.append(tag("td", tag("b", value) if strong else value, note))
    return tag("tr", tag("th", metric.title, scope="row", title=metric.formula), *cells)


def _grid(rows: Sequence[Sequence[str]], note: str) -> list[Html]:
    """Return a note and, below it, a table whose header is the first row; an empty list without rows."""
    return [tag("p", note, class_="muted"), table_of_figures(rows[0], rows[1:])] if rows else []


def _differences(summary: Summary) -> list[Html]:
    known = [one for one in summary.differences if one.difference.n]
    if not known:
        return []
    names = ("metric", "difference", "95 % interval", "p", "n", "reading")
    body = []
    for system, found in groupby(known, key=lambda one: one.system):
        title = tag("th", f"{system} − {summary.baseline}", colspan=len(names), scope="rowgroup")
        body.append(tag("tbody", tag("tr", title, class_="group"), *map(_difference, found)))
    note = (
        "Over the examples that both were asked. p is from a permutation test that exchanges the two systems example "
        "by example; it is not corrected for the number of comparisons."
    )
    return [tag("p", note, class_="muted"), table(names, *body, class_="differences")]


def _difference(one: MetricDifference) -> Html:
    metric, gap = BY_KEY[one.metric], one.difference
    cells = [
        tables.format_value(gap.value, metric.unit, sign=True),
        tables.bounds(gap, metric.unit, sign=True),
        tables.p_shown(gap.p),
        gap.n,
    ]
    return row_of_figures(metric.title, cells, _reading(one))


def _reading(one: MetricDifference) -> Html:
    """Return the cell that says which system is better, if the interval excludes 0."""
    gap = one.difference
    if gap.value is None or gap.low is None or gap.high is None:
        return tag("td", "not known", class_="muted")
    if gap.low <= 0 <= gap.high:
        return tag("td", "no clear difference", class_="muted")
    ahead = one.system if gap.value * BY_KEY[one.metric].better > 0 else one.baseline
    return tag("td", f"{ahead} is better")


def _preferences(
    examples: Sequence[Example], records: Sequence[Record], judgements: Judgements | None
) -> Iterator[Html]:
    """Say for each pair of systems which one the judge prefers, and on how many questions it gave no verdict."""
    if not judgements:
        return
    by_systems: dict[str, list[Pair]] = {}
    for pair in judgements.pairs:
        by_systems.setdefault(f"{pair.one} and {pair.other}", []).append(pair)
    for names, pairs in by_systems.items():
        yield tag("h3", names)
        yield _list(judge_lines(pairs, labelled_pairs(examples, records, pairs)))
    if judgements.unanswered:
        yield tag("p", f"It gave no verdict on {judgements.unanswered} of {judgements.asked} questions.")


def _calibration(summary: Summary) -> list[Html]:
    drawn = pictures.calibration_charts(summary)
    if not drawn:
        return []
    rows = [
        (
            f"{system.name}, {kind}",
            tables.format_value(one.error, "score"),
            tables.format_value(one.brier, "score"),
            one.n,
        )
        for system in summary.systems
        for kind, one in system.calibration.items()
    ]
    names = ("", "expected calibration error", "Brier score", "n")
    inside = [(number, one) for number, one in enumerate(summary.systems) if one.calibration]
    note = "On the dotted line a score is the share that is true. Bins hold about equally many scores."
    return [*_drawn(inside, drawn, note), table_of_figures(names, rows)]


def _drawn(systems: Iterable[tuple[int, SystemSummary]], panels: list[Html], note: str, kind: str = "") -> list[Html]:
    """Wrap the panels with their note and a legend of the systems, if any."""
    if not panels:
        return []
    legend = [tag("span", pictures.sign(number), " ", one.name) for number, one in systems]
    return [
        tag("p", note, class_="muted"),
        tag("p", *legend, class_="legend") if legend else Html(""),
        tag("div", *(tag("figure", panel) for panel in panels), class_=f"panels {kind}".rstrip()),
    ]


def _definitions() -> Html:
    terms = [joined(tag("dt", metric.title), tag("dd", metric.formula)) for metric in METRICS]
    note = (
        "A share that is 0 or 1 in the data has no spread to resample, so its interval collapses; read its n. "
        "Missing labels only make n smaller."
    )
    return joined(tag("p", note, class_="muted"), tag("details", tag("summary", "Formulas"), tag("dl", *terms)))
