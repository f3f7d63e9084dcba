"""Strip from text what a reader cannot see: hidden characters can carry instructions to a model."""

import re

# What steers a terminal, taken out whole so that no '[31m' stays behind: colours and cursor movements, and the strings
# that set its title or hide the target of a link.
_TERMINAL = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\\\)")
_LINE_END = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_SPACE = re.compile("[\xa0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]")  # Braille's blank cell among them
_INVISIBLE = re.compile(
    "["
    "\x00-\x08\x0e-\x1f\x7f-\x9f"  # control characters but tab and newline
    "\xad\u034f\u17b4\u17b5\u180b-\u180f"  # soft hyphen, grapheme joiner, Khmer vowels, Mongolian selectors
    "\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f"  # zero width, bidirectional controls
    "\u115f\u1160\u3164\uffa0"  # Hangul fillers
    "\ufdd0-\ufdef"  # no characters
    "\ufe00-\ufe0f\ufeff\ufff0-\uffff"  # variation selectors, byte order mark, annotations
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # layout of hieroglyphs, shorthand and music
    "\ud800-\udfff"  # surrogates: half of a character
    "\U000e0000-\U000e0fff"  # tag characters, more variation selectors
    "]+"
)


def clean(text: str) -> str:
    r"""Drop invisible characters and give every line end as ``\n``, every space as a plain one.

    U+FFFD, the mark of a byte that could not be decoded, stays. Cleaning twice changes nothing.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _LINE_END.sub("\n", _TERMINAL.sub("", text))
    return _INVISIBLE.sub(_keep_replacement_mark, _SPACE.sub(" ", text))


def _keep_replacement_mark(match: re.Match[str]) -> str:
    return "\ufffd" * match.group().count("\ufffd")
