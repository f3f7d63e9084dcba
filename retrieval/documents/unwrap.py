"""Join lines that a page layout has wrapped, so that text reads in sentences again."""

import re
from collections.abc import Sequence
from statistics import quantiles

_SENTENCE_END = re.compile(r"""[.!?:;…。！？]["'”’»)\]]*$""")
_BULLET = re.compile(r"\s*(?:[-–—*•▪◦‣●○■□➢✓·]\s|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,4})[.)]\s)")
_BROKEN_WORD = re.compile(r"-([^\W\d_]\w*)")  # from its end
_PAGE_NUMBER = re.compile(r"(?:Page )?\W*\d{1,4}\W*(?:of \d+)?$")
_LEADERS = re.compile(r"\.{4,}|(?:\. ){4,}")
_LONG = 0.75  # of the page's full line: a shorter line ends on purpose
_HALF = 0.5  # of it: so short may a line be that a lower-case one continues
_WORD = 100  # characters of a broken word that are looked at
_NARROW = 25  # characters: where full lines are shorter they are a list, not a paragraph


def unwrap(pages: Sequence[str]) -> list[str]:
    """Return the pages with wrapped lines joined; headings, bullets and blank lines stay.

    A word broken by a hyphen at a line's end is joined the way the rest of the document writes it.
    """
    words = set(re.findall(r"[\w-]+", "\n".join(pages).lower()))
    return [_unwrap_page(page, words) for page in pages]


def _unwrap_page(page: str, words: set[str]) -> str:
    lines = [re.sub(r"[ \t]+", " ", line).strip() for line in page.split("\n")]
    full = _full_length([line for line in lines if line])
    paragraphs: list[list[str]] = []
    previous = ""
    for line in lines:
        if paragraphs and _continues(previous, line, full):
            _join(paragraphs[-1], line, words)
        else:
            paragraphs.append([line])
        previous = line
    return re.sub(r"\n{3,}", "\n\n", "\n".join(map("".join, paragraphs))).strip()


def _full_length(lines: list[str]) -> float:
    """Estimate how long a full line of the page is: nine of ten lines are no longer."""
    lengths = [len(line) for line in lines]
    return quantiles(lengths, n=10, method="inclusive")[-1] if len(lengths) > 1 else float("inf")


def _continues(previous: str, line: str, full: float) -> bool:
    """Whether ``line`` carries on the sentence that ``previous`` broke off."""
    if not previous or not line or _BULLET.match(line) or _PAGE_NUMBER.match(line):
        return False
    if _LEADERS.search(previous) or _LEADERS.search(line):  # a table of contents
        return False
    if line[0].islower():
        return len(previous) >= _HALF * full
    return len(previous) >= max(_LONG * full, _NARROW) and not _SENTENCE_END.search(previous)


def _join(parts: list[str], line: str, words: set[str]) -> None:
    """Join a line to the parts of a wrapped sentence, and the halves of a word where the break goes through one."""
    broken = _BROKEN_WORD.match(_last_word(parts)[::-1]) if parts[-1].endswith("-") else None
    if not broken:
        parts += (" ", line)
        return
    rest = re.match(r"[\w-]*", line).group()  # type: ignore[union-attr] # it matches nothing, too
    together = f"{broken[1][::-1]}{rest}".lower()
    if rest[:1].islower() and together in words:
        parts[-1] = parts[-1][:-1]
    parts.append(line)


def _last_word(parts: list[str]) -> str:
    """Return the end of a text, as far as its last word may reach back."""
    end = ""
    for part in reversed(parts):
        end = part[-_WORD:] + end
        if part == " " or len(end) > _WORD:
            break
    return end[-_WORD:]
