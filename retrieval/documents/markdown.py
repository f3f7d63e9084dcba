"""Read Markdown: its title, its headings, and its tables with the names of their columns in each row."""

import re
from collections.abc import Iterator, Sequence

from retrieval.documents.decode import MOST_ADDED, column_name, named_cells
from retrieval.documents.headings import Heading, lines_with_starts, plain_title

_FRONT_MATTER = re.compile(r"\s*(---|\+\+\+)[ \t]*\n(.{0,20000}?)\n\1[ \t]*(?:\n|$)", re.S)  # YAML or TOML
_TITLE = re.compile(r"""^title[ \t]*[:=][ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\n]*))""", re.M | re.I)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_COMMENT = re.compile(r"[ \t]*<!--")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+|$)")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NO_PARAGRAPH = re.compile(r" {4}|\t|[ \t]*(?:[-+*>|]|\d{1,9}[.)]|#{1,6}[ \t])")
_DELIMITER = re.compile(r":?-+:?")
_CELL_END = re.compile(r"(?<!\\)\|")


def front_matter(text: str) -> str:
    """Return the front matter without its fences; "" if there is none."""
    match = _FRONT_MATTER.match(text[:25_000])
    return match[2] if match else ""


def read_markdown(text: str) -> tuple[str, str, list[Heading]]:
    """Return the text with ``column: value`` cells in its tables, the title that it states, and its headings."""
    text = _with_names(text)
    stated = _TITLE.search(front_matter(text))
    title = plain_title(stated[1] or stated[2] or stated[3]) if stated else ""
    return text, title, list(_headings(text))


def prose_lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield each line's start, the line, and whether it is prose: not front matter, code or a comment."""
    match = _FRONT_MATTER.match(text[:25_000])
    begin = match.end() if match else 0
    fence, comment = "", False
    for start, line in lines_with_starts(text):
        mark = None if comment else _FENCE.match(line)
        if start < begin:
            yield start, line, False
        elif mark and not fence and not (mark[1][0] == "`" and "`" in mark[2]):
            fence = mark[1]
            yield start, line, False
        elif fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
            yield start, line, False
        elif comment or _COMMENT.match(line):
            comment = "-->" not in line
            yield start, line, False
        else:
            yield start, line, True


def _headings(text: str) -> Iterator[Heading]:
    """Yield ATX and setext headings; of a setext heading of several lines only the last line counts."""
    above: tuple[int, str] | None = None  # the last line of a paragraph
    for start, line, is_prose in prose_lines(text):
        mark = _ATX.match(line) if is_prose else None
        if mark and line[mark.end() :].strip(" \t#"):
            yield Heading(start + mark.end(), start + len(line.rstrip()), len(mark[1]))
        elif is_prose and above and (under := _SETEXT.match(line)):
            begin, title = above
            yield Heading(
                begin + len(title) - len(title.lstrip()), begin + len(title.rstrip()), 1 + (under[1][0] == "-")
            )
        is_paragraph = is_prose and bool(line.strip()) and not _NO_PARAGRAPH.match(line) and not _SETEXT.match(line)
        above = (start, line) if is_paragraph else None


def _with_names(text: str) -> str:
    """Return the text with the column names of each table before its cells, instead of in a header row."""
    if "|" not in text:
        return text
    lines = list(prose_lines(text))
    done: list[str] = []
    index = added = 0
    while index < len(lines):
        _, line, is_prose = lines[index]
        names = _header_cells(line, lines[index + 1]) if is_prose and index + 1 < len(lines) else []
        if not names:
            done.append(line)
            index += 1
            continue
        end = index + 2
        while end < len(lines) and lines[end][2] and "|" in lines[end][1]:
            end += 1
        rows = [row for _, row, _ in lines[index + 2 : end]]
        added += len(rows) * sum(map(len, names))
        if rows and added <= MOST_ADDED:
            indent = line[: len(line) - len(line.lstrip())]
            done += [indent + (named_cells(names, _cells(row)) or row.strip()) for row in rows]
        else:
            done += [row for _, row, _ in lines[index:end]]
        index = end
    return "\n".join(done)


def _header_cells(line: str, below: tuple[int, str, bool]) -> Sequence[str]:
    """Return the column names if ``line`` is the header of a table and ``below`` its delimiter row, else no names."""
    if "|" not in line or "-" not in below[1] or not below[2]:
        return []
    delimiters = _cells(below[1])
    if not all(map(_DELIMITER.fullmatch, delimiters)):
        return []
    cells = _cells(line)
    return [column_name(cell) for cell in cells] if len(cells) == len(delimiters) and any(cells) else []


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip().replace("\\|", "|") for cell in _CELL_END.split(inner)]
