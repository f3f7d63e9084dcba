"""Draw the graph, or the way that one run took through it, as SVG, PNG or Mermaid text. No network is used."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langgraph.graph import END, START

from app.layout import EDGES, LOOPS, MARGIN, REGENERATE, REQUERY, Layout, Point
from app.options import require_writable_file, unwritable
from app.trace import describe
from core.errors import RequestError
from core.files import write_private
from core.text import one_line, shortened, shown
from core.types import Verdict
from evaluation.reporting.markup import Html, joined, tag

if TYPE_CHECKING:
    from app.result import Result

SUFFIXES = (".svg", ".png", ".mmd")
BARE = Layout(width=190, height=48, gap=60, aisle=112)
RUN = Layout(width=290, height=92, gap=60, aisle=112)
BOLD = 1.2  # how much wider bold text is
VISITS = 3  # that a node has lines for
LONGEST = 2_000  # characters of a text that are read; far fewer are shown
PURPOSES = {
    "decide": "are documents needed?",
    "retrieve": "search the documents",
    "rewrite_query": "another query",
    "grade_documents": "is each passage relevant?",
    "direct_generate": "answer without documents",
    "generate": "draft from the passages",
    "hallucination_check": "is each claim supported?",
    "answer_check": "is the answer useful?",
    "select": "keep the best draft",
    "finish": "outcome and citations",
}
LIGHT = {
    "ink": "#1c2024",
    "muted": "#5b6470",
    "pale": "#a6afba",
    "line": "#717b87",
    "paper": "#ffffff",
    "box": "#f6f8fa",
    "requery": "#1b5fb0",
    "requery-area": "#e7f0fb",
    "regenerate": "#b8470b",
    "regenerate-area": "#fcede3",
    "good": "#0d7a5f",
    "bad": "#b3195f",
}
DARK = {
    "ink": "#e8ebef",
    "muted": "#a3adb9",
    "pale": "#5d6772",
    "line": "#98a2ae",
    "paper": "#14171b",
    "box": "#20252b",
    "requery": "#72b2f7",
    "requery-area": "#162335",
    "regenerate": "#ff9c62",
    "regenerate-area": "#2c1e16",
    "good": "#4fcfa6",
    "bad": "#ff8cbc",
}


@dataclass(frozen=True)
class Picture:
    """A picture of the graph or of a run; a notebook shows it, `save` writes it to a file."""

    svg: str = field(repr=False)
    mermaid: str = field(repr=False)
    light: str = field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg

    def data(self, suffix: str) -> bytes:
        """The bytes of a ``.svg``, ``.png`` or ``.mmd`` file; a PNG has the light colours."""
        if suffix == ".png":
            return _png(self.light)
        return (self.svg + "\n" if suffix == ".svg" else self.mermaid).encode()

    def save(self, path: str | Path) -> None:
        """Write a file that ends in ``.svg``, ``.png`` or ``.mmd``, readable by the user alone.

        Raises `RequestError` for another name, and for a file that cannot be written.
        """
        path = Path(path)
        require_suffix(path)
        data = self.data(path.suffix)
        try:
            write_private(path, data)
        except OSError as error:
            raise unwritable(path, error) from error


def require_suffix(path: Path) -> None:
    """Refuse a file of a kind that cannot be drawn."""
    if path.suffix not in SUFFIXES:
        raise RequestError(
            f"The picture {shown(path.name)} cannot be drawn: name a file that ends in .svg, .png or .mmd."
        )


def require_writable(path: Path) -> None:
    """Refuse a picture that can be seen not to be writable, before a question is asked for it."""
    require_suffix(path)
    require_writable_file(path)


@dataclass(frozen=True)
class Visits:
    """What a run did: the steps of each node in order, and how often each edge was taken."""

    steps: Mapping[str, Sequence[Mapping[str, Any]]]
    edges: Counter[tuple[str, str]]

    @classmethod
    def of(cls, path: Iterable[Mapping[str, Any]]) -> Visits:
        """Read the steps of a result's ``path``; the two checks of a draft ran side by side."""
        steps: dict[str, list[Mapping[str, Any]]] = {}
        rounds: list[list[str]] = [[START]]
        for step in path:
            name = step["node"]
            steps.setdefault(name, []).append(step)
            beside = (rounds[-1][-1], name)
            if set(beside) == {"hallucination_check", "answer_check"}:
                rounds[-1].append(name)
            else:
                rounds.append([name])
        if rounds[-1] == ["finish"]:
            rounds.append([END])
        taken = Counter((one, other) for here, there in pairwise(rounds) for one in here for other in there)
        return cls(steps, Counter({edge: count for edge, count in taken.items() if edge in EDGES}))


