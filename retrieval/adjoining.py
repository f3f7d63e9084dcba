"""Join passages of a document to the text that they were split from."""

import re
from collections.abc import Iterable

from langchain_core.documents import Document

READ = 20  # passages on each side of a quote, as some are short
READ_OF_DOCUMENT = 1_000
_SENTENCE_END = re.compile(r"""[.!?:;…。！？]["'”’»)\]]*$""")


def preceding(passage: Document, earlier_ones: Iterable[Document], most: int) -> str:
    """Return some ``most`` characters of the document that end where a passage begins; the nearest come first."""
    text, begin = "", passage
    for earlier in earlier_ones:
        if len(text) >= most:
            break
        if _section(earlier) == _section(begin):
            offset = begin.metadata["offset"]
            text = earlier.page_content[: max(0, offset - earlier.metadata["offset"])] + _gap(earlier, begin) + text
            begin = earlier if earlier.metadata["offset"] < offset else begin
        else:
            text, begin = f"{earlier.page_content}\n\n{text}", earlier
    return text


def following(passage: Document, later_ones: Iterable[Document], most: int) -> str:
    """Return some ``most`` characters of the document that begin where a passage ends; the nearest come first."""
    text, end = "", passage
    for later in later_ones:
        if len(text) >= most:
            break
        text, end = _extended(text, end, later)
    return text


def joined(passages: Iterable[Document]) -> str:
    """Return the text of passages in the order of their document."""
    text = ""
    end: Document | None = None
    for passage in passages:
        text, end = _extended(text, end, passage) if end else (passage.page_content, passage)
    return text


def last(text: str, most: int) -> str:
    """Return the last ``most`` characters of a text, from a whole word."""
    return text if len(text) <= most else re.sub(r"^\S{1,40}\s", "", text[-most:])


def first(text: str, most: int) -> str:
    """Return the first ``most`` characters of a text, up to a whole word."""
    return text if len(text) <= most else re.sub(r"\s\S{1,40}$", "", text[:most])


def _extended(text: str, end: Document, later: Document) -> tuple[str, Document]:
    """Return a text that ends where a passage does with what a later one adds, and the passage that it ends with."""
    if _section(later) != _section(end):
        return f"{text}\n\n{later.page_content}", later
    known = max(0, _end(end) - later.metadata["offset"])
    return text + _gap(end, later) + later.page_content[known:], later if _end(later) > _end(end) else end


def _section(passage: Document) -> tuple[int | None, int | None]:
    return passage.metadata["page"], passage.metadata["row"]


def _end(passage: Document) -> int:
    return int(passage.metadata["offset"]) + len(passage.page_content)


def _gap(one: Document, other: Document) -> str:
    """Return white space for what lies between two passages of a section, of which the index knows the length only."""
    length = other.metadata["offset"] - _end(one)
    if length <= 0:
        return ""
    if length > 1:
        return "\n\n"
    return " " if _SENTENCE_END.search(one.page_content) or other.page_content[:1].islower() else "\n"
