"""Keep the vector file and the manifest in step with the database."""

from pathlib import Path

from retrieval.database import Database
from retrieval.embed import METRIC
from retrieval.manifest import Manifest, Vectors, Words, quoted, read_manifest, write_manifest
from retrieval.schema import FORMAT
from retrieval.state import Snapshot, get_followed, get_roots
from retrieval.translate import translated
from retrieval.vector_rows import forget_removed
from retrieval.vectors import VectorIndex
from retrieval.words import seal_of_words


def save_derived(database: Database, vectors: VectorIndex, *, words_changed: bool = False) -> None:
    """Write the vector file and the manifest where they are behind the database; for its only writer."""
    with translated(database.folder), database.reading() as connection:
        snapshot = Snapshot.of(connection)
        old = read_manifest(database.folder)
        if old and old.index != snapshot.index:
            old = None
        kept = entry = old.vectors if old else None
        if snapshot.dimension and not (entry and vectors.is_current(snapshot, entry)):
            entry = vectors.save(snapshot)
        known = old.words if old and not words_changed and _is_of(old.words, snapshot) else None
        manifest = _manifest(snapshot, vectors=entry, words=known or _sealed(snapshot))
        if manifest != old:
            write_manifest(database.folder, manifest)
    if entry and entry != kept:
        with database.writing() as connection:
            forget_removed(connection, entry.reached.removal)


def words_are_whole(folder: Path, snapshot: Snapshot) -> bool:
    """Whether the word index is what was written, as far as that is known: not beside a writer."""
    manifest = read_manifest(folder)
    if not manifest or manifest.index != snapshot.index or not _is_of(manifest.words, snapshot):
        return True
    return manifest.words == _sealed(snapshot)


def _is_of(words: Words | None, snapshot: Snapshot) -> bool:
    return words is not None and words.reached == snapshot.reached


def _sealed(snapshot: Snapshot) -> Words:
    return Words(seal=seal_of_words(snapshot.connection), reached=snapshot.reached)


def save_roots(database: Database) -> None:
    """Write the roots to the manifest, so that they outlive the database."""
    with translated(database.folder), database.reading() as connection:
        snapshot = Snapshot.of(connection)
        old = read_manifest(database.folder)
        manifest = _manifest(snapshot)
        if old and old.index == snapshot.index:  # what else it says is of what was derived then
            manifest = old.model_copy(update={"roots": manifest.roots, "follow_links": manifest.follow_links})
        write_manifest(database.folder, manifest)


def _manifest(snapshot: Snapshot, *, vectors: Vectors | None = None, words: Words | None = None) -> Manifest:
    return Manifest(
        format=FORMAT,
        index=snapshot.index,
        embedding=snapshot.embedding,
        dimension=snapshot.dimension,
        metric=METRIC,
        splitter=snapshot.splitter,
        roots={quoted(path): kind for path, kind in get_roots(snapshot.connection).items()},
        follow_links=sorted(map(quoted, get_followed(snapshot.connection))),
        vectors=vectors,
        words=words,
    )
