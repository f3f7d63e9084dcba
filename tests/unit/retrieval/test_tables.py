from collections.abc import Sequence
from pathlib import Path

import pytest

from retrieval import table_query
from retrieval.documents.load import documents_of, parse_document
from retrieval.documents.loaded import Loaded
from retrieval.documents.row_files import read_csv
from retrieval.splitter import split
from retrieval.table_columns import kind_of
from retrieval.table_query import ROW, QueryError, QueryResult, parsed, run_query
from retrieval.tables import Table

WINES = """Wine,Country,Price (EUR),Bottles,Since
Alder,France,"1,200.50",3,2021-03-04
Birch,Spain,900,12,2019-12-31
Cedar,France,"1,200.50",,2020-01-01
Dover,Italy,75,12,2021-02-28
"""


def table_of(text: str) -> Table:
    found = read(text)
    assert found is not None
    return found


def read(text: str) -> Table | None:
    documents = documents_of(Path("wines.csv"), Loaded(read_csv(text)))
    return Table.of(split(documents), 0)


def asked(sql: str, text: str = WINES) -> QueryResult:
    table = table_of(text)
    return run_query(table, parsed(sql, table))


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1.234,50 €", "7,5 €"], [1234.5, 7.5]),
        (["1,234", "12"], [1234, 12]),
        (["1.234 €", "567 €"], [1234, 567]),
        (["1.234", "0.567"], [1.234, 0.567]),
        (["1.234", "2", "1500"], [1.234, 2, 1500]),
        (["$ 4.50", "-3"], [4.5, -3]),
        (["1 200 kg", "80 kg"], [1200, 80]),
        (["3. Mai 2021", "1. Juni 2021"], ["2021-05-03", "2021-06-01"]),
        (["5,5 Std.", "12,5 Std."], [5.5, 12.5]),
        (["n.a.", *"123456789", "1.5"], [None, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1.5]),
        (["05.04.2021", "31.12.2020"], ["2021-04-05", "2020-12-31"]),
        (["02/03/2021", "01/31/2021"], ["2021-02-03", "2021-01-31"]),
        (["02/03/2021", "04/05/2021"], ["02/03/2021", "04/05/2021"]),  # nothing tells which is the day
        (["12,34,567.50", "1,234"], [1234567.5, 1234]),
        (["(1,200.50)", "$(3)", "($4.50)", "-$5", "− 6 $"], [-1200.5, -3, -4.5, -5, -6]),
        (["1)", "2)"], ["1)", "2)"]),
        (["1e-05", "2.5E+3", "0.5"], [0.00001, 2500, 0.5]),
        (["$" + " " * 100_000 + "x"], ["$" + " " * 100_000 + "x"]),  # in linear time
        (["900 MB", "2 GB"], ["900 MB", "2 GB"]),
        (["$900", "2 €"], ["$900", "2 €"]),
        (["1 day", "2 days", "3"], [1, 2, 3]),
        (["1st", "2nd"], [1, 2]),
        (["6:15", "12:40", "4:50 Uhr"], ["06:15", "12:40", "04:50"]),
        (["12:05 am", "6:15 p.m.", "12:40 PM"], ["00:05", "18:15", "12:40"]),
        (["2:31:07", "10:05:59"], ["02:31:07", "10:05:59"]),
        (["59:10", "1:02:03"], ["59:10", "1:02:03"]),  # which is longer, nothing tells
        (["25 min", "1 h", "1 h 15 min", "2 Stunden"], [25, 60, 75, 120]),
        (["£4", "–", "n/a", "free"], [4, None, None, 0]),
        (["free", "busy"], ["free", "busy"]),
        (["free", "free"], ["free", "free"]),
        (["480*", "12 [a]", "7†"], [480, 12, 7]),
        (["10²", "5"], ["10²", "5"]),  # an exponent, without a note of that number
    ],
)
def test_cells_are_read_as_they_are_written(cells: Sequence[str], values: Sequence[object]) -> None:
    assert kind_of(cells)[1] == values


