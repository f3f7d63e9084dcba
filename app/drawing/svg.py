"""Draw the graph, or a run on it, as SVG: areas of the loops, edges, nodes, and a header."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langgraph.graph import END, START

from app.drawing.layout import EDGES, LOOPS, MARGIN, REGENERATE, REQUERY, Layout, Point
from app.drawing.visits import LONGEST, Visits, cost_of, visit_lines, wrapped
from core.markup import Html, joined, tag
from core.step_wording import spent, summarise_step
from core.text import shortened

BARE = Layout(width=190, height=48, gap=60, aisle=112)
RUN = Layout(width=290, height=92, gap=60, aisle=112)
BOLD = 1.2  # how much wider bold text is
RADIUS = 9  # of the corners of an edge
PURPOSES = {
    "contextualize": "what does a follow-up mean?",
    "decide": "are documents needed?",
    "retrieve": "search the documents",
    "query_table": "ask all rows of a table",
    "rewrite_query": "a name, or another query",
    "grade_documents": "is each passage relevant?",
    "direct_generate": "answer without documents",
    "generate": "draft from the passages",
    "hallucination_check": "is each claim supported?",
    "answer_check": "is the answer useful?",
    "select": "keep the best draft",
    "compare_answers": "do documents disagree?",
    "finish": "outcome and citations",
}
STYLE = {
    "text": "font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-size:11px",
    ".name": "font-size:13px;font-weight:bold",
    ".question": "font-size:15px;font-weight:bold",
    ".answer": "font-size:13px",
    ".loop": "font-size:17px;font-weight:bold",
    ".edge": "fill:none;stroke-width:1.4",
    ".edge.wide": "stroke-width:2.6",
    ".node": "stroke-width:1.4",
    ".node.wide": "stroke-width:2.2",
}
ROLES = "ink muted pale line paper box requery requery-area regenerate regenerate-area good bad".split()
LIGHT, DARK = (
    dict(zip(ROLES, colours.split(), strict=True))
    for colours in (
        "#1c2024 #5b6470 #a6afba #717b87 #ffffff #f6f8fa #1b5fb0 #e7f0fb #b8470b #fcede3 #0d7a5f #b3195f",
        "#e8ebef #a3adb9 #5d6772 #98a2ae #14171b #20252b #72b2f7 #162335 #ff9c62 #2c1e16 #4fcfa6 #ff8cbc",
    )
)


def svg_document(layout: Layout, body: Html, title: str, header: float) -> str:
    """Return a complete SVG, with light colours, and dark ones for a reader who prefers them."""
    width, height = 2 * layout.half, layout.bottom + header + 2 * MARGIN
    dark = f"@media (prefers-color-scheme:dark){{{_colours(DARK)}}}"
    return tag(
        "svg",
        tag("title", title),
        Html(f"<style>{_scoped(STYLE)}{_colours(LIGHT)}{dark}</style>"),
        tag("rect", class_="paper", x=-layout.half, y=-header - MARGIN, width=width, height=height, rx=8),
        body,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"{-layout.half:g} {-header - MARGIN:g} {width:g} {height:g}",
        width=width,
        height=height,
        class_="self-rag",
        role="img",
        aria_label=title,
    )


def _colours(colours: Mapping[str, str]) -> str:
    rules = {f".{name}": f"fill:{colours[name]}" for name in ("paper", "box", "requery-area", "regenerate-area")}
    for name in ("ink", "muted", "pale", "line", "requery", "regenerate", "good", "bad"):
        rules[f"text.{name},.self-rag .tip.{name}"] = f"fill:{colours[name]}"
        rules[f".edge.{name},.self-rag .node.{name}"] = f"stroke:{colours[name]}"
    return _scoped(rules)


def _scoped(rules: Mapping[str, str]) -> str:
    """Return CSS rules that hold for this picture alone: a notebook puts the SVG into its own page."""
    return "".join(f".self-rag {selector}{{{rule}}}" for selector, rule in rules.items())


def graph_body(layout: Layout, visits: Visits | None) -> Html:
    """Draw the areas of the loops, the edges and the nodes. Edges and nodes that a run did not visit are pale."""
    edges = sorted(EDGES, key=lambda edge: bool(visits and visits.edges[edge]))
    return joined(
        *_areas(layout, visits),
        *(_edge(layout, edge, visits) for edge in edges),
        *(_node(layout, name, visits) for name in layout.boxes),
    )


def _areas(layout: Layout, visits: Visits | None) -> Iterable[Html]:
    requery = layout.around(["rewrite_query", "retrieve", "grade_documents"])
    checks = ["generate", "hallucination_check", "answer_check", "select"]
    regenerate = layout.around(checks, layout.lane("regenerate"))
    for name, (left, top, width, height) in (("requery-area", requery), ("regenerate-area", regenerate)):
        yield tag("rect", class_=name, x=left, y=top, width=width, height=height, rx=14)
    boxes = layout.boxes
    aisle = (boxes["rewrite_query"].x - layout.width / 2 + boxes["retrieve"].left) / 2
    beside = (layout.width / 2 + layout.lane("regenerate")) / 2
    places = {
        "requery": (aisle + layout.width / 4, boxes["retrieve"].y + 26),
        "regenerate": (beside, boxes["generate"].y + 26),
    }
    for (edge, loop), (name, (x, y)) in zip(LOOPS.items(), places.items(), strict=True):
        count = visits.edges[edge] if visits else None
        colour = "pale" if count == 0 else name
        yield tag("text", loop, class_=f"loop {colour}", x=x, y=y, text_anchor="middle")
        told = "loop" if count is None else f"{count} time{'' if count == 1 else 's'}"
        yield tag("text", told, class_=colour, x=x, y=y + 15, text_anchor="middle")


def _edge(layout: Layout, edge: tuple[str, str], visits: Visits | None) -> Html:
    given, points = EDGES[edge], layout.route(*edge)
    count = visits.edges[edge] if visits else 1
    colour = "requery" if edge in REQUERY else "regenerate" if edge in REGENERATE else "line"
    colour = colour if count else "pale"
    back = edge in LOOPS or edge == ("grade_documents", "rewrite_query")
    wide = " wide" if (count if visits else back) else ""
    at, right, down = given.label_at
    (x, y), (to_x, to_y) = points[int(at) : int(at) + 2]
    x, y = x + (to_x - x) * (at % 1) + right, y + (to_y - y) * (at % 1) + down
    label = f"{given.label} ×{count}".strip() if visits and count > 1 else given.label
    if label and not given.label:  # beside the line
        x, y = x + 8, y + 4
    text_colour = "muted" if colour == "line" else colour
    return tag(
        "g",
        tag("path", class_=f"edge {colour}{wide}", d=rounded(points)),
        tag("path", class_=f"tip {colour}", d=arrow_tip(*points[-2:])),
        tag(
            "text",
            label,
            class_=text_colour,
            x=x,
            y=y,
            text_anchor=given.anchor if given.label else "start",
            transform=f"rotate(-90 {x:g} {y:g})" if given.upright else None,
        )
        if label
        else None,
        data_edge=" ".join(edge),
        data_count=count if visits else None,
    )


def rounded(points: Sequence[Point]) -> str:
    """Return a path through the points with rounded corners."""
    drawn = f"M{points[0][0]:g} {points[0][1]:g}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        start, end = _towards(corner, before, RADIUS), _towards(corner, after, RADIUS)
        drawn += f"L{start[0]:g} {start[1]:g}Q{corner[0]:g} {corner[1]:g} {end[0]:g} {end[1]:g}"
    end = _towards(points[-1], points[-2], 6)
    return f"{drawn}L{end[0]:g} {end[1]:g}"


def _towards(start: Point, end: Point, distance: float) -> Point:
    """Return the point at a distance from ``start`` on the way to ``end``."""
    length = abs(end[0] - start[0]) + abs(end[1] - start[1])  # every segment is level or upright
    part = min(distance / length, 0.5) if length else 0
    return start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part


def arrow_tip(before: Point, end: Point) -> str:
    """Return the path of an arrow's head."""
    x, y = _towards(end, before, 9)
    across = (0, 4.5) if before[1] == end[1] else (4.5, 0)
    return f"M{end[0]:g} {end[1]:g}L{x + across[0]:g} {y + across[1]:g}L{x - across[0]:g} {y - across[1]:g}Z"


