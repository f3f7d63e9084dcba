"""Break the product at random, one place at a time, and count how often the tests notice.

    python -m benchmarks.mutations --most 200 --seed 36

The tests of the README run once, noting which of them reach which line. Then operators, conditions, constants, returned
values and calls, drawn by the seed among the lines reached, are changed in a copy of the last commit, and the tests
that reach the line run, those that reach the fewest lines first, for at most ``--seconds``. What was found of each is
appended to ``--out``, and an interrupted run goes on. Printed is the share caught, with its interval.
"""

import ast
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from coverage import CoverageData

from benchmarks.harness import FOLDER, counted, option_parser, read_rows, shown
from evaluation.measures.statistics import exact_share

GIT = shutil.which("git") or "git"
TESTS = 200  # at most, for one mutation
PAIRS: tuple[tuple[type[ast.AST], type[ast.AST]], ...] = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
    *((ast.And, ast.Or), (ast.Add, ast.Sub), (ast.Mult, ast.Div)),
)
SWAPPED: dict[type[ast.AST], Any] = {**dict(PAIRS), **{other: one for one, other in PAIRS}}


@dataclass(frozen=True)
class Mutation:
    """A place in a file, as bytes, and what stands there instead; ``line`` is the first of the place."""

    path: str
    line: int
    start: int
    end: int
    text: str


def main() -> None:
    """Find which tests reach what, draw, and try what no earlier run has tried."""
    options = option_parser(__doc__, most=200, seed=36, seconds=100, out=FOLDER / "mutations").parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    reached = tests_by_line(options.out / "coverage")
    places = [
        one
        for path in sorted({path for path, _ in reached})
        for one in mutations(path, Path(path).read_bytes())
        if (path, one.line) in reached
    ]
    drawn = Random(options.seed).sample(places, min(options.most, len(places)))
    kept = options.out / "outcomes.jsonl"
    outcomes = {(row["path"], row["start"], row["text"]): row["outcome"] for row in read_rows(kept)}
    left = [one for one in drawn if (one.path, one.start, one.text) not in outcomes]
    with copy_of_last_commit() as copy:
        for one in counted(left):
            found = outcome(one, reached[one.path, one.line], copy, options.seconds)
            outcomes[one.path, one.start, one.text] = found
            with kept.open("a", encoding="utf-8") as file:
                file.write(dumps(vars(one) | {"outcome": found}) + "\n")
    caught = sum(outcomes[one.path, one.start, one.text] == "caught" for one in drawn)
    share = shown(exact_share(caught, len(drawn)))
    print(f"caught: {share}, {caught} of {len(drawn)}, which were drawn among {len(places)} places")


@contextmanager
def copy_of_last_commit() -> Iterator[Path]:
    """Yield a worktree of its own."""
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        subprocess.run([GIT, "worktree", "add", "-q", "--detach", copy], check=True)
        try:
            yield copy
        finally:
            subprocess.run([GIT, "worktree", "remove", "--force", copy], check=True)


def tests_by_line(data: Path) -> dict[tuple[str, int], list[str]]:
    """Return for each line of the product the tests that reach it, those that reach little first.

    The README's tests are run where ``data`` does not say yet.
    """
    if not data.exists():
        tools = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["tool"]
        folders = set(tools["importlinter"]["root_packages"]) - {"benchmarks", "training"}
        measured = [f"--cov={one}" for one in sorted(folders)]
        ran = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "worksteal", "--cov-report=", "--cov-context=test"]
        subprocess.run([*ran, *measured], env=os.environ | {"COVERAGE_FILE": str(data.absolute())}, check=True)
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only"], capture_output=True, text=True, check=True
    )
    known = {line for line in collected.stdout.splitlines() if "::" in line}  # as addopts has -q
    noted = CoverageData(str(data))
    noted.read()
    lines: dict[tuple[str, int], set[str]] = {}
    counts: dict[str, int] = {}
    for file in noted.measured_files():
        path = Path(file).relative_to(Path.cwd()).as_posix()
        for line, contexts in noted.contexts_by_lineno(file).items():
            for test in {one.partition("|")[0] for one in contexts} & known:
                lines.setdefault((path, line), set()).add(test)
                counts[test] = counts.get(test, 0) + 1
    return {place: sorted(tests, key=lambda test: (counts[test], test))[:TESTS] for place, tests in lines.items()}


def mutations(path: str, source: bytes) -> Iterator[Mutation]:
    """Yield all changes of a file, in the order of the syntax tree; annotations and f-strings are left alone."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in parts(ast.parse(source)):
        for part, text in changes(node):
            if part.end_lineno is not None and part.end_col_offset is not None:
                start = starts[part.lineno - 1] + part.col_offset
                yield Mutation(path, part.lineno, start, starts[part.end_lineno - 1] + part.end_col_offset, text)


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield from parts(child)


def changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield what may stand in place of a node or of a part of it."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=comparators) if type(op) in SWAPPED:
            yield node, written(ast.Compare(left, [_swapped(op)], comparators))
        case ast.BoolOp(op=op, values=values):
            yield node, written(ast.BoolOp(_swapped(op), values))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in SWAPPED:
            yield node, written(ast.BinOp(left, _swapped(op), right))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, written(operand)
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield test, written(ast.UnaryOp(ast.Not(), test))
        case ast.Constant(value=bool() as value):
            yield node, str(not value)
        case ast.Constant(value=int() | float() as value):
            yield node, str(value + 1)
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield value, "None"
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield node, "pass"


def written(node: ast.expr) -> str:
    """Return the source of an expression, in brackets, on one line."""
    return f"({ast.unparse(node)})"


def _swapped(op: ast.AST) -> Any:
    return SWAPPED[type(op)]()


def outcome(one: Mutation, tests: list[str], copy: Path, seconds: int) -> str:
    """Return ``caught``, ``missed`` or ``out of time``: what the tests say of one mutation in a copy."""
    path = copy / one.path
    source = path.read_bytes()
    path.write_bytes(source[: one.start] + one.text.encode() + source[one.end :])
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", f"--timeout={seconds // 2}", *tests]
    process = subprocess.Popen(
        command, cwd=copy, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        return "missed" if process.wait(seconds) == 0 else "caught"
    except subprocess.TimeoutExpired:
        return "out of time"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        path.write_bytes(source)


if __name__ == "__main__":
    main()
