"""Put the tables of a PDF page into its text as rows, below their captions."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from retrieval.documents.headings import Heading
from retrieval.documents.html import read_html
from retrieval.documents.loaded import Section
from retrieval.documents.pdf.tables import CAPTION, PageTable
from retrieval.documents.pdf.words import LIGATURES, Word

_TABLE = "\ue001"  # in the place of a table
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^\Wa-z_])")
_LINES = 3  # of a caption
_LONG, _LONGEST = 120, 300  # characters of a line that is no numbered caption; of one that ends in a colon


def marked_text(
    characters: Sequence[str], words: Iterable[Word], tables: Sequence[PageTable]
) -> tuple[str, list[PageTable]]:
    """Return a page's visible text with a mark in the place of each table, and the tables in the order of the marks."""
    visible = {index for word in words for index in word.characters}
    owners = {index: table for table in tables for word in table.words for index in word.characters}
    parts: list[str] = []
    order: dict[int, PageTable] = {}
    for index, character in enumerate(characters):
        if table := owners.get(index):
            if id(table) not in order:
                order[id(table)] = table
                parts.append(f"\n\n{_TABLE}\n\n")
        elif character.isspace() or (index in visible and character != _TABLE):
            parts.append(character)
    return "".join(parts), list(order.values())


def page_section(
    text: str, page: int, tables: Sequence[PageTable], before: PageTable | None
) -> tuple[Section, PageTable | None]:
    """Return a page with its tables as rows, whose captions are headings, and the table at its end, if there is one.

    ``before`` is the table at the end of the page before: one without a header at the top of this page continues it.
    """
    if not tables:
        return Section(text, page=page), None
    between, *rest = (part.strip() for part in text.split(_TABLE))
    text = ""
    headings: list[Heading] = []
    for table, after in zip(tables, rest, strict=True):
        if before and not text and not between and not table.header and table.columns == before.columns:
            table = replace(table, header=before.header)
        rows = read_html(table.html.translate(LIGATURES)).sections[0].text
        caption, above = _last_lines(between)
        if not CAPTION.match(caption) and CAPTION.match(below := after.split("\n", 1)[0]):
            above, caption, after = f"{above}\n\n{caption}".strip(), below, after[len(below) :].strip()
        text = _apart(text, above)
        start = len(text) + 2 if text else 0
        text = _apart(text, f"{caption}\n{rows}".strip())
        if caption:
            # The heading without words ends what the caption stands for.
            headings += [Heading(start, start + len(caption), 1), Heading(len(text), len(text), 1)]
        between, before = after, None if after else table
    return Section(_apart(text, between), page=page, headings=tuple(headings)), before


def _apart(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


def _last_lines(text: str) -> tuple[str, str]:
    """Return the caption at the end of a text, or the sentence that leads in, and the text before; "" without one."""
    lines = text.split("\n")
    if lines[-1].endswith(":"):
        begin = max((end.end() for end in _SENTENCE_END.finditer(lines[-1])), default=0)
        lines[-1:] = list(filter(None, (lines[-1][:begin].strip(), lines[-1][begin:])))
    last = lines[-_LINES:]
    numbered = [index for index, line in enumerate(last) if CAPTION.match(line)]
    begin = numbered[-1] if numbered else len(last)
    while not numbered and begin and _is_title(last[begin - 1]):
        begin -= 1
    count = len(last) - begin
    return "\n".join(lines[len(lines) - count :]), "\n".join(lines[: len(lines) - count]).strip()


def _is_title(line: str) -> bool:
    if line.endswith(":"):
        return len(line) <= _LONGEST
    return 0 < len(line) <= _LONG and not line.endswith((".", ";", ",", "!", "?"))
