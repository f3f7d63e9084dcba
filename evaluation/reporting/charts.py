"""The figures of an evaluation, each drawn from its summary alone."""

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from core.markup import Html, tag
from core.text import one_line
from evaluation.measures.statistics import Estimate
from evaluation.measures.summary import BY_KEY, KINDS, Summary, SystemSummary
from evaluation.reporting.drawing import INK, MUTED, PAPER, SERIES, as_svg, colour, figure, marker

WIDTH, HEIGHT = 340, 270
SIGNS = "●■▲◆▼✚✖⬟"  # what the markers look like
VERDICTS = {
    "route": ("Route: to be retrieved for", "P(retrieve)", "share to be retrieved for"),
    "relevance": ("Relevance: passage holds the answer", "P(relevant)", "share of gold passages"),
    "support": ("Support: answer is right", "support score of a claim", "share of claims of right answers"),
    "confidence": ("Confidence: answer is right", "confidence of an answer", "share of answers that are right"),
}


def calibration_charts(summary: Summary) -> list[Html]:
    """Draw, for each verdict, the share that is true against the score: a point per bin, sized by its count."""
    panels = []
    for kind in KINDS:
        shown = [(number, one) for number, one in enumerate(summary.systems) if kind in one.calibration]
        if not shown:
            continue
        title, across, up = VERDICTS[kind]
        with figure(WIDTH, HEIGHT) as (made, (axes,)):
            axes.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle=(0, (2, 3)))
            for number, system in shown:
                bins = system.calibration[kind].bins
                most = max(one.n for one in bins)
                points = [one.score for one in bins], [one.share for one in bins]
                axes.plot(*points, color=colour(number), linewidth=1.5, alpha=0.55)
                areas = [14 + 46 * one.n / most for one in bins]
                axes.scatter(*points, s=areas, color=colour(number), marker=marker(number), zorder=3)
            unit(axes, across, up)
            axes.set_title(title, fontsize=10.5, loc="left", color=INK)
            panels.append(as_svg(made, f"calibration-{kind}", f"Calibration. {title}"))
    return panels


def risk_coverage_charts(summary: Summary) -> list[Html]:
    """Draw the share wrong against coverage: a line over the thresholds of a system, a marker for what it answered."""
    with figure(480, 320) as (made, (axes,)):
        for number, system in reversed(list(enumerate(summary.systems))):
            curve = system.risk_coverage
            if len(curve) > 1:
                across, up = [one.coverage for one in curve], [one.risk for one in curve]
                axes.plot(across, up, color=colour(number), drawstyle="steps-post")
            answered, precise = system["coverage"].value, system["right_answered"].value
            if answered is not None and precise is not None:
                _dot(axes, answered, 1 - precise, number)
        unit(axes, "coverage: share of the examples that is answered", "risk: share of those that is wrong")
        if not axes.lines:
            return []
        return [as_svg(made, "risk-coverage", "Risk against coverage")]


def cost_quality(summary: Summary) -> list[Html]:
    """Draw quality against cost: a point with its intervals for each system."""
    panels = []
    for cost in ("uncached_tokens", "seconds"):
        for quality in ("right_answered", "abstention_f1"):
            pairs = [(number, one[cost], one[quality]) for number, one in enumerate(summary.systems)]
            known = [(number, x, y) for number, x, y in pairs if x.value is not None and y.value is not None]
            if not known:
                continue
            with figure(WIDTH, HEIGHT) as (made, (axes,)):
                for number, x, y in known:
                    _cross(axes, x, y, number)
                axes.set_xlim(left=0)
                axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
                axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
                axes.set_ylim(0, 1.03)
                axes.grid()
                axes.set_xlabel(BY_KEY[cost].title.lower() + ", mean of an example")
                axes.set_title(BY_KEY[quality].title, fontsize=10.5, loc="left", color=INK)
                name = f"{BY_KEY[quality].title} against {BY_KEY[cost].title.lower()}"
                panels.append(as_svg(made, f"cost-{cost}-{quality}", name))
    return panels


