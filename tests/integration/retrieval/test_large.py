"""A library that has outgrown exact search keeps up with what is added and removed, and opens from its file."""

import random
from pathlib import Path

import numpy as np
import pytest

from retrieval.index import faiss_index as nearest
from retrieval.index import vector_file as vectors
from retrieval.index.manifest import read_manifest
from retrieval.index.schema import Snapshot
from retrieval.library.library import Library
from tests.integration.retrieval.conftest import Opener, synced
from tests.unit.retrieval.fakes import BagOfWords

WORDS = [f"word{number}" for number in range(200)]


@pytest.fixture(autouse=True)
def soon_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "EXACT", 200)
    monkeypatch.setattr(nearest, "_MIN_PROBED", 10_000)  # all lists: what is missing then is an error


def rows(seed: int, count: int) -> str:
    chance = random.Random(seed)
    return "text\n" + "".join(f"{' '.join(chance.sample(WORDS, 6))} of {seed}\n" for _ in range(count))


def agrees_with_the_database(library: Library) -> bool:
    """Whether the passages found by meaning are all there are."""
    with library.store.database.reading() as connection:
        ids = {id_ for (id_,) in connection.execute("SELECT id FROM passages")}
        snapshot = Snapshot.of(connection)
        query = library.store.embeddings.embed_query("word1 word2")
        found = library.store.vectors.search(snapshot, np.array([query], dtype=np.float32), 100_000)
    return set(found) == ids and len(found) == len(ids)


def test_what_is_added_and_removed_later_is_in_step(open_library: Opener, docs: Path) -> None:
    (docs / "many.csv").write_text(rows(1, 500))
    library = synced(open_library(), docs)
    reader = open_library()
    assert agrees_with_the_database(reader)
    for change in range(4):
        (docs / f"new{change}.csv").write_text(rows(10 + change, 40))
        if change > 1:
            (docs / f"new{change - 2}.csv").unlink()
        library.sync()
        assert agrees_with_the_database(library)
        assert agrees_with_the_database(reader)
        assert agrees_with_the_database(open_library())


def test_a_small_change_leaves_the_file_and_a_large_one_does_not(
    open_library: Opener, docs: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_LAG", 50)
    (docs / "many.csv").write_text(rows(1, 500))
    library = synced(open_library(), docs)
    before = (home / "vectors.faiss").read_bytes()
    (docs / "few.csv").write_text(rows(2, 30))
    library.sync()
    assert (home / "vectors.faiss").read_bytes() == before
    assert agrees_with_the_database(open_library())
    assert open_library().verify().repairs == []
    (docs / "more.csv").write_text(rows(3, 60))
    library.sync()
    assert (home / "vectors.faiss").read_bytes() != before
    manifest = read_manifest(home)
    assert manifest is not None
    assert manifest.vectors is not None
    assert manifest.vectors.passages == 594
    with library.store.database.reading() as connection:
        assert connection.execute("SELECT count(*) FROM removed").fetchone() == (0,)


def test_a_library_that_grew_much_gets_more_lists_and_one_that_shrank_is_exact_again(
    open_library: Opener, docs: Path
) -> None:
    (docs / "many.csv").write_text(rows(1, 500))
    library = synced(open_library(), docs)
    lists = library.store.vectors._index.nlist  # type: ignore[union-attr]
    (docs / "most.csv").write_text(rows(2, 6_000))
    library.sync()
    assert library.store.vectors._index.nlist > lists  # type: ignore[union-attr]
    assert agrees_with_the_database(library)
    (docs / "most.csv").unlink()
    (docs / "many.csv").unlink()
    library.sync()
    assert type(library.store.vectors._index).__name__ == "IndexIDMap2"
    assert agrees_with_the_database(library)


def test_removals_that_were_forgotten_cost_a_rebuild_and_no_wrong_answer(open_library: Opener, docs: Path) -> None:
    (docs / "many.csv").write_text(rows(1, 300))
    library = synced(open_library(), docs)
    slow = open_library()
    assert agrees_with_the_database(slow)
    (docs / "many.csv").write_text(rows(2, 300))
    library.sync()
    with library.store.database.writing() as connection:
        connection.execute("DELETE FROM removed")
    assert agrees_with_the_database(slow)


def test_a_thread_with_an_older_snapshot_is_not_a_reason_to_begin_again(open_library: Opener, docs: Path) -> None:
    library = synced(open_library(), docs)
    with library.store.database.reading() as connection:
        older = Snapshot.of(connection)
        (docs / "new.txt").write_text("Something new to be found.")
        library.sync()
        assert agrees_with_the_database(library)
        index = library.store.vectors._index
        query = np.array([BagOfWords().embed_query("mortgage")], dtype=np.float32)
        assert len(library.store.vectors.search(older, query, 9)) >= 4
        assert library.store.vectors._index is index
