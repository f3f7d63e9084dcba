"""A damaged index is noticed, made anew from the documents, and never answers from what is damaged."""

import json
import os
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest
from langchain_core.documents import Document

from benchmarks.index.texts import put_texts
from core.errors import IndexDamaged, RequestError
from retrieval.index.manifest import read_manifest
from retrieval.library.library import Library
from tests.integration.retrieval.conftest import ANSWER, QUESTION, Opener, best, run_sql, synced
from tests.unit.retrieval.fakes import BagOfWords


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0xFF
    path.write_bytes(data)


def test_a_closed_index_is_three_files_and_a_lock(indexed: Path) -> None:
    assert sorted(path.name for path in indexed.iterdir()) == [
        "index.sqlite",
        "manifest.json",
        "vectors.faiss",
        "writer.lock",
    ]
    manifest = json.loads((indexed / "manifest.json").read_text())
    assert len(manifest["roots"]) == 1
    assert (manifest["vectors"]["passages"], len(manifest["vectors"]["sha256"])) == (4, 64)


def test_a_vector_file_that_is_not_the_one_written_is_made_anew(
    indexed: Path, open_library: Opener, model: BagOfWords
) -> None:
    path = indexed / "vectors.faiss"
    whole, embedded = path.read_bytes(), len(model.texts)
    harms: list[Callable[[Path], object]] = [
        Path.unlink,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\x80\x04 anything at all"),
        lambda path: flip(path, path.stat().st_size // 2),
    ]
    for harm in harms:
        harm(path)
        with open_library() as library:
            library.sync()
            assert best(library) == ANSWER
        assert path.read_bytes() == whole
        assert json.loads((indexed / "manifest.json").read_text())["vectors"]["sha256"] == sha256(whole).hexdigest()
    assert len(model.texts) == embedded


def test_a_doctored_manifest_is_not_believed(indexed: Path, open_library: Opener) -> None:
    for content in (b"", b"{", b"[]", b'{"format": "x"}', b"\xff\xfe", b'{"vectors": {"sha256": 1}}'):
        (indexed / "manifest.json").write_bytes(content)
        with open_library() as library:
            assert best(library) == ANSWER
            assert library.sync().notes == []
        manifest = read_manifest(indexed)
        assert manifest
        assert manifest.vectors
        assert manifest.vectors.passages == 4


def test_the_vector_file_of_another_index_is_not_used(tmp_path: Path) -> None:
    for name, word, numbers in (("one", "useful", range(200)), ("other", "unrelated", range(200, 400))):
        with Library.open(tmp_path / name, BagOfWords(), embedding_name="bow") as library:
            put_texts(library.store, [f"{word} word{number}" for number in numbers])
    for name in ("vectors.faiss", "manifest.json"):
        shutil.copy(tmp_path / "other" / name, tmp_path / "one" / name)
    with Library.open(tmp_path / "one", BagOfWords(), embedding_name="bow") as library:
        for number in range(0, 200, 20):
            (found,) = library.store.similarity_search(f"useful word{number}", k=1, search="vectors")
            assert found.page_content == f"useful word{number}"


@pytest.mark.parametrize("content", [b"this is no database " * 500, b"SQLite format 3\x00" + b"\xff" * 5_000])
def test_a_file_that_is_no_database_is_put_aside_and_made_anew(
    indexed: Path, open_library: Opener, content: bytes
) -> None:
    for name in ("index.sqlite.damaged-1", "index.sqlite.damaged-2"):
        (indexed / "index.sqlite").write_bytes(content)
        library = open_library()
        report = library.sync()
        assert len(report.added) == 3
        assert f"was damaged: it was moved to {name}." in report.notes[0]
        assert report.notes[1].startswith("The index had to be created again")
        assert best(library) == ANSWER
        assert (indexed / name).read_bytes() == content
        library.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE passages SET text = replace(text, 'lender', 'devils') WHERE text LIKE '%lender%'",
        "UPDATE passages SET page = 7 WHERE text LIKE '%lender%'",
        "UPDATE passages SET document = document + 1 WHERE text LIKE '%lender%'",
        "UPDATE passages SET text = x'ff00' WHERE text LIKE '%lender%'",
        "UPDATE roots SET path = CAST('/elsewhere' AS BLOB)",
        "UPDATE roots SET kind = 'file'",
        "DELETE FROM roots",
        "UPDATE passages SET date = '1999-01-01' WHERE text LIKE '%lender%'",
        "UPDATE documents SET path = CAST('/elsewhere.txt' AS BLOB) WHERE id = 1",
        "UPDATE vectors SET vector = randomblob(256)",
        "UPDATE vectors SET vector = (SELECT vector FROM vectors WHERE passage = 2), "
        "seal = (SELECT seal FROM vectors WHERE passage = 2)",
        "UPDATE vectors SET vector = x'00'",
        "DROP TABLE words",
        "UPDATE words_data SET block = zeroblob(length(block)) WHERE id > 10",
        "PRAGMA foreign_keys = OFF; DROP TRIGGER passage_removed; DELETE FROM passages WHERE text LIKE '%lender%'",
        "DELETE FROM meta",
        "UPDATE meta SET value = '1' WHERE key = 'format'",
    ],
)
def test_rows_that_are_not_what_was_written_are_never_answered_from(
    indexed: Path, open_library: Opener, statement: str
) -> None:
    run_sql(indexed, statement)
    if "words" not in statement:
        (indexed / "vectors.faiss").unlink()
    library = open_library()
    notes = library.sync().notes
    if not notes:  # it is not seen before the damaged rows are read
        with pytest.raises(IndexDamaged, match="was damaged and has been put aside: ask again"):
            best(library)
        assert library.empty
        notes = library.sync().notes
    assert "was damaged" in notes[0]
    assert best(library) == ANSWER