@pytest.mark.parametrize("last", ["Total:,,5475", "Gesamt,27,5.475"])
def test_a_row_that_adds_up_the_others_is_none_of_them(last: str) -> None:
    text = "Year,Bottles,Price\n2021,3,1200\n2022,12,900\n2023,12,3375\n"
    assert asked("SELECT COUNT(*) FROM data", text + last).result == ["3"]
    assert asked("SELECT year FROM data ORDER BY price DESC LIMIT 1", text + last).result == ["Year: 2023, Price: 3375"]
    for other in ("Total,4,990", "Other,27,5475"):
        assert asked("SELECT COUNT(*) FROM data", text + other).result == ["4"]


def test_a_cell_with_a_mark_has_a_value_and_the_note_below_the_table() -> None:
    page = b"""<table><tr><th>Ferry</th><th>Seats</th></tr><tr><td>Alder</td><td>120<sup>1</sup></td></tr>
        <tr><td>Birch*</td><td>48</td></tr></table>
        <p>* No cars.</p><p><sup>1</sup> After the refit.</p><p>Tickets.</p>"""
    path = Path("ferries.html")
    table = Table.of(split(documents_of(path, parse_document(path, page))), 0)
    assert table is not None
    assert table.values == [("Alder", 120.0), ("Birch*", 48.0)]
    assert noted(table, "SELECT seats FROM data") == ["¹ After the refit."]
    assert noted(table, "SELECT ferry, seats FROM data") == ["¹ After the refit.", "* No cars."]


def noted(table: Table, sql: str) -> list[str]:
    return [passage.page_content[start:end] for passage, start, end in table.notes_on([0, 1], sql)]


@pytest.mark.parametrize(
    ("sql", "result", "rows"),
    [
        # an empty cell is not the least
        ("SELECT wine FROM data ORDER BY bottles LIMIT 1", ["Alder (Bottles: 3)"], [0]),
        ("SELECT wine FROM wines ORDER BY price_eur DESC LIMIT 1", ["Alder (Price (EUR): 1,200.50)"], [0, 2]),
        ("SELECT wine FROM data ORDER BY bottles LIMIT 1 OFFSET 1", ["Birch (Bottles: 12)"], [1, 3]),
        ("SELECT wine, bottles FROM data ORDER BY 2 DESC LIMIT 1", None, [1, 3]),
        ("SELECT wine, price_eur / bottles AS each FROM data ORDER BY each DESC LIMIT 1", None, [0]),
        ("SELECT wine FROM data ORDER BY bottles, since", None, [0, 1, 3, 2]),
        ("SELECT bottles FROM data WHERE country IN ('Italy')", ["Dover (Bottles: 12, Country: Italy)"], [3]),
        ("SELECT wine FROM wines of the house WHERE bottles = 3", ["Alder"], [0]),
        ("SELECT MAX(price_eur) FROM data", ["Alder (Price (EUR): 1,200.50)"], [0, 2]),
        ("SELECT wine FROM Old wines WHERE price_eur = (SELECT MIN(price_eur) FROM Old wines)", ["Dover"], [3]),
        ("SELECT wine FROM data WHERE wine = 'from old wines' OR bottles = 3", ["Alder"], [0]),
        ("SELECT price_eur FROM data WHERE wine = 'dover'", ["Dover (Price (EUR): 75)"], [3]),
        ("SELECT wine FROM data WHERE price_eur > (SELECT AVG(price_eur) FROM data)", None, [0, 1, 2]),
        ("SELECT wine FROM (SELECT * FROM data ORDER BY since LIMIT 3) ORDER BY price_eur LIMIT 1", None, [3]),
    ],
)
def test_rows_are_found_with_all_that_tie(sql: str, result: list[str] | None, rows: list[int]) -> None:
    found = asked(sql)
    assert (found.rows, found.is_computed) == (rows, False)
    assert result is None or found.result[: len(result)] == result
    assert len(found.result) == len(rows)


