"""Read a text that is to be checked, in the sandbox in which documents are read."""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from core.errors import RequestError
from core.files import write_private
from retrieval.documents.load import SUFFIXES
from retrieval.sandbox.pool import Readers

STDIN = "-"
LARGEST = 20_000_000  # bytes of standard input


class TextToCheck(NamedTuple):
    """The text of a file with a blank line between pages, and the spans of its headings."""

    text: str
    headings: list[tuple[int, int]]


def read_text(path: Path) -> TextToCheck:
    """Read a document of any kind that ``index`` reads; ``-`` is standard input, as Markdown.

    Raises `RequestError` if it cannot be read.
    """
    if str(path) != STDIN:
        return _read(path)
    data = sys.stdin.buffer.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise RequestError(f"Standard input is longer than {LARGEST // 1_000_000} MB: check it in parts.")
    return read_text_to_check("standard input.md", data)


def read_text_to_check(name: str, data: bytes) -> TextToCheck:
    """Read a document from its bytes; only the suffix of its name counts. Raises `RequestError`."""
    suffix = Path(name).suffix.lower()
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"the text{suffix if suffix in SUFFIXES else ''}"
        write_private(file, data)
        return _read(file)


def _read(path: Path) -> TextToCheck:
    with Readers(workers=1) as readers:
        (reading,) = readers.read([os.fsencode(path.resolve())])
    if reading.loaded is None:
        raise RequestError(reading.reason)
    text, headings = "", list[tuple[int, int]]()
    for section in reading.loaded.sections:
        text += "\n\n" if text else ""
        headings += [(len(text) + one.start, len(text) + one.end) for one in section.headings]
        text += section.text
    return TextToCheck(text, headings)
