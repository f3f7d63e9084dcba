"""A picture of the graph, or of the path that one run took through it, as SVG, PNG or Mermaid text; offline."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from langgraph.graph import END, START

from app.drawing.svg import BARE, RUN, graph_body, header, svg_document
from app.drawing.visits import Visits
from app.options import require_suffix, write_file
from core.markup import joined
from graph.builder import build_graph
from run.context import Services

SUFFIXES = (".svg", ".png", ".mmd")


@dataclass(frozen=True)
class Picture:
    """A picture of the graph or of a run; a notebook shows it, `save` writes it to a file."""

    svg: str = field(repr=False)
    mermaid: str = field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg

    def data(self, suffix: str) -> bytes:
        """Return the bytes of a ``.svg``, ``.png`` or ``.mmd`` file; a PNG has the light colours."""
        if suffix == ".png":
            return _png(self.svg)
        return (self.svg + "\n" if suffix == ".svg" else self.mermaid).encode()

    def save(self, path: str | Path) -> None:
        """Write a file that ends in ``.svg``, ``.png`` or ``.mmd``, readable by the user alone.

        Raises `RequestError` for another name, and for a file that cannot be written.
        """
        path = Path(path)
        require_suffix(path, *SUFFIXES)
        write_file(path, self.data(path.suffix.lower()))


def graph_picture() -> Picture:
    title = "The graph of Self-RAG: its nodes, its edges with their conditions, and its two loops"
    return Picture(svg_document(BARE, graph_body(BARE, None), title, 0), compiled_mermaid())


def run_picture(run: Mapping[str, Any]) -> Picture:
    """Draw the path of a run through the graph: what was visited, how often, with which verdicts, and at what cost.

    ``run`` is what `Result.model_dump` gives.
    """
    visits = Visits.of(run["path"])
    title = f"A run of Self-RAG: {run['outcome'] or 'stopped'}"
    top, height = header(run)
    return Picture(svg_document(RUN, joined(top, graph_body(RUN, visits)), title, height), _run_mermaid(visits))


@cache
def compiled_mermaid() -> str:
    """Return the compiled graph as Mermaid text, as LangGraph writes it, without its front matter."""
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


def _png(svg: str) -> bytes:
    """Rasterise an SVG at twice its size, without its dark colours, in a font that comes with matplotlib."""
    import matplotlib
    import novasvg
    from novasvg import fonts

    folder = Path(matplotlib.get_data_path(), "fonts", "ttf")
    for name, bold in (("DejaVuSans.ttf", False), ("DejaVuSans-Bold.ttf", True)):
        fonts.add_font_face_from_file("DejaVu Sans", bold, False, str(folder / name))
    drawn = novasvg.Document.load_from_data(svg)
    bitmap = drawn.render_to_bitmap(round(drawn.width * 2), round(drawn.height * 2), 0)
    return bytes(bitmap.to_bytes("png"))
