"""The picture's layout is that of the compiled graph, and nothing in it runs into anything else."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

from app.layout import EDGES, REGENERATE, REQUERY, Layout, Point
from app.server.graph_drawing import SMALL
from app.svg import BARE, PURPOSES, RUN
from graph.builder import build_graph
from tests.scripted import services

every_size = pytest.mark.parametrize("layout", [BARE, RUN, SMALL])


def segments(layout: Layout, edge: tuple[str, str]) -> list[tuple[Point, Point]]:
    return list(pairwise(layout.route(*edge)))


def cross(level: tuple[Point, Point], upright: tuple[Point, Point]) -> bool:
    (left, right), (top, bottom) = sorted((level[0][0], level[1][0])), sorted((upright[0][1], upright[1][1]))
    x, y = upright[0][0], level[0][1]
    return x == upright[1][0] and y == level[1][1] and left < x < right and top < y < bottom


def test_every_node_and_edge_of_the_compiled_graph_is_laid_out_and_no_other() -> None:
    compiled = build_graph(services()).get_graph()
    assert set(BARE.boxes) == set(compiled.nodes)
    assert set(EDGES) == {(edge.source, edge.target) for edge in compiled.edges}
    assert set(PURPOSES) == set(BARE.boxes) - {"__start__", "__end__"}


def test_an_edge_that_depends_on_the_state_has_its_condition() -> None:
    conditional = {(edge.source, edge.target) for edge in build_graph(services()).get_graph().edges if edge.conditional}
    assert {edge for edge, given in EDGES.items() if given.label} == conditional


def test_both_loops_are_loops() -> None:
    for loop in (REQUERY, REGENERATE):
        assert set(EDGES) >= loop
        assert {start for start, _ in loop} == {end for _, end in loop}


@every_size
def test_a_good_question_goes_straight_down(layout: Layout) -> None:
    way = ["__start__", "decide", "retrieve", "grade_documents", "generate", "select", "finish", "__end__"]
    boxes = [layout.boxes[name] for name in way]
    assert {box.x for box in boxes} == {0}
    assert all(one.y < other.y for one, other in pairwise(boxes))


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


@every_size
def test_few_edges_cross_and_no_loop_crosses_another(layout: Layout) -> None:
    crossings = {
        frozenset((one, other))
        for one in EDGES
        for other in EDGES
        if any(cross(level, upright) for level in segments(layout, one) for upright in segments(layout, other))
    }
    assert len(crossings) == 8  # of two edges that share a lane two others cross each
    assert not any(edges <= REQUERY | REGENERATE for edges in crossings)
