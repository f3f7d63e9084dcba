"""Find the header rows of a page's tables, and the column name of each cell."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING

from core.passages import AFTER_NAME, BETWEEN_CELLS, SEPARATOR
from retrieval.documents.decode import AFTER_AMOUNT, BEFORE_AMOUNT, MOST_ADDED, column_name
from retrieval.documents.headings import plain_title

if TYPE_CHECKING:
    from bs4 import Tag

    Row = list[Tag]  # the cell in each column, which may belong to an earlier row and span this one

CELLS = ("td", "th")
_BOLD = ("b", "strong")
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r".{0,40}\b(?:19|20)\d\d(?:\W.{0,40})?")
_TOTAL = re.compile(r"(?i)(?:sub)?total|summe|gesamt")
_NONE = ("—", "–", "-")
_OF_AMOUNT = re.compile(r"[\d—–-]")
_GROUPS = ("thead", "tbody", "tfoot")
_WIDEST = 1_000  # columns that a cell may span, as in HTML's standard
_TALLEST = 65_534  # rows likewise
_MOST_SPANNED = 200_000  # columns, summed over all rows of a table, that spanning cells may fill
_LONGEST_BOLD = 300  # characters: a longer bold cell makes no header
_UNMARKED = 3  # least number of columns for a header that nothing marks: of two, the first may hold labels


class ColumnNames:
    """The names of the columns of all tables below a tag; ``text_of`` gives a cell's visible text.

    Header rows are the first rows in ``thead`` or of only ``th``, else a first row in bold, else a first row of words
    above a column of numbers; ``header_rows`` holds their ids. ``before`` maps the id of a cell below them to the text
    to write before the cell: cells of earlier rows that span its row and stand to its left, then ``column: ``.
    """

    def __init__(self, page: "Tag", text_of: Callable[["Tag"], str], is_hidden: Callable[["Tag"], bool]) -> None:
        self._text_of = text_of
        self._is_hidden = is_hidden
        self.before: dict[int, str] = {}
        self.header_rows: set[int] = set()
        self._left = MOST_ADDED
        self._texts: dict[int, str] = {}
        _join_amounts(page)
        for table in page.find_all("table"):
            _unbox(table)
        for table in page.find_all("table"):
            self._read(list(_rows(table)))

    def _read(self, rows: Sequence["Tag"]) -> None:
        grid = _grid(rows)
        count = self._head_rows(rows, grid) or self._rows_above_labels(grid)
        if not 0 < count < len(rows):
            return
        names = self._column_names(grid[:count])
        below = zip(rows[count:], grid[count:], self._groups(grid[count:]), strict=True)
        prefixes = dict(part for row, cells, group in below for part in self._prefixes(row, cells, names, group))
        self._left -= sum(map(len, prefixes.values()))
        if any(names) and self._left > 0:
            self.header_rows.update(map(id, rows[:count]))
            self.before |= prefixes

    def _groups(self, grid: "Sequence[Row]") -> Iterator[str]:
        """Yield for each row the label above it that ends in a colon, up to a total or an empty row; "" without one."""
        group = ""
        for row in grid:
            first, *others = [self._text(cell) for cell in {id(cell): cell for cell in row}.values()] or [""]
            yield group if any(others) else ""
            if not any(others):
                group = first.rstrip(" :") if first.endswith(":") else ""
            elif not first or _TOTAL.match(first):
                group = ""

    def _prefixes(self, row: "Tag", cells: "Row", names: Sequence[str], group: str) -> Iterator[tuple[int, str]]:
        """Yield the id of each cell of a row, with the text to write before the cell."""
        if 1 < len(names) <= len(cells) and len(set(map(id, cells))) == 1:
            names = ()  # one cell across all columns is the title of the rows below
        reaching: list[str] = []
        seen: set[int] = set()
        for cell, name in zip(cells, chain(names, repeat("")), strict=False):
            if id(cell) in seen:
                continue
            seen.add(id(cell))
            label = f"{name}{AFTER_NAME}" if name else ""
            if group and cell is cells[0]:
                label += column_name(group) + SEPARATOR
            if cell.parent is row:
                yield id(cell), BETWEEN_CELLS.join([*reaching, label])
                reaching = []
            elif text := plain_title(self._text(cell)):
                reaching.append(label + text)

    def _head_rows(self, rows: Sequence["Tag"], grid: "Sequence[Row]") -> int:
        """Return the number of header rows."""
        count = 0
        for row, cells in zip(rows, grid, strict=True):
            own = [cell for cell in cells if cell.parent is row]
            in_head = row.parent is not None and row.parent.name == "thead"
            if not own or not (in_head or all(cell.name == "th" for cell in own)):
                break
            count += 1
        if count or not rows:
            return count
        first = list({id(cell): cell for cell in grid[0]}.values())
        texts = [self._text(cell) for cell in first]
        if len(first) > 1 and any(texts) and all(map(_is_bold, first, texts)):
            return 1
        return int(self._is_above_numbers(texts, grid[1:]))

    def _is_above_numbers(self, texts: Sequence[str], below: "Sequence[Row]") -> bool:
        """True if the first row has distinct words without digits, and all other cells of some column have digits."""
        if len(texts) < _UNMARKED or not all(texts) or len(set(texts)) < len(texts):
            return False
        if any(map(_DIGIT.search, texts)) or any(len(row) != len(texts) for row in below):
            return False
        return any(all(_DIGIT.search(self._text(cell)) for cell in column) for column in zip(*below, strict=True))

    def _rows_above_labels(self, grid: "Sequence[Row]") -> int:
        """Return the number of rows above the first label of a table of amounts, as in a balance sheet; 0 without.

        They hold no amount. Their first cell is empty or in brackets, but in the last one beside two names or years.
        """
        texts = [[self._text(cell) for cell in {id(cell): cell for cell in row}.values()] for row in grid]
        count = 0
        for first, *others in (row or [""] for row in texts):
            if any(map(_is_amount, others)):
                break
            stated = list(filter(None, others))
            if first and not first.startswith("("):
                years = [one for one in stated if _YEAR.match(one) or one.startswith("(")]
                count += 1 < len(stated) == len(set(stated)) or 0 < len(stated) == len(years)
                break
            count += 1
        below = [any(map(_is_amount, row[1:])) for row in texts[count:] if any(row[1:])]
        return count if any(map(any, texts[:count])) and 2 * sum(below) > len(below) else 0

    def _column_names(self, header_rows: "Sequence[Row]") -> list[str]:
        """Return a name for each column, which joins the cells of all header rows."""
        names: list[list[str]] = [[] for _ in range(max(map(len, header_rows)))]
        for row in header_rows:
            for column, cell in enumerate(row):
                text = plain_title(self._text(cell))
                if text and text not in names[column]:
                    names[column].append(text)
        return [column_name(" ".join(parts)) for parts in names]

    def _text(self, cell: "Tag") -> str:
        """Return a cell's visible text; "" for a cell that holds another table."""
        if id(cell) not in self._texts:
            hidden = self._is_hidden(cell) or (cell.parent is not None and self._is_hidden(cell.parent))
            text = "" if hidden or cell.find("table") else self._text_of(cell)
            self._texts[id(cell)] = " ".join(text.split()).removesuffix("|").rstrip()  # the cell's own end mark
        return self._texts[id(cell)]


