"""A library is copied from store to store, and saved in a file, with nothing lost and nothing embedded again."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import IndexBusy, RequestError
from retrieval.library import backup as backup_module
from retrieval.library import copying
from retrieval.library.backup import Backup, write_backup
from retrieval.library.copying import copy_library
from retrieval.library.library import Library
from retrieval.searching_store import Store
from retrieval.splitter import SplitSettings
from retrieval.store import UPLOADS, Model
from tests.integration.retrieval.conftest import Opener, synced
from tests.unit.retrieval.fakes import BagOfWords

SETTINGS = SplitSettings(120, 20)
Open = Callable[..., Store]


class Unused(BagOfWords):
    """A model that must not be asked."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise AssertionError("something was embedded again")


@pytest.fixture
def store_at(open_at: Opener) -> Open:
    return lambda url, model=None, name="library": open_at(url, model=model or Unused(), name=name).store


@pytest.fixture
def target(url: str, store_at: Open) -> Store:
    return store_at(url)


@pytest.fixture
def source(tmp_path: Path, docs: Path, store_at: Open) -> Store:
    """A library of a few files, one of them broken and one long."""
    (docs / "long.txt").write_text(
        " ".join(f"Sentence {number} tells of subject {number % 7}." for number in range(200))
    )
    (docs / "empty.txt").write_text("")
    store = store_at(f"sqlite:///{tmp_path}/first", BagOfWords())
    synced(Library(store, SETTINGS), docs, docs / "a.txt")
    return store


def found(store: Store, query: str) -> list[Any]:
    """What a search finds, with its places and scores."""
    store.model = Model(BagOfWords(), "bow")
    passages = store.similarity_search(query, 10)
    return [
        (one.page_content, {k: v for k, v in one.metadata.items() if k not in ("id", "score", "similarity")})
        for one in passages
    ]


def held(store: Store) -> list[Any]:
    """Every record without its id, with its passages and vectors as PostgreSQL keeps them."""
    records = store.records()
    contents = store.contents([one.id for one in records.values()])
    rows = []
    for path, record in sorted(records.items()):
        passages, vectors = contents.get(record.id, ([], np.zeros((0, 0))))
        texts = [(one.page_content, one.metadata) for one in passages]
        rows.append((path, record.sha256, record.size, record.mtime_ns, record.status, record.reason, texts))
        rows.append(vectors.astype(np.float16).tolist())
    return rows


def test_a_copy_is_the_same(source: Store, target: Store) -> None:
    copied = copy_library(source, target)
    assert (copied.new, copied.known, copied.missing) == (5, 0, [])
    assert copied.passages == sum(record.passages for record in source.records().values()) > 40
    assert held(target) == held(source)
    assert target.roots() == source.roots()
    assert target.made() == source.made()
    for query in ("aspirin", "subject 3", "river of Paris", "fees"):
        assert found(target, query) == found(source, query)
    assert Library(target, SETTINGS).sync().unchanged == 4  # and one that stays empty


def test_a_copy_that_was_cut_goes_on(source: Store, target: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "MOST_FILES", 1)
    put, calls = target.put, []

    def cut(files: Any) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        put(files)

    with monkeypatch.context() as patched:
        patched.setattr(target, "put", cut)
        with pytest.raises(KeyboardInterrupt):
            copy_library(source, target)
    copied = copy_library(source, target)
    assert (copied.new, copied.known) == (3, 2)
    assert held(target) == held(source)


def test_other_documents_of_the_target_stay(source: Store, target: Store, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "d.txt").write_text("Tea is grown in Assam.")
    target.model = Model(BagOfWords(), "bow")
    synced(Library(target, SETTINGS), own)
    target.model = Model(Unused(), "bow")
    assert copy_library(source, target).new == 5
    assert found(target, "tea Assam")[0][0] == "Tea is grown in Assam."
    assert len(target.records()) == 6


def test_a_target_with_other_settings_is_refused_and_keeps_what_it_has(
    source: Store, target: Store, docs: Path
) -> None:
    target.model = Model(BagOfWords(), "bow")
    synced(Library(target, SplitSettings(300, 10)), docs)
    before = held(target)
    with pytest.raises(RequestError, match="choose an empty one"):
        copy_library(source, target)
    assert held(target) == before


