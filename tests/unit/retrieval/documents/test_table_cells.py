from pathlib import Path

import pytest

from retrieval.documents.load import parse_document
from retrieval.documents.loaded import CELLS, Loaded
from retrieval.documents.table_cells import with_cells

HTML = b"""<h1>Prices</h1><table><tr><th>Item</th><th>Price</th></tr><tr><td>Pear</td><td>900</td></tr>
<tr><td>Plum</td><td>70</td></tr></table><p>End: of | it.</p>"""
MARKDOWN = b"# Prices\n\n| Item | Price |\n|---|---|\n| Pear | 900 |\n| Plum | 70 |\n\nEnd: of | it.\n"


def cells(loaded: Loaded) -> list[list[dict[str, str]]]:
    """The rows of each table, by the names of their columns."""
    (section,) = loaded.sections
    found: dict[int, dict[int, dict[str, str]]] = {}
    for table, row, start, middle, end in (section.extra or {}).get(CELLS, ()):
        name = section.text[start : max(start, middle)]
        found.setdefault(table, {}).setdefault(row, {})[name] = section.text[middle + 2 : end]
    return [list(rows.values()) for rows in found.values()]


@pytest.mark.parametrize(("name", "data"), [("a.html", HTML), ("a.md", MARKDOWN)])
def test_a_table_is_found_and_a_line_of_prose_is_none(name: str, data: bytes) -> None:
    assert cells(parse_document(Path(name), data)) == [
        [{"Item": "Pear", "Price": "900"}, {"Item": "Plum", "Price": "70"}]
    ]


def test_a_column_without_a_name_has_an_empty_one() -> None:
    assert cells(with_cells(Loaded.of("Rent | 2020: 5\nHeat | 2020: 7", []))) == [
        [{"": "Rent", "2020": "5"}, {"": "Heat", "2020": "7"}]
    ]


def test_a_row_of_one_cell_is_a_row_of_its_table() -> None:
    text = "Item: Pear\nItem: Plum | Price: 7\nItem: Quince\nItem: Rue | Price: 9\n\nPrice: in euros"
    assert cells(with_cells(Loaded.of(text, []))) == [
        [{"Item": "Pear"}, {"Item": "Plum", "Price": "7"}, {"Item": "Quince"}, {"Item": "Rue", "Price": "9"}]
    ]


@pytest.mark.parametrize(("name", "data"), [("a.html", HTML), ("a.md", MARKDOWN)])
def test_a_name_ends_where_it_is_read_to_end(name: str, data: bytes) -> None:
    ((pear, _),) = cells(
        parse_document(Path(name), data.replace(b"Price", b"Price (EUR: net)").replace(b"Item", b"Item " * 20))
    )
    assert list(pear.values()) == ["Pear", "900"]
    assert list(pear)[1] == "Price (EUR net)"


def test_a_title_across_all_columns_is_no_row_and_parts_no_table() -> None:
    titles = b'<tr><td colspan="2">Stone <br>fruit</td></tr><tr><th colspan="9">More: dried</th></tr><tr><td>Plum'
    assert cells(parse_document(Path("a.html"), HTML.replace(b"<tr><td>Plum", titles))) == [
        [{"Item": "Pear", "Price": "900"}, {"Item": "Plum", "Price": "70"}]
    ]


def test_a_heading_parts_two_tables() -> None:
    table = MARKDOWN.partition(b"\n\n")[2].partition(b"\n\n")[0]
    (year, other) = cells(parse_document(Path("a.md"), b"# 2023\n" + table + b"\n# 2024\n" + table))
    assert year == other == [{"Item": "Pear", "Price": "900"}, {"Item": "Plum", "Price": "70"}]


def test_a_text_of_more_cells_than_can_be_told_has_no_table() -> None:
    lines = [f"Item: {number} | Price: {number}" for number in range(100_000)]
    assert cells(with_cells(Loaded.of("\n".join(lines[:1_000]), [])))
    assert cells(with_cells(Loaded.of("\n".join(lines), []))) == []


def test_a_cell_of_several_lines_stays_in_its_row() -> None:
    page = HTML.replace(b"Pear", b"Pear<br>from Linz").replace(b"<td>70", b"<td><p>70</p><ul><li>ripe<li>washed</ul>")
    assert cells(parse_document(Path("a.html"), page)) == [
        [{"Item": "Pear / from Linz", "Price": "900"}, {"Item": "Plum", "Price": "70 / ripe / washed"}]
    ]


def test_a_table_with_a_forged_cell_is_left_out() -> None:
    forged = MARKDOWN.replace(b"Pear", rb"Pear \| Price: 1")
    assert cells(parse_document(Path("a.md"), forged)) == []