def _node(layout: Layout, name: str, visits: Visits | None) -> Html:
    box = layout.boxes[name]
    pill = name in (START, END)
    steps = visits.steps.get(name, ()) if visits else ()
    visited = visits is None or bool(steps) or (pill and any(name in edge for edge in visits.edges))
    colour = _node_colour(name, steps) if visited else "pale"
    classes, rx = f"box node {colour}" + (" wide" if visits and visited else ""), box.height / 2 if pill else 8
    frame = tag("rect", class_=classes, x=box.left, y=box.top, width=box.width, height=box.height, rx=rx)
    ink = "ink" if visited else "pale"
    inside: list[Html] = []
    if pill or not steps:
        middle = {"x": box.x, "text_anchor": "middle"}
        inside.append(tag("text", name.strip("_"), class_=f"name {ink}", y=box.y + (4 if pill else -3), **middle))
        if not pill:
            inside.append(tag("text", PURPOSES[name], class_="muted" if visited else "pale", y=box.y + 14, **middle))
    else:
        left, right, top = box.left + 10, box.left + box.width - 10, box.top + 18
        count = f" ×{len(steps)}" if len(steps) > 1 else ""
        seconds = f"{sum(step['seconds'] for step in steps):.1f} s"
        told = [shortened(f"{step['seconds']:.1f} s  {summarise_step(name, step)}", LONGEST) for step in steps]
        inside += [
            tag("title", "\n".join(told)),
            tag("text", name + count, class_="name ink", x=left, y=top),
            tag("text", seconds, class_="muted", x=right, y=top, text_anchor="end"),
        ]
        lines, cost = visit_lines(steps, box.width - 20), cost_of(steps)
        inside += [
            tag("text", line, class_="ink", x=left, y=top + 18 + 15 * number) for number, line in enumerate(lines)
        ]
        if cost:
            inside.append(tag("text", cost, class_="muted", x=left, y=box.top + box.height - 9))
    return tag("g", frame, *inside, data_node=name)


