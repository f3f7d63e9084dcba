"""How a comparison looks on the terminal: two columns where there is room, else one below the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.text import clean, one_line
from evaluation.comparison.blocks import (
    Block,
    Bullets,
    Heading,
    Paragraph,
    Passages,
    Sides,
    overall_blocks,
    question_blocks,
)

if TYPE_CHECKING:
    from app.screen import Screen
    from evaluation.comparison.compared_set import ComparedSet

NARROWEST = 80  # columns in which two texts stand side by side


def show_comparison(compared: ComparedSet, screen: Screen) -> None:
    """Print the questions, then the analysis of the set; the passages in full only of a single question."""
    for one in compared.comparisons:
        for block in question_blocks(one, compared.judge, passages=compared.name is None):
            show_block(block, screen)
    for block in overall_blocks(compared):
        show_block(block, screen)


def show_block(block: Block, screen: Screen) -> None:
    """Print one block to stdout."""
    match block:
        case Heading(text, level):
            screen.result()
            _flush(text, screen, "bold" if level < 3 else "bold dim")
        case Paragraph(text):
            _indented(text, screen)
        case Bullets(lines):
            for line in lines:
                _indented(f"- {one_line(line)}", screen)
        case Sides() if screen.out.is_terminal and screen.out.width >= NARROWEST:
            _columns(block, screen)
        case Sides(names, rows):
            for label, *cells in rows:
                for name, cell in zip(names, cells, strict=True):
                    _flush(f"{label} · {name}", screen, "cyan")
                    _indented(cell, screen)
        case Passages(title, items):
            screen.result()
            _flush(title, screen, "bold dim")
            for head, text in items:
                _flush(head, screen, "cyan")
                _indented(text, screen)


def _columns(sides: Sides, screen: Screen) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(show_lines=True, expand=True)
    table.add_column("", no_wrap=True, style="bold")
    for name in sides.names:
        table.add_column(Text(clean(name)), ratio=1, overflow="fold")
    for row in sides.rows:
        table.add_row(*(Text(clean(cell)) for cell in row))
    screen.out.print(table, soft_wrap=False)


def _flush(line: str, screen: Screen, style: str) -> None:
    """Print a line of ours at the left edge."""
    from rich.text import Text

    if screen.out.is_terminal:
        screen.out.print(Text(one_line(line), style, overflow="fold"), soft_wrap=False)
    else:
        screen.result(line)


def _indented(text: str, screen: Screen) -> None:
    """Print a text of any number of lines, none of which can pass for a line of ours; a terminal wraps it by words."""
    if not screen.out.is_terminal:
        screen.text("\n".join(f"  {line}".rstrip() for line in clean(text).split("\n")))
        return
    from rich.padding import Padding
    from rich.text import Text

    screen.out.print(Padding(Text(clean(text), overflow="fold"), (0, 0, 0, 2)), soft_wrap=False)