def test_a_document_that_changes_meanwhile_is_said_and_a_copy_that_differs_noticed(
    source: Store, target: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(source, "contents", lambda ids: {})
        with pytest.raises(IndexBusy, match="changed while it was copied"):
            copy_library(source, target)
    contents = target.contents

    def changed(ids: Any) -> Any:
        found = contents(ids)
        for passages, _ in found.values():
            passages[0].page_content += "!"
        return found

    monkeypatch.setattr(target, "contents", changed)
    with pytest.raises(RequestError, match="is not the same"):
        copy_library(source, target)


# Backups.


@pytest.fixture
def saved(source: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(copying, "MOST_FILES", 2)  # several parts
    file = tmp_path / "backup.zip"
    assert write_backup(source, file, ['{"a": 1}']) == 5
    return file


def test_what_is_restored_is_what_was_saved(source: Store, target: Store, saved: Path) -> None:
    assert saved.stat().st_mode & 0o777 == 0o600
    with Backup(saved) as backup:
        assert list(backup.extra()) == [{"a": 1}]
        assert copy_library(backup, target).new == 5
    assert held(target) == held(source)
    assert target.roots() == source.roots()


def test_a_backup_that_was_cut_leaves_no_file(source: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "there").mkdir()
    monkeypatch.setattr(backup_module, "_write_part", cut)
    with pytest.raises(KeyboardInterrupt):
        write_backup(source, tmp_path / "there" / "backup.zip", [])
    assert list((tmp_path / "there").iterdir()) == []


def test_a_backup_that_lost_its_end_or_has_another_byte_is_refused(saved: Path) -> None:
    whole = bytearray(saved.read_bytes())
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:length])
        with pytest.raises(RequestError, match="is no backup, or was cut"):
            Backup(saved)
    with pytest.raises(RequestError, match="is no backup"):
        Backup(saved.parent)
    with pytest.raises(RequestError, match="There is no file"):
        Backup(saved.with_name("none.zip"))
    for part in (b"Aspirin has", b'{"a": 1}'):
        other = bytearray(whole)
        other[whole.index(part)] ^= 1
        saved.write_bytes(other)
        with pytest.raises(RequestError, match="is damaged"):
            Backup(saved)


def rewritten(saved: Path, change: Callable[[dict[str, bytes]], None], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(saved, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return saved


def manifest_changed(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, bytes]], None]:
    def rewrite(members: dict[str, bytes]) -> None:
        manifest = json.loads(members["manifest.json"])
        change(manifest)
        members["manifest.json"] = json.dumps(manifest).encode()

    return rewrite


def manifest_with(**values: Any) -> Callable[[dict[str, bytes]], None]:
    return manifest_changed(lambda manifest: manifest.update(values))


def test_a_backup_of_before_excludes_nothing_and_a_newer_one_is_refused(saved: Path) -> None:
    with Backup(rewritten(saved, manifest_changed(lambda manifest: manifest.pop("excluded")))) as backup:
        assert backup.roots().excluded == set()
    with pytest.raises(RequestError, match="newer version"):
        Backup(rewritten(saved, manifest_with(format=backup_module.FORMAT + 1)))


def test_a_doctored_backup_is_refused_and_a_compressed_one_since_it_may_be_endless(saved: Path) -> None:
    whole = saved.read_bytes()
    for change in (
        manifest_with(format="one"),
        manifest_with(documents=4),
        manifest_with(made={"embedding": "bow"}),
        manifest_with(made={"embedding": "bow", "dimension": 3, "splitter": {}}),
        lambda members: members.pop("manifest.json"),
        lambda members: members.pop("threads.jsonl"),
        lambda members: members.update({"vectors-000000.npy": b"not numbers"}),
    ):
        saved.write_bytes(whole)
        with pytest.raises(RequestError, match="is damaged"):
            Backup(rewritten(saved, change))
    saved.write_bytes(whole)
    with pytest.raises(RequestError, match="is damaged"):
        Backup(rewritten(saved, lambda members: None, zipfile.ZIP_DEFLATED))


# Uploads.

NOTE = UPLOADS + b"/ann/note.txt"
LATER = UPLOADS + b"/ann/later.txt"


