"""What benchmarks and stress runs share: options, a progress line, tables, figures kept as JSON, an exit code."""

import argparse
import json
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from app.terminal.screen import print_error
from core.errors import SelfRAGError
from evaluation.measures.statistics import Difference, Estimate, exact_share
from evaluation.records import Example, Record
from run.context import Context, Services

FOLDER = Path("bench")
LONGEST = 36_000  # seconds of one question
T = TypeVar("T")


def option_parser(doc: str | None, **defaults: int | float | Path) -> argparse.ArgumentParser:
    """Return a parser described by a module's first line; each default is an option of its type, and False a flag."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n", maxsplit=1)[0])
    for name, default in defaults.items():
        option = f"--{name.replace('_', '-')}"
        if default is False:
            parser.add_argument(option, action="store_true")
        else:
            parser.add_argument(option, type=type(default), default=default)
    return parser


def show_progress(text: str) -> None:
    """Overwrite the progress line on standard error."""
    print(f"\r{text} ", end="", file=sys.stderr, flush=True)


def end_progress() -> None:
    """End the progress line."""
    print(file=sys.stderr)


def counted(items: Sequence[T], of: str = "") -> Iterator[T]:
    """Yield the items, saying which of how many each is; ``of`` names what they belong to."""
    for number, one in enumerate(items, 1):
        show_progress(f"{of}{': ' if of else ''}{number} of {len(items)}")
        yield one
    end_progress()


def exit_code_of(run: Callable[[], object]) -> int:
    """Call ``run``, which can be resumed after an interruption, and return the command line's exit code."""
    try:
        run()
    except SelfRAGError as error:
        print_error(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        print("Interrupted: the same command goes on from there.", file=sys.stderr)
        return 130
    return 0


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSONL file; none if there is no file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as JSONL, in place of what was there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")


def write_figures(name: str, figures: Mapping[str, Any]) -> None:
    """Write ``bench/<name>.json``, dataclasses as objects, and say so."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps(figures, indent=1, default=_as_json) + "\n", encoding="utf-8")
    print(f"{path} is written", file=sys.stderr)


def _as_json(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else asdict(value)


def listed(counts: Mapping[str, int]) -> str:
    """Format counts by name, the most frequent first."""
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda one: -one[1]))


def shown(found: Estimate | Difference | int, digits: int = 2) -> str:
    """Format a value with its interval, a difference with its sign, or a count as it is."""
    if isinstance(found, int):
        return str(found)
    if found.value is None:
        return "–"
    form = f"{'+' if isinstance(found, Difference) else ''}.{digits}f"
    return f"{found.value:{form}} [{found.low:{form}}, {found.high:{form}}]"


def aligned(rows: Sequence[tuple[str, ...]]) -> str:
    """Format a table with aligned columns."""
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    return "\n".join("".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def share_table(
    rows: Sequence[Mapping[str, Any]], by: Sequence[str], columns: Mapping[str, str]
) -> list[tuple[str, ...]]:
    """Return the shares of rows in which each field of ``columns`` (by title) is true, with exact intervals.

    There is a line for each value of each field of ``by``, and a last one for all rows.
    """
    groups = {row[key]: [one for one in rows if one[key] == row[key]] for key in by for row in rows}
    lines = [("", *columns, "n")]
    for name, own in (groups | {"all": rows}).items():
        found = (exact_share(sum(bool(row[field]) for row in own), len(own)) for field in columns.values())
        lines.append((name, *map(shown, found), str(len(own))))
    return lines


def end(name: str | None, figures: Mapping[str, Any], violated: Sequence[str] = ()) -> NoReturn:
    """Print what was violated, write the figures if they have a name, and exit with 1 if anything was violated."""
    for one in violated[:20]:
        print(f"violated: {one}")
    if name:
        write_figures(name, figures)
    sys.exit(1 if violated else 0)


def without_time_limit(services: Services, context: Context) -> Context:
    """Return the completed context with a time limit that is never met, so that kept and new replies count alike."""
    context = services.completed(context)
    limits = context.effective_limits.model_copy(update={"seconds": LONGEST})
    return context.model_copy(update={"limits": limits})


@dataclass
class WrappedSystem:
    """A system that answers by calling ``ask``."""

    name: str
    fingerprint: str
    ask: Callable[[Example], Awaitable[Record]]
