"""Find the cells and the columns of a table that a question names."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from core.words import STOP_WORDS
from grounding.stems import stems
from retrieval.tables import BEFORE_FIGURE, Table

WORD = re.compile(r"[^\W_]+")
BEGINNING = 3  # letters by which two words are taken for one: Italian, Italy


class Named(NamedTuple):
    """The text cells of a table that a question names, each with the key of its column; ``rest`` is the other words.

    Those in ``unclear`` are in several columns: a winner may be a loser elsewhere.
    """

    cells: dict[str, str]
    rest: str
    unclear: frozenset[str] = frozenset()

    @property
    def are_compared(self) -> bool:
        """Whether two of the cells are in one column, as in "Which is older, A or B?"."""
        return len(set(self.cells.values())) < len(self.cells)

    @property
    def compared_by(self) -> str:
        """The key of the column that has most of the cells."""
        return Counter(self.cells.values()).most_common(1)[0][0]


def cells_named_by(table: Table, question: str) -> Named:
    """Find the text cells that the question names: "Seniors from 67" also as "Seniors", unless that fits two cells."""
    asked, named = question.casefold(), {}
    texts = [(index, one.key) for index, one in enumerate(table.columns) if one.kind == "text"]
    cells = {cell: key for row in table.cells for index, key in texts if (cell := row[index])}
    shorter = Counter(BEFORE_FIGURE.sub("", cell) for cell in cells)
    for cell in sorted(cells, key=len, reverse=True):
        short = BEFORE_FIGURE.sub("", cell)
        name = (short if shorter[short] == 1 else cell).casefold()
        place = re.search(rf"(?<!\w){re.escape(name)}(?:e?s)?(?!\w)", asked) if name in asked else None
        if place and ((name not in STOP_WORDS and len(name) > 1) or question[slice(*place.span())] in (cell, short)):
            asked = asked[: place.start()] + " " * len(place[0]) + asked[place.end() :]
            named[cell] = cells[cell]
    files = [cell for cell, key in named.items() if key == table.file_key]
    if len(files) < len(table.sources):  # from 1990 to 1994: the table has no other years
        named = {cell: key for cell, key in named.items() if cell not in files}
    having = Counter(cell for index, _ in texts for cell in named.keys() & {row[index] for row in table.cells})
    return Named(named, asked, frozenset(cell for cell in named if having[cell] > 1))


def implied_cells(table: Table, question: str) -> Iterator[str]:
    """Yield the cells of each column that the question names and that has just two values, such as yes and no."""
    asked = beginnings(question)
    for index, column in enumerate(table.columns):
        if column.kind == "text" and len(cells := table.frequent_cells(index)) == 2 and beginnings(column.name) & asked:
            yield from cells


def named_columns(table: Table, question: str) -> list[str]:
    """Return the keys of the columns whose names, without brackets, the question has."""
    asked = stems(question)
    return [one.key for one in table.columns if (own := stems(one.name.partition("(")[0])) and own <= asked]


def beginnings(*texts: str) -> set[str]:
    """Return the first four letters of each word that has four or more, so that weight and weigh match."""
    return {word[: BEGINNING + 1] for text in texts for word in WORD.findall(text.casefold()) if len(word) > BEGINNING}