@pytest.fixture
def with_uploads(postgres_url: str, store_at: Open, docs: Path) -> Store:
    """A library in a database with two uploads, of which one is not read yet."""
    store = store_at(postgres_url, BagOfWords())
    library = synced(Library(store, SETTINGS), docs)
    assert store.uploads
    store.uploads.put(NOTE, b"Tea is grown in Assam.")
    library.sync()
    store.uploads.put(LATER, b"Coffee is grown in Brazil.")
    return store


@pytest.fixture
def elsewhere(postgres_url: str, store_at: Open) -> Store:
    """Another library in a database."""
    return store_at(postgres_url, name="other")


def bytes_of(store: Store | Backup) -> dict[bytes, bytes | None]:
    assert store.uploads
    return {path: store.uploads.content(path) for path in store.uploads.stored()}


def require_same_uploads(store: Store, copy: Store) -> None:
    """Require the bytes and passages of the uploads, and that what was not read is read from the copy."""
    assert store.uploads
    assert copy.uploads
    assert bytes_of(copy) == bytes_of(store) == {LATER: b"Coffee is grown in Brazil.", NOTE: b"Tea is grown in Assam."}
    assert copy.uploads.stored() == store.uploads.stored()
    assert held(copy) == held(store)
    copy.model = Model(BagOfWords(), "bow")
    assert not Library(copy, SETTINGS).sync().removed
    assert {LATER, NOTE} < copy.records().keys()
    assert found(copy, "coffee Brazil")[0][0] == "Coffee is grown in Brazil."


@pytest.mark.postgres
def test_uploads_are_copied_between_databases_with_their_bytes_and_again_when_they_are_replaced(
    with_uploads: Store, elsewhere: Store
) -> None:
    assert copy_library(with_uploads, elsewhere).left_out == []
    require_same_uploads(with_uploads, elsewhere)
    assert with_uploads.uploads
    with_uploads.uploads.put(NOTE, b"Tea is grown in Darjeeling.")
    Library(with_uploads, SETTINGS).sync()
    elsewhere.model = Model(Unused(), "bow")
    copy_library(with_uploads, elsewhere)
    assert bytes_of(elsewhere)[NOTE] == b"Tea is grown in Darjeeling."
    assert held(elsewhere) == held(with_uploads)


@pytest.mark.postgres
def test_a_backup_has_the_bytes_of_uploads_replaces_no_later_one_and_is_refused_where_one_was_changed(
    with_uploads: Store, elsewhere: Store, tmp_path: Path
) -> None:
    file = tmp_path / "backup.zip"
    write_backup(with_uploads, file, [])
    with Backup(file) as backup:
        assert copy_library(backup, elsewhere).left_out == []
        require_same_uploads(with_uploads, elsewhere)
        assert elsewhere.uploads
        elsewhere.uploads.put(NOTE, b"Tea is grown in Darjeeling.")
        Library(elsewhere, SETTINGS).sync()
        copy_library(backup, elsewhere)
    assert bytes_of(elsewhere)[NOTE] == b"Tea is grown in Darjeeling.", "a later upload was replaced by an older one"
    assert found(elsewhere, "tea grown")[0][0] == "Tea is grown in Darjeeling."
    outside = manifest_changed(lambda manifest: manifest["uploads"][0].update(path="L2V0Yy9wYXNzd2Q="))  # /etc/passwd
    whole = file.read_bytes()
    for change in (outside, lambda members: members.pop("upload-000000")):
        file.write_bytes(whole)
        with pytest.raises(RequestError, match="is damaged"):
            Backup(rewritten(file, change))


@pytest.mark.postgres
def test_uploads_are_left_out_where_no_database_keeps_them(
    with_uploads: Store, store_at: Open, sqlite_url: str
) -> None:
    folder = store_at(sqlite_url)
    copied = copy_library(with_uploads, folder)
    assert (copied.new, copied.left_out) == (3, [Path("uploads:/ann/note.txt")])
    assert not any(path.startswith(UPLOADS) for path in [*folder.records(), *folder.roots().kinds])
    assert Library(folder, SETTINGS).sync().removed == []


def test_a_folder_that_is_left_out_is_not_in_the_copy(source: Store, target: Store, docs: Path) -> None:
    copied = copy_library(source, target, without=[bytes(docs.resolve())])
    assert {path.name for path in copied.left_out} == {"a.txt", "b.md", "c.csv", "long.txt", "empty.txt"}
    assert not target.records()
    assert target.roots().kinds == {bytes((docs / "a.txt").resolve()): "file"}
