"""Ask questions of generated tables: what a filter, an order, a count, a sum or a mean answers, and what nothing does.

    python -m benchmarks.tables --half report
    python -m benchmarks.tables --half free-report
    python -m benchmarks.tables --public data/pages
    python -m training.question_set --tables report --out eval && python -m benchmarks.tables --public eval/tables

Thirty tables of 5 to 2,000 rows, of ten kinds of things, five questions each, all drawn by a seed. The tables of one
half are for tuning, those of the other for the report. The free halves are 40 questions each, of five tables, in other
words and in five languages; the kinds and these questions, each with its SELECT, are in ``data/tables.json``.
``--public`` asks of WikiTableQuestions, or of 24 pages of text with a small table each, by an agent who had not seen
the code. Printed are the shares of right answers by kind of question, and of wrong ones that are called grounded;
``bench/tables.json`` has them, and ``--out`` each answer.
"""

import asyncio
import csv
import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, cast

from app.front_door import SelfRAG
from app.libraries import SAMPLE
from app.results.result import Result
from benchmarks.harness import (
    FOLDER,
    aligned,
    counted,
    option_parser,
    read_rows,
    share_table,
    write_figures,
    write_rows,
)
from evaluation.measures.scores import bare_answer, right_answer
from evaluation.records import Record

