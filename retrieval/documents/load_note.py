"""Name in a sentence which of many parts of a document could not be read."""

from collections.abc import Sequence

_NAMED = 10


def numbered(kind: str, numbers: Sequence[int]) -> str:
    """Return "page 3", "pages 3 and 7" or, of a great many, "pages 1, 2, … and 12 more"."""
    if len(numbers) == 1:
        return f"{kind} {numbers[0]}"
    *first, last = [str(number) for number in numbers[:_NAMED]]
    if len(numbers) > _NAMED:
        first.append(last)
        last = f"{len(numbers) - _NAMED} more"
    return f"{kind}s {', '.join(first)} and {last}"
