"""Passages as a prompt shows them: numbered, delimited, and unable to forge their delimiters."""

from __future__ import annotations

import re
from collections.abc import Sequence

from graph.state import Passage

DELIMITER = re.compile(r"<(?=\s*/?\s*(?:passage|question|answer|claim)\b)", re.IGNORECASE)
CONTROL = re.compile(r"<\|(?=[^|>]{1,40}\|>)")


def as_data(text: str) -> str:
    """The text with anything that imitates a delimiter, ours or a chat template's, made harmless."""
    return CONTROL.sub("‹|", DELIMITER.sub("‹", text))


def numbered(passages: Sequence[Passage]) -> str:
    """All passages, whole, each between its own delimiters."""
    return "\n".join(
        f'<passage id="{number}">\n{as_data(passage["text"])}\n</passage>' for number, passage in enumerate(passages, 1)
    )
