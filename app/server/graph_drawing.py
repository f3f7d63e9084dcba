"""The graph as shapes, from which the page draws a small picture beside what each node decided."""

from typing import Any

from app.drawing.layout import EDGES, LOOPS, MARGIN, REGENERATE, REQUERY, Layout
from app.drawing.svg import PURPOSES, arrow_tip, rounded

SMALL = Layout(width=104, height=52, gap=20, aisle=58)
PARTS = {**dict.fromkeys(REQUERY, "re-query"), **dict.fromkeys(REGENERATE, "regenerate")}
TRIM = MARGIN / 2  # of the margin on each side, which no lane uses


def graph_drawing() -> dict[str, Any]:
    """Return where nodes and edges stand: boxes by their left upper corner, and edges as SVG paths."""
    left, top = -SMALL.half + TRIM, -TRIM
    return {
        "view": [left, top, -2 * left, SMALL.bottom - 2 * top],
        "nodes": [
            {"name": name, "purpose": PURPOSES.get(name, "")}
            | {side: getattr(box, side) for side in ("left", "top", "width", "height")}
            for name, box in SMALL.boxes.items()
        ],
        "edges": [
            {
                "source": source,
                "target": target,
                "label": edge.label,
                "loop": LOOPS.get((source, target)),
                "part_of": PARTS.get((source, target)),
                "line": rounded(points := SMALL.route(source, target)),
                "tip": arrow_tip(*points[-2:]),
            }
            for (source, target), edge in EDGES.items()
        ],
    }
