"""Write the numbers that Word counts by itself, such as "4.2" or "(a)", into the paragraphs of a document."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement

_DEEPEST = 9  # levels of a list, as in Word
_UNCOUNTED = ("{*}sectPr", "{*}rPr/{*}del")  # of a paragraph without text: a section's end, a deletion
_PLACE = re.compile(r"%([1-9])")
_LONGEST = 40  # characters of a number with the text around it
_ROMAN = dict(
    zip("m cm d cd c xc l xl x ix v iv i".split(), (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1), strict=True)
)
_MOST_ROMAN = 5_000


def local_name(element: Element) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def value_of(element: Element | None, name: str = "val") -> str:
    """Return an attribute's value in any namespace: Word and strict Open XML use different ones."""
    if element is None:
        return ""
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")


def _number(element: Element | None, default: int) -> int:
    value = value_of(element)
    return int(value) if value.isdecimal() and len(value) < 7 else default


class _Level(NamedTuple):
    """How a level of a list counts: from where, in which format, with which text, and after which level it restarts."""

    start: int
    format: str
    text: str
    restart: int
    decimal: bool
    style: str


def _level(element: Element, depth: int) -> _Level:
    found = {local_name(child): child for child in element}
    return _Level(
        start=_number(found.get("start"), 0),
        format=value_of(found.get("numFmt")) or "decimal",
        text=value_of(found.get("lvlText")),
        restart=_number(found.get("lvlRestart"), depth),
        decimal="isLgl" in found and value_of(found["isLgl"]) not in ("0", "false"),
        style=value_of(found.get("pStyle")),
    )


def _levels(element: Element) -> dict[int, _Level]:
    levels = ((_number_of_level(one), one) for one in element.findall("{*}lvl"))
    return {depth: _level(one, depth) for depth, one in levels if depth < _DEEPEST}


def _number_of_level(element: Element) -> int:
    value = value_of(element, "ilvl")
    return int(value) if value.isdecimal() and len(value) == 1 else _DEEPEST


