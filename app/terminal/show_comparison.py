"""Show a comparison on the terminal: two columns where there is room, else one below the other."""

from app.terminal.progress import print_table
from app.terminal.screen import Screen
from core.text import one_line
from evaluation.comparison import blocks
from evaluation.comparison.compared_set import ComparedSet

NARROWEST = 80  # columns in which two texts stand side by side
INDENT = 2  # of all texts of others, so that none can pass for a line of ours


def show_comparison(compared: ComparedSet, screen: Screen) -> None:
    """Print each question's comparison, then the analysis of the set. Passages are shown only for a single question."""
    for one in compared.comparisons:
        for block in blocks.question_blocks(one, compared.judge, passages=compared.name is None):
            show_block(block, screen)
    for block in blocks.overall_blocks(compared):
        show_block(block, screen)


def show_block(block: blocks.Block, screen: Screen) -> None:
    """Print one block to stdout."""
    match block:
        case blocks.Heading(text, level):
            screen.result()
            screen.wrapped(one_line(text), "bold" if level < 3 else "bold dim")
        case blocks.Paragraph(text):
            screen.wrapped(text, indent=INDENT)
        case blocks.Bullets(lines):
            for line in lines:
                screen.wrapped(f"- {one_line(line)}", indent=INDENT)
        case blocks.Sides(names, rows) if screen.out.is_terminal and screen.out.width >= NARROWEST:
            print_table([("", *names), *rows], screen, texts=True)
        case blocks.Sides(names, rows):
            for label, *cells in rows:
                for name, cell in zip(names, cells, strict=True):
                    screen.wrapped(one_line(f"{label} · {name}"), "cyan")
                    screen.wrapped(cell, indent=INDENT)
        case blocks.Passages(title, items):
            screen.result()
            screen.wrapped(title, "bold dim")
            for head, text in items:
                screen.wrapped(one_line(head), "cyan")
                screen.wrapped(text, indent=INDENT)
