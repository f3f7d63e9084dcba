"""Convert rows of fields, from JSON or a table, to examples; every accepted name of a field is listed here."""

import csv
import io
import re
import reprlib
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from core.errors import RequestError
from core.fingerprint import digest
from core.text import is_blank, without_surrogates
from evaluation.records import Example, Gold

# The row's place in words, and its fields.
Row = tuple[str, Mapping[str, Any]]
SEPARATORS = ",;\t|"
COLUMNS = "answer or reference, answerable, route, source, page"
TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
REFERENCES = ("answer", "answers", "reference", "references", "reference_answer", "reference_answers")
OUTCOMES = {"grounded": True, "partially_grounded": True, "abstained": False, "direct": None}

_REPR = reprlib.Repr()  # shortens values that are deeply nested or have a million entries
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 60


class _FieldError(Exception):
    """A field has an invalid value; the message follows the row's place: "the field question is missing …"."""


def read_rows(name: str, rows: Sequence[Row]) -> tuple[tuple[Example, ...], tuple[str, ...]]:
    """Convert a file's rows to examples, and return the paths in the field ``docs``, empty if no row has one.

    Raises `RequestError` naming the file ``name`` and the row's place, and if two rows differ in ``docs``.
    """
    used: dict[str, int] = {}
    examples: list[Example] = []
    documents: dict[tuple[str, ...], str] = {}
    for place, fields in rows:
        try:
            examples.append(_example(fields, used))
            paths = _texts(fields, "docs")
        except _FieldError as error:
            raise RequestError(f"{name}, {place}: {error}.") from error
        if paths:
            documents.setdefault(paths, place)
    if len(documents) > 1:
        first, other = list(documents.values())[:2]
        raise RequestError(
            f"{name}, {other}: docs differs from {first}: a set is asked of the same documents, so make two sets."
        )
    return tuple(examples), next(iter(documents), ())


def rows_of_csv(name: str, text: str) -> list[Row]:
    """Read the rows of a table with a header, whatever its separator.

    Raises `RequestError` if there is no column ``question``.
    """
    header = text.lstrip().partition("\n")[0]
    separator = next((one for one in SEPARATORS if "question" in _names(header, one)), ",")
    records = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    rows: list[Row] = []
    names: list[str] = []
    start = 1
    try:
        for cells in records:
            place, start = f"line {start}", records.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if not names:
                names = [_plain(cell) for cell in cells]
                _require_question(name, place, names)
                continue
            if len(cells) > len(names):
                raise RequestError(
                    f"{name}, {place}: this row has {len(cells)} cells and the header {len(names)}: put quotation "
                    f"marks around cells that hold {separator!r}."
                )
            rows.append((place, dict(zip(names, cells, strict=False))))
    except csv.Error as error:
        raise RequestError(f"{name}, line {records.line_num}: not a table ({error}): export it again.") from error
    return rows


def with_id(id_: str, used: dict[str, int]) -> str:
    """Return ``id_``, with a number appended if it is taken, and mark it as taken.

    ``used`` maps each id to the last number appended to it, so that the next free number is found at once.
    """
    free, number = id_, used.get(id_, 1)
    while free in used:
        number += 1
        free = f"{id_}-{number}"
    used[id_] = number
    used.setdefault(free, 1)
    return free


def _example(fields: Mapping[str, Any], used: dict[str, int]) -> Example:
    question = _text(fields, "question")
    if is_blank(question):
        raise _FieldError("the field question is missing or empty: write one")
    outcome = _one_of(fields, ("outcome",), tuple(OUTCOMES))
    answerable = _answerable(fields)
    if answerable is None and outcome:
        answerable = OUTCOMES[outcome]
    route: Any = _one_of(fields, ("route", "expected_route"), ("retrieve", "direct"))
    if route is None and "has_answer" in fields:
        route = "retrieve"
    # Beside ``ideal_answer`` the field ``reference`` is a place in the document.
    names = ("ideal_answer",) if "ideal_answer" in fields else REFERENCES
    references = () if answerable is False else _texts(fields, *names)
    gold = () if answerable is False else _gold(fields)
    if answerable is None and route != "direct" and outcome != "direct" and (references or gold):
        answerable = True
    return Example(
        id=with_id(_text(fields, "id") or digest(question)[:12], used),
        question=question,
        route=route,
        answerable=answerable,
        references=references,
        gold=gold,
        plausible=_texts(fields, "plausible", "plausible_answers"),
    )


