"""Show how far long work is, by a bar on a terminal, else by a line now and then; print tables of the results."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from app.terminal.screen import Part, Screen, duration
from core.text import clean, one_line, shortened
from evaluation.reporting.routes import Routed, count_line
from evaluation.run import Tally

WIDE = 100  # columns in which a question and its path fit
MOST_ROUTES = 100
LONGEST_QUESTION = 60


@contextmanager
def asking(screen: Screen) -> Iterator[Callable[[Tally], None]]:
    """Show the tallies of an evaluation: a bar, or a line at the start, at the end and every ten seconds."""
    with screen.counting("asking", "answers") as count:
        yield lambda tally: count(tally.done, tally.total, describe_tally(tally))


@contextmanager
def timed(screen: Screen, doing: str, what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows progress and the time left; it takes how many are done, and how many there are."""
    began = time.monotonic()
    with screen.counting(doing, what) as count:

        def show(done: int, total: int) -> None:
            left = (time.monotonic() - began) / done * (total - done) if done else 0
            count(done, total, f"{duration(left)} left" if left else "")

        yield show


def describe_tally(tally: Tally) -> str:
    """Describe a tally: what was kept, failed and spent, the rate, and the time that is left."""
    usage = tally.usage
    parts = [f"{tally.kept} kept from before"] if tally.kept else []
    parts += [f"{tally.failed} failed"] if tally.failed else []
    if tally.asked:
        rate = tally.asked / max(time.monotonic() - tally.started, 1e-6)
        parts.append(f"{60 * rate:.1f} a minute")
        if tally.done < tally.total:
            parts.append(f"{duration((tally.total - tally.done) / rate)} left")
    about = "about " if usage["estimated"] else ""
    tokens = usage["input_tokens"] + usage["output_tokens"]
    return " · ".join([*parts, f"{usage['model_calls']:,} calls, {about}{tokens:,} tokens"])


def print_table(rows: Sequence[Sequence[str]], screen: Screen, *, texts: bool = False) -> None:
    """Print rows to stdout as a table, the first as its header. On a terminal ``texts`` keeps line breaks in cells."""
    if screen.out.is_terminal:
        framed = Table(show_lines=texts)
        for cell in rows[0]:
            framed.add_column(Text(one_line(cell)), overflow="fold")
        for row in rows[1:]:
            framed.add_row(*(Text(clean(cell) if texts else one_line(cell)) for cell in row))
        screen.out.print(framed, soft_wrap=False)
        return
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(cell_len(row[i]) for row in rows if i < len(row)) for i in range(max(map(len, rows)))]
    for row in rows:
        screen.result(*(_padded(cell, width) for cell, width in zip(row, widths, strict=False)))


def show_routes(systems: Mapping[str, Sequence[Routed]], screen: Screen) -> None:
    """Print to stdout each question, whether it took its expected route, and the path that it took."""
    readable = (sys.stdout.encoding or "").lower().startswith("utf")
    wide = not screen.out.is_terminal or screen.out.width >= WIDE
    for name, lines in systems.items():
        screen.result()
        screen.result(count_line(name, lines))
        questions = [one_line(shortened(line.question, LONGEST_QUESTION)) for line in lines[:MOST_ROUTES]]
        width = max(map(cell_len, questions))
        for line, question in zip(lines, questions, strict=False):
            mark = line.mark if readable else "right" if line.right else "WRONG"
            path: Part = ("{}" if wide else "    {}", line.path if readable else line.path.replace("→", "->"), "dim")
            first: Part = ("{} ", mark, "green" if line.right else "bold red")
            screen.result(first, _padded(question, width), *([path] if wide else []))
            if not wide:
                screen.result(path)
        if len(lines) > MOST_ROUTES:
            screen.result(f"{len(lines) - MOST_ROUTES:,} more are in report.html")


def _padded(text: str, width: int) -> Part:
    """Pad a text to the width of a column, in cells of a terminal, of which some characters take two."""
    return "{}" + " " * (width - cell_len(text) + 2), text, ""
