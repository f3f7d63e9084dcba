"""The exports of several months, or the figures of several companies, are asked as one table."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from core.types import TableFound
from nodes.found_passages import as_passage
from nodes.query_table import query_table
from retrieval.joined_tables import joined, named_files, names_apart, tables_asked
from retrieval.tables import Table
from tests.scripted import ScriptedCritic, ScriptedGenerator, run_node, state
from tests.stations import Library

HEAD = "Order,Date,Customer,Product,Quantity,Amount (EUR)\n"
ORDERS = {
    "/d/orders_2025-01.csv": HEAD
    + "1,2025-01-03,Brunner,Rake,2,25.00\n2,2025-01-09,Costa,Hose,1,19.90\n3,2025-01-20,Dahl,Rake,4,50.00\n"
    + "4,2025-01-21,Egger,Hose,1,19.90\n5,2025-01-22,Egger,Spade,1,24.00\n",
    "/d/orders_2025-02.csv": HEAD
    + "6,2025-02-01,Costa,Rake,3,37.50\n7,2025-02-01,Costa,Spade,1,24.00\n8,2025-02-21,Dahl,Hose,5,99.50\n"
    + "9,2025-02-22,Egger,Hose,2,39.80\n10,2025-02-23,Fontana,Hose,1,19.90\n11,2025-02-24,Fontana,Hose,1,19.90\n",
}
ITEM = "Item,2025,2024\n"
CLINICS = {
    "/d/Bergli_2025.csv": f"{ITEM}Total income,22840,21300\nBeds,96,96\n",
    "/d/Seewald_2025.csv": f"{ITEM}Total income,48210,45900\nBeds,182,176\n",
}
WEATHER = {
    f"/d/{name}.csv": "date,rain\n" + "".join(f"2014-07-0{day},{rain}\n" for day, rain in enumerate(rains, 1))
    for name, rains in (("KCLT", (1, 0, 2)), ("KSEA", (0, 0, 4)))
}


async def asked(
    files: Mapping[str, str], question: str, *selects: str, titles: Mapping[str, str] = MappingProxyType({})
) -> Any:
    library = Library(files=files)
    for one in library.passages:
        one.metadata["title"] = titles.get(one.metadata["source"], "")
    found = [as_passage(library.passages[0])]
    before = state(question, table=TableFound(source=next(iter(files)), number=0), passages=found, found=found)
    generator = ScriptedGenerator(selects=selects[:1], selects_again=selects[1:])
    return await run_node(query_table, before, generator, ScriptedCritic(otherwise={"fits": "fits"}), library)


@pytest.mark.parametrize(
    ("files", "question", "select", "answer"),
    [
        (ORDERS, "How many orders are there?", "SELECT COUNT(*) FROM data", "11"),
        (ORDERS, "How many orders are there?", "SELECT SUM(c_order) FROM data", "11"),
        (ORDERS, "What did Costa spend in all?", "SELECT SUM(amount_eur) FROM data", "81.40 EUR"),
        (ORDERS, "How many orders were there in February 2025?", "SELECT COUNT(*) FROM data", "6"),
        (ORDERS, "How many orders were there in February?", "SELECT COUNT(*) FROM data WHERE date = '2025-02-01'", "6"),
        (ORDERS, "How many orders on 1 February?", "SELECT COUNT(*) FROM data WHERE date = '2025-02-01'", "2"),
        (ORDERS, "How many orders in orders_2025-01.csv?", "SELECT COUNT(*) FROM data", "5"),
        (ORDERS, "How many rakes were sold?", "SELECT COUNT(*) FROM data WHERE product = 'Rake'", "9"),
        (
            ORDERS,
            "Which customer ordered for the highest amount in total?",
            "SELECT customer FROM data ORDER BY amount_eur DESC LIMIT 1",
            "Dahl",
        ),
        (
            ORDERS,
            "Which month had the highest average amount?",
            "SELECT file FROM data ORDER BY AVG(amount_eur) DESC LIMIT 1",
            "2025-02",
        ),
        (
            ORDERS,
            "Which order has the highest amount?",
            "SELECT c_order FROM data ORDER BY amount_eur DESC LIMIT 1",
            "2025-02-21 (Order: 8, Amount (EUR): 99.50, file: 2025-02)",
        ),
        (
            CLINICS,
            "Which of Bergli and Seewald had the higher total income in 2025?",
            "SELECT file FROM data WHERE item = 'Total income' ORDER BY c_2025 DESC LIMIT 1",
            "Seewald 2025",
        ),
        (
            CLINICS,
            "What was the total income of Bergli and Seewald together in 2025?",
            "SELECT SUM(c_2025) FROM data",
            "71050",
        ),
        (CLINICS, "How many beds had Seewald?", "SELECT c_2025 FROM data WHERE item = 'Beds'", "Beds (2025: 182)"),
        (WEATHER, "What was the rain in July?", "SELECT SUM(rain) FROM data", "KCLT, 3\nKSEA, 4"),
        (WEATHER, "What was the rain of July in total?", "SELECT SUM(rain) FROM data", "7"),
        (WEATHER, "What was the rain of July at both, overall?", "SELECT SUM(rain) FROM data", "7"),
        (WEATHER, "How many days had rain?", "SELECT COUNT(*) FROM data WHERE rain > 0", "KCLT, 2\nKSEA, 1"),
    ],
)
async def test_a_question_is_asked_of_the_rows_of_all_files_or_of_those_that_it_names(
    files: Mapping[str, str], question: str, select: str, answer: str
) -> None:
    assert (await asked(files, question, select))["drafts"][0]["text"] == answer


SEASONS = {
    f"/d/matches_{year}.csv": "match_num,surface,winner,loser\n"
    + "".join(f"{year}{n},{('Grass', 'Clay')[n % 2]},{'ABC'[n % 3]}lder,{'BCA'[n % 3]}lder\n" for n in range(6))
    for year in (1990, 1991, 1992)
}


@pytest.mark.parametrize(
    ("question", "select", "answer"),
    [
        ("How many matches on grass from 1990 to 1992?", "SELECT COUNT(*) FROM data", "9"),
        ("How many matches on grass between 1990 and 1992?", "SELECT SUM(match_num) FROM data", "9"),
        ("How many matches on grass in 1990 and 1992?", "SELECT COUNT(*) FROM data", "6"),
        ("How many matches did Alder win in 1991?", "SELECT COUNT(*) FROM data WHERE winner = 'Alder'", "2"),
    ],
)
async def test_years_are_those_of_the_files_and_what_numbers_rows_is_counted(
    question: str, select: str, answer: str
) -> None:
    update = await asked(SEASONS, question, select)
    assert update["drafts"][0]["text"] == answer


async def test_a_name_in_two_columns_is_put_into_neither() -> None:
    select = "SELECT COUNT(*) FROM data WHERE surface = 'Grass'"
    update = await asked(SEASONS, "How many matches on grass did Alder win?", select, select)
    assert update["decided"]["failed"].startswith("It leaves out Alder")
    assert "winner = 'Alder'" not in update["decided"]["failed"]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many orders in May 2025?", "2"),
        ("How many orders on 4 May 2025?", "1"),
        ("How many orders in 2024?", "1"),
        ("How many orders since May 2025?", ""),  # not in May alone
        ("How many orders on 4 and 5 May 2025?", ""),
    ],
)
async def test_a_period_that_the_query_leaves_out_is_put_into_it(question: str, answer: str) -> None:
    days = ("2024-05-04", "2025-05-04", "2025-05-05", "2025-06-01")
    file = {"/d/o.csv": "date,item\n" + "".join(f"{day},Rake\n" for day in days)}
    select = "SELECT COUNT(*) FROM data"
    update = await asked(file, question, select, select)
    assert (update["drafts"][0]["text"] if answer else update["decided"]["failed"][:13]) == (answer or "It leaves out")


async def test_a_result_is_quoted_from_each_file_and_names_all_that_were_read() -> None:
    update = await asked(ORDERS, "How many orders did Costa place?", "SELECT COUNT(*) FROM data")
    ((claim,),) = update["claims"]
    sources = {one["id"]: one["source"] for one in update["found"]}
    assert {sources[quote["passage"]] for quote in [claim["quote"], *claim["row_quotes"]]} == set(ORDERS)
    assert update["queried"] == {
        "sql": "SELECT COUNT(*) FROM data WHERE customer = 'Costa'",
        "source": "/d/orders_2025-01.csv",
        "rows": 11,
        "carried_by": 3,
        "sources": list(ORDERS),
    }


@pytest.mark.parametrize(
    ("sources", "names"),
    [
        (("/d/orders_2025-01.csv", "/d/orders_2025-02.csv"), ["2025-01", "2025-02"]),
        (("/d/2024/q1_final.csv", "/d/2025/q1_final.csv"), ["2024 q1", "2025 q1"]),
        (("/d/Bergli_2025.md", "/d/Seewald_2025.md"), ["Bergli 2025", "Seewald 2025"]),
        (("/d/a.csv", "/d/a.tsv"), ["a.csv", "a.tsv"]),
        (("/d/orders.csv", "/d/orders_2.csv"), ["orders", "orders 2"]),
        (("uploads:/a.csv", "/d/b.csv"), ["uploads: a", "d b"]),
    ],
)
def test_files_are_told_apart_by_what_they_do_not_share(sources: tuple[str, ...], names: list[str]) -> None:
    assert names_apart(sources) == names


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("How many parts have more than 2 holes?", ["1", "2"]),
        ("How many parts of batch 2 have holes?", ["2"]),
        ("How many parts in batch_2.csv have holes?", ["2"]),
    ],
)
def test_a_figure_alone_names_no_file(question: str, named: list[str]) -> None:
    assert named_files(["/d/batch_1.csv", "/d/batch_2.csv"], question) == [f"/d/batch_{one}.csv" for one in named]


def joined_of(files: Mapping[str, str]) -> Table:
    library, source = Library(files=files), next(iter(files))
    table = Table.of(library.passages_of(source), 0)
    assert table
    found = joined(tables_asked(library, table, "How many?"))  # type: ignore[arg-type]
    assert found
    return found


def test_a_copy_and_an_export_that_begins_with_an_earlier_one_are_not_counted_twice() -> None:
    january, february = ORDERS.values()
    longer = january + february.removeprefix(HEAD)
    files = {"/d/a.csv": january, "/d/copy of a.csv": january, "/d/b.csv": longer}
    assert [row[0] for row in joined_of(files).cells] == [str(n) for n in range(1, 12)]


def test_rows_that_few_files_share_by_chance_are_all_counted() -> None:
    first = "Product,Size\n" + "".join(f"p{n},{n}\n" for n in range(9))
    other = "Product,Size\np1,1\n" + "".join(f"q{n},{n}\n" for n in range(9))
    assert len(joined_of({"/d/a.csv": first, "/d/b.csv": other}).cells) == 19


@pytest.mark.parametrize(
    ("other", "is_joined"),
    [
        (f"{HEAD}12,2025-03-01,Egger,Hose,1,19.90\n", False),
        (f"{HEAD}12,2025-03-01,Egger,Hose,1,19.90\n13,2025-03-02,Egger,Rake,1,12.50\n", True),
        (f"{HEAD[:-1]},Note\n12,2025-03-01,E,H,1,19.90,x\n13,2025-03-01,E,H,1,2,y\n", True),
        (f"{HEAD[:-1]},Note,Rep,Tax,Net\n12,2025-03-01,E,H,1,9,x,y,1,1\n13,2025-03-01,E,H,1,2,y,z,1,1\n", True),
        ("Order,Date,Driver,Car\n9,2025-03-01,Egger,VW\n10,2025-03-02,Egger,VW\n", False),
    ],
)
def test_tables_are_joined_that_share_most_columns_and_have_rows(other: str, is_joined: bool) -> None:
    files = {"/d/orders_2025-01.csv": ORDERS["/d/orders_2025-01.csv"], "/d/orders_2025-03.csv": other}
    assert bool(joined_of(files).file_key) is is_joined


@pytest.mark.parametrize(("column", "failed"), [("amount", ""), ("votes", "Not all files have the column votes.")])
async def test_a_column_that_only_some_files_have_is_not_queried(column: str, failed: str) -> None:
    files = {
        "/d/a.csv": "county,amount,size\nA,4,1\nB,2,2\n",
        "/d/b.csv": "county,amount,size,votes,share\nC,3,4,4,5\nD,9,7,8,6\n",
    }
    select = "SELECT county FROM data ORDER BY amount DESC LIMIT 1".replace("amount", column)
    update = await asked(files, f"Which county has the highest {column}?", select, *([select] if failed else ()))
    assert update["decided"]["failed"].startswith(failed)
    assert update["decided"]["accepted"] is not bool(failed)


async def test_files_with_too_many_rows_are_not_asked_unless_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.joined_tables.MOST_ROWS", 5)
    update = await asked(ORDERS, "How many orders are there?")
    assert update["decided"]["failed"].startswith("The files with its columns have too many rows")
    assert "drafts" not in update
    update = await asked(ORDERS, "How many orders in orders_2025-01.csv?", "SELECT COUNT(*) FROM data")
    assert update["drafts"][0]["text"] == "5"


async def test_a_document_is_named_by_a_name_in_its_title_and_not_by_one_in_its_rows() -> None:
    rows = "year,film,with\n1994,Dawn,{}\n1995,Noon,Cy\n1996,Rain,Cy\n"
    files = {"/d/p1.csv": rows.format("Bo Orr"), "/d/p2.csv": rows.format("Ann Lee").replace("Noon", "Dusk")}
    titles = {"/d/p1.csv": "Films of Ann Lee", "/d/p2.csv": "Films of Bo Orr"}
    update = await asked(files, "How many films with Cy has Bo Orr made?", "SELECT COUNT(*) FROM data", titles=titles)
    assert (update["drafts"][0]["text"], update["queried"]["source"]) == ("2", "/d/p2.csv")
    select = "SELECT COUNT(*) FROM data WHERE customer <> 'Brunner'"
    update = await asked(ORDERS, "How many orders are not of Brunner?", select)
    assert update["drafts"][0]["text"] == "10"
