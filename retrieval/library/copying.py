"""Copy a library from one store to another, with its vectors: nothing is read or embedded again."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from core.errors import IndexBusy, RequestError
from core.text import shown
from retrieval.splitter import SplitSettings
from retrieval.store import Contents, Made, Record, Roots, SplitFile, Store
from retrieval.sync_report import Progress, TimeEstimate
from retrieval.unit_vectors import Vectors, text_hash

MOST_FILES = 256  # at a time
MOST_PASSAGES = 2_000  # at a time, or one document


class Source(Protocol):
    """What is copied from: a store, or a backup."""

    def made(self) -> Made:
        """As `Store.made`."""

    def roots(self) -> Roots:
        """As `Store.roots`."""

    def records(self) -> dict[bytes, Record]:
        """As `Store.records`."""

    def contents(self, documents: Collection[int]) -> dict[int, Contents]:
        """As `Store.contents`."""


@dataclass(frozen=True)
class Copied:
    """How many documents were copied, how many were there already, and how many passages all of them have.

    ``missing`` are files that were added by name and are not on this machine: the next sync takes them for removed.
    """

    new: int
    known: int
    passages: int
    missing: list[Path]


def copy_library(source: Source, target: Store, progress: Progress | None = None) -> Copied:
    """Copy what the target lacks, and compare all of it with the source; the target's other documents stay.

    It may be interrupted and called again. Raises ``RequestError`` where the target is made with another model or other
    passages, or where a copy is not the same.
    """
    made = source.made()
    records = source.records()
    if made.embedding and made.embedding != target.model.name:
        raise ValueError("open the target with the model of the source")
    with target.only_writer():
        if made.splitter:
            settings = SplitSettings(**made.splitter)
            if target.outdated(settings):
                raise RequestError(
                    "The library to copy into is made with another embedding model or other passages: "
                    "choose an empty one."
                )
            target.clear_outdated(settings)
        missing = _add_roots(source.roots(), target)
        known = target.records()
        lacking = {path: record for path, record in records.items() if not _same(record, known.get(path))}
        estimate = TimeEstimate([(_path(path), record.size) for path, record in lacking.items()], progress)
        done = 0
        for batch in batches(lacking):
            _put(source, target, batch, known)
            done += len(batch)
            estimate.passages += sum(record.passages for record in batch)
            estimate.update(done)
        target.settle()
        _compare(source, target, records)
    return Copied(
        len(lacking), len(records) - len(lacking), sum(record.passages for record in records.values()), missing
    )


def batches(records: Mapping[bytes, Record]) -> Iterator[list[Record]]:
    """Yield the records by path, some at a time, so that their passages fit into memory."""
    batch: list[Record] = []
    for _, record in sorted(records.items()):
        if batch and (len(batch) >= MOST_FILES or sum(one.passages for one in batch) + record.passages > MOST_PASSAGES):
            yield batch
            batch = []
        batch.append(record)
    if batch:
        yield batch


def _add_roots(roots: Roots, target: Store) -> list[Path]:
    """Add the roots, of other machines too, without which their files would count as gone; return missing files."""
    kinds = dict.fromkeys(roots.elsewhere, "folder") | roots.kinds
    if kinds:
        target.add_roots(kinds, roots.followed)
    files = [_path(path) for path, kind in kinds.items() if kind == "file"]
    return [path for path in files if not path.exists()]


def _same(one: Record, other: Record | None) -> bool:
    return other is not None and replace(one, id=0) == replace(other, id=0)


def _put(source: Source, target: Store, records: Collection[Record], known: Mapping[bytes, Record]) -> None:
    contents = source.contents([record.id for record in records])
    vectors: dict[bytes, Vectors] = {}
    files = []
    for record in records:
        passages, rows = contents.get(record.id, ([], None))
        if len(passages) != record.passages:
            raise IndexBusy(f"{shown(_path(record.path).name)} changed while it was copied: copy again.")
        if rows is not None:
            vectors |= {text_hash(one.page_content): row for one, row in zip(passages, rows, strict=True)}
        old = known.get(record.path)
        files.append(SplitFile(replace(record, id=old.id if old else 0), passages))
    target.keep_vectors(vectors)
    target.put(files)


def _compare(source: Source, target: Store, records: Mapping[bytes, Record]) -> None:
    """Raise ``RequestError`` unless the target has the same; numbers of vectors count as PostgreSQL keeps them."""
    found = target.records()
    for batch in batches(records):
        contents = source.contents([record.id for record in batch])
        copies = target.contents([found[one.path].id for one in batch if one.path in found])
        for record in batch:
            copy = found.get(record.path)
            if not copy or not _same(record, copy) or not _equal(contents.get(record.id), copies.get(copy.id)):
                raise RequestError(f"The copy of {shown(_path(record.path).name)} is not the same: copy again.")


def _equal(one: Contents | None, other: Contents | None) -> bool:
    if one is None or other is None:
        return one is other
    same = [(a.page_content, a.metadata) for a in one[0]] == [(b.page_content, b.metadata) for b in other[0]]
    return same and np.array_equal(one[1].astype(np.float16), other[1].astype(np.float16))


def _path(path: bytes) -> Path:
    return Path(os.fsdecode(path))
