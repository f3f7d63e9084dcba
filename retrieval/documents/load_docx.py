"""Read the text of a Word document (DOCX): headings, paragraphs, lists, tables and notes, in order."""

import itertools
import re

from retrieval.documents.load_docx_parts import parts_of, text_only
from retrieval.documents.load_html import read_html

_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => h2:fresh
br[type='page'] => br
br[type='column'] => br
"""
_NOTE = re.compile(r'(<li id="(?:foot|end)note-[^"]*">(?:<p>)?)')
_BACK = re.compile(r'<a href="#(?:foot|end)note-ref-[^"]*">↑</a>')  # the link from a note to its place


def read_docx(data: bytes) -> tuple[str, str | None]:
    """Return the text, a blank line between paragraphs, and the day of the last change.

    A note stands at the end under the number that its place in the text has: "[1]". Raises
    ``ValueError`` with the rest of a sentence that begins with the file's name.
    """
    from mammoth import convert_to_html  # type: ignore[import-untyped]

    parts = parts_of(data)
    try:
        # Its own style map could hide or rename things, and its pictures could lie anywhere.
        page = convert_to_html(
            text_only(parts), style_map=_STYLES, include_embedded_style_map=False, external_file_access=False
        ).value
    except RecursionError as error:
        raise ValueError("is nested too deep to be read: save it as plain text") from error
    except Exception as error:
        raise ValueError("is damaged: open it in Word or LibreOffice and save it anew as DOCX") from error
    count = itertools.count(1)
    page = _NOTE.sub(lambda match: f"{match[1]}[{next(count)}] ", _BACK.sub("", page))
    return read_html(page), parts.date
