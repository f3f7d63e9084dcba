"""Passages as a prompt shows them: numbered, delimited, and unable to forge their delimiters."""

from __future__ import annotations

import re
from collections.abc import Sequence

from graph.state import Passage

DELIMITER = re.compile(r"<(?=\s*/?\s*(?:passage|question|answer|claim)\b)", re.IGNORECASE)
# What chat templates put between turns: <|im_start|>, <｜User｜>, <start_of_turn>, [INST], <<SYS>>, </s>.
CONTROL = re.compile(
    r"<(?=\s*[|｜][^|｜>]{1,40}[|｜]\s*>|/?(?:start_of_turn|end_of_turn|s|bos|eos|pad|unk|think|tool_call|system)>|</?SYS>>)"
    r"|\[(?=/?(?:INST|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|SYSTEM_PROMPT)\])",
    re.IGNORECASE,
)


def as_data(text: str) -> str:
    """The text with anything that imitates a delimiter, ours or a chat template's, made harmless."""
    return CONTROL.sub(lambda match: "‹" if match.group() == "<" else "⁅", DELIMITER.sub("‹", text))


def numbered(passages: Sequence[Passage]) -> str:
    """All passages, whole, each between its own delimiters."""
    return "\n".join(
        f'<passage id="{number}">\n{as_data(passage["text"])}\n</passage>' for number, passage in enumerate(passages, 1)
    )
