"""The library follows its files: only what changed is read, and what is gone goes."""

import os
import socket
import time
from pathlib import Path

import pytest

from core.errors import RequestError
from retrieval.library import sync
from retrieval.library.library import Library, library_name
from retrieval.sync_report import Advance
from tests.integration.retrieval.conftest import Opener, held, synced
from tests.unit.retrieval.documents.pdfs import encrypted, pdf
from tests.unit.retrieval.fakes import BagOfWords


def age(*paths: Path) -> None:
    """Make files old enough that their time of change can be relied upon."""
    for path in paths:
        past = path.stat().st_mtime - 3_600
        os.utime(path, (past, past))


def texts(library: Library, question: str, k: int = 9) -> list[str]:
    return [document.page_content for document in library.store.similarity_search(question, k=k)]


def test_a_change_of_the_same_size_within_the_clocks_tick_is_noticed(open_library: Opener, docs: Path) -> None:
    path, soon = docs / "a.txt", time.time() + 60  # however long a busy machine takes, this is recent
    os.utime(path, (soon, soon))
    library = synced(open_library(), docs)
    stamp = path.stat()
    path.write_text(path.read_text().replace("lender", "banker"))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert [path.name for path in library.sync().updated] == ["a.txt"]
    assert "banker" in texts(library, "mortgage", 1)[0]


def test_a_file_with_a_new_time_or_name_alone_is_not_embedded_again(
    open_library: Opener, docs: Path, model: BagOfWords
) -> None:
    library = synced(open_library(), docs)
    model.texts.clear()
    (docs / "a.txt").rename(docs / "moved.txt")
    age(*docs.iterdir())
    report = library.sync()
    assert ([p.name for p in report.added], [p.name for p in report.removed]) == (["moved.txt"], ["a.txt"])
    assert report.unchanged == 2
    assert model.texts == []


def test_what_was_added_before_stays_until_it_is_removed(open_library: Opener, docs: Path) -> None:
    library = synced(open_library(), docs / "a.txt")
    library.add([docs / "b.md"])
    assert library.sync().unchanged == 1
    assert held(library) == ["a.txt", "b.md"]
    library.add([docs / "a.txt", docs])
    assert library.sync().passages == 4
    library.remove(docs)
    assert held(library) == ["a.txt", "b.md"]
    assert library.sync().passages == 2
    with pytest.raises(RequestError, match=r"c.csv is not in the library: "):
        library.remove(docs / "c.csv")


def test_a_root_file_that_is_gone_loses_its_passages_and_comes_back(open_library: Opener, docs: Path) -> None:
    library = synced(open_library(), docs / "a.txt", docs / "b.md")
    content = (docs / "a.txt").read_text()
    (docs / "a.txt").unlink()
    report = library.sync()
    assert [path.name for path in report.removed] == ["a.txt"]
    assert report.notes == [f"The file {docs / 'a.txt'} is gone: its passages were removed."]
    assert library.sync().notes == []
    (docs / "a.txt").write_text(content)
    assert [path.name for path in library.sync().added] == ["a.txt"]


def test_a_root_folder_that_is_gone_keeps_its_documents(open_library: Opener, docs: Path) -> None:
    library = synced(open_library(), docs)
    docs.rename(docs.with_name("elsewhere"))
    report = library.sync()
    assert (report.removed, report.unchanged, report.passages) == ([], 3, 4)
    assert report.notes[0].startswith(f"The folder {docs} cannot be found: its documents are kept")
    assert texts(library, "mortgage")


def test_requests_that_cannot_be_met(open_library: Opener, docs: Path, tmp_path: Path) -> None:
    library = open_library()
    with pytest.raises(RequestError, match=r"^There is no file or folder .*gone: check the path.$"):
        library.add([docs, tmp_path / "gone"])
    assert library.sync().passages == 0  # all or nothing
    (tmp_path / "empty").mkdir()
    with pytest.raises(RequestError, match=r"^The folder .*empty holds no PDF, DOCX, HTML, .* or JSONL file: "):
        library.add([tmp_path / "empty"])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RequestError, match="neither a file nor a folder"):
        library.add([tmp_path / "pipe"])
    with pytest.raises(RequestError, match=r"^There are no documents to ask: "):
        library.require_passages()


def test_bad_documents_are_named_and_the_others_go_on(open_library: Opener, docs: Path) -> None:
    (docs / "empty.txt").write_text("")
    (docs / "cut.pdf").write_bytes(pdf(["Text on a page."])[:-600])
    (docs / "scan.pdf").write_bytes(pdf([""]))
    (docs / "secret.pdf").write_bytes(encrypted(pdf(["Text."]), "x"))
    library = open_library()
    library.add([docs])
    report = library.sync()
    assert {failure.path.name: failure.reason.split(":")[0] for failure in report.empty} == {
        "empty.txt": "empty.txt is empty",
        "scan.pdf": "scan.pdf has no text layer",
    }
    assert {failure.path.name: failure.reason.split(":")[0] for failure in report.failed} == {
        "cut.pdf": "cut.pdf is truncated",
        "secret.pdf": "secret.pdf is encrypted",
    }
    assert (len(report.added), report.passages) == (3, 4)
    again = library.sync()
    assert (again.failed, len(again.still_failed), again.unchanged) == ([], 4, 3)
    (docs / "scan.pdf").write_bytes(pdf(["Now with text."]))
    mended = library.sync()
    assert ([path.name for path in mended.updated], len(mended.still_failed)) == (["scan.pdf"], 3)
    assert {source.status for source in library.sources()} == {"indexed", "empty", "failed"}


