"""A table gives a text for each row, whatever separates its cells and however large they are."""

import csv
from pathlib import Path

import pytest

from benchmarks.documents import load
from core.errors import UnreadableDocument
from retrieval.documents.loaded import Section
from retrieval.documents.row_files import read_csv
from tests.unit.retrieval.documents.processor_time import bounded


def rows(path: Path, data: bytes | str) -> list[tuple[int, str]]:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return [(document.metadata["row"], document.page_content) for document in load(path)]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "table.csv"


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_rows_are_lines_of_column_and_value(table: Path, separator: str) -> None:
    text = "name,dose,note\naspirin,100 mg,\nibuprofen,200 mg,with food\n".replace(",", separator)
    assert rows(table, text) == [
        (1, "name: aspirin\ndose: 100 mg"),
        (2, "name: ibuprofen\ndose: 200 mg\nnote: with food"),
    ]


TABLES = {
    "commas inside a text do not decide the separator": (
        'id;text\n1;"one, two, three"\n2;four, five\n',
        ["id: 1\ntext: one, two, three", "id: 2\ntext: four, five"],
    ),
    "quoted cells may hold lines, quotes and separators": (
        'a,b\r\n"line one\r\nline ""two"", still",x\r\n',
        ['a: line one\nline "two", still\nb: x'],
    ),
    "the separator line of spreadsheets is obeyed": ("sep=;\na;b\n1,5;2\n", ["a: 1,5\nb: 2"]),
    "long and short rows lose nothing": ("a,b\n1,2,3\n4\n", ["a: 1\nb: 2\ncolumn 3: 3", "a: 4"]),
    "a table without header keeps its first row": (
        "1,alpha\n2,beta\n",
        ["column 1: 1\ncolumn 2: alpha", "column 1: 2\ncolumn 2: beta"],
    ),
    "columns of one name are numbered": ("a,a\nx,y\n", ["a: x\na 2: y"]),
    "null bytes are dropped": ("a,b\nx\x00y,\x002\n", ["a: xy\nb: 2"]),
    "blank lines are no rows": ("a,b\n\n1,2\n,\n\n3,4\n", ["a: 1\nb: 2", "a: 3\nb: 4"]),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_many_programs(table: Path, name: str) -> None:
    text, wanted = TABLES[name]
    assert rows(table, text) == list(enumerate(wanted, 1))


def test_a_printed_list_of_strings_becomes_its_items(table: Path) -> None:
    cell = str(["First passage.\nSecond line.", "It's another."]).replace('"', '""')
    assert rows(table, f'context\n"{cell}"\n') == [(1, "context: First passage.\nSecond line.\n\nIt's another.")]


@pytest.mark.parametrize("cell", ["['not closed", "['a', 1]", "['a'] + ['b']", "['a', __import__('os')]"])
def test_what_only_looks_like_a_list_stays_as_it_is(table: Path, cell: str) -> None:
    assert rows(table, f'context\n"{cell}"\n') == [(1, f"context: {cell}")]


def test_a_cell_of_a_megabyte_is_read_and_the_limit_is_put_back(table: Path) -> None:
    limit = 131_072
    csv.field_size_limit(limit)
    ((row, text),) = rows(table, 'id,text\n1,"' + "word " * 200_000 + '"\n')
    assert row == 1
    assert len(text) > 999_000
    assert csv.field_size_limit() == limit


def test_a_header_alone_is_unreadable(table: Path) -> None:
    with pytest.raises(UnreadableDocument, match=r"^table.csv has a header and no rows: "):
        rows(table, "a,b,c\n")


@pytest.mark.parametrize("cell", ["1," * 50_000 + "x", "1" * 100_000 + "x", "1 " * 50_000 + "x"])
def test_no_header_takes_the_square_of_its_size(cell: str) -> None:
    with bounded():
        assert read_csv(f'"{cell}",b\n1,2\n')


@pytest.mark.parametrize("number", ["1", "-1.5", "+ 1,000.00 €", ".5%", "1 2", ", 3"])
def test_a_number_in_the_first_row_makes_it_a_row(number: str) -> None:
    assert read_csv(f'"{number}",b\n') == [Section(f"column 1: {number}\ncolumn 2: b", row=1)]
