"""Draw `docs/cost.svg` from the figures of `benchmarks.latency` and `benchmarks.cost`.

    python -m benchmarks.pictures [--out docs/cost.svg]

Wall-clock against plain retrieve-and-generate, for ours and the peers' ways: a panel for each server of set latency,
and one for the embedded model where `bench/cost.json` has it.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from benchmarks.harness import option_parser, read_figures
from core.markup import Html
from evaluation.reporting.drawing import INK, MUTED, as_svg, colour, figure

WAYS = ("ours", "sequential", "best-of", "filter-flag")
WIDTH, BAR, AROUND = 820, 34, 104
Panel = Mapping[str, Any]  # a server's title, the number of questions, and the figures of each way


def main() -> int:
    """Draw what there are figures of."""
    options = option_parser(__doc__, out=Path("docs") / "cost.svg").parse_args()
    latency, cost = read_figures("latency"), read_figures("cost")
    panels: list[Panel] = latency["servers"] if latency else []
    panels += [{"server": "embedded model, 2 cores"} | cost] if cost else []
    if not panels:
        print("There are no figures in bench/: run python -m benchmarks.latency first.", file=sys.stderr)
        return 2
    options.out.write_text(drawn(panels) + "\n", encoding="utf-8")
    print(options.out)
    return 0


def drawn(panels: Sequence[Panel]) -> Html:
    """The panels side by side, as an image of its own."""
    with figure(WIDTH, AROUND + BAR * len(WAYS), len(panels), share_y=True) as (made, axes):
        for panel, place in zip(panels, axes, strict=True):
            _bars(place, panel)
        made.set_layout_engine("constrained", w_pad=0.14, h_pad=0.14, wspace=0.04)
        made.supxlabel(
            "wall-clock of a question, plain retrieve-and-generate = 1 (dashed); median over "
            + ", ".join(str(panel["questions"]) for panel in panels)
            + " questions",
            fontsize=9,
            color=MUTED,
        )
        said = "; ".join(
            f"{panel['server']}: " + ", ".join(f"{name} {times:.2f}" for name, times in _times(panel).items())
            for panel in panels
        )
        return as_svg(made, "cost", f"Wall-clock against plain retrieve-and-generate. {said}", standalone=True)


def _times(panel: Panel) -> dict[str, float]:
    return {name: panel["ways"][name]["times"] for name in WAYS if name in panel["ways"]}


def _bars(axes: Axes, panel: Panel) -> None:
    times = _times(panel)
    most = max(times.values())
    for number, name in enumerate(WAYS):
        if name in times:
            axes.barh(number, times[name], 0.62, color=colour(number), alpha=1 if name == "ours" else 0.55)
            axes.text(times[name] + 0.02 * most, number, f"{times[name]:.2f}", color=INK, fontsize=10, va="center")
        else:
            axes.text(0.02 * most, number, "not measured", color=MUTED, fontsize=9, va="center")
    axes.axvline(1, color=INK, linewidth=1, linestyle=(0, (3, 2)))
    axes.set_xlim(0, 1.18 * most)
    axes.set_ylim(len(WAYS) - 0.45, -0.55)
    axes.set_yticks(range(len(WAYS)), list(WAYS))
    axes.tick_params(axis="y", length=0, labelsize=10.5, labelcolor=INK)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_title(panel["server"], fontsize=10.5, loc="left", color=INK, pad=8)


if __name__ == "__main__":
    sys.exit(main())
