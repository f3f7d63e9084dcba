"""Read CSV and JSONL files, one text per row."""

import ast
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from core.errors import NoTextError
from core.text import clean
from retrieval.documents.decode import numbered, stated_day
from retrieval.documents.loaded import CELLS, Cell, Loaded, Section

_SEPARATORS = ",;\t|"
_SAMPLE = 200  # records to detect the separator from
_SAMPLE_SIZE = 1_000_000  # characters of them
_FIELD_LIMIT = 2**31 - 1  # the largest that fits a C long everywhere
_LIST_LIMIT = 1_000_000  # characters: a longer printed list is not parsed
_NUMBER = re.compile(r"[-+]?[.,\s]*\d[\d.,\s]*[%€$£]?$")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


def read_csv(text: str) -> list[Section]:
    """Return a section of ``column: value`` lines for each row that holds a value, with the places of its cells.

    What stands above the header is a section without a row. Rows count from 1 below the header, without blank lines. A
    value that pandas wrote as a list of strings becomes its items, with a blank line between them. Raises
    ``NoTextError``, whose message completes a sentence that begins with the file's name.
    """
    declared = re.match(r'"?sep=([,;\t|])"?\n', text)  # as spreadsheets write it
    text = text[declared.end() :] if declared else text
    limit = csv.field_size_limit(_FIELD_LIMIT)
    try:
        records = list(_records(text, declared[1] if declared else find_separator(text)))
    finally:
        csv.field_size_limit(limit)
    if not records:
        return []
    above = _lines_above(records)
    title = "\n".join(" ".join(filter(None, record)) for record in records[:above])
    names, records = _header(records[above:])
    if not records:
        raise NoTextError("has a header and no rows: put rows into it, or leave it out")
    sections = (_section(number, names, record) for number, record in enumerate(records, 1))
    return [section for section in (Section(title), *sections) if section.text]


def _records(text: str, separator: str) -> Iterator[list[str]]:
    """Yield the records that are not blank, with stripped cells."""
    for record in _read(list(io.StringIO(text)), separator):
        if any(cell.strip() for cell in record):
            yield [cell.strip() for cell in record]


def _read(lines: list[str], separator: str) -> Iterator[list[str]]:
    """Yield the records of lines; a quote mark that opens a cell and is not closed, as in ``"5 inches``, is text."""
    begin = 0
    while begin < len(lines):
        reader = csv.reader(
            map(lines.__getitem__, range(begin, len(lines))), delimiter=separator, skipinitialspace=True, strict=True
        )
        end = begin
        try:
            for record in reader:
                yield record
                end = begin + reader.line_num
        except csv.Error:  # for an unclosed quote mark, or for text after a closing one, which belongs to the cell
            line = lines[end].rstrip("\n") + "\n"
            (record,) = csv.reader([line], delimiter=separator, skipinitialspace=True)
            if record[-1].endswith("\n"):
                (record,) = csv.reader([line], delimiter=separator, quoting=csv.QUOTE_NONE)
            yield record
            end += 1
        begin = end


def find_separator(text: str) -> str:
    """Return the separator for which most records have the same number of cells, at least two.

    Where a comma and another separator fit equally well, return the other: 12,50;3,20 is two cells.
    """
    sample = text[:_SAMPLE_SIZE]
    best, best_score = ",", (0.0, False, 0)
    for separator in _SEPARATORS:
        widths = Counter[int]()
        for record in _records(sample, separator):
            widths[len(record)] += 1
            if widths.total() == _SAMPLE:
                break
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
        score = (count / max(widths.total(), 1), separator != ",", width)
        if width > 1 and score > best_score:
            best, best_score = separator, score
    return best


def _lines_above(records: list[list[str]]) -> int:
    """Return how many records stand above the header: comments, then a title.

    Comments begin with # and have fewer cells than most records. A title lacks at least two cells, and is recognised
    only if all cells of some column below the header are numbers: otherwise a row of data could pass for the header.
    """
    widths = [max((at for at, cell in enumerate(record, 1) if cell), default=0) for record in records[:_SAMPLE]]
    usual = max(Counter(widths).items(), key=lambda item: (item[1], item[0]))[0]
    comments = next(at for at, width in enumerate(widths) if width >= usual or not records[at][0].startswith("#"))
    above = next(at for at, width in enumerate(widths) if at >= comments and width >= usual - 1)  # R omits one name
    header, below = records[above][: widths[above]], records[above + 1 : _SAMPLE]
    columns = ([record[at] for record in below if at < len(record) and record[at]] for at in range(len(header)))
    has_names = all(header) and not any(map(_NUMBER.match, header))
    return above if has_names and any(cells and all(map(_NUMBER.match, cells)) for cells in columns) else comments