def graph_picture() -> Picture:
    """The graph itself."""
    body = _graph(BARE, None)
    title = "The graph of Self-RAG: its nodes, its edges with their conditions, and its two loops"
    return Picture(_page(BARE, body, title, 0, both=True), compiled_mermaid(), _page(BARE, body, title, 0, both=False))


def run_picture(result: Result) -> Picture:
    """The way that a run took: what was visited, how often, with which verdicts, and at what cost."""
    visits = Visits.of(result.path)
    title = f"A run of Self-RAG: {result.outcome or 'stopped'}"
    header, height = _header(result)
    body = joined(header, _graph(RUN, visits))
    svg, light = (_page(RUN, body, title, height, both=both) for both in (True, False))
    return Picture(svg, _run_mermaid(visits), light)


def compiled_mermaid() -> str:
    """The compiled graph as Mermaid text, as LangGraph writes it, without its front matter."""
    from graph.builder import build_graph
    from graph.context import Services

    nothing: Any = None  # the graph's shape does not depend on the models
    text = build_graph(Services(nothing, nothing, nothing)).get_graph().draw_mermaid(with_styles=False)
    return text if text.endswith("\n") else text + "\n"


def _run_mermaid(visits: Visits) -> str:
    lines = []
    for line in compiled_mermaid().splitlines():
        words = line.strip().rstrip(";").split()
        count = visits.edges[words[0], words[-1]] if len(words) == 3 else 0
        if count:
            line = f"\t{words[0]} == {count} ==> {words[-1]};"
        lines.append(line)
    visited = [name for name in (START, *visits.steps, END) if any(name in edge for edge in visits.edges)]
    if visited:
        lines += ["\tclassDef visited stroke:#1b5fb0,stroke-width:3px;", f"\tclass {','.join(visited)} visited;"]
    return "\n".join(lines) + "\n"


def _page(layout: Layout, body: Html, title: str, header: float, *, both: bool) -> str:
    """An SVG of its own: the light colours, and with ``both`` the dark ones for a reader who prefers them."""
    width, height = 2 * layout.half, layout.bottom + header + 2 * MARGIN
    dark = f"@media (prefers-color-scheme:dark){{{_colours(DARK)}}}" if both else ""
    return tag(
        "svg",
        tag("title", title),
        Html(f"<style>{_style()}{_colours(LIGHT)}{dark}</style>"),
        tag("rect", class_="paper", x=-layout.half, y=-header - MARGIN, width=width, height=height, rx=8),
        body,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"{-layout.half:g} {-header - MARGIN:g} {width:g} {height:g}",
        width=f"{width:g}",
        height=f"{height:g}",
        class_="self-rag",
        role="img",
        aria_label=title,
    )


def _style() -> str:
    rules = {
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
    return _scoped(rules)


def _colours(colours: Mapping[str, str]) -> str:
    rules = {".paper": f"fill:{colours['paper']}", ".box": f"fill:{colours['box']}"}
    for name in ("requery-area", "regenerate-area"):
        rules[f".{name}"] = f"fill:{colours[name]}"
    for name in ("ink", "muted", "pale", "line", "requery", "regenerate", "good", "bad"):
        rules[f"text.{name},.self-rag .tip.{name}"] = f"fill:{colours[name]}"
        rules[f".edge.{name},.self-rag .node.{name}"] = f"stroke:{colours[name]}"
    return _scoped(rules)


def _scoped(rules: Mapping[str, str]) -> str:
    """The rules for this picture alone: a notebook puts the SVG into its own page."""
    return "".join(f".self-rag {selector}{{{rule}}}" for selector, rule in rules.items())


def _graph(layout: Layout, visits: Visits | None) -> Html:
    """Areas of the loops, then edges, nodes and labels; those that a run did not visit are pale and come first."""
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
        tag("path", class_=f"edge {colour}{wide}", d=_rounded(points)),
        tag("path", class_=f"tip {colour}", d=_tip(*points[-2:])),
        tag(
            "text",
            label,
            class_=text_colour,
            x=f"{x:g}",
            y=f"{y:g}",
            text_anchor=given.anchor if given.label else "start",
            transform=f"rotate(-90 {x:g} {y:g})" if given.upright else None,
        )
        if label
        else None,
        data_edge=" ".join(edge),
        data_count=count if visits else None,
    )


