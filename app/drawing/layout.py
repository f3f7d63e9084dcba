"""Places of the graph's nodes and edges in its picture, laid out by hand so that both loops can be seen.

A question that needs no loop leads straight down. The re-query loop is on the left, the regenerate loop on the right.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from langgraph.graph import END, START

Side = Literal["left", "right", "top", "bottom"]
Point = tuple[float, float]
PILL = (64.0, 24.0)
CHECKS_GAP = 32.0
MARGIN = 24.0

# The column and the row of each node; -0.5 and 0.5 are two nodes side by side in the middle column.
NODES: dict[str, tuple[float, int]] = {
    "contextualize": (-1, 0),
    "decide": (0, 0),
    "retrieve": (0, 1),
    "query_table": (1, 1),
    "rewrite_query": (-1, 2),
    "grade_documents": (0, 2),
    "direct_generate": (1, 2),
    "generate": (0, 3),
    "hallucination_check": (-0.5, 4),
    "answer_check": (0.5, 4),
    "select": (0, 5),
    "compare_answers": (-0.5, 6),
    "finish": (0, 7),
}


@dataclass(frozen=True)
class Edge:
    """An edge: the label of its condition, where it leaves and arrives, and the lanes that it takes in between.

    ``leave`` and ``arrive`` are a side and a shift along it, in widths or heights of the node. Lanes are vertical and
    horizontal in turn; an edge from bottom to top without lanes leads straight down. ``label_at`` is where the label
    stands, such as 1.5 for the middle of the second segment, and a shift from there in pixels.
    """

    label: str
    leave: tuple[Side, float] = ("bottom", 0)
    arrive: tuple[Side, float] = ("top", 0)
    lanes: tuple[str, ...] = ()
    label_at: tuple[float, float, float] = (0.5, 0, 0)
    anchor: Literal["start", "middle", "end"] = "middle"
    upright: bool = False


EDGES: dict[tuple[str, str], Edge] = {
    (START, "contextualize"): Edge("in a conversation", ("left", 0), ("top", 0), label_at=(0.5, 0, -5)),
    (START, "decide"): Edge("by itself", label_at=(0.5, 8, 4), anchor="start"),
    ("contextualize", "decide"): Edge("", ("right", 0), ("left", 0)),
    ("decide", "retrieve"): Edge("search", label_at=(0.5, 8, 14), anchor="start"),
    ("decide", "direct_generate"): Edge(
        "needs no documents", ("right", 0.25), ("left", -0.25), ("right_aisle",), label_at=(1.12, 14, 0), anchor="start"
    ),
    ("decide", "finish"): Edge(
        "a limit, or a failure", ("right", -0.25), ("right", 0), ("right_edge",), label_at=(0.5, 0, -5)
    ),
    ("retrieve", "grade_documents"): Edge(""),
    ("retrieve", "query_table"): Edge("rows of a table", ("right", 0), ("left", 0), label_at=(0.5, 6, -6)),
    ("query_table", "grade_documents"): Edge(
        "no query", ("bottom", -0.2), ("top", 0.2), ("under retrieve",), label_at=(1.3, 0, -5)
    ),
    ("query_table", "select"): Edge(
        "a result", ("right", 0), ("right", -0.25), ("beside_table",), label_at=(2.25, 0, -6)
    ),
    ("query_table", "finish"): Edge("no result", ("right", 0.25), ("right", 0), ("right_edge",), label_at=(2.5, 0, -6)),
    ("grade_documents", "generate"): Edge("some relevant, or fallback", label_at=(0.5, 8, 4), anchor="start"),
    ("grade_documents", "rewrite_query"): Edge("not answered yet", ("left", 0), ("right", 0), label_at=(0.5, 0, -6)),
    ("grade_documents", "query_table"): Edge(
        "none, but rows", ("top", 0.4), ("bottom", 0.2), ("over grade_documents",), label_at=(1.6, 0, -5)
    ),
    ("grade_documents", "direct_generate"): Edge("none: fallback", ("right", 0), ("left", 0), label_at=(0.5, 6, 14)),
    ("grade_documents", "finish"): Edge(
        "none, no rewrites left",
        ("bottom", -0.25),
        ("left", 0),
        ("under grade_documents", "give_up"),
        label_at=(1.5, 0, 13),
    ),
    ("rewrite_query", "retrieve"): Edge("a new query", ("top", 0), ("left", 0), label_at=(1.5, 0, -6)),
    ("rewrite_query", "direct_generate"): Edge(
        "no new query: fallback",
        ("top", -0.2),
        ("left", -0.1),
        ("under decide", "beside_aisle"),
        label_at=(1.25, 0, -6),
    ),
    ("rewrite_query", "generate"): Edge("draft after all", ("bottom", -0.2), ("left", 0), label_at=(1.73, 0, -6)),
    ("rewrite_query", "finish"): Edge(
        "no new query", ("bottom", 0), ("left", 0), ("under grade_documents", "give_up"), label_at=(1.5, -8, 13)
    ),
    ("generate", "hallucination_check"): Edge("a new draft", ("bottom", -0.25), label_at=(0.5, -6, 4), anchor="end"),
    ("generate", "answer_check"): Edge("a new draft", ("bottom", 0.25), label_at=(0.5, 6, 4), anchor="start"),
    ("generate", "select"): Edge("nothing new to check", label_at=(0.5, -5, 0), upright=True),
    ("hallucination_check", "select"): Edge("", ("bottom", 0.25)),
    ("answer_check", "select"): Edge("", ("bottom", -0.25)),
    ("select", "generate"): Edge("not accepted", ("right", 0), ("right", 0), ("regenerate",), label_at=(0.5, 0, -6)),
    ("select", "rewrite_query"): Edge(
        "no drafts left", ("left", 0), ("left", 0), ("left_edge",), label_at=(0.2, 0, -6)
    ),
    ("select", "retrieve"): Edge(
        "a direct answer was no good",
        ("right", 0.25),
        ("top", 0.3),
        ("beside_direct", "under decide"),
        label_at=(0.74, 0, 13),
    ),
    ("select", "finish"): Edge("accepted, or nothing left to try", label_at=(0.5, 8, 4), anchor="start"),
    ("select", "compare_answers"): Edge("several documents", ("bottom", -0.25), label_at=(0.5, -6, 4), anchor="end"),
    ("compare_answers", "finish"): Edge("", ("bottom", 0.25)),
    ("direct_generate", "answer_check"): Edge("", ("bottom", 0), ("right", 0)),
    ("finish", END): Edge(""),
}
LOOPS = {("rewrite_query", "retrieve"): "re-query", ("select", "generate"): "regenerate"}
REQUERY = {("grade_documents", "rewrite_query"), ("rewrite_query", "retrieve"), ("retrieve", "grade_documents")}
REGENERATE = {
    ("select", "generate"),
    ("generate", "hallucination_check"),
    ("generate", "answer_check"),
    ("hallucination_check", "select"),
    ("answer_check", "select"),
}


@dataclass(frozen=True)
class Box:
    """A rectangle, by its centre."""

    x: float
    y: float
    width: float
    height: float

    def port(self, side: Side, shift: float) -> Point:
        """Return the point on a side that is ``shift`` widths or heights of the box from the middle of the side."""
        if side in ("left", "right"):
            return self.x + self.width / 2 * (1 if side == "right" else -1), self.y + shift * self.height
        return self.x + shift * self.width, self.y + self.height / 2 * (1 if side == "bottom" else -1)

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def top(self) -> float:
        return self.y - self.height / 2


@dataclass(frozen=True)
class Layout:
    """The layout for nodes of one size, in pixels. x is 0 in the middle column, y is 0 at the top of the start."""

    width: float
    height: float
    gap: float
    aisle: float

    @cached_property
    def boxes(self) -> dict[str, Box]:
        """The box of each node, the start and the end included."""
        columns = {0: 0.0, 1: self.width + self.aisle, 0.5: (self.width + CHECKS_GAP) / 2}
        pitch, first = self.height + self.gap, PILL[1] + self.gap * 0.6 + self.height / 2
        boxes = {
            name: Box(columns[abs(column)] * (-1 if column < 0 else 1), first + row * pitch, self.width, self.height)
            for name, (column, row) in NODES.items()
        }
        last = boxes["finish"].y + self.height / 2 + self.gap * 0.6
        return {START: Box(0, PILL[1] / 2, *PILL), **boxes, END: Box(0, last + PILL[1] / 2, *PILL)}

    @cached_property
    def half(self) -> float:
        """Half the width of the whole picture."""
        return self.boxes["direct_generate"].x + self.width / 2 + 3 * MARGIN

    @property
    def bottom(self) -> float:
        end = self.boxes[END]
        return end.y + end.height / 2

    def lane(self, name: str) -> float:
        """Return the x of a vertical lane, or the y of a horizontal one."""
        if name.startswith("under "):
            return self.boxes[name.removeprefix("under ")].y + (self.height + self.gap) / 2
        if name.startswith("over "):
            return self.boxes[name.removeprefix("over ")].top - MARGIN / 3
        beside_checks = self.width + CHECKS_GAP / 2 + MARGIN
        edge = self.half - MARGIN
        beside_column = self.width / 2 + MARGIN / 3
        return {
            "regenerate": beside_checks,
            "beside_direct": edge - MARGIN * 1.5,
            "beside_table": edge - MARGIN * 0.75,
            "right_aisle": beside_column,
            "beside_aisle": beside_column + MARGIN / 3,
            "give_up": -beside_checks,
            "left_edge": -edge,
            "right_edge": edge,
        }[name]

    def route(self, source: str, target: str) -> list[Point]:
        """Return the corners of the line that is drawn for an edge, from the source node to the target node."""
        edge = EDGES[source, target]
        x, y = self.boxes[source].port(*edge.leave)
        end = self.boxes[target].port(*edge.arrive)
        if not edge.lanes and (edge.leave[0], edge.arrive[0]) == ("bottom", "top"):
            return [(x, y), (x, end[1])]
        points, sideways = [(x, y)], edge.leave[0] in ("left", "right")
        for name in edge.lanes:
            x, y = (self.lane(name), y) if sideways else (x, self.lane(name))
            points.append((x, y))
            sideways = not sideways
        if sideways != (edge.arrive[0] in ("left", "right")):
            points.append((end[0], y) if sideways else (x, end[1]))
        return [*points, end]

    def around(self, names: Sequence[str], right: float | None = None) -> tuple[float, float, float, float]:
        """Return left, top, width and height of an area around nodes; it reaches to x = ``right``, if that is given."""
        boxes = [self.boxes[name] for name in names]
        pad = MARGIN / 2
        left, top = min(box.left for box in boxes) - pad, min(box.top for box in boxes) - pad
        end = max(right or 0, *(box.left + box.width for box in boxes)) + pad
        return left, top, end - left, max(box.top + box.height for box in boxes) + pad - top