class Numbers:
    """The lists of a document, given its parts by name; `write` counts on from one part to the next."""

    def __init__(self, parts: Mapping[str, Element]) -> None:
        self._abstract: dict[str, dict[int, _Level]] = {}
        self._linked: dict[str, str] = {}  # the style that holds a list's levels, by the list
        self._of: dict[str, str] = {}  # the abstract list, by the list that paragraphs name
        self._own: dict[str, dict[int, _Level]] = {}
        self._starts: dict[tuple[str, int], int] = {}
        self._styles: dict[str, tuple[str, Element | None]] = {}
        self._default = ""
        self._counts: dict[str, list[int | None]] = {}
        for root in parts.values():
            if local_name(root) == "numbering":
                self._read_lists(root)
            elif local_name(root) == "styles":
                self._read_styles(root)

    def _read_lists(self, root: Element) -> None:
        for one in root.findall("{*}abstractNum"):
            name = value_of(one, "abstractNumId")
            self._abstract[name] = _levels(one)
            self._linked[name] = value_of(one.find("{*}numStyleLink"))
        for one in root.findall("{*}num"):
            name = value_of(one, "numId")
            self._of[name] = value_of(one.find("{*}abstractNumId"))
            for override in one.findall("{*}lvlOverride"):
                depth = _number_of_level(override)
                self._own.setdefault(name, {}).update(_levels(override))
                if (start := override.find("{*}startOverride")) is not None:
                    self._starts[name, depth] = _number(start, 1)

    def _read_styles(self, root: Element) -> None:
        for one in root.findall("{*}style"):
            name = value_of(one, "styleId")
            self._styles[name] = value_of(one.find("{*}basedOn")), one.find("{*}pPr/{*}numPr")
            if value_of(one, "type") == "paragraph" and value_of(one, "default") in ("1", "true"):
                self._default = name

    def write(self, root: Element) -> None:
        """Insert a run with its number at the beginning of each numbered paragraph that has text."""
        for paragraph in _paragraphs(root):
            properties = paragraph.find("{*}pPr")
            has_text = any(one.text for one in paragraph.iter() if local_name(one) == "t")
            marks = [] if has_text or properties is None else map(properties.find, _UNCOUNTED)
            name, depth = self._list_of(properties)
            levels = self._levels_of(name)
            counts = depth in levels and all(one is None for one in marks)
            label = self._counted(name, depth, levels) if counts else ""
            if label and has_text:
                run = Element(paragraph.tag[:-1] + "r")
                SubElement(run, paragraph.tag[:-1] + "t", {"{http://www.w3.org/XML/1998/namespace}space": "preserve"})
                run[0].text = f"{label} "
                paragraph.insert(int(properties is not None), run)

    def _list_of(self, paragraph: Element | None) -> tuple[str, int]:
        """Return the list of a paragraph, "" if none, and its level, both perhaps from its style."""
        own = paragraph.find("{*}numPr") if paragraph is not None else None
        style = (value_of(paragraph.find("{*}pStyle")) if paragraph is not None else "") or self._default
        name = value_of(own.find("{*}numId")) if own is not None else ""
        stated = own.find("{*}ilvl") if own is not None else None
        seen: set[str] = set()
        for_style = style
        while (not name or stated is None) and style in self._styles and style not in seen:
            seen.add(style)
            base, properties = self._styles[style]
            if properties is not None and not name:
                name = value_of(properties.find("{*}numId"))
                for_style = style
            if properties is not None and stated is None:
                stated = properties.find("{*}ilvl")
            style = base
        if stated is None:
            levels = self._levels_of(name).items()
            return name, next((depth for depth, level in levels if level.style == for_style), 0)
        return name, _number(stated, 0)

    def _levels_of(self, name: str) -> Mapping[int, _Level]:
        abstract = self._of.get(name, "")
        if linked := self._linked.get(abstract):
            properties = self._styles.get(linked, ("", None))[1]
            abstract = self._of.get(value_of(properties.find("{*}numId")) if properties is not None else "", "")
        return self._abstract.get(abstract, {}) | self._own.get(name, {})

    def _counted(self, name: str, depth: int, levels: Mapping[int, _Level]) -> str:
        """Count one paragraph of a list at a level, and return its number with the text around it."""
        counts = self._counts.setdefault(self._of[name], [None] * _DEEPEST)
        before = counts[depth]
        first = self._starts.pop((name, depth), None)
        counts[depth] = first if first is not None else levels[depth].start if before is None else before + 1
        for below in range(depth + 1, _DEEPEST):
            if below in levels and depth < levels[below].restart:
                counts[below] = None
        level = levels[depth]
        if level.format in ("bullet", "none"):
            return ""

        def place(match: re.Match[str]) -> str:
            shown = int(match[1]) - 1
            of = levels.get(shown, level)
            count = counts[shown]
            counts[shown] = count = of.start if count is None else count
            return _FORMATS.get("decimal" if level.decimal else of.format, str)(count)

        return _PLACE.sub(place, level.text).strip()[:_LONGEST]


def _paragraphs(root: Element) -> Iterator[Element]:
    """Yield the paragraphs in order, of each alternative content only that which mammoth reads."""
    stack = [root]
    while stack:
        element = stack.pop()
        if local_name(element) == "p":
            yield element
        if local_name(element) != "Choice":
            stack.extend(reversed(element))


def _letters(number: int) -> str:
    return chr(ord("a") + (number - 1) % 26) * min((number - 1) // 26 + 1, _LONGEST) if number > 0 else ""


def _roman(number: int) -> str:
    letters = ""
    for sign, value in _ROMAN.items():
        count, number = divmod(min(number, _MOST_ROMAN), value)
        letters += sign * count
    return letters


_FORMATS: Mapping[str, Callable[[int], str]] = {
    "lowerLetter": _letters,
    "upperLetter": lambda number: _letters(number).upper(),
    "lowerRoman": _roman,
    "upperRoman": lambda number: _roman(number).upper(),
    "decimalZero": lambda number: f"{number:02}",
}