SIZES = (6, 12, 40, 150, 400, 2_000)  # of the tables in turn; 40 things have names of one word, more have two
TABLES = 30
FIRST = "Alder Birch Cedar Dover Elder Fenn Garth Hazel Irwin Juniper Kelso Linden Maple Norham Orchard Prior".split()
LAST = (
    "Bank Brook Cross Dale End Field Gate Hill Island Junction Keep Lane Mill Nook Oak Park Quay Ridge Spring".split()
)
DATA = json.loads((SAMPLE.parent / "tables.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Kind:
    """A kind of table: what its rows are, by which words they are grouped, and figures with their range."""

    name: str
    thing: str
    column: str
    groups: dict[str, Sequence[str]]
    figures: dict[str, tuple[float, float, int]]  # least, most, decimals
    most: str  # asks for the thing with the highest first figure
    least: str  # with the lowest second figure
    missing: str  # asks what no column says


KINDS = [Kind(**row) for row in DATA["kinds"]]


@dataclass(frozen=True)
class Asked:
    """A question about a table; a right answer has all of ``answers`` or, if there are none, abstains."""

    id: str
    kind: str
    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Drawn:
    """A table as it is drawn; figures are numbers, all else is text."""

    kind: Kind
    number: int
    rows: list[dict[str, Any]]

    def asked(self, kind: str, question: str, sql: str | None) -> Asked:
        """Return a question with what this SELECT over ``t`` finds, fractions with two decimals; nothing if None."""
        found = self._selected(sql) if sql else []
        texts = (f"{one:.2f}".rstrip("0").rstrip(".") if isinstance(one, float) else str(one) for one in found)
        return Asked(f"{self.number}-{kind}", kind, question, tuple(texts))

    def _selected(self, sql: str) -> list[Any]:
        with closing(sqlite3.connect(":memory:")) as database:
            database.execute(f"CREATE TABLE t ({', '.join(map(quoted, self.rows[0]))})")
            places = ", ".join("?" for _ in self.rows[0])
            database.executemany(f"INSERT INTO t VALUES ({places})", [tuple(row.values()) for row in self.rows])
            return [value for (value,) in database.execute(sql)]


def quoted(column: str) -> str:
    """Return a column's name as SQL writes it."""
    return f'"{column}"'


def tables(seed: int = 38) -> Iterator[Drawn]:
    """Draw the tables."""
    for number in range(TABLES):
        random, kind = Random(seed * 1_000 + number), KINDS[number % len(KINDS)]
        names = [f"{one} {two}" for one in FIRST for two in LAST]
        size = SIZES[(number + number // len(KINDS)) % len(SIZES)]
        names += [f"{name} {ward}" for ward in "ABCDEF" for name in names]
        rows = [
            {kind.column: name}
            | {group: random.choice(words) for group, words in kind.groups.items()}
            | {name: round(random.uniform(low, high), digits) if digits else random.randint(int(low), int(high))
               for name, (low, high, digits) in kind.figures.items()}
            for name in random.sample(names, size)
        ]  # fmt: skip
        yield Drawn(kind, number, rows)


def questions(table: Drawn) -> Iterator[Asked]:
    """Yield five questions of a table, with what answers them."""
    kind, rows, number = table.kind, table.rows, table.number
    (group, words), (first, second) = next(iter(kind.groups.items())), kind.figures
    random = Random(number)
    word, (plain, other) = random.choice(words), (name.partition(" (")[0] for name in (first, second))
    name, high, low, by = map(quoted, (kind.column, first, second, group))
    of_word = f"FROM t WHERE {by} = '{word}'"

    if number % 2:
        yield table.asked("order", kind.most, f"SELECT {name} FROM t WHERE {high} = (SELECT max({high}) FROM t)")
    else:
        yield table.asked("order", kind.least, f"SELECT {name} FROM t WHERE {low} = (SELECT min({low}) FROM t)")
    bound = sorted(row[first] for row in rows)[int(0.6 * len(rows))]
    if number % 3:
        many = f"How many {kind.thing}s with {group} {word} have a {plain} of more than {bound}?"
        yield table.asked("count", many, f"SELECT count(*) {of_word} AND {high} > {bound}")
    else:
        yield table.asked("count", f"How many {kind.thing}s have the {group} {word}?", f"SELECT count(*) {of_word}")
    if number % 3 == 1:
        total = f"What is the total {other} of all {kind.thing}s whose {group} is {word}?"
        yield table.asked("sum", total, f"SELECT total({low}) {of_word}")
    elif number % 3 == 2:
        yield table.asked("mean", f"What is the average {plain} of the {kind.thing}s?", f"SELECT avg({high}) FROM t")
    else:
        best = f"SELECT {by} FROM t GROUP BY {by} ORDER BY avg({high}) DESC LIMIT 1"
        yield table.asked("group", f"Which {group} has the highest average {plain}?", best)
    few = sorted((row[first] for row in rows), reverse=True)
    least = few[next((n for n in (3, 2, 4, 1, 5) if few[n - 1] > few[n]), 1)]
    above = f"SELECT {name} FROM t WHERE {high} > {least} ORDER BY {high} DESC"
    yield table.asked("filter", f"Which {kind.thing}s have a {plain} above {least}?", above)
    if number % 5 < 2:
        yield table.asked("missing", kind.missing, None)
    elif number % 5 < 4:
        one = random.choice(rows)[kind.column]
        yield table.asked("lookup", f"What is the {other} of {one}?", f"SELECT {low} FROM t WHERE {name} = '{one}'")
    else:
        pair = random.sample(rows, 2)
        while pair[0][first] == pair[1][first]:
            pair = random.sample(rows, 2)
        both = [row[kind.column] for row in pair]
        more = f"SELECT {name} FROM t WHERE {name} IN {tuple(both)} ORDER BY {high} DESC LIMIT 1"
        yield table.asked("compare", f"Which has the higher {plain}, {' or '.join(both)}?", more)


def free(table: Drawn, rows: Sequence[dict[str, Any]]) -> Iterator[Asked]:
    """Yield the questions of a table in other words, with what answers them."""
    for number, row in enumerate(rows):
        one = table.asked(f"free-{number}", row["question"], row["sql"])
        yield replace(one, kind="free" if one.answers else "free, missing")


def main() -> None:
    """Write the tables, ask, print the figures, and keep each answer."""
    options = option_parser(__doc__, out=FOLDER / "tables", most=TABLES)
    options.add_argument("--half", choices=("tune", "report", "free-tune", "free-report"), default="report")
    options.add_argument("--public", type=Path, help="a folder of questions, each of its own table")
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    libraries = public(given.public) if given.public else drawn(given.half, given.out)
    rows = asyncio.run(answers(libraries[: given.most], given.out / "answers.jsonl"))
    print(aligned(share_table(rows, ("kind",), {"right": "right", "wrong but grounded": "wrong"})))
    write_figures("tables", {"half": given.public or given.half, "rows": rows})


def drawn(half: str, folder: Path) -> list[tuple[Path, list[Asked]]]:
    """Write the tables of a half, and return each with its questions."""
    if half in DATA:
        asked = {int(number): rows for number, rows in DATA[half].items()}
        return [(written(one, folder), list(free(one, asked[one.number]))) for one in tables() if one.number in asked]
    chosen = [one for one in tables() if (one.number + one.number // len(KINDS)) % 2 == (half == "report")]
    return [(written(one, folder), list(questions(one))) for one in chosen]


def public(folder: Path) -> list[tuple[Path, list[Asked]]]:
    """Return the tables, or pages, of a folder with its ``questions.jsonl``, and the questions of each."""
    asked: dict[Path, list[Asked]] = {}
    for row in read_rows(folder / "questions.jsonl"):
        one = Asked(row["id"], row.get("kind", "public"), row["question"], tuple(row["answer"]))
        asked.setdefault(folder / row["docs"], []).append(one)
    return list(asked.items())


async def answers(libraries: Sequence[tuple[Path, Sequence[Asked]]], kept_in: Path) -> list[dict[str, Any]]:
    """Ask the questions of each table with that table alone as the library, and keep the answers after each."""
    kept: list[dict[str, Any]] = []
    for path, asked in counted(libraries):
        async with SelfRAG.open(path) as rag:
            for one in asked:
                result = await rag.aask(one.question)
                right = is_right(one, result)
                told = {name: getattr(result, name) for name in ("answer", "outcome", "confidence")}
                told |= {"right": right, "wrong": result.outcome == "grounded" and not right}
                kept.append({**asdict(one), **told, "seconds": result.usage["seconds"]})
        write_rows(kept_in, kept)
    return kept


def written(table: Drawn, folder: Path) -> Path:
    """Write a table as CSV."""
    path = folder / f"{table.kind.name}-{table.number}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(table.rows[0]))
        writer.writeheader()
        writer.writerows(table.rows)
    return path


def is_right(one: Asked, result: Result) -> bool:
    """Whether the answer names what it should; of several things with the same extreme one is enough."""
    if not one.answers:
        return result.outcome == "abstained"
    if one.kind.startswith(("public", "page")):
        answer = bare_answer(cast("Record", {"answer": result.answer}))
        return result.outcome == "grounded" and right_answer(answer, one.answers, one.question)
    enough = any if one.kind == "order" else all
    said = enough(has(result.answer, answer) for answer in one.answers)
    return result.outcome == "grounded" and said and (one.kind != "filter" or len(result.claims) == len(one.answers))


def has(text: str, answer: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(answer)}(?![\w]|\.\d)", text) is not None


if __name__ == "__main__":
    main()