def _gold(fields: Mapping[str, Any]) -> tuple[Gold, ...]:
    """Read ``gold``: a span, an object or a list of these. What it lacks is read from fields such as ``gold_page``."""
    value = fields.get("gold")
    entries = value if isinstance(value, list) else [value]
    found = []
    for entry in entries:
        own: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {"text": entry}
        gold = Gold(
            source=_text(own, "source") or _text(fields, "source", "gold_source") or None,
            page=_number(own, "page") or _number(fields, "page", "gold_page"),
            row=_number(own, "row") or _number(fields, "row", "gold_row"),
            text=_text(own, "text", "passage") or _text(fields, "passage", "gold_passage", "gold_text") or None,
        )
        if gold != Gold():
            found.append(gold)
    return tuple(dict.fromkeys(found))


def _answerable(fields: Mapping[str, Any]) -> bool | None:
    value = _first(fields, "answerable", "has_answer")
    if value is None or value == "":
        return None
    truth = TRUTH.get(str(value).strip().casefold()) if isinstance(value, str | int) else None
    if truth is None:
        raise _FieldError(f"answerable is {_shown(value)}: write true or false")
    return truth


def _one_of(fields: Mapping[str, Any], names: Sequence[str], allowed: Sequence[str]) -> str | None:
    value = _text(fields, *names).casefold()
    if value and value not in allowed:
        raise _FieldError(f"{names[0]} is {_shown(value)}: write {', '.join(allowed[:-1])} or {allowed[-1]}")
    return value or None


def _texts(fields: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    found: list[str] = []
    for name in names:
        value = fields.get(name)
        found += [_as_text(name, one) for one in (value if isinstance(value, list) else [value])]
    return tuple(dict.fromkeys(filter(None, found)))


def _text(fields: Mapping[str, Any], *names: str) -> str:
    return next(filter(None, (_as_text(name, fields.get(name)) for name in names)), "")


def _as_text(name: str, value: Any) -> str:
    if value is None:
        return ""
    infinite = isinstance(value, float) and not isfinite(value)
    if isinstance(value, bool) or infinite or not isinstance(value, str | int | float):
        raise _FieldError(f"{name} is {_shown(value)}: write a text")
    return without_surrogates(str(value))


def _number(fields: Mapping[str, Any], *names: str) -> int | None:
    value = _first(fields, *names)
    if value is None or value == "":
        return None
    try:
        number = int(value) if isinstance(value, str | int) and not isinstance(value, bool) else 0
    except ValueError:
        number = 0
    if number < 1:
        raise _FieldError(f"{names[0]} is {_shown(value)}: write a number, counting from 1")
    return number


def _first(fields: Mapping[str, Any], *names: str) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _shown(value: Any) -> str:
    text = _REPR.repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _require_question(name: str, place: str, names: list[str]) -> None:
    doubled = [one for one, count in Counter(filter(None, names)).items() if count > 1]
    if doubled:
        raise RequestError(f"{name}, {place}: the column {doubled[0]} appears twice: give each column its own name.")
    if "question" not in names:
        # Only what can be names is repeated: a file that is no question set may hold a secret.
        found = ", ".join(one for one in names if re.fullmatch(r"[a-z][a-z0-9_-]{0,30}", one)) or "no names"
        raise RequestError(
            f"{name}, {place}: the column question is missing, the columns are {found}: name one question, and any of "
            f"{COLUMNS}."
        )


def _names(header: str, separator: str) -> list[str]:
    try:
        cells: list[str] = next(csv.reader([header], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:  # reported, with its line, by the reader of the whole table
        return []
    return [_plain(cell) for cell in cells]


def _plain(cell: str) -> str:
    return "_".join(cell.casefold().split())