def _rounded(points: Sequence[Point], radius: float = 9) -> str:
    """A path through the points with rounded corners."""
    drawn = f"M{points[0][0]:g} {points[0][1]:g}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        start, end = _towards(corner, before, radius), _towards(corner, after, radius)
        drawn += f"L{start[0]:g} {start[1]:g}Q{corner[0]:g} {corner[1]:g} {end[0]:g} {end[1]:g}"
    end = _towards(points[-1], points[-2], 6)
    return f"{drawn}L{end[0]:g} {end[1]:g}"


def _towards(start: Point, end: Point, distance: float) -> Point:
    """The point at a distance from ``start`` on the way to ``end``."""
    length = abs(end[0] - start[0]) + abs(end[1] - start[1])  # every segment is level or upright
    part = min(distance / length, 0.5) if length else 0
    return start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part


def _tip(before: Point, end: Point) -> str:
    """The head of an arrow."""
    x, y = _towards(end, before, 9)
    across = (0, 4.5) if before[1] == end[1] else (4.5, 0)
    return f"M{end[0]:g} {end[1]:g}L{x + across[0]:g} {y + across[1]:g}L{x - across[0]:g} {y - across[1]:g}Z"


def _node(layout: Layout, name: str, visits: Visits | None) -> Html:
    box = layout.boxes[name]
    pill = name in (START, END)
    steps = visits.steps.get(name, ()) if visits else ()
    visited = visits is None or bool(steps) or (pill and any(name in edge for edge in visits.edges))
    colour = _node_colour(name, steps) if visited else "pale"
    frame = tag(
        "rect",
        class_=f"box node {colour}" + (" wide" if visits and visited else ""),
        x=f"{box.left:g}",
        y=f"{box.top:g}",
        width=f"{box.width:g}",
        height=f"{box.height:g}",
        rx=box.height / 2 if pill else 8,
    )
    ink = "ink" if visited else "pale"
    inside: list[Html] = []
    if pill or not steps:
        middle = {"x": f"{box.x:g}", "text_anchor": "middle"}
        inside.append(tag("text", name.strip("_"), class_=f"name {ink}", y=box.y + (4 if pill else -3), **middle))
        if not pill:
            inside.append(tag("text", PURPOSES[name], class_="muted" if visited else "pale", y=box.y + 14, **middle))
    else:
        left, right, top = box.left + 10, box.left + box.width - 10, box.top + 18
        count = f" ×{len(steps)}" if len(steps) > 1 else ""
        seconds = f"{sum(step['seconds'] for step in steps):.1f} s"
        inside += [
            tag("title", "\n".join(shortened(f"{step['seconds']:.1f} s  {_summary(step)}", LONGEST) for step in steps)),
            tag("text", name + count, class_="name ink", x=left, y=top),
            tag("text", seconds, class_="muted", x=right, y=top, text_anchor="end"),
        ]
        lines, cost = _lines(steps, box.width - 20), _cost(steps)
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


def _lines(steps: Sequence[Mapping[str, Any]], width: float) -> list[str]:
    """What a node decided: one visit in up to three lines, more visits a line each, the last ones."""
    if len(steps) == 1:
        return wrapped(_summary(steps[0]), width, 11, VISITS)
    told = steps if len(steps) <= VISITS else steps[-VISITS + 1 :]
    first = len(steps) - len(told)
    lines = [f"… {first} earlier"] if first else []
    for number, step in enumerate(told, first + 1):
        most = VISITS - len(lines) if step is steps[-1] else 1
        lines += wrapped(f"{number}. {_summary(step)}", width, 11, most)
    return lines


def _summary(step: Mapping[str, Any]) -> str:
    """What a node decided, shorter than in the trace: verdicts without what they judge."""
    decided = dict(step)
    if not decided.get("stop"):
        match step["node"]:
            case "decide" if "verdict" in decided:
                return _grouped([decided["verdict"]])
            case "grade_documents":
                return _grouped(grade["verdict"] for grade in decided["grades"]) or "nothing to grade"
            case "hallucination_check":
                return _grouped(claim["verdict"] for claim in decided["claims"]) or "nothing to check"
    return describe(step["node"], decided)


