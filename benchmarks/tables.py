"""Ask questions of generated tables: what a filter, an order, a count, a sum or a mean answers, and what nothing does.

    python -m benchmarks.tables --half report
    python -m benchmarks.tables --half free-report
    python -m training.question_set --tables report --out eval
    python -m benchmarks.tables --public eval/tables --most 100

Thirty tables of 5 to 2,000 rows, of ten kinds of things, five questions each, all drawn by a seed. The tables of one
half are for tuning, those of the other for the report. `FREE` are 40 questions of five tables in other words and in
five languages for tuning, and 40 of five others for the report. ``--public`` asks questions of WikiTableQuestions
instead, each of its own table. Printed are the shares of right answers by kind of question, and of wrong ones that are
called grounded; ``bench/tables.json`` has them, and ``--out`` each answer.
"""

import asyncio
import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, cast

from app.front_door import SelfRAG
from app.results.result import Result
from benchmarks.harness import FOLDER, aligned, counted, option_parser, read_rows, shown, write_figures
from evaluation.measures.scores import answer_of, right_answer
from evaluation.measures.statistics import exact_share
from evaluation.records import Record

SIZES = (6, 12, 40, 150, 400, 2_000)  # of the tables in turn; 40 things have names of one word, more have two
TABLES = 30
FIRST = "Alder Birch Cedar Dover Elder Fenn Garth Hazel Irwin Juniper Kelso Linden Maple Norham Orchard Prior".split()
LAST = (
    "Bank Brook Cross Dale End Field Gate Hill Island Junction Keep Lane Mill Nook Oak Park Quay Ridge Spring".split()
)


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


