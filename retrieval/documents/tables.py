"""Say in each row of a table what its columns are called."""

from collections.abc import Sequence

MOST_ADDED = 20_000_000  # characters that a file's names of columns may add: with more, its tables stay as they are


def named_cells(names: Sequence[str], cells: Sequence[str]) -> str:
    """Return a row as ``column: value | column: value``, without empty cells; "" for an empty row."""
    return " | ".join(
        f"{names[index]}: {cell}" if index < len(names) and names[index] else cell
        for index, cell in enumerate(cells)
        if cell
    )