@pytest.mark.parametrize(
    ("sql", "result", "rows"),
    [
        ("SELECT COUNT(*) FROM data WHERE country = 'France'", ["2"], [0, 2]),
        ("SELECT SUM(bottles) FROM data", ["27"], [0, 1, 2, 3]),
        ("SELECT AVG(price_eur) FROM data WHERE country IN ('Spain', 'Italy')", ["487.5 EUR"], [1, 3]),
        ("SELECT country FROM data GROUP BY country ORDER BY AVG(price_eur) DESC LIMIT 1", ["France"], [0, 2]),
        ("SELECT country FROM data GROUP BY country ORDER BY MAX(bottles) DESC LIMIT 1", ["Spain", "Italy"], [1, 3]),
        ("SELECT wine, SUM(bottles) AS n FROM data GROUP BY wine ORDER BY n LIMIT 1", ["Alder, 3"], [0]),
        ("SELECT country, COUNT(*) FROM data GROUP BY 1 ORDER BY 2 DESC LIMIT 1", ["France, 2"], [0, 2]),
        ("SELECT country AS c, COUNT(*) AS n FROM data GROUP BY c HAVING n > 1", ["France, 2"], [0, 2]),
        ("SELECT country, COUNT(*) FROM data GROUP BY country HAVING COUNT(*) > 1", ["France, 2"], [0, 2]),
    ],
)
def test_what_is_computed_names_the_rows_that_carry_it(sql: str, result: list[str], rows: list[int]) -> None:
    found = asked(sql)
    assert (found.result, found.rows, found.is_computed) == (result, rows, True)
    assert found.is_figure == ("GROUP" not in sql)


TARIFFS = "Tarif;Höchstleistung;Beitrag\nBasis;1.000 €;39,90 €\nStadt;2.000 €;68,40 €\nKomfort;3.500 €;112,50 €\n"


@pytest.mark.parametrize(
    ("sql", "text", "result"),
    [
        ("SELECT SUM(beitrag) FROM data", TARIFFS, "220,80 €"),
        ("SELECT MAX(höchstleistung) - MIN(höchstleistung) FROM data", TARIFFS, "2500 €"),  # as the other column tells
        ("SELECT MIN(beitrag) - MAX(beitrag) FROM data", TARIFFS, "-72,60 €"),
        ("SELECT SUM(höchstleistung) FROM data", TARIFFS + "Gast;9.000 €;–\n", "15500 €"),
        ("SELECT COUNT(beitrag) FROM data", TARIFFS, "3"),
        ("SELECT SUM(beitrag) / 2 FROM data", TARIFFS, "110.4"),
        ("SELECT MAX(beitrag) - MIN(preis) FROM data", "Beitrag,Preis\n2 €,1 kg\n5 €,3 kg\n", "4"),
        ("SELECT SUM(price) FROM data", "Loaf,Price\nRye,£4.50\nOat,£3.90\n", "£8.40"),
        ("SELECT AVG(share) FROM data", "Kind,Share\na,12 %\nb,7 %\n", "9.5 %"),
        ("SELECT SUM(delay_min) FROM data", "Train,Delay (min)\na,12\nb,7\n", "19 min"),
        ("SELECT SUM(length) FROM data", "Walk,Length\na,1 h\nb,2 h\nc,45 min\n", "225 min"),
        ("SELECT MAX(Hochstleistung) FROM data WHERE beitrag < 50", TARIFFS, "Basis (Höchstleistung: 1.000 €)"),
        ("SELECT SUM(members_2023) FROM data", "Club,Members (2023)\na,12\nb,7\n", "19"),
    ],
)
def test_a_figure_is_written_with_the_unit_and_decimals_of_its_column(sql: str, text: str, result: str) -> None:
    assert asked(sql, text).result == [result]


def test_points_are_of_thousands_where_the_language_has_them() -> None:
    german = "Gemeinde;Einwohner;Lage\nAach;2.298;im Hegau, nahe der Quelle\nBohl;1.402;auf der Höhe über dem Fluss\n"
    assert asked("SELECT SUM(einwohner) FROM data", german).result == ["3700"]
    english = "Part;Weight;Place\nAxle;2.298;on the shelf near the door\nBolt;1.402;in the box under the table\n"
    assert asked("SELECT SUM(weight) FROM data", english).result == ["3.700"]


