"""``graph``: the compiled graph as Mermaid text, or drawn without a network."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.screen import Screen
from core.errors import RequestError
from core.files import NotRegularFileError

if TYPE_CHECKING:
    from graph.builder import SelfRAGGraph


def graph(options: argparse.Namespace) -> int:
    """Print the Mermaid text, or draw it into the file named."""
    text = mermaid(_unbound())
    screen = Screen(quiet=options.quiet)
    if options.output is None:
        screen.text(text.expandtabs().rstrip())
        return 0
    path: Path = options.output
    if path.suffix not in (".svg", ".png", ".mmd"):
        raise RequestError(f"{path.name} cannot be drawn: name a file that ends in .svg, .png or .mmd.")
    try:
        if path.exists() and not path.is_file():  # a FIFO would wait for its reader
            raise NotRegularFileError(path)
        path.write_bytes(picture(text, path.suffix))
    except OSError as error:
        raise RequestError(f"{path} cannot be written ({error.strerror}): name another file.") from error
    screen.line(f"drawn into {path}")
    return 0


def mermaid(graph: SelfRAGGraph) -> str:
    """The graph as Mermaid text, as LangGraph writes it, without its front matter."""
    text = graph.get_graph().draw_mermaid(with_styles=False)
    return text if text.endswith("\n") else text + "\n"


def picture(text: str, suffix: str) -> bytes:
    """The Mermaid text drawn as ``.svg`` or ``.png``; ``.mmd`` is the text itself. No network is used."""
    if suffix == ".mmd":
        return text.encode()
    import mermaidx

    drawn = mermaidx.render(text)
    return bytes(drawn.png(scale=2)) if suffix == ".png" else str(drawn.svg()).encode()


def _unbound() -> SelfRAGGraph:
    """The graph without models: its shape does not depend on them."""
    from graph.builder import build_graph
    from graph.context import Services

    nothing: Any = None
    return build_graph(Services(nothing, nothing, nothing))
