"""Copy a library from one store to another, with its vectors: nothing is read or embedded again."""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from core.errors import IndexBusy, RequestError
from core.files import is_below
from core.text import shown_path
from retrieval.searching_store import Store
from retrieval.splitter import SplitSettings
from retrieval.store import UPLOADS, Contents, FileRecord, KeptFiles, Made, Roots, SplitFile, Upload, Uploads, path_of
from retrieval.sync_report import Progress, TimeEstimate
from retrieval.unit_vectors import Vectors, text_hash

MOST_FILES = 256  # at a time
MOST_PASSAGES = 2_000  # at a time, or one document


class CopySource(Protocol):
    """A library to copy from, a store or a backup; the methods are those of `Store`."""

    @property
    def uploads(self) -> KeptFiles | None: ...
    def made(self) -> Made: ...
    def roots(self) -> Roots: ...
    def records(self) -> dict[bytes, FileRecord]: ...
    def contents(self, documents: Collection[int]) -> dict[int, Contents]: ...


@dataclass(frozen=True)
class Copied:
    """How many documents were copied (``new``) or there already (``known``), and how many ``passages`` they have.

    ``missing`` are files that were added by name and are not on this machine: the next sync takes them for removed.
    ``left_out`` are uploads that the target does not keep, and documents in roots that were to be left out.
    """

    new: int
    known: int
    passages: int
    missing: list[Path]
    left_out: list[Path]


def copy_library(
    source: CopySource, target: Store, progress: Progress | None = None, *, without: Collection[bytes] = ()
) -> Copied:
    """Copy what the target lacks, and compare each copy with the source; the target's other documents stay.

    If both keep uploads, these are copied with their bytes, unless the target has a later version. Roots in ``without``
    are left out. After an interruption the function can be called again.

    Raises ``ValueError`` if the target is opened with another model, and ``RequestError`` if its passages were made
    with another model or other settings, or if a copy is not the same.
    """
    made = source.made()
    apart = [*without] if target.uploads else [*without, UPLOADS]
    records = source.records()
    left_out = {path for path in records if any(is_below(path, root) for root in apart)}
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
        missing = _add_roots(source.roots(), target, without)
        later = _copy_uploads(source.uploads, target.uploads) if source.uploads and target.uploads else set()
        records = {path: record for path, record in records.items() if path not in left_out | later}
        known = target.records()
        lacking = {path: record for path, record in records.items() if not _same(record, known.get(path))}
        for batch in record_batches(lacking, progress):
            _put(source, target, batch, known)
        target.settle()
        _require_same(source, target, records)
    passages = sum(record.passages for record in records.values())
    return Copied(len(lacking), len(records) - len(lacking), passages, missing, [path_of(path) for path in left_out])


def record_batches(records: Mapping[bytes, FileRecord], progress: Progress | None = None) -> Iterator[list[FileRecord]]:
    """Yield the records by path, some at a time, so that their passages fit into memory; report the progress."""
    estimate = TimeEstimate([(path_of(path), record.size) for path, record in records.items()], progress)
    found: list[list[FileRecord]] = []
    passages = done = 0
    for _, record in sorted(records.items()):
        passages += record.passages
        if not found or len(found[-1]) >= MOST_FILES or passages > MOST_PASSAGES:
            found.append([])
            passages = record.passages
        found[-1].append(record)
    for batch in found:
        yield batch
        done += len(batch)
        estimate.passages += sum(record.passages for record in batch)
        estimate.update(done)


def content_of(files: KeptFiles, path: bytes, upload: Upload) -> tuple[Upload, bytes]:
    """Return an upload with its bytes, the new ones if it was replaced; raise ``IndexBusy`` if it was removed."""
    content = files.content(path)
    if content is None:
        raise IndexBusy(f"{shown_path(path_of(path).name)} was removed while it was copied: copy again.")
    return replace(upload, sha256=hashlib.sha256(content).hexdigest(), size=len(content)), content


def _copy_uploads(source: KeptFiles, target: Uploads) -> set[bytes]:
    """Copy the uploads; return the paths of those that are not copied, as the target has a later version of them."""
    known = target.stored()
    later = {path for path, upload in source.stored().items() if known.get(path, upload).mtime_ns > upload.mtime_ns}
    for path, upload in source.stored().items():
        if path not in later and known.get(path) != upload:
            target.keep(path, *content_of(source, path, upload))
    return later


def _add_roots(roots: Roots, target: Store, without: Collection[bytes]) -> list[Path]:
    """Add the roots of all machines, or a sync would remove their documents; return roots that are missing files."""
    kinds = dict.fromkeys(roots.elsewhere, "folder") | roots.kinds
    kinds = {path: kind for path, kind in kinds.items() if path not in without}
    if kinds:
        target.add_roots(kinds, roots.followed)
    if new := roots.excluded - target.roots().excluded:
        target.set_excluded(target.roots().excluded | new, ())
    files = [path_of(path) for path, kind in kinds.items() if kind == "file"]
    return [path for path in files if not path.exists()]


def _same(one: FileRecord, other: FileRecord | None) -> bool:
    return other is not None and replace(one, id=0) == replace(other, id=0)


def _put(source: CopySource, target: Store, records: Collection[FileRecord], known: Mapping[bytes, FileRecord]) -> None:
    contents = source.contents([record.id for record in records])
    vectors: dict[bytes, Vectors] = {}
    files = []
    for record in records:
        passages, rows = contents.get(record.id, ([], None))
        if len(passages) != record.passages:
            raise IndexBusy(f"{shown_path(path_of(record.path).name)} changed while it was copied: copy again.")
        if rows is not None:
            vectors |= {text_hash(one.page_content): row for one, row in zip(passages, rows, strict=True)}
        old = known.get(record.path)
        files.append(SplitFile(replace(record, id=old.id if old else 0), passages))
    target.keep_vectors(vectors)
    target.put(files)


def _require_same(source: CopySource, target: Store, records: Mapping[bytes, FileRecord]) -> None:
    """Raise ``RequestError`` unless the target has the same documents; vectors are compared as 16-bit floats."""
    found = target.records()
    for batch in record_batches(records):
        contents = source.contents([record.id for record in batch])
        copies = target.contents([found[one.path].id for one in batch if one.path in found])
        for record in batch:
            copy = found.get(record.path)
            if not copy or not _same(record, copy) or not _equal(contents.get(record.id), copies.get(copy.id)):
                raise RequestError(f"The copy of {shown_path(path_of(record.path).name)} is not the same: copy again.")


def _equal(one: Contents | None, other: Contents | None) -> bool:
    if one is None or other is None:
        return one is other
    same = [(a.page_content, a.metadata) for a in one[0]] == [(b.page_content, b.metadata) for b in other[0]]
    return same and np.array_equal(one[1].astype(np.float16), other[1].astype(np.float16))
