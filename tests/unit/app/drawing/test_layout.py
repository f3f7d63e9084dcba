"""The picture's layout is that of the compiled graph, and nothing in it runs into anything else."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

from app.drawing.layout import EDGES, Layout, Point
from app.drawing.svg import BARE, RUN
from app.server.graph_drawing import SMALL

every_size = pytest.mark.parametrize("layout", [BARE, RUN, SMALL])


def segments(layout: Layout, edge: tuple[str, str]) -> list[tuple[Point, Point]]:
    return list(pairwise(layout.route(*edge)))


@every_size
def test_every_edge_is_of_level_and_upright_parts_from_its_source_to_its_target(layout: Layout) -> None:
    for edge in EDGES:
        points = layout.route(*edge)
        for name, (x, y) in zip(edge, (points[0], points[-1]), strict=True):
            box = layout.boxes[name]
            across, down = abs(x - box.x) / (box.width / 2), abs(y - box.y) / (box.height / 2)
            assert max(across, down) == pytest.approx(1), edge
        assert all(one[0] == other[0] or one[1] == other[1] for one, other in pairwise(points)), edge


@every_size
def test_no_node_covers_another_or_an_edge(layout: Layout) -> None:
    boxes = layout.boxes
    for one, other in combinations(boxes.values(), 2):
        apart = abs(one.x - other.x) >= (one.width + other.width) / 2
        assert apart or abs(one.y - other.y) >= (one.height + other.height) / 2
    for edge in EDGES:
        for (x, y), (to_x, to_y) in segments(layout, edge):
            for name, box in boxes.items():
                beside = max(x, to_x) <= box.left or min(x, to_x) >= box.left + box.width
                above_or_below = max(y, to_y) <= box.top or min(y, to_y) >= box.top + box.height
                assert beside or above_or_below, (edge, name)