def _header(records: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Return the column names and the rows of data; no names if the first record has numbers other than years."""
    first = records[0]
    numbers = [index for index, cell in enumerate(first) if _NUMBER.match(cell)]
    if numbers and not _are_years(numbers, records):
        return [], records
    seen = Counter[str]()
    names: list[str] = []
    taken: set[str] = set()
    for name in (" ".join(cell.split()) for cell in first):
        own = name
        while own and own in taken:
            seen[name] += 1
            own = f"{name} {seen[name] + 1}"
        names.append(own)
        taken.add(own)
    return names, records[1:]


def _are_years(columns: list[int], records: list[list[str]]) -> bool:
    """True if the first record has several years in order in these columns, and most cells below are not years."""
    years = [records[0][column] for column in columns]
    below = [record[column] for record in records[1:_SAMPLE] for column in columns if column < len(record)]
    in_order = len(set(years)) > 1 and years in (sorted(years), sorted(years, reverse=True))
    return in_order and all(map(_YEAR.fullmatch, years)) and 2 * len([*filter(_YEAR.fullmatch, below)]) < len(below)


def _section(row: int, names: list[str], record: list[str]) -> Section:
    """Return a record as ``column: value`` lines, without empty values."""
    lines: list[str] = []
    cells: list[Cell] = []
    start = 0
    for index, cell in enumerate(record):
        if not cell:
            continue
        name = names[index] if index < len(names) and names[index] else f"column {index + 1}"
        lines.append(f"{name}: {_unpacked(cell)}")
        cells.append((0, row, start, start + len(name), start + len(lines[-1])))
        start += len(lines[-1]) + 1
    return Section("\n".join(lines), row=row, extra={CELLS: cells} if names else None)


def _unpacked(cell: str) -> str:
    """Return the items of a printed list of strings, as pandas writes one; any other cell unchanged."""
    if len(cell) > _LIST_LIMIT or not (cell.startswith(("['", '["')) and cell.endswith(("']", '"]'))):
        return cell
    try:
        items = ast.literal_eval(cell)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return cell
    if not all(isinstance(item, str) for item in items):
        return cell
    return "\n\n".join(item.strip() for item in items)


_RESERVED = frozenset({"source", "page", "row", "offset", "date", CELLS})  # metadata that the index sets itself
_KEYS = 32  # of metadata for each line
_KEY_LENGTH = 64  # characters
_VALUE_LENGTH = 1_000  # characters as JSON
_LARGEST_PAGE = 1_000_000


def read_jsonl(text: str) -> Loaded:
    """Return the lines that are objects with a text, and a note on the others.

    Rows count all lines of the file from 1, also blank ones, which are skipped. Raises ``ValueError`` when no line can
    be read; its message completes a sentence that begins with the file's name.
    """
    numbered_lines = [(row, source) for row, source in enumerate(text.split("\n"), 1) if source.strip()]
    found = {row: _line(row, source) for row, source in numbered_lines}
    lines = [line for line in found.values() if line]
    bad = [row for row, line in found.items() if line is None]
    if bad and not lines:
        raise ValueError('has no line like {"text": "…"}: write one JSON object with a text on each line')
    verb = "is not an object" if len(bad) == 1 else "are not objects"
    return Loaded(lines, f"{numbered('line', bad)} {verb} with a text" if bad else "")


def _line(row: int, source: str) -> Section | None:
    try:
        record = json.loads(source)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        return None
    metadata = record.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    page = metadata.get("page")
    known_page = page if type(page) is int and 0 <= page <= _LARGEST_PAGE else None
    return Section(clean(record["text"]), known_page, row, stated_day(metadata.get("date")), _extra(metadata) or None)


def _extra(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata without reserved keys, hidden characters and oversize values."""
    extra: dict[str, Any] = {}
    for key, value in metadata.items():
        name = clean(key).strip()
        if 0 < len(name) <= _KEY_LENGTH and name not in _RESERVED and len(extra) < _KEYS and _fits(value):
            extra[name] = _cleaned(value)
    return extra


def _fits(value: object) -> bool:
    try:
        return len(json.dumps(value, ensure_ascii=False, allow_nan=False)) <= _VALUE_LENGTH
    except (ValueError, RecursionError):  # NaN, and 1e999 which is read as infinity
        return False


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): _cleaned(item) for key, item in value.items()}
    return value
