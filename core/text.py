"""Clean, escape and shorten text. Invisible characters can carry instructions to a model or control a terminal."""

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Terminal escape sequences, removed whole so that no '[31m' remains: colours, cursor movements, and the strings that
# set the title or hide the target of a link.
_TERMINAL = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\\\)")
TABLE = re.compile(r"^\|.+\|\n\|[ :|-]+\|\n(?:\|.+\|(?:\n|\Z))+", re.MULTILINE)  # in Markdown
_LINE_END = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_SPACE = re.compile("[\xa0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]")  # including Braille's blank cell
_INVISIBLE = (
    "["
    "\x00-\x08\x0e-\x1f\x7f-\x9f"  # control characters but tab and newline
    "\xad\u034f\u17b4\u17b5\u180b-\u180f"  # soft hyphen, grapheme joiner, Khmer vowels, Mongolian selectors
    "\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f"  # zero width, bidirectional controls
    "\u115f\u1160\u3164\uffa0"  # Hangul fillers
    "\ufdd0-\ufdef"  # noncharacters
    "\ufe00-\ufe0f\ufeff\ufff0-\uffff"  # variation selectors, byte order mark, annotations
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # layout of hieroglyphs, shorthand and music
    "\ud800-\udfff"  # surrogates: half of a character
    "\U000e0000-\U000e0fff"  # tag characters, more variation selectors
    "]+"
)
_STRIPPED = re.compile(_INVISIBLE)
_ESCAPED = re.compile(f"{_INVISIBLE}|[\u2028\u2029]")
_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+")
_WHITE = re.compile("[ \t\n]+")


def clean(text: str) -> str:
    r"""Remove invisible characters, and normalise every line end to ``\n`` and every space to a plain one.

    U+FFFD, the mark of a byte that could not be decoded, is kept. Idempotent.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _LINE_END.sub("\n", _TERMINAL.sub("", text))
    return _STRIPPED.sub(lambda match: "\ufffd" * match.group().count("\ufffd"), _SPACE.sub(" ", text))


def one_line(text: str) -> str:
    """Return ``clean`` text on one line, stripped; each run of white space becomes one space.

    Exactly two spaces stay: they set parts of a line apart. More could push text to a terminal's next line.
    """
    return _WHITE.sub(lambda match: "  " if match.group() == "  " else " ", clean(text)).strip()


def is_blank(text: str) -> bool:
    """True if nothing of the text can be read: it is invisible, or marks of bytes that could not be decoded."""
    return not clean(text).replace("\ufffd", "").strip()


def without_surrogates(text: str) -> str:
    """Strip white space, and replace lone surrogates, which JSON and arguments can hold but no encoding can write."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip()


def as_json(
    value: object, *, ensure_ascii: bool = False, indent: int | None = None, default: Callable[[Any], Any] | None = None
) -> str:
    """Return JSON that parses to ``value``, with every character that ``clean`` removes escaped."""
    written = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, default=default)
    return _ESCAPED.sub(lambda match: json.dumps(match.group())[1:-1], written)


def path_text(path: str | Path) -> str:
    """Return a path on one line, without invisible characters."""
    return one_line(os.fsencode(path).decode("utf-8", "replace"))


def shown_path(path: str | Path) -> str:
    """Return a path for a message, on one line and without invisible characters.

    A path with a colon and a space is quoted: else a file named ``note: x.pdf`` would read like a note.
    """
    line = path_text(path)
    return f"'{line}'" if ": " in line else line


def location(source: str | None, page: int | None, row: int | None) -> str:
    """Return where a passage stands: the name of its file, and its page or row, on one line."""
    name = (one_line(Path(source).name) if source else "") or "a passage"
    return name + (f" p. {page}" if page else f" row {row}" if row else "")


def shortened(text: str, most: int) -> str:
    """Return the text as one line of at most ``most`` characters."""
    line = " ".join(one_line(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def shortened_in_the_middle(text: str, most: int) -> str:
    """Return the text as one line of at most ``most`` characters, with `` … `` for what is left out."""
    half = (most - 3) // 2
    line = " ".join(one_line(f"{text[: 4 * most]} … {text[-4 * most :]}" if len(text) > 8 * most else text).split())
    return line if len(line) <= most else f"{line[:half].rstrip()} … {line[-half:].lstrip()}"


def first_line(written: str, label: re.Pattern[str]) -> str:
    """Return the first line that a model wrote, without its bullet, the ``label`` before it, and quotation marks."""
    line = next((line.strip() for line in written.splitlines() if line.strip()), "")
    return " ".join(label.sub("", _BULLET.sub("", line)).strip("\"'`“”‘’ ").split())


def with_tables(text: str) -> Iterator[str | list[list[str]]]:
    """Yield the parts of an answer in order: a text as it is, a table as its rows, of which the first is the header."""
    end = 0
    for table in TABLE.finditer(text):
        if before := text[end : table.start()].strip("\n"):
            yield before
        lines = table.group().strip().split("\n")
        yield [[cell.strip() for cell in line.strip("|").split("|")] for line in (lines[0], *lines[2:])]
        end = table.end()
    if rest := text[end:].lstrip("\n") if end else text:
        yield rest