KINDS = (
    Kind("houses", "house", "House", {"district": ("Eastgate", "Harbour", "Old Town", "Westfield")},
         {"monthly rent (EUR)": (400, 4_000, 0), "floor area (m2)": (20, 300, 1)},
         "Which house has the highest monthly rent?", "Which house has the smallest floor area?",
         "Which house has the best view of the sea?"),
    Kind("employees", "employee", "Employee", {"department": ("Sales", "Finance", "Research", "Logistics")},
         {"salary": (21_000, 98_000, 0), "years of service": (0, 40, 0)},
         "Who earns the highest salary?", "Who has the fewest years of service?",
         "Which employee speaks the most languages?"),
    Kind("bonds", "bond", "Bond", {"rating": ("AAA", "AA", "BBB", "BB")},
         {"coupon (%)": (0.2, 9, 2), "amount issued (million)": (50, 5_000, 0)},
         "Which bond has the highest coupon?", "Which bond has the smallest amount issued?",
         "Which bond was upgraded most often?"),
    Kind("trials", "trial", "Trial", {"phase": ("I", "II", "III", "IV"), "sponsor": ("Norvia", "Helmgen", "Orbis")},
         {"patients": (8, 4_000, 0), "dropouts": (0, 300, 0)},
         "Which trial enrolled the most patients?", "Which trial had the fewest dropouts?",
         "Which trial had the most side effects?"),
    Kind("stations", "station", "Station", {"line": ("Red", "Blue", "Green")},
         {"passengers a day": (100, 90_000, 0), "platforms": (1, 14, 0)},
         "Which station has the most passengers a day?", "Which station has the fewest platforms?",
         "Which station was built first?"),
    Kind("wines", "wine", "Wine", {"country": ("Chile", "France", "Italy", "Spain")},
         {"price": (4, 180, 2), "bottles in stock": (0, 900, 0)},
         "Which wine is the most expensive?", "Of which wine are there the fewest bottles in stock?",
         "Which wine has the most alcohol?"),
    Kind("reservoirs", "reservoir", "Reservoir", {"state": ("Bavaria", "Hesse", "Saxony")},
         {"capacity (million m3)": (1, 900, 1), "depth (m)": (5, 130, 1)},
         "Which reservoir has the largest capacity?", "Which reservoir is the shallowest?",
         "Which reservoir has the most visitors?"),
    Kind("contracts", "contract", "Contract", {"status": ("active", "expired", "terminated")},
         {"value (GBP)": (900, 800_000, 0), "term in months": (3, 120, 0)},
         "Which contract has the highest value?", "Which contract has the shortest term?",
         "Which contract was signed by the most parties?"),
    Kind("machines", "machine", "Machine", {"hall": ("North hall", "South hall", "Annex")},
         {"power (kW)": (1, 450, 1), "hours since service": (0, 9_000, 0)},
         "Which machine has the highest power?", "Which machine has the fewest hours since service?",
         "Which machine is the loudest?"),
    Kind("schools", "school", "School", {"type": ("primary", "secondary", "vocational")},
         {"pupils": (40, 1_900, 0), "teachers": (4, 150, 0)},
         "Which school has the most pupils?", "Which school has the fewest teachers?",
         "Which school has the best results?"),
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """A question of a table, and what answers it: all of ``answers``, and none of ``others``; no answers, nothing."""

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

    @property
    def file(self) -> str:
        return f"{self.kind.name}-{self.number}.csv"


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
    kind, rows = table.kind, table.rows
    (group, words), figures = next(iter(kind.groups.items())), list(kind.figures)
    random = Random(table.number)
    word, plain = random.choice(words), [name.partition(" (")[0] for name in figures]
    within = [row for row in rows if row[group] == word]

    def asked(kind_: str, question: str, *answers: object) -> Asked:
        return Asked(f"{table.number}-{kind_}", kind_, question, tuple(map(str, answers)))

    if table.number % 2:
        yield asked("order", kind.most, *_extreme(rows, figures[0], max, kind.column))
    else:
        yield asked("order", kind.least, *_extreme(rows, figures[1], min, kind.column))
    bound = sorted(row[figures[0]] for row in rows)[int(0.6 * len(rows))]
    if table.number % 3:
        above = [row for row in within if row[figures[0]] > bound]
        yield asked(
            "count", f"How many {kind.thing}s with {group} {word} have a {plain[0]} of more than {bound}?", len(above)
        )
    else:
        yield asked("count", f"How many {kind.thing}s have the {group} {word}?", len(within))
    digits = kind.figures[figures[1]][2]
    if table.number % 3 == 1:
        total = round(sum(row[figures[1]] for row in within), digits)
        yield asked("sum", f"What is the total {plain[1]} of all {kind.thing}s whose {group} is {word}?", total)
    elif table.number % 3 == 2:
        mean = sum(row[figures[0]] for row in rows) / len(rows)
        yield asked("mean", f"What is the average {plain[0]} of the {kind.thing}s?", round(mean, 2))
    else:
        means = {one: _mean([row[figures[0]] for row in rows if row[group] == one]) for one in words}
        best = max(means, key=lambda one: means[one])
        yield asked("group", f"Which {group} has the highest average {plain[0]}?", best)
    few = sorted(rows, key=lambda row: -row[figures[0]])
    edge = next((n for n in (3, 2, 4, 1, 5) if few[n - 1][figures[0]] > few[n][figures[0]]), 1)
    least = few[edge][figures[0]]
    yield asked(
        "filter", f"Which {kind.thing}s have a {plain[0]} above {least}?", *(row[kind.column] for row in few[:edge])
    )
    if table.number % 5 < 2:
        yield asked("missing", kind.missing)
    elif table.number % 5 < 4:
        one = random.choice(rows)
        yield asked("lookup", f"What is the {plain[1]} of {one[kind.column]}?", one[figures[1]])
    else:
        pair = random.sample(rows, 2)
        while pair[0][figures[0]] == pair[1][figures[0]]:
            pair = random.sample(rows, 2)
        more = max(pair, key=lambda row: row[figures[0]])
        names = " or ".join(row[kind.column] for row in pair)
        yield asked("compare", f"Which has the higher {plain[0]}, {names}?", more[kind.column])


Rows = list[dict[str, Any]]
# Of a table's number: a question, and what answers it, a function of the rows; nothing where no column says it.
FREE: dict[int, tuple[tuple[str, Callable[[Rows], list[Any]]], ...]] = {
    9: (
        ("Name the school with the largest number of pupils.", lambda rows: top(rows, "pupils", "School")),
        ("Welche Schule hat die wenigsten Lehrer?", lambda rows: top(rows, "teachers", "School", -1)),
        ("How many primary schools are there?", lambda rows: [count(rows, type="primary")]),
        ("Combien d'élèves ont les écoles de type vocational en tout ?", lambda rows: [
            sum(row["pupils"] for row in rows if row["type"] == "vocational")]),
        ("What do secondary schools have on average in pupils?", lambda rows: [
            two(_mean([row["pupils"] for row in rows if row["type"] == "secondary"]))]),
        ("Which school has the most classrooms?", lambda rows: []),
        ("¿Cuántas escuelas tienen más de 100 profesores?", lambda rows: [sum(row["teachers"] > 100 for row in rows)]),
        ("Which type of school is the most frequent?", lambda rows: most_frequent(rows, "type")),
    ),
    25: (
        ("Which wine costs the most?", lambda rows: top(rows, "price", "Wine")),
        ("What is the cheapest wine?", lambda rows: top(rows, "price", "Wine", -1)),
        ("Welches ist der teuerste Wein aus Italien?", lambda rows: top(
            [row for row in rows if row["country"] == "Italy"], "price", "Wine")),
        ("How many wines come from Spain?", lambda rows: [count(rows, country="Spain")]),
        ("How many bottles are in stock altogether?", lambda rows: [sum(row["bottles in stock"] for row in rows)]),
        ("Which wine goes best with fish?", lambda rows: []),
        ("哪种酒最贵？", lambda rows: top(rows, "price", "Wine")),
        ("Quel est le prix moyen des vins de France ?", lambda rows: [
            two(_mean([row["price"] for row in rows if row["country"] == "France"]))]),
    ),
    7: (
        ("What is the value of all active contracts together?", lambda rows: [
            sum(row["value (GBP)"] for row in rows if row["status"] == "active")]),
        ("Which contract runs the longest?", lambda rows: top(rows, "term in months", "Contract")),
        ("How many contracts are still active?", lambda rows: [count(rows, status="active")]),
        ("Welcher Vertrag hat den niedrigsten Wert?", lambda rows: top(rows, "value (GBP)", "Contract", -1)),
        ("Which contracts run for more than 100 months?", lambda rows: [
            row["Contract"] for row in rows if row["term in months"] > 100]),
        ("Which contract has the highest penalty?", lambda rows: []),
        ("¿Cuál es el valor medio de los contratos?", lambda rows: [two(_mean([row["value (GBP)"] for row in rows]))]),
        ("Which terminated contract is worth the most?", lambda rows: top(
            [row for row in rows if row["status"] == "terminated"], "value (GBP)", "Contract")),
    ),
    12: (
        ("Which bond pays the highest interest?", lambda rows: top(rows, "coupon (%)", "Bond")),
        ("How many bonds are rated AAA?", lambda rows: [count(rows, rating="AAA")]),
        ("What is the total amount issued?", lambda rows: [sum(row["amount issued (million)"] for row in rows)]),
        ("Welche Anleihe hat den niedrigsten Kupon?", lambda rows: top(rows, "coupon (%)", "Bond", -1)),
        ("Which rating has the highest average coupon?", lambda rows: [max(
            {row["rating"] for row in rows},
            key=lambda one: _mean([row["coupon (%)"] for row in rows if row["rating"] == one]))]),
        ("Which bond matures first?", lambda rows: []),
        ("Which is the largest issue rated AA?", lambda rows: top(
            [row for row in rows if row["rating"] == "AA"], "amount issued (million)", "Bond")),
        ("Combien d'obligations ont un coupon supérieur à 5 ?", lambda rows: [
            sum(row["coupon (%)"] > 5 for row in rows)]),
    ),
    23: (
        ("Which trial had the most participants?", lambda rows: top(rows, "patients", "Trial")),
        ("How many trials did Orbis sponsor?", lambda rows: [count(rows, sponsor="Orbis")]),
        ("How many patients dropped out in total?", lambda rows: [sum(row["dropouts"] for row in rows)]),
        ("Which sponsor enrolled the most patients in all its trials?", lambda rows: [max(
            {row["sponsor"] for row in rows},
            key=lambda one: sum(row["patients"] for row in rows if row["sponsor"] == one))]),
        ("Which phase III trial had the fewest dropouts?", lambda rows: top(
            [row for row in rows if row["phase"] == "III"], "dropouts", "Trial", -1)),
        ("Which trial cost the most?", lambda rows: []),
        ("Welche Studie hatte die wenigsten Patienten?", lambda rows: top(rows, "patients", "Trial", -1)),
        ("List the trials with more than 3,000 patients.", lambda rows: [
            row["Trial"] for row in rows if row["patients"] > 3_000]),
    ),
    3: (
        ("How many patients took part in all trials together?", lambda rows: [sum(row["patients"] for row in rows)]),
        ("Which study lost the most patients?", lambda rows: top(rows, "dropouts", "Trial")),
        ("Wie viele Studien hat Norvia bezahlt?", lambda rows: [count(rows, sponsor="Norvia")]),
        ("How many phase II trials had over 2,000 patients?", lambda rows: [
            sum(row["phase"] == "II" and row["patients"] > 2_000 for row in rows)]),
        ("Which trial was stopped early most recently?", lambda rows: []),
        ("What is the smallest number of patients in any trial?", lambda rows: [min(row["patients"] for row in rows)]),
        ("¿Qué ensayo tuvo más pacientes?", lambda rows: top(rows, "patients", "Trial")),
        ("Which sponsor ran the most trials?", lambda rows: most_frequent(rows, "sponsor")),
    ),
    14: (
        ("What is the busiest station?", lambda rows: top(rows, "passengers a day", "Station")),
        ("Which station of the Green line is used by the fewest passengers?", lambda rows: top(
            [row for row in rows if row["line"] == "Green"], "passengers a day", "Station", -1)),
        ("How many stations are on the Blue line?", lambda rows: [count(rows, line="Blue")]),
        ("Combien de gares ont plus de 12 quais ?", lambda rows: [sum(row["platforms"] > 12 for row in rows)]),
        ("Which station has the longest escalator?", lambda rows: []),
        ("On which line is the number of stations the largest?", lambda rows: most_frequent(rows, "line")),
        ("How many passengers travel a day on the Red line?", lambda rows: [
            sum(row["passengers a day"] for row in rows if row["line"] == "Red")]),
        ("哪个车站每天的乘客最多？", lambda rows: top(rows, "passengers a day", "Station")),
    ),
    18: (
        ("Which is the strongest machine?", lambda rows: top(rows, "power (kW)", "Machine")),
        ("Which machine has gone longest without a service?", lambda rows: top(rows, "hours since service", "Machine")),
        ("How many machines stand in the Annex?", lambda rows: [count(rows, hall="Annex")]),
        ("Welche Maschine hat die geringste Leistung?", lambda rows: top(rows, "power (kW)", "Machine", -1)),
        ("Which machine uses the most water?", lambda rows: []),
        ("What power do all machines have together?", lambda rows: [two(sum(row["power (kW)"] for row in rows))]),
        ("Which machines have a power below 50 kW?", lambda rows: [
            row["Machine"] for row in rows if row["power (kW)"] < 50]),
        ("¿Cuántas máquinas hay en la South hall?", lambda rows: [count(rows, hall="South hall")]),
    ),
    10: (
        ("Which house is the most expensive to rent?", lambda rows: top(rows, "monthly rent (EUR)", "House")),
        ("Which house is the largest?", lambda rows: top(rows, "floor area (m2)", "House")),
        ("How many houses cost less than 500 euros a month?", lambda rows: [
            sum(row["monthly rent (EUR)"] < 500 for row in rows)]),
        ("Was kostet ein Haus in Eastgate im Durchschnitt?", lambda rows: [two(_mean(
            [row["monthly rent (EUR)"] for row in rows if row["district"] == "Eastgate"]))]),
        ("Which house was sold for the highest price?", lambda rows: []),
        ("In which district are the most houses?", lambda rows: most_frequent(rows, "district")),
        ("Combien de maisons y a-t-il à Westfield ?", lambda rows: [count(rows, district="Westfield")]),
        ("Which house has the most bedrooms?", lambda rows: []),
    ),
    21: (
        ("Who is paid the least?", lambda rows: top(rows, "salary", "Employee", -1)),
        ("How many people work in Research?", lambda rows: [count(rows, department="Research")]),
        ("How many employees earn more than 95,000?", lambda rows: [sum(row["salary"] > 95_000 for row in rows)]),
        ("Which department has the lowest average salary?", lambda rows: [min(
            {row["department"] for row in rows},
            key=lambda one: _mean([row["salary"] for row in rows if row["department"] == one]))]),
        ("Who has the most children?", lambda rows: []),
        ("Wie hoch ist das durchschnittliche Gehalt in Sales?", lambda rows: [two(_mean(
            [row["salary"] for row in rows if row["department"] == "Sales"]))]),
        ("What do all employees of Finance earn together?", lambda rows: [
            sum(row["salary"] for row in rows if row["department"] == "Finance")]),
        ("Who took the most days of leave?", lambda rows: []),
    ),
}  # fmt: skip
FREE_TUNING = (9, 25, 7, 12, 23)


def free(table: Drawn) -> Iterator[Asked]:
    """Yield the questions of a table in other words, with what answers them."""
    for number, (question, answers) in enumerate(FREE[table.number]):
        found = answers(table.rows)
        yield Asked(
            f"{table.number}-free-{number}", "free" if found else "free, missing", question, tuple(map(str, found))
        )


def top(rows: Rows, figure: str, name: str, sign: int = 1) -> list[str]:
    """Return the thing with the highest figure, or with ``sign`` -1 the lowest: the tables of `FREE` have one each."""
    return [max(rows, key=lambda row: sign * row[figure])[name]] if rows else []


def count(rows: Rows, **wanted: str) -> int:
    return sum(all(row[name] == value for name, value in wanted.items()) for row in rows)


def most_frequent(rows: Rows, name: str) -> list[str]:
    return [Counter(row[name] for row in rows).most_common(1)[0][0]]


def two(figure: float) -> str:
    return f"{round(figure, 2):.2f}".rstrip("0").rstrip(".")


def _extreme(rows: Sequence[dict[str, Any]], figure: str, of: Callable[..., Any], name: str) -> list[str]:
    """Return the names of all rows that have the highest or lowest figure."""
    value = of(row[figure] for row in rows)
    return [row[name] for row in rows if row[figure] == value]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def main() -> None:
    """Write the tables, ask, print the figures, and keep each answer."""
    options = option_parser(__doc__, out=FOLDER / "tables", most=TABLES)
    options.add_argument("--half", choices=("tune", "report", "free-tune", "free-report"), default="report")
    options.add_argument("--public", type=Path, help="a folder of questions, each of its own table")
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    libraries = public(given.public) if given.public else drawn(given.half, given.out)
    rows = asyncio.run(answers(libraries[: given.most], given.out / "answers.json"))
    print(aligned(list(summary(rows))))
    write_figures("tables", {"half": given.public or given.half, "rows": rows})


def drawn(half: str, folder: Path) -> list[tuple[Path, list[Asked]]]:
    """Write the tables of a half, and return each with its questions."""
    every = list(tables())
    if half.startswith("free"):
        chosen = [one for one in every if one.number in FREE and (one.number in FREE_TUNING) == (half == "free-tune")]
        return [(written(one, folder), list(free(one))) for one in chosen]
    chosen = [one for one in every if (one.number + one.number // len(KINDS)) % 2 == (half == "report")]
    return [(written(one, folder), list(questions(one))) for one in chosen]


def public(folder: Path) -> list[tuple[Path, list[Asked]]]:
    """Return the tables of a folder that `training.question_set` wrote, each with its question."""
    rows = read_rows(folder / "questions.jsonl")
    return [(folder / row["docs"], [Asked(row["id"], "public", row["question"], tuple(row["answer"]))]) for row in rows]


async def answers(libraries: Sequence[tuple[Path, Sequence[Asked]]], kept_in: Path) -> list[dict[str, Any]]:
    """Ask the questions of each table with that table alone as the library, and keep the answers after each."""
    kept: list[dict[str, Any]] = []
    for path, asked in counted(libraries):
        async with SelfRAG.open(path) as rag:
            for one in asked:
                result = await rag.aask(one.question)
                row: dict[str, Any] = {"question": one.question, "answers": one.answers, "answer": result.answer}
                row |= {"outcome": result.outcome, "confidence": result.confidence, "right": is_right(one, result)}
                kept.append({"id": one.id, "kind": one.kind, **row, "seconds": result.usage["seconds"]})
        keep(kept, kept_in)
    return kept


def keep(rows: Sequence[dict[str, Any]], path: Path) -> None:
    path.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def written(table: Drawn, folder: Path) -> Path:
    """Write a table as CSV."""
    path = folder / table.file
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(table.rows[0]))
        writer.writeheader()
        writer.writerows(table.rows)
    return path


def is_right(one: Asked, result: Result) -> bool:
    """Whether the answer names what it should; of several things with the same extreme one is enough."""
    if not one.answers:
        return result.outcome == "abstained"
    if one.kind == "public":
        answer = answer_of(cast("Record", {"answer": result.answer}))
        return result.outcome == "grounded" and right_answer(answer, one.answers, one.question)
    enough = any if one.kind == "order" else all
    said = enough(has(result.answer, answer) for answer in one.answers)
    return result.outcome == "grounded" and said and (one.kind != "filter" or len(result.claims) == len(one.answers))


def has(text: str, answer: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(answer)}(?![\w]|\.\d)", text) is not None


def summary(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Yield a line for each kind of question, and for all."""
    yield ("", "right", "wrong but grounded", "n")
    for kind in [*dict.fromkeys(row["kind"] for row in rows), "all"]:
        own = [row for row in rows if kind in (row["kind"], "all")]
        wrong = sum(row["outcome"] == "grounded" and not row["right"] for row in own)
        right = exact_share(sum(row["right"] for row in own), len(own))
        yield (kind, shown(right), shown(exact_share(wrong, len(own))), str(len(own)))


if __name__ == "__main__":
    main()