def relevance(summary: Summary) -> list[Html]:
    """Draw, for each system that grades, a histogram of the scores of each kind of passage."""
    panels = []
    for number, system in enumerate(summary.systems):
        if not system.relevance:
            continue
        with figure(WIDTH, 60 + 70 * len(system.relevance)) as (made, (axes,)):
            for place, spread in enumerate(reversed(system.relevance)):
                total, most = sum(spread.counts), max(spread.counts)
                parts = len(spread.counts)
                heights = [0.7 * count / most for count in spread.counts]
                shade = SERIES[2] if spread.label == "holds the answer" else SERIES[1]
                middles = [(part + 0.5) / parts for part in range(parts)]
                axes.bar(middles, heights, 0.92 / parts, bottom=place, color=shade)
                axes.axhline(place, color=MUTED, linewidth=0.8)
                axes.text(0.5, place + 0.8, f"{spread.label} ({total})", color=INK, fontsize=9.5, ha="center")
            axes.set_ylim(0, len(system.relevance) + 0.05)
            axes.set_xlim(0, 1)
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
            axes.set_xlabel("P(relevant)")
            axes.set_title(one_line(system.name), fontsize=10.5, loc="left", color=INK)
            panels.append(as_svg(made, f"relevance-{number}", f"Relevance scores by label, {system.name}"))
    return panels


def overview(summary: Summary) -> Html:
    """Draw abstention F1 and the share right among the answered, per system with interval, as a standalone image."""
    keys = ("abstention_f1", "right_answered")
    count = max(1, len(summary.systems))
    with figure(760, 96 + 36 * count, len(keys), share_y=True) as (made, panels):
        for axes, key in zip(panels, keys, strict=True):
            for number, system in enumerate(summary.systems):
                _bar(axes, system, key, number)
            axes.set_xlim(-0.02, 1.02)
            axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
            axes.set_ylim(count - 0.5, -0.55)
            axes.set_yticks(range(count), [one_line(system.name) for system in summary.systems])
            axes.tick_params(axis="y", length=0, labelsize=10.5, labelcolor=INK)
            axes.spines["left"].set_visible(False)
            axes.grid(axis="x")
            axes.set_title(BY_KEY[key].title, fontsize=11.5, loc="left", color=INK, pad=10)
        made.set_layout_engine("constrained", w_pad=0.14, h_pad=0.14, wspace=0.04)
        made.supxlabel(
            f"{summary.examples} questions, {summary.unanswerable} without an answer in the documents; "
            "bars are 95 % bootstrap intervals",
            fontsize=9,
            color=MUTED,
        )
        title = "Abstention F1 and share right among the answered, by system, with 95 % intervals"
        return as_svg(made, "overview", title, standalone=True)


def sign(number: int) -> Html:
    """Return a system's marker for a legend, as text."""
    return tag("span", SIGNS[number % len(SIGNS)], style=f"color:var(--series-{number % len(SERIES)})")


def _bar(axes: Axes, system: SystemSummary, key: str, number: int) -> None:
    estimate = system[key]
    if estimate.value is None:
        axes.text(0.01, number, "not known", color=MUTED, fontsize=9, va="center")
        return
    shade = colour(number)
    if estimate.low is not None and estimate.high is not None:
        axes.plot([estimate.low, estimate.high], [number, number], color=shade, linewidth=5, alpha=0.35)
    axes.plot([estimate.value], [number], "o", color=shade, markersize=8, markeredgecolor=PAPER, clip_on=False)
    axes.text(estimate.value, number - 0.2, f"{estimate.value:.2f}", color=INK, fontsize=9.5, ha="center", va="bottom")


def _cross(axes: Axes, x: Estimate, y: Estimate, number: int) -> None:
    for draw, at, along in ((axes.hlines, y, x), (axes.vlines, x, y)):
        if along.low is not None and along.high is not None:
            draw(at.value or 0.0, along.low, along.high, colors=colour(number), linewidth=1.4, alpha=0.6)
    _dot(axes, x.value or 0.0, y.value or 0.0, number)


def _dot(axes: Axes, x: float, y: float, number: int) -> None:
    axes.plot(
        [x], [y], marker(number), color=colour(number), markersize=9, markeredgecolor=PAPER, zorder=4, clip_on=False
    )


def unit(axes: Axes, across: str, up: str) -> None:
    axes.set_xlim(0, 1.03)
    axes.set_ylim(0, 1.03)
    axes.grid()
    axes.set_xlabel(across)
    axes.set_ylabel(up)