def _node_colour(name: str, steps: Sequence[Mapping[str, Any]]) -> str:
    if any(step.get("stop") for step in steps):
        return "bad"
    return _outcome_colour(steps[-1].get("outcome")) if name == "finish" and steps else "line"


def _outcome_colour(outcome: str | None) -> str:
    return {"grounded": "good", "direct": "good", "stopped": "bad"}.get(outcome or "stopped", "line")


def header(run: Mapping[str, Any]) -> tuple[Html, float]:
    """Draw the question, the answer and the whole cost; return their height, too."""
    width = 2 * (RUN.half - MARGIN)
    cost = f"{run['outcome'] or 'stopped'} · {run['stop_reason']} · {spent(run['usage'], run['usage']['seconds'])}"
    lines: list[tuple[str, str, float]] = [
        *((line, "question ink", 15.0) for line in wrapped(run["question"], width, BOLD * 15, 2)),
        *((line, "answer ink", 13.0) for line in wrapped(run["answer"], width, 13, 4)),
        (cost, f"answer {_outcome_colour(run['outcome'])}", 13.0),
    ]
    height = sum(size + 6 for _, _, size in lines) + MARGIN
    drawn, y = [], -height
    for line, classes, size in lines:
        y += size
        drawn.append(tag("text", line, class_=classes, x=-RUN.half + MARGIN, y=y))
        y += 6
    return joined(*drawn), height