def test_nothing_readable_is_an_error_with_the_reason(open_library: Opener, tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(pdf([""]))
    library = synced(open_library(), tmp_path / "scan.pdf")
    with pytest.raises(RequestError, match=r"^scan.pdf has no text layer: "):
        library.require_passages()
    (tmp_path / "empty.txt").write_text("")
    synced(library, tmp_path / "empty.txt")
    with pytest.raises(RequestError, match=r"^None of the 2 documents can be read; the first: empty.txt is empty"):
        library.require_passages()


def test_a_difficult_folder_is_walked_to_its_end(open_library: Opener, docs: Path, tmp_path: Path) -> None:
    (docs / "loop").symlink_to(docs)
    (docs / "twin.txt").symlink_to(docs / "a.txt")
    (docs / "outside.txt").symlink_to(tmp_path / "outside.txt")
    (tmp_path / "outside.txt").write_text("Linked from elsewhere.")
    (docs / "dangling.txt").symlink_to(docs / "nowhere")
    (docs / ".hidden.txt").write_text("x")
    (docs / ".git").mkdir()
    (docs / ".git" / "config.txt").write_text("x")
    (docs / "image.png").write_bytes(b"\x89PNG")
    (docs / "deep" / "er").mkdir(parents=True)
    (docs / "deep" / "er" / "new\nline.txt").write_text("Deep text.")
    os.mkfifo(docs / "pipe.txt")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(docs / "s.txt"))
    listener.close()
    Path(os.fsdecode(os.fsencode(docs) + b"/bad\xff.txt")).write_text("A name that is no text.")
    library = open_library()
    library.add([docs])
    report = library.sync()
    assert len(report.added) == 5
    assert (report.failed, report.empty, report.notes) == ([], [], [])
    assert {skipped.path.name: skipped.reason.split(":")[0] for skipped in report.skipped} == {
        "loop": "a link to a folder",
        "dangling.txt": "a broken link",
        "outside.txt": "a link out of its folder",
        ".hidden.txt": "hidden",
        ".git": "hidden",
        "image.png": "not a supported file type",
        "pipe.txt": "neither a file nor a folder",
        "s.txt": "neither a file nor a folder",
    }
    assert library.skipped() == report.skipped
    assert "Deep text." in texts(library, "deep text", 20)
    (found,) = library.store.similarity_search("a name that is no text", k=1)
    assert found.metadata["source"].endswith("bad\ufffd.txt")
    assert open_library().sync().unchanged == 5


def test_a_folder_that_cannot_be_listed_keeps_its_documents(
    open_library: Opener, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (docs / "sub").mkdir()
    (docs / "sub" / "d.txt").write_text("Deep text.")
    library = synced(open_library(), docs)
    scandir = os.scandir

    def refusing(path: bytes | Path) -> object:
        if os.fsencode(path).endswith(b"sub"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    report = library.sync()
    assert report.removed == []
    assert report.notes == [f"The folder {docs / 'sub'} cannot be opened: its documents are kept as they were."]


def test_what_a_killed_writer_left_is_cleared_away_though_nothing_changed(
    open_library: Opener, docs: Path, home: Path
) -> None:
    synced(open_library(), docs)
    (home / "vectors.faiss").rename(home / "vectors.faiss.partial")
    assert open_library().sync().unchanged == 3
    assert not list(home.glob("*.partial"))


def test_progress_counts_up_to_all(open_library: Opener, docs: Path) -> None:
    told: list[Advance] = []
    library = open_library()
    library.add([docs])
    library.sync(told.append)
    assert told[0].seconds_left is None
    assert told[-1].seconds_left == 0
    seen = [(at.files, at.total, at.passages, at.path.name) for at in told]
    assert seen == [(0, 3, 0, "a.txt"), (1, 3, 1, "b.md"), (2, 3, 2, "c.csv"), (3, 3, 4, "c.csv")]


def test_a_model_that_cannot_be_reached_costs_nothing(open_library: Opener, docs: Path) -> None:
    synced(open_library(), docs)

    class Unreachable(BagOfWords):
        def vector(self, text: str) -> list[float]:
            raise ConnectionError("no such host")

    with pytest.raises(ConnectionError):
        open_library(Unreachable(), name="far").sync()
    assert open_library().sync().unchanged == 3


def test_it_is_noticed_while_indexing_as_well(open_library: Opener, docs: Path) -> None:
    synced(open_library(), docs)
    (docs / "d.txt").write_text("Tulips.")
    library = open_library(BagOfWords(dimension=32))
    assert "vectors of another length than before" in library.sync().notes[0]
    assert len(texts(library, "mortgage")) == 5


def test_small_files_share_a_batch(open_library: Opener, docs: Path, model: BagOfWords) -> None:
    for number in range(100):
        (docs / f"{number}.txt").write_text(f"Text number {number} of this folder.")
    synced(open_library(), docs)
    assert model.calls == [64, 40]


def test_unchanged_files_are_not_opened(open_library: Opener, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    age(*docs.iterdir())
    library = synced(open_library(), docs)
    for opener in ("read_regular", "Readers"):
        monkeypatch.setattr(sync, opener, None)
    assert library.sync().unchanged == 3


def test_the_name_of_a_set_of_documents_is_always_the_same(docs: Path) -> None:
    one = library_name([docs / "a.txt", docs / "b.md"])
    assert one == library_name([docs / "b.md", str(docs / ".." / "docs" / "a.txt"), docs / "a.txt"])
    assert one != library_name([docs / "a.txt"])
