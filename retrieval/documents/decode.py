"""Helpers for several kinds of file: decode the bytes of a text, recognise dates, and name the columns of tables."""

import codecs
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date

from core.passages import AFTER_NAME, BETWEEN_CELLS
from core.text import shortened_in_the_middle
from retrieval.documents.headings import plain_title

_MARKS = (  # UTF-32 first: its little-endian byte order mark begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LATIN = ("cp1252", "cp1250", "cp1254")
_OTHER = (*("cp1251", "koi8_r", "cp1253", "cp1255", "cp1256"), *("cp932", "euc_jp", "gb18030", "big5", "euc_kr"))
_SAMPLE = 65_536  # bytes to guess the encoding from
_CHARACTER = re.compile(  # one valid character of more than one byte in UTF-8
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_HIGH = re.compile(rb"[\x80-\xff]")
_CONTROL = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f]")


def decode(data: bytes, declared: str | None = None) -> str:
    """Return the text of ``data``; ``declared`` is the encoding that the document itself names.

    Never raises: a byte that cannot be decoded becomes U+FFFD.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    if wide := _wide_encoding(data[:_SAMPLE]):
        return data.decode(wide, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode(_encoding_of(data, declared), "replace")


def is_binary(text: str) -> bool:
    """True if decoded data is not text, such as an image with the suffix of a text file."""
    sample = text[:_SAMPLE]
    return len(_CONTROL.findall(sample)) > len(sample) * 0.02 + 2


def _wide_encoding(sample: bytes) -> str | None:
    """Recognise UTF-16 without a byte order mark: in Western text nearly every other byte is zero."""
    half = len(sample) // 2
    if half < 2:
        return None
    even, odd = sample[0::2].count(0) / half, sample[1::2].count(0) / half
    if odd > 0.4 and even < 0.05:
        return "utf-16-le"
    if even > 0.4 and odd < 0.05:
        return "utf-16-be"
    return None


def _encoding_of(data: bytes, declared: str | None) -> str:
    """Return the likely encoding of bytes that are not valid UTF-8; it is UTF-8 if they are only damaged in places."""
    sample = data[:_SAMPLE]
    if not _HIGH.search(sample):
        start = max(0, _HIGH.search(data).start() - _SAMPLE // 2)  # type: ignore[union-attr]
        sample = data[start : start + _SAMPLE]
    valid = sum(map(len, _CHARACTER.findall(sample)))
    if valid > len(_HIGH.findall(sample)) / 2:
        return "utf-8"  # damaged, but mostly valid
    if declared and _known(declared):
        return declared
    return _guess(sample)


def _known(encoding: str) -> bool:
    try:
        return codecs.lookup(encoding).name not in ("utf-8", "utf-16", "utf-32")
    except LookupError:
        return False


def _guess(sample: bytes) -> str:
    """Guess the encoding with which the text looks most like a language, preferring Western European."""
    from charset_normalizer import from_bytes

    letters = sum(byte > 0x7F or chr(byte).isalpha() for byte in sample)
    foreign = len(_HIGH.findall(sample)) > letters / 2
    matches = from_bytes(sample, cp_isolation=[*_OTHER] if foreign else [*_LATIN, *_OTHER])
    best = matches.best()
    if best is None:
        return "cp1252"
    for match in matches:
        western = "cp1252" in match.could_be_from_charset
        if western and match.chaos <= best.chaos and match.coherence >= best.coherence - 0.06:
            return "cp1252"
    return best.encoding


_DAY = re.compile(r"\s*(?:D:)?(\d{4})(-?)(\d{2})\2(\d{2})")  # ISO, and PDF's D:20260131…
_EARLIEST = 1900


def stated_day(*stated: object) -> str | None:
    """Return the first plausible of the dates stated, as 'YYYY-MM-DD', or None.

    A date is plausible if it is a valid day from 1900 to the end of next year: others come from a wrong clock.
    """
    for text in stated:
        if isinstance(text, str) and (match := _DAY.match(text)):
            with suppress(ValueError):  # no such day
                day = date(int(match[1]), int(match[3]), int(match[4]))
                if _EARLIEST <= day.year <= date.today().year + 1:
                    return day.isoformat()
    return None


_LISTED = 10


def numbered(kind: str, numbers: Sequence[int]) -> str:
    """Return "page 3", "pages 3 and 7" or, beyond ten, "pages 1, 2, … and 12 more"."""
    if len(numbers) == 1:
        return f"{kind} {numbers[0]}"
    *first, last = [str(number) for number in numbers[:_LISTED]]
    if len(numbers) > _LISTED:
        first.append(last)
        last = f"{len(numbers) - _LISTED} more"
    return f"{kind}s {', '.join(first)} and {last}"


# Signs that may stand apart from their amount, in a cell of their own.
BEFORE_AMOUNT, AFTER_AMOUNT = ("$", "€", "£", "¥", "(", "$("), (")", "%", ")%")
LONGEST_NAME = 80  # characters of a column's name
MOST_ADDED = 20_000_000  # characters that column names may add to a file; with more, its tables stay as they are


def column_name(text: str) -> str:
    """Return the name of a column, shortened if it is long, and without the separators ``: `` and `` | `` in it."""
    plain = shortened_in_the_middle(plain_title(text).rstrip(" :"), LONGEST_NAME)
    return plain.replace(AFTER_NAME, " ").replace(BETWEEN_CELLS, " ")


def named_cells(names: Sequence[str], cells: Sequence[str]) -> str:
    """Return a row as ``column: value | column: value``, without empty cells; "" for an empty row."""
    return BETWEEN_CELLS.join(
        f"{names[index]}{AFTER_NAME}{cell}" if index < len(names) and names[index] else cell
        for index, cell in enumerate(cells)
        if cell
    )
