"""What a redraft changed in the draft before it."""

from __future__ import annotations

from difflib import SequenceMatcher

MOST_WORDS = 1_000  # of each draft that are compared: the time grows with their square


def draft_changes(before: str, after: str) -> list[dict[str, str]]:
    """Return the runs of words that differ, each ``{"removed": str, "added": str}``, of which one may be empty."""
    old, new = before.split()[:MOST_WORDS], after.split()[:MOST_WORDS]
    return [
        {"removed": " ".join(old[begin:end]), "added": " ".join(new[new_begin:new_end])}
        for tag, begin, end, new_begin, new_end in SequenceMatcher(None, old, new).get_opcodes()
        if tag != "equal"
    ]
