"""Draw `docs/cost.svg` from the figures of `benchmarks.latency` and `benchmarks.cost`.

    python -m benchmarks.pictures [--out docs/cost.svg]

Wall-clock against plain retrieve-and-generate, for ours and the peers' ways: a panel for each server of set latency,
and one for the embedded model where `bench/cost.json` has it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes

from benchmarks.harness import option_parser, read_figures
from evaluation.reporting.drawing import INK, MUTED, SETTINGS, as_svg, colour, figure
from evaluation.reporting.markup import Html

SERVERS = 2  # the first of the latency figures; the rest are for the table
TITLES = ("ours", "sequential", "best-of", "filter-flag")
WIDTH, BAR, AROUND = 820, 34, 104


@dataclass(frozen=True)
class Panel:
    """A model server, and how many times plain's wall-clock each way took."""

    title: str
    times: Mapping[str, float]
    questions: int


def main() -> int:
    """Draw what there are figures of."""
    options = option_parser(__doc__, out=Path("docs") / "cost.svg").parse_args()
    panels = panels_of(read_figures("latency"), read_figures("cost"))
    if not panels:
        print("There are no figures in bench/: run python -m benchmarks.latency first.", file=sys.stderr)
        return 2
    options.out.write_text(drawn(panels) + "\n", encoding="utf-8")
    print(options.out)
    return 0


def panels_of(latency: Mapping[str, Any] | None, cost: Mapping[str, Any] | None) -> list[Panel]:
    """A panel for each server that was measured."""
    panels = [
        Panel(one["server"], _times(one["ways"]), one["questions"])
        for one in (latency["servers"][:SERVERS] if latency else [])
    ]
    if cost:
        panels.append(Panel("embedded model, 2 cores", _times(cost["ways"]), cost["questions"]))
    return panels


def _times(ways: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    return {name: ways[name]["times"] for name in TITLES if name in ways}


def drawn(panels: list[Panel]) -> Html:
    """The panels side by side, as an image of its own."""
    with rc_context(SETTINGS):
        made, axes = figure(WIDTH, AROUND + BAR * len(TITLES), len(panels), share_y=True)
        for panel, place in zip(panels, axes, strict=True):
            _bars(place, panel)
        made.set_layout_engine("constrained", w_pad=0.14, h_pad=0.14, wspace=0.04)
        made.supxlabel(
            "wall-clock of a question, plain retrieve-and-generate = 1 (dashed); median over "
            + ", ".join(str(panel.questions) for panel in panels)
            + " questions",
            fontsize=9,
            color=MUTED,
        )
        said = "; ".join(
            f"{panel.title}: " + ", ".join(f"{name} {times:.2f}" for name, times in panel.times.items())
            for panel in panels
        )
        return as_svg(made, "cost", f"Wall-clock against plain retrieve-and-generate. {said}", standalone=True)


def _bars(axes: Axes, panel: Panel) -> None:
    most = max(panel.times.values())
    for number, name in enumerate(TITLES):
        if name not in panel.times:
            axes.text(0.02 * most, number, "not measured", color=MUTED, fontsize=9, va="center")
            continue
        times = panel.times[name]
        axes.barh(number, times, 0.62, color=colour(number), alpha=1 if name == "ours" else 0.55)
        axes.text(times + 0.02 * most, number, f"{times:.2f}", color=INK, fontsize=10, va="center")
    axes.axvline(1, color=INK, linewidth=1, linestyle=(0, (3, 2)))
    axes.set_xlim(0, 1.18 * most)
    axes.set_ylim(len(TITLES) - 0.45, -0.55)
    axes.set_yticks(range(len(TITLES)), list(TITLES))
    axes.tick_params(axis="y", length=0, labelsize=10.5, labelcolor=INK)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_title(panel.title, fontsize=10.5, loc="left", color=INK, pad=8)


if __name__ == "__main__":
    sys.exit(main())