def test_what_is_whole_in_a_damaged_index_is_not_embedded_again(
    indexed: Path, open_library: Opener, model: BagOfWords
) -> None:
    devils = "UPDATE passages SET text = 'devils' WHERE text LIKE '%lender%'"
    unsealed = "UPDATE vectors SET seal = 0 WHERE passage = (SELECT id FROM passages WHERE text LIKE '%city%')"
    run_sql(indexed, f"{devils}; {unsealed}")
    library = open_library()
    with pytest.raises(IndexDamaged):
        library.store.similarity_search(QUESTION, k=9, search="bm25")
    model.texts.clear()
    library.sync()
    assert best(library) == ANSWER
    assert len(model.texts) == 1


@pytest.mark.parametrize(
    ("statement", "mended"),
    [
        ("UPDATE passages SET text = 'devils' WHERE text LIKE '%lender%'", "was damaged"),
        ("UPDATE passages SET hash = x'00' WHERE text LIKE '%lender%'", "was damaged"),
        ("UPDATE vectors SET seal = 1", "was damaged"),
        ("DELETE FROM vectors WHERE passage = 1", "was damaged"),
        ("UPDATE documents SET passages = 7", "was damaged"),
        ("UPDATE documents SET reason = 'x'", "was damaged"),
        ("INSERT INTO words (rowid, text) VALUES (77, 'lender lender')", "The keyword index did not match"),
        ("", "The vector file was missing"),
    ],
)
def test_verify_finds_what_is_not_as_it_was_written_and_mends_it(
    indexed: Path, open_library: Opener, statement: str, mended: str
) -> None:
    assert open_library().verify().repairs == []
    if statement:
        run_sql(indexed, statement)
    else:
        flip(indexed / "vectors.faiss", 300)
    library = open_library()
    report = library.verify()
    assert mended in report.repairs[0]
    assert (report.passages, report.documents, report.problems) == (4, 3, [])
    assert best(library) == ANSWER
    assert library.verify().repairs == []


def ask_damaged(home: Path, docs: Path, *, verified: bool = False) -> Document | None:
    """Return the answer of an index, or nothing if the index says that it is damaged."""
    with suppress(IndexDamaged), Library.open(home, BagOfWords(), embedding_name="bow") as library:
        if verified:
            library.verify()
        library.sync()
        if library.empty:  # the roots were lost with both files
            synced(library, docs)
        return library.store.similarity_search(QUESTION, k=1)[0]
    return None


def harm(path: Path, chance: random.Random) -> None:
    """Flip a few bytes of what a file holds, or else cut it, delete it, or lose a page of it."""
    data = bytearray(path.read_bytes())
    held = [place for place, byte in enumerate(data) if byte]
    place = chance.choice(held)
    kind = chance.choice([*["flip"] * 7, "cut", "page", "delete"])
    if kind == "flip":
        for _ in range(chance.choice([1, 1, 30])):
            data[chance.choice(held)] ^= chance.randrange(1, 256)
    elif kind == "page":
        page = slice(place - place % 4096, place - place % 4096 + 4096)
        data[page] = bytes(len(data[page]))
    path.write_bytes(data[:place] if kind == "cut" else data)
    if kind == "delete":
        path.unlink()


@pytest.mark.parametrize("seed", range(4))
def test_damage_anywhere_never_changes_an_answer(indexed: Path, docs: Path, tmp_path: Path, seed: int) -> None:
    """`make stress` sets HARMS to do more of it."""
    chance, right = random.Random(seed), ask_damaged(indexed, docs)
    assert right is not None
    for _ in range(int(os.environ.get("HARMS", "20"))):
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(indexed, copy)
        harm(copy / chance.choice(["index.sqlite", "index.sqlite", "vectors.faiss", "manifest.json"]), chance)
        found = ask_damaged(copy, docs) or ask_damaged(copy, docs)
        after = ask_damaged(copy, docs, verified=True)
        for one in (found, after):
            assert one is not None
            assert (one.page_content, one.metadata) == (ANSWER, {**right.metadata, "id": one.metadata["id"]})


def test_an_index_of_a_newer_version_is_left_alone(indexed: Path, open_library: Opener) -> None:
    run_sql(indexed, "UPDATE meta SET value = '99' WHERE key = 'format'")
    with pytest.raises(RequestError, match="made by a newer version of this program: update the program"):
        open_library()
    assert not list(indexed.glob("*.damaged-*"))
