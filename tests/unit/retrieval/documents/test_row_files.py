import csv
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.documents import load
from core.errors import UnreadableDocument
from retrieval.documents.load import Loaded, parse_document
from retrieval.documents.loaded import CELLS, Section
from retrieval.documents.row_files import read_csv
from tests.unit.retrieval.documents.processor_time import bounded


def rows(text: str) -> list[tuple[int | None, str]]:
    return [(section.row, section.text) for section in parse_document(Path("table.csv"), text.encode()).sections]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_rows_are_lines_of_column_and_value(separator: str) -> None:
    text = "name,dose,note\naspirin,100 mg,\nibuprofen,200 mg,with food\n".replace(",", separator)
    assert rows(text) == [
        (1, "name: aspirin\ndose: 100 mg"),
        (2, "name: ibuprofen\ndose: 200 mg\nnote: with food"),
    ]


TABLES = {
    "commas of decimals do not decide the separator": (
        "Miete;850,50;3,20\nStrom;75,50;2,10\n",
        ["column 1: Miete\ncolumn 2: 850,50\ncolumn 3: 3,20", "column 1: Strom\ncolumn 2: 75,50\ncolumn 3: 2,10"],
    ),
    "a quote that nothing ends takes no other cells": (
        'a\tb\n5" pipe\t1\n"6 pipe\t2\n"7 pipe\t3\n"Best" pipe\t4\n"x\ny"\t5\n8\t"',
        [
            'a: 5" pipe\nb: 1',
            'a: "6 pipe\nb: 2',
            'a: "7 pipe\nb: 3',
            "a: Best pipe\nb: 4",
            "a: x\ny\nb: 5",
            'a: 8\nb: "',
        ],
    ),
    "the separator line of spreadsheets is obeyed": ("sep=;\na;b\n1,5;2\n", ["a: 1,5\nb: 2"]),
    "long and short rows lose nothing": ("a,b\n1,2,3\n4\n", ["a: 1\nb: 2\ncolumn 3: 3", "a: 4"]),
    "years are names of columns": (
        "Land,2019,2020\nPeru,5,\nChad,7,8\n",
        ["Land: Peru\n2019: 5", "Land: Chad\n2019: 7\n2020: 8"],
    ),
    "but not where there are years in each row": (
        "Ada,1815,1852\nAlan,1912,1954\n",
        ["column 1: Ada\ncolumn 2: 1815\ncolumn 3: 1852", "column 1: Alan\ncolumn 2: 1912\ncolumn 3: 1954"],
    ),
    "columns of one name are numbered": ("a,a\nx,y\n", ["a: x\na 2: y"]),
    "a number that another column has is passed over": ("a,a 2,a\nx,y,z\n", ["a: x\na 2: y\na 3: z"]),
    "null bytes are dropped": ("a,b\nx\x00y,\x002\n", ["a: xy\nb: 2"]),
    "blank lines are no rows": ("a,b\n\n1,2\n,\n\n3,4\n", ["a: 1\nb: 2", "a: 3\nb: 4"]),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_many_programs(name: str) -> None:
    text, wanted = TABLES[name]
    assert rows(text) == list(enumerate(wanted, 1))


BANK = """Umsätze Girokonto;;;;
Konto:;DE12 3456;;;
Zeitraum:;01.01.2024 - 31.01.2024;;;

Buchungstag;Empfänger;Zweck;Betrag;
02.01.2024;REWE;;-12,50;
03.01.2024;Lohn;Januar;1.200,00;
"""


def test_lines_above_the_header_are_neither_names_nor_rows() -> None:
    assert rows(BANK) == [
        (None, "Umsätze Girokonto\nKonto: DE12 3456\nZeitraum: 01.01.2024 - 31.01.2024"),
        (1, "Buchungstag: 02.01.2024\nEmpfänger: REWE\nBetrag: -12,50"),
        (2, "Buchungstag: 03.01.2024\nEmpfänger: Lohn\nZweck: Januar\nBetrag: 1.200,00"),
    ]


def test_comments_above_the_header_are_neither_names_nor_rows() -> None:
    assert rows("# of May 2024\n# by Ada\nname,town\nAlan,Ely\n") == [
        (None, "# of May 2024\n# by Ada"),
        (1, "name: Alan\ntown: Ely"),
    ]
    assert rows("#,name\n3,Alan\n") == [(1, "#: 3\nname: Alan")]


@pytest.mark.parametrize(
    "text",
    [
        "mpg,cyl\nFiat,NA,NA\nSaab,21,6\nSeat,22,4\n",  # as R writes it: the header lacks the column of row names
        "name,,,\nAda,1,2,3\nAlan,4,5,6\n",
        "name,,,\nAda,x,y,z\nAlan,u,v,w\n",
    ],
)
def test_a_header_that_is_narrower_than_its_rows_stays_one(text: str) -> None:
    assert [row for row, _ in rows(text)] == list(range(1, text.count("\n")))


def test_a_printed_list_of_strings_becomes_its_items() -> None:
    cell = str(["First passage.\nSecond line.", "It's another."]).replace('"', '""')
    assert rows(f'context\n"{cell}"\n') == [(1, "context: First passage.\nSecond line.\n\nIt's another.")]


@pytest.mark.parametrize("cell", ["['not closed", "['a', 1]", "['a'] + ['b']", "['a', __import__('os')]"])
def test_what_only_looks_like_a_list_stays_as_it_is(cell: str) -> None:
    assert rows(f'context\n"{cell}"\n') == [(1, f"context: {cell}")]


def test_a_cell_of_a_megabyte_is_read_and_the_limit_is_put_back() -> None:
    limit = 131_072
    csv.field_size_limit(limit)
    ((row, text),) = rows('id,text\n1,"' + "word " * 200_000 + '"\n')
    assert row == 1
    assert len(text) > 999_000
    assert csv.field_size_limit() == limit


def test_a_header_alone_is_unreadable() -> None:
    with pytest.raises(UnreadableDocument, match=r"^table.csv has a header and no rows: "):
        rows("a,b,c\n")


@pytest.mark.parametrize(
    ("line", "times"),
    [
        *((f'"{cell}x",b', 1) for cell in ("1," * 50_000, "1" * 100_000, "1 " * 50_000)),
        *((line, 100_000) for line in ('"a,b', '"a,b""', '"""a,b', '"a""b,', 'a,"', '"a"b,"')),
    ],
)
def test_no_header_and_no_quote_takes_the_square_of_its_size(line: str, times: int) -> None:
    with bounded():
        assert read_csv(f"{line}\n" * times + "1,2\n")


@pytest.mark.parametrize("number", ["1", "-1.5", "+ 1,000.00 €", ".5%", "1 2", ", 3"])
def test_a_number_in_the_first_row_makes_it_a_row(number: str) -> None:
    assert read_csv(f'"{number}",b\n') == [Section(f"column 1: {number}\ncolumn 2: b", row=1)]


def read_lines(*lines: Any) -> Loaded:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return parse_document(Path("a.jsonl"), text.encode())


def extra_of(metadata: dict[str, Any]) -> dict[str, Any] | None:
    return read_lines({"text": "Text.", "metadata": metadata}).sections[0].extra


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson"])
def test_each_line_is_a_document_with_what_it_says_of_itself(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    record = {"text": "A.", "metadata": {"page": 4, "date": "2024-05-06T07:08:09Z", "author": "Ada", "tags": ["x"]}}
    path.write_text(json.dumps(record) + '\r\n\r\n{"text": "B."}\r\n')
    assert [(document.page_content, document.metadata) for document in load(path)] == [
        ("A.", {"source": str(path), "page": 4, "row": 1, "date": "2024-05-06", "author": "Ada", "tags": ["x"]}),
        ("B.", {"source": str(path), "page": None, "row": 3, "date": None}),
    ]


def test_bad_lines_are_named() -> None:
    good = {"text": "Good."}
    assert read_lines(good, "nonsense").note == "a.jsonl: line 2 is not an object with a text."
    bad = ["{", "[]", '{"text": 3}', '{"txt": "x"}', '{"text": NaN}', "[" * 100_000, '"text"', "null", "1", "{}"]
    assert read_lines(good, *bad, "2", "3").note == (
        "a.jsonl: lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more are not objects with a text."
    )
    assert read_lines(good, good).note == ""


def test_bad_lines_only_are_unreadable() -> None:
    with pytest.raises(UnreadableDocument, match=r'^a.jsonl has no line like {"text": "…"}: write one JSON object'):
        read_lines("plain", "lines")


@pytest.mark.parametrize("ours", ["source", "page", "row", "offset", "date", CELLS])
def test_what_is_said_of_every_passage_is_not_overwritten(tmp_path: Path, ours: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "A.", "metadata": {ours: "forged"}}))
    assert load(path)[0].metadata == {"source": str(path), "page": None, "row": 1, "date": None}


@pytest.mark.parametrize("page", [True, -1, 2.5, "7", 10**9])
def test_a_page_that_is_none_is_left_out(page: object) -> None:
    assert read_lines({"text": "A.", "metadata": {"page": page}}).sections[0].page is None


def test_metadata_are_bounded_and_hold_nothing_hidden() -> None:
    assert extra_of({"a\u200bb": "c\u202ed", "list": [{"k\u200b": "v\u200b"}]}) == {"ab": "cd", "list": [{"k": "v"}]}
    assert extra_of({"long": "x" * 1_001, "k" * 65: 1, "": 1, "kept": 1}) == {"kept": 1}
    assert len(extra_of({f"key {number}": number for number in range(100)}) or {}) == 32
    assert read_lines('{"text": "A.", "metadata": {"much": 1e999, "none": NaN}}').sections[0].extra is None
    assert read_lines('{"text": "A.", "metadata": "none"}').sections[0].extra is None


def test_a_separator_within_a_string_ends_no_line() -> None:
    sections = read_lines('{"text": "one\u2028two\u0085three"}', {"text": "B."}).sections
    assert [(section.row, section.text) for section in sections] == [(1, "one\ntwo\nthree"), (2, "B.")]