def _is_amount(text: str) -> bool:
    plain = not any(map(str.isalpha, text)) and not _YEAR.match(text)
    return text in _NONE or (plain and _DIGIT.search(text) is not None)


def _unbox(table: "Tag") -> None:
    """Make a table plain blocks if only one cell has text: it is drawn for a line or a colour, as around a heading.

    All its tags stay, as one of them may be hidden.
    """
    cells = () if table.find("table") else table.find_all(CELLS)
    if len(list(islice((cell for cell in cells if any(cell.stripped_strings)), 2))) == 1:
        for one in (table, *table.find_all([*CELLS, "tr", *_GROUPS])):
            one.name = "div"


def _join_amounts(page: "Tag") -> None:
    """Move the sign of a currency into the next cell, that of its amount, and a closing one to the amount before it."""
    for cell in page.find_all("td"):
        sign = "".join(islice(cell.stripped_strings, 2))
        if (
            sign in BEFORE_AMOUNT
            and (after := cell.find_next_sibling("td"))
            and (text := after.find(string=_OF_AMOUNT))
        ):
            text.replace_with(sign + text.strip())
            cell.clear()
        elif (
            sign in AFTER_AMOUNT
            and (before := cell.find_previous_sibling("td"))
            and (text := before.find(string=_OF_AMOUNT))
        ):
            text.replace_with(text.strip() + sign)
            cell.clear()


def _rows(table: "Tag") -> Iterator["Tag"]:
    """Yield the table's own rows, not those of a table within it."""
    for child in table.find_all(["tr", *_GROUPS], recursive=False):
        yield from [child] if child.name == "tr" else child.find_all("tr", recursive=False)


def _grid(rows: Sequence["Tag"]) -> "list[Row]":
    """Return the cell in each column of each row; a cell that spans several columns or rows is in each of them."""
    grid: list[Row] = []
    reaching: dict[int, tuple[Tag, int]] = {}  # by column: the cell that spans it from above, and how many rows more
    left = _MOST_SPANNED
    for row in rows:
        cells: Row = []
        following = {column: (cell, rest - 1) for column, (cell, rest) in reaching.items() if rest > 1}
        for cell in row.find_all(CELLS, recursive=False):
            while len(cells) in reaching:
                cells.append(reaching[len(cells)][0])
            width = _span(cell, "colspan", _WIDEST) if left > 0 else 1
            height = _span(cell, "rowspan", _TALLEST) if left > 0 else 1
            left -= width if width > 1 or height > 1 else 0
            if height > 1:
                following |= {len(cells) + column: (cell, height - 1) for column in range(width)}
            cells += [cell] * width
        left -= len(following)
        reaching = following if left > 0 else {}
        grid.append(cells)
    return grid


def _span(cell: "Tag", name: str, most: int) -> int:
    value = str(cell.get(name, "1")).strip()
    return min(max(int(value), 1), most) if value.isdecimal() and len(value) < 7 else 1


def _is_bold(cell: "Tag", text: str) -> bool:
    """Whether the whole ``text`` of a cell is bold and not long; True for an empty cell."""
    if not text or len(text) > _LONGEST_BOLD:
        return not text
    bold = cell.find(_BOLD)
    return bold is not None and " ".join(bold.get_text().split()) == text
