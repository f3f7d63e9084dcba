"""Tables of several documents that have the same columns, such as the exports of twelve months, as one."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, takewhile, zip_longest
from pathlib import Path

from langchain_core.documents import Document

from core.passages import section_of
from core.words import STOP_WORDS
from grounding.dates import YEAR, Date, dates, months
from grounding.names import has_name, names_asked_for
from retrieval.documents.loaded import CELLS
from retrieval.filters import Filter, Visible, matching
from retrieval.searching_store import Store
from retrieval.tables import BEFORE_FIGURE, MOST_ROWS, Table, table_from

FILE = "file"  # the name of the column with a row's file
RELATED, ALIKE = 0.5, 0.8  # share of two tables' columns that both have; between these no other column is queried
REPEATED = 0.5  # share of a table's rows that another one has: an export may begin with the rows of an earlier one
MOST_SOUGHT, LONGEST_SOUGHT = 2, 100  # columns, and characters of a name, by which documents are sought
A_YEAR = r"((?:19|20)\d\d)"
RANGE = re.compile(
    rf"\b{A_YEAR} ?(?:[-–]|to|through|until|bis|à|a) ?{A_YEAR}\b|"
    rf"\b(?:between|zwischen|entre) {A_YEAR} ?(?:and|und|et|y) ?{A_YEAR}\b"
)
SAME = 0.1  # share of what rows speak of that is in several files
SHORT = re.compile(r"\d{1,3}")  # the name of a file that a figure of the question does not name
LEADING = re.compile(r"(?:[^\W\d_]+[\W_]+)*")
TRAILING = re.compile(r"(?:[\W_]+[^\W\d_]+)*$")


def tables_asked(
    store: Store, table: Table, question: str, only: Filter | None = None, visible: Visible | None = None
) -> list[Table]:
    """Return the tables of the documents that a question names, of those with the columns of ``table``; else all.

    A document is named by its file (`named_files`), or by a name in its title. The result is empty if the tables have
    too many rows together. It is just ``table`` if ``only`` has conditions on pages or days.
    """
    if only and (only.pages or only.since or only.until):
        return [table]
    full = [one.name for one, cells in zip(table.columns, zip(*table.cells, strict=True), strict=True) if all(cells)]
    sizes = store.sources_with([f"{name}: "[:LONGEST_SOUGHT] for name in full[:MOST_SOUGHT]], visible) if full else {}
    sources = sorted({table.source, *sizes})
    if only:
        fitting = set(matching(enumerate(map(os.fsencode, sources)), only.sources))
        sources = [one for at, one in enumerate(sources) if at in fitting]
    if len(sources) > 1:
        sources = named_files(sources, question)
    if sum(sizes.get(one, 0) for one in sources if one != table.source) > MOST_ROWS:
        return []
    key, read = (tuple(column.name for column in table.columns), table.title), partial(table_like, table)
    found = [table if one == table.source else store.read_once(one, key, read) for one in sources]
    return _of_names([one for one in found if one] or [table], question)


def table_like(table: Table, passages: Sequence[Document]) -> Table | None:
    """Return the table of a document that has most columns of ``table``: of several the one with its title, or all."""
    names = defaultdict[int, set[str]](set)
    for passage in passages:
        for number, _, start, middle, _ in passage.metadata.get(CELLS) or ():
            names[number].add(passage.page_content[start : max(start, middle)].casefold())
    own = {column.name.casefold() for column in table.columns}
    alike = [number for number, each in names.items() if len(own & each) >= RELATED * len(own | each)]
    found = [one for number in alike if (one := Table.of(passages, number))]
    titled = [one for one in found if one.title == table.title]
    return titled[0] if len(titled) == 1 else _stacked(found) if found else None


def _of_names(tables: Sequence[Table], question: str) -> list[Table]:
    """Return the tables of which the title or the file has a name of the question; all if none has."""
    files = names_apart([one.source for one in tables])
    subjects = [f"{file}\n{section_of(one.passages[0].metadata)}" for file, one in zip(files, tables, strict=True)]
    asked = names_asked_for(question) if len(tables) > 1 else []
    titled = [any(has_name(words, subject) for words in asked) for subject in subjects]
    return [one for one, is_titled in zip(tables, titled, strict=True) if is_titled] or list(tables)


def named_files(sources: Sequence[str], question: str) -> list[str]:
    """Return the files that a question names, by what tells them apart, by a month or by a year; else all.

    From 1990 to 1994 names the years between, too.
    """
    for found in RANGE.findall(question):
        first, last = filter(None, found)
        question += "".join(f" {year}" for year in range(int(first), int(last)))
    files = names_apart(sources)
    forms = [
        {file, BEFORE_FIGURE.sub("", file), _words(Path(source).stem)}
        for file, source in zip(files, sources, strict=True)
    ]
    years = set(YEAR.findall(question))
    named = _by_file(forms, question) or [at for at, one in enumerate(files) if years & set(YEAR.findall(one))]
    return [sources[at] for at in named] or list(sources)


def _by_file(forms: Sequence[set[str]], question: str) -> list[int]:
    """Return which of the files a question names, by a form of the name that no other file has, or by their months."""
    asked, having = _words(question).casefold(), Counter(chain.from_iterable(forms))
    found = [
        at
        for at, own in enumerate(forms)
        for form in own
        if having[form] == 1 and form.casefold() not in STOP_WORDS and not SHORT.fullmatch(form)
        if re.search(rf"(?<!\w){re.escape(form.casefold())}(?!\w)", asked)
    ]
    if not found:
        named, years = months(question), {int(one) for one in YEAR.findall(question)}
        days = [set[Date]().union(*(dates(one.title()) for one in own)) for own in forms]
        days = [{day for day in own if day.month in named and (not years or day.year in years)} for own in days]
        found = [at for at, own in enumerate(days) if own]
    return list(dict.fromkeys(found))


def _words(text: str) -> str:
    return re.sub(r"[_/\s]+", " ", text)


def names_apart(sources: Sequence[str]) -> list[str]:
    """Return what tells files apart: their paths below a common folder, without the words that all begin or end with.

    The files ``sales_2025-01.csv`` and ``sales_2025-02.csv`` are told apart by 2025-01 and 2025-02.
    """
    folders = len(_shared([Path(one).parent.parts for one in sources]))
    below = ["/".join(Path(one).parts[folders:]) for one in sources]
    paths = [str(Path(one).with_suffix("")) for one in below]
    leading = LEADING.match("".join(_shared(paths)))
    paths = [one[leading.end() if leading else 0 :] for one in paths]
    trailing = TRAILING.search("".join(_shared([one[::-1] for one in paths]))[::-1])
    names = [_words(one[: len(one) - len(trailing[0] if trailing else "")]).strip() for one in paths]
    return names if len({*names, ""}) > len(names) else below


def _shared(sequences: Sequence[Sequence[str]]) -> list[str]:
    """Return what all sequences begin with."""
    return [one[0] for one in takewhile(lambda each: len(set(each)) == 1, zip(*sequences, strict=False))]


def joined(tables: Sequence[Table]) -> Table | None:
    """Return the rows of tables as one table, with a column that tells the file; a single table as it is, or None."""
    if len(tables) < 2:
        return next(iter(tables), None)
    table = _stacked(tables, names_apart([one.source for one in tables]))
    names = [{column.name.casefold() for column in one.columns} for one in tables]
    every = set().union(*names)
    lacked = set().union(*(every - own for own in names if len(own) < ALIKE * len(every)))
    partial_keys = frozenset(one.key for one in table.columns if one.name.casefold() in lacked)
    return replace(table, repeats_rows=_repeats_rows(table), partial_keys=partial_keys)


def _stacked(tables: Sequence[Table], files: Sequence[str] = ()) -> Table:
    """Return the rows of tables as one table, with their ``files`` in its last column, if given.

    If a table repeats at least half of another one's rows, these are left out.
    """
    names = {column.name.casefold(): column.name for one in reversed(tables) for column in reversed(one.columns)}
    names = dict(reversed(names.items()))
    cells, passages, places = list[tuple[str | None, ...]](), list[Document](), list[tuple[int, int]]()
    known = list[set[tuple[str | None, ...]]]()
    for one, file in zip_longest(tables, files):
        at = {column.name.casefold(): index for index, column in enumerate(one.columns)}
        rows = [tuple(row[at[name]] if name in at else None for name in names) for row in one.cells]
        distinct = set(rows)
        repeated = set[tuple[str | None, ...]]().union(
            *(both for each in known if len(both := each & distinct) >= REPEATED * min(len(each), len(distinct)))
        )
        known.append(distinct)
        kept = [index for index, row in enumerate(rows) if row not in repeated]
        cells += [(*rows[index], file) if files else rows[index] for index in kept]
        passages += [one.passages[index] for index in kept]
        places += [one.places[index] for index in kept]
    folders = _shared([Path(one.source).parent.parts for one in tables])
    title = tables[0].title if len({one.title for one in tables}) == 1 else " ".join(folders[-1:])
    notes = {key: note for one in tables for key, note in one.notes.items()}
    shown = [*names.values(), *([FILE] if files else ())]
    return table_from(tables[0].source, title, shown, cells, passages, places, notes, has_files=bool(files))


def _repeats_rows(table: Table) -> bool:
    """Whether several files have rows for the same things or days, such as a day at two weather stations.

    Rows are compared by all columns but those of quantities, or if all are of quantities, by all but the last one.
    """
    told = [at for at, one in enumerate(table.columns[:-1]) if one.kind != "number" or table.is_numbering(at)]
    told = told or list(range(len(table.columns) - 2))
    files = Counter(tuple(key) for *key, _ in {(*(row[index] for index in told), row[-1]) for row in table.cells})
    return sum(count > 1 for count in files.values()) >= SAME * len(files)