@pytest.mark.parametrize(
    ("sql", "result"),
    [
        ("SELECT city, COUNT(*) FROM data GROUP BY city", ["–, 3", "Oslo, 1", "Rome, 2"]),
        ("SELECT city AS c, SUM(size) FROM data GROUP BY 1", ["–, 24", "Oslo, 2", "Rome, 4"]),
        ("SELECT city, COUNT(*) FROM data GROUP BY city ORDER BY COUNT(*) DESC LIMIT 1", ["Rome, 2"]),
    ],
)
def test_a_group_without_a_name_is_no_bare_figure_and_not_the_most_of_all(sql: str, result: list[str]) -> None:
    text = "name,city,size\na,Rome,1\nb,Oslo,2\nc,Rome,3\nd,,7\ne,,8\nf,,9\n"
    assert asked(sql, text).result == result


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM data",
        "SELECT wine FROM data; DROP TABLE data",
        "SELECT name FROM sqlite_master",  # a column that the table lacks
        "SELECT load_extension('x') FROM data",
        "SELECT wine FROM data WHERE readfile('/etc/passwd') = ''",
        "SELECT randomblob(100000000) FROM data",
        "SELECT printf('%1000000000d', 1) FROM data",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c",
        "SELECT a.wine FROM data a JOIN data b ON 1 = 1",
        "SELECT wine FROM data UNION SELECT 'x'",
        "PRAGMA table_info(data)",
        "ATTACH '/tmp/x' AS x",
        "SELECT 5",
        "SELECT wine FROM data ORDER BY bottles FETCH FIRST 2 ROWS ONLY",
        "SELECT * FROM data ORDER BY 3 LIMIT 1",
        "SELECT wine FROM data WHERE country = 'Peru'",
        "SELECT SUM(bottles) FROM data WHERE country = 'Peru'",
        "SELECT wine FROM data LIMIT 0",
        "SELECT AVG(price_eur) FROM (SELECT price_eur FROM data ORDER BY price_eur LIMIT 2)",
        "SELECT w FROM (SELECT *, wine AS w FROM data)",
        "SELECT 5 FROM (VALUES (1))",
        "SELECT COUNT(*) FROM data LIMIT 0",
        "SELECT wine FROM data WHERE bottles = 1" + " OR bottles = 1" * 100,
        "SELECT " + "(" * 300 + "1" + ")" * 300 + " FROM data",
    ],
)
def test_what_is_no_query_of_the_table_is_refused_by_name(sql: str) -> None:
    with pytest.raises(QueryError, match=rf"^(?!.*{ROW}).*\.$"):
        asked(sql)


def test_a_query_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_query, "SECONDS", 0.05)
    rows = "".join(f"a{number},{number}\n" for number in range(5_000))
    sql = "SELECT name FROM data WHERE (SELECT COUNT(*) FROM data AS b WHERE b.size > data.size) > 3"
    with pytest.raises(QueryError, match="too long"):
        asked(sql, f"name,size\n{rows}")


def test_hostile_cells_change_nothing_but_their_own_value() -> None:
    hostile = ["=cmd|' /C calc'!A0", "x'); DROP TABLE data; --", "Price: 1\nBottles: 99", "a\0b", "😀" * 20]
    rows = "".join(f'"{cell}",{number}\n' for number, cell in enumerate(hostile, 1))
    text = f"select,Price\n{rows}"
    assert asked("SELECT SUM(price) FROM data", text).result == ["15"]
    found = asked("SELECT c_select FROM data ORDER BY price DESC LIMIT 1", text)
    assert found.result == ["😀" * 20 + " (Price: 5)"]


def test_names_that_are_there_twice_or_say_nothing_stay_apart() -> None:
    columns = table_of("a,a,,group,2nd,Alter\nx,1,2,3,4,5\ny,5,6,7,8,9\n").columns
    assert [one.key for one in columns] == ["a", "a_2", "column_3", "c_group", "c_2nd", "c_alter"]


@pytest.mark.parametrize("text", ["a,b\nx,1\n", "a\nx\ny\n", ",".join("abc") * 200 + "\n" + ("1," * 400 + "\n") * 2])
def test_what_is_too_small_or_too_wide_is_no_table(text: str) -> None:
    assert read(text) is None


def test_a_long_cell_over_several_passages_keeps_its_row_whole() -> None:
    text = "name,notes,size\nfirst," + "word " * 400 + ",7\nsecond,short,9\n"
    assert asked("SELECT SUM(size) FROM data", text).result == ["16"]
