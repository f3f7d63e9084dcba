"""A calibration as rows of a table and as a page: before and after, and what each cut gives."""

from collections.abc import Sequence

from core.markup import Html, tag
from evaluation.calibrating import Calibrated, Measured, Trial
from evaluation.measures.statistics import Estimate
from evaluation.reporting.html_document import html_document, table_of_figures
from evaluation.reporting.tables import format_value, with_bounds

ROWS = (
    ("log loss of the confidence", "log_loss"),
    ("calibration error of the confidence", "calibration_error"),
    ("area under risk and coverage (AURC)", "aurc"),
    ("wrong among the answered (risk)", "risk"),
    ("answered", "answered"),
    ("abstention F1", "abstention_f1"),
)
GUARANTEED = "Guaranteed with 90 % confidence"
HELD_OUT = "After: by a fit and a cut made without the question's document. Brackets are 95 % bootstrap intervals."


def measure_rows(made: Calibrated) -> list[list[str]]:
    """Return the header, and a row for each measure."""
    both = made.before, made.after
    return [["", "before", "after"], *([title, *(_value(one, name) for one in both)] for title, name in ROWS)]


def guarantee_sentences(made: Calibrated, trials: Sequence[Trial]) -> list[str]:
    """Say how many questions are answered at the cut, and how many wrongly; then the risk guaranteed or estimated."""
    answered = sum(one.at[made.cut].answered for one in trials)
    wrong = answered - sum(one.at[made.cut].right for one in trials)
    said = [f"At the cut {answered} of {len(trials)} questions are answered, {wrong} of them wrongly."]
    kept = made.guarantee
    if kept:
        less = "" if kept.risk == kept.asked else f" ({kept.asked:g} was asked for: so few labels cannot show it)"
        how = "Estimated from the model's own questions, not guaranteed" if made.estimated else GUARANTEED
        said.append(
            f"{how}: of the answers to questions like these at most {100 * kept.risk:.3g} in 100 are wrong{less}."
        )
    return said


def calibration_report(name: str, made: Calibrated, trials: Sequence[Trial]) -> Html:
    """Build the whole page."""
    title = f"Calibration for {name}"
    head, *body = measure_rows(made)
    return html_document(
        title,
        tag("h1", title),
        *(tag("p", one) for one in guarantee_sentences(made, trials)),
        table_of_figures(head, body),
        tag("p", HELD_OUT, class_="muted"),
        tag("h2", "What each cut gives"),
        tag("div", cuts(made, trials), class_="wide picture"),
    )


def cuts(made: Calibrated, trials: Sequence[Trial]) -> Html:
    """Draw the share wrong against the share answered: a point for each cut, a large one for the chosen cut."""
    # These need packages that may be missing; the rest of the page does not.
    from evaluation.reporting.charts import unit
    from evaluation.reporting.drawing import INK, MUTED, as_svg, colour, figure, marker

    with figure(480, 320) as (drawn, (axes,)):
        points = [
            (sum(said) / len(trials), 1 - sum(one.at[cut].right for one in trials) / sum(said), cut)
            for cut in range(len(trials[0].at))
            if any(said := [one.at[cut].answered for one in trials])
        ]
        axes.plot([x for x, _, _ in points], [y for _, y, _ in points], color=colour(0), marker=".")
        for x, y, cut in points:
            if cut == made.cut:
                axes.plot([x], [y], marker(0), color=colour(0), markersize=10)
        before, risk = made.before.answered.value, made.before.risk.value
        if before is not None and risk is not None:
            axes.plot([before], [risk], marker(1), color=colour(1), markersize=9)
            axes.annotate("before", (before, risk), xytext=(8, 6), textcoords="offset points", color=INK)
        if made.guarantee:
            axes.axhline(made.guarantee.risk, color=MUTED, linewidth=1, linestyle=(0, (2, 3)))
        unit(axes, "share of the questions that is answered", "risk: share of those that is wrong")
        return as_svg(drawn, "cuts", "Risk against the share answered, at each cut")


def _value(one: Measured, name: str) -> str:
    value = getattr(one, name)
    return with_bounds(value, "score") if isinstance(value, Estimate) else format_value(value, "score")
