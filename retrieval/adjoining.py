"""Join passages of a document to the text that they were split from."""

import re
from collections.abc import Iterable

from langchain_core.documents import Document

READ = 20  # passages on each side of a quote, as some are short
READ_OF_DOCUMENT = 1_000
_SENTENCE_END = re.compile(r"""[.!?:;…。！？]["'”’»)\]]*$""")


def joined_text(passages: Iterable[Document]) -> str:
    """Return the text of passages in the order of their document, with a blank line between pages and rows."""
    text = ""
    end: Document | None = None  # the passage that the text ends with
    for passage in passages:
        if end is None:
            text, end = passage.page_content, passage
        elif _section(passage) != _section(end):
            text, end = f"{text}\n\n{passage.page_content}", passage
        else:
            known = max(0, _end(end) - passage.metadata["offset"])
            text += _gap(end, passage) + passage.page_content[known:]
            end = max(end, passage, key=_end)
    return text


def last(text: str, most: int) -> str:
    """Return the last ``most`` characters of a text, beginning with a whole word."""
    return text if len(text) <= most else re.sub(r"^\S{1,40}\s", "", text[-most:])


def first(text: str, most: int) -> str:
    """Return the first ``most`` characters of a text, ending with a whole word."""
    return text if len(text) <= most else re.sub(r"\s\S{1,40}$", "", text[:most])


def _section(passage: Document) -> tuple[int | None, int | None]:
    return passage.metadata["page"], passage.metadata["row"]


def _end(passage: Document) -> int:
    return int(passage.metadata["offset"]) + len(passage.page_content)


def _gap(one: Document, other: Document) -> str:
    """Guess the white space between two passages of a section, of which only the length is known."""
    length = other.metadata["offset"] - _end(one)
    if length <= 0:
        return ""
    if length > 1:
        return "\n\n"
    return " " if _SENTENCE_END.search(one.page_content) or other.page_content[:1].islower() else "\n"
