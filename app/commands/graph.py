"""``graph``: the compiled graph as Mermaid text, or drawn without a network."""

import argparse
from pathlib import Path

from app.drawing.picture import SUFFIXES, graph_picture
from app.options import require_suffix, unwritable_file
from app.terminal.screen import Screen
from core.files import NotRegularFileError


def graph(options: argparse.Namespace) -> int:
    """Print the Mermaid text, or draw it into the file named."""
    screen = Screen(quiet=options.quiet)
    if options.output is None:
        screen.text(graph_picture().mermaid.expandtabs().rstrip())
        return 0
    path: Path = options.output
    require_suffix(path, *SUFFIXES)
    data = graph_picture().data(path.suffix.lower())
    try:
        if path.exists() and not path.is_file():  # a FIFO would wait for its reader
            raise NotRegularFileError(path)
        path.write_bytes(data)
    except OSError as error:
        raise unwritable_file(path, error) from error
    screen.line(f"drawn into {path}")
    return 0