def _grouped(verdicts: Iterable[Verdict]) -> str:
    """The verdicts by label, each with its probability where there is one."""
    groups: dict[str, list[str]] = {}
    for verdict in verdicts:
        sure = (verdict["probabilities"] or {}).get(verdict["label"])
        label = verdict["label"].removesuffix(" supported")
        groups.setdefault(label, []).append("" if sure is None else f"{sure:.2f}")
    return "; ".join(
        f"{label} {', '.join(sure)}" if all(sure) else f"{label} ×{len(sure)}" for label, sure in groups.items()
    )


def _cost(steps: Sequence[Mapping[str, Any]]) -> str:
    """What a node's visits cost, where the path has it."""

    def total(key: str) -> int:
        return sum(step.get(key) or 0 for step in steps)

    calls = total("model_calls")
    if not calls:
        return ""
    return (
        f"{calls} call{'' if calls == 1 else 's'} · {total('input_tokens'):,} tokens read, "
        f"{total('output_tokens'):,} written"
    )


def _header(result: Result) -> tuple[Html, float]:
    """The question, the answer and the whole cost; and their height."""
    usage, width = result.usage, 2 * (RUN.half - MARGIN)
    cached = f" ({usage['cached_input_tokens']:,} from the cache)" if usage["cached_input_tokens"] else ""
    cost = (
        f"{result.outcome or 'stopped'} · {result.stop_reason} · {usage['model_calls']} model calls · "
        f"{'about ' if usage['estimated'] else ''}{usage['input_tokens']:,} tokens read{cached}, "
        f"{usage['output_tokens']:,} written · {usage['seconds']:.1f} s"
    )
    lines: list[tuple[str, str, float]] = [
        *((line, "question ink", 15.0) for line in wrapped(result.question, width, BOLD * 15, 2)),
        *((line, "answer ink", 13.0) for line in wrapped(result.answer, width, 13, 4)),
        (cost, f"answer {_outcome_colour(result.outcome)}", 13.0),
    ]
    height = sum(size + 6 for _, _, size in lines) + MARGIN
    drawn, y = [], -height
    for line, classes, size in lines:
        y += size
        drawn.append(tag("text", line, class_=classes, x=-RUN.half + MARGIN, y=y))
        y += 6
    return joined(*drawn), height


def wrapped(text: str, width: float, size: float, most: int) -> list[str]:
    """At most ``most`` lines of about ``width`` pixels each; a longer text ends in an ellipsis."""
    rest, cut = one_line(text[:LONGEST]), len(text) > LONGEST
    lines: list[str] = []
    while rest and len(lines) < most:
        end, used = 0, 0.0
        while end < len(rest) and (used := used + size * _width(rest[end])) <= width:
            end += 1
        if end < len(rest):
            space = rest.rfind(" ", 0, end + 1)
            end = space if space > end / 2 else max(end, 1)
        lines.append(rest[:end])
        rest = rest[end:].strip()
    if lines and (rest or cut):
        lines[-1] = lines[-1][:-1].rstrip() + "…"
    return lines


def _width(character: str) -> float:
    """The width of a character in a wide sans-serif, in parts of the font's size."""
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if character in "iljtfrI.,:;'|!()[] ":
        return 0.38
    return 0.86 if character in "mwMW@%—…" else 0.66 if character.isupper() else 0.61


def _png(svg: str) -> bytes:
    """Rasterise an SVG at twice its size, in a font that comes with matplotlib."""
    import matplotlib
    import novasvg
    from novasvg import fonts

    folder = Path(matplotlib.get_data_path(), "fonts", "ttf")
    for name, bold in (("DejaVuSans.ttf", False), ("DejaVuSans-Bold.ttf", True)):
        fonts.add_font_face_from_file("DejaVu Sans", bold, False, str(folder / name))
    drawn = novasvg.Document.load_from_data(svg)
    bitmap = drawn.render_to_bitmap(round(drawn.width * 2), round(drawn.height * 2), 0)
    return bytes(bitmap.to_bytes("png"))
