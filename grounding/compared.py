"""A comparison as a table: which things a question compares, and the cells that a model writes about them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from grounding.lengths import ASKS, subject_asked_for
from grounding.stems import stems

COMPARISON = re.compile(r"\b(?:compar\w*|vergleich\w*)|比较", re.IGNORECASE)
BETWEEN = re.compile(r"^(?:of|between|zwischen|von|entre|de|des)\s+", re.IGNORECASE)
# What stands before the points of comparison.
POINTS = re.compile(
    r"""(?:\s+(?:by|in\ terms\ of|with\ (?:respect|regard)\ to|regarding|as\ to|according\ to|nach|laut|
    hinsichtlich|bezüglich|selon|quant\ à|según|en\ cuanto\ a|por|[-–—])|\s*[:：])\s+(?P<points>.+)$""",
    re.VERBOSE | re.IGNORECASE,
)
AGAINST = re.compile(r"\s+(?:with|to|against|versus|vs\.?|mit|avec|con)\s+|与", re.IGNORECASE)
AND = re.compile(r"\s*,\s*(?:(?:and|und|et|y)\s+)?|\s+(?:and|und|et|y)\s+|[和跟、]", re.IGNORECASE)
ARTICLES = re.compile(r"^(?:(?:the|an?|de[rnms]|die|das|le|la|les|el|los|las|sie|bitte)\s+)+|^l['’]", re.IGNORECASE)
OF = re.compile(r"\s+(?:of|for|from|von|für|de|du|des|del|para)\s+", re.IGNORECASE)
LEADING_OF = re.compile(r"^(?:of|for|from|von|für|de|du|des|del|para)\s+", re.IGNORECASE)
TWO = re.compile(r"\b(?:two|both|beiden?|zwei|deux|dos)\b|[两二]", re.IGNORECASE)
THREE = re.compile(r"\b(?:three|drei|trois|tres)\b|三", re.IGNORECASE)
WHERE = re.compile(r"\s+(?:in|under|dans|en)\s+.+$", re.IGNORECASE)  # after the last thing it holds for all
MOST_COMPARED = 4
LONGEST_POINT = 60  # characters
EMPTY = "–"
NOTHING = re.compile(r"[-–—.\s]*")
RULE = re.compile(r"[\s|:-]+")


class Cell(NamedTuple):
    """What a comparison says of one thing on one point."""

    point: str
    thing: str
    text: str


def compares(question: str) -> bool:
    """True if the question asks for a comparison."""
    asks = ASKS.match(question)
    return asks is not None and COMPARISON.search(asks.group()) is not None


def things_compared(question: str) -> tuple[list[str], str]:
    """Return the two to four things that a comparison names, or [], and the points by which it compares them.

    The points are "rent" for "the rent of A and of B", "in the lease" for "A and B in the lease", and "the fees and
    terms" for "the fees and terms of A and B".
    """
    named = BETWEEN.sub("", subject_asked_for(question).strip(" .?!。？"))
    points = POINTS.search(named)
    named = named[: points.start()] if points else named
    split, by = AGAINST if AGAINST.search(named) else AND, points["points"] if points else ""
    *asked, rest = OF.split(named)
    if " ".join(asked).islower() and all(map(AND.search, (*asked, rest))):  # fees and terms of A and B
        by, named = f"{' '.join(asked)} {by}".strip(), rest
    parts = [ARTICLES.sub("", LEADING_OF.sub("", ARTICLES.sub("", part))) for part in split.split(named)]
    of = OF.search(parts[0])
    if of and parts[0][:1].islower() and not any(map(OF.search, parts[1:])):
        by = f"{parts[0][: of.start()]} {by}".strip()
        parts[0] = ARTICLES.sub("", parts[0][of.end() :])
    where = WHERE.search(parts[-1])
    if where and not any(map(WHERE.search, parts[:-1])):
        by, parts[-1] = f"{by} {where.group().strip()}".strip(), parts[-1][: where.start()]
    things = [part.strip() for part in parts]
    distinct = 2 <= len(dict.fromkeys(map(str.casefold, things))) == len(things) <= MOST_COMPARED and all(things)
    return things if distinct else [], by


def how_many(question: str) -> int | None:
    """Return the number of things compared if the question says it, as in "the two offers"; else None."""
    return 2 if TWO.search(question) else 3 if THREE.search(question) else None


def cells_of(written: str, things: Sequence[str], most: int) -> list[Cell]:
    """Return the non-empty cells of a written table, row by row: each point once, and at most ``most`` points."""
    cells: dict[str, list[Cell]] = {}
    names = set(map(str.casefold, things))
    for point, texts in _rows(written):
        known = not point or point.casefold() in cells or names.issuperset(map(str.casefold, texts))  # or the header
        if not known and len(point) <= LONGEST_POINT and len(cells) < most:
            said = zip(things, texts, strict=False)
            cells[point.casefold()] = [Cell(point, thing, text) for thing, text in said if not NOTHING.fullmatch(text)]
    return [cell for row in cells.values() for cell in row]


def _rows(written: str) -> Iterator[tuple[str, list[str]]]:
    for line in written.splitlines():
        if "|" in line and not RULE.fullmatch(line):
            point, *texts = (part.strip() for part in line.strip().removeprefix("|").removesuffix("|").split("|"))
            yield point.strip("*:- "), texts


def is_said_of(thing: str, things: Sequence[str], text: str) -> bool:
    """Whether a text has a word of ``thing`` that none of the other ``things`` has."""
    others = set[str]().union(*(stems(one) for one in things if one != thing))
    return bool((stems(thing) - others) & stems(text))


def is_of_it_alone(thing: str, things: Sequence[str], name: str) -> bool:
    """Whether ``name``, a title, heading or file name, has a word of only this thing, and no word of only another."""
    return [one for one in things if is_said_of(one, things, name)] == [thing]


def in_rows(cells: Iterable[Cell], things: Sequence[str]) -> list[Cell]:
    """Return the cells row by row, each row in the order of the things."""
    return [cell for row in _by_point(cells) for cell in sorted(row, key=lambda cell: things.index(cell.thing))]


def without_repeats(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells without the rows that repeat an earlier row: a model with nothing more to say repeats itself."""
    distinct: dict[frozenset[tuple[str, str]], list[Cell]] = {}
    for row in _by_point(cells):
        distinct.setdefault(frozenset((cell.thing, cell.text.casefold()) for cell in row), row)
    return [cell for row in distinct.values() for cell in row]


def _by_point(cells: Iterable[Cell]) -> Iterable[list[Cell]]:
    rows: dict[str, list[Cell]] = {}
    for cell in cells:
        rows.setdefault(cell.point.casefold(), []).append(cell)
    return rows.values()


def points_named(points: str) -> list[str]:
    """Return the single points of "fees, term and notice"."""
    return [one for one in map(str.strip, AND.split(points.strip(" .?!。？"))) if one and len(one) <= LONGEST_POINT]


def as_table(cells: Sequence[Cell], things: Sequence[str]) -> str:
    """Return the cells as a table in Markdown, with a row for each point and a column for each thing."""
    lines = [["", *things], ["---"] * (1 + len(things))]
    for row in _by_point(cells):
        texts = {cell.thing: cell.text for cell in row}
        lines.append([row[0].point, *(texts.get(thing, EMPTY) for thing in things)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
