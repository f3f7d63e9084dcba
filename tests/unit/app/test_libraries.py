"""Which documents a question is asked of."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from app import libraries
from app.libraries import SAMPLE, follow_own, library_to_ask, open_own, open_served, open_shared, report_sync
from app.settings import Settings
from app.terminal.screen import Screen
from core.errors import IndexBusy, RequestError
from retrieval.filters import Filter
from retrieval.index.database import Database
from retrieval.library.library import Library, library_name
from retrieval.sync_report import Failure, SyncReport
from tests.unit.retrieval.fakes import BagOfWords

Asked = Callable[..., list[str]]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    sample = tmp_path / "sample"
    sample.mkdir()
    (sample / "sample.txt").write_text("Alpha is a letter.")
    monkeypatch.setattr(libraries, "SAMPLE", sample)
    monkeypatch.setattr(libraries, "embeddings_of", lambda *_: (BagOfWords(), "words"))
    return Settings(selfrag_home=tmp_path / "home")


@pytest.fixture
def asked(settings: Settings) -> Asked:
    def names(*docs: Path) -> list[str]:
        with library_to_ask(docs, settings, Screen()) as library:
            return sorted(source.path.name for source in library.sources())

    return names


@pytest.fixture
def docs(tmp_path: Path, settings: Settings) -> Path:
    """A folder in the library, with one document."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.txt").write_text("Beta is a letter.")
    with open_own(settings, Screen()) as library:
        library.add([folder])
        library.sync()
    return folder


def test_an_empty_library_is_the_sample_and_says_so(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked() == ["sample.txt"]
    assert "your library is empty" in capsys.readouterr().err
    assert SAMPLE.is_dir()
    assert asked() == ["sample.txt"]
    assert capsys.readouterr().err == f"asking the sample in {libraries.SAMPLE}\n"


def test_a_library_that_lost_its_last_document_is_empty_until_it_gets_another(asked: Asked, docs: Path) -> None:
    (docs / "a.txt").unlink()
    assert asked() == ["sample.txt"]
    (docs / "b.txt").write_text("Delta is a letter.")
    assert asked() == ["b.txt"]


def test_a_library_of_unreadable_documents_is_not_empty(asked: Asked, docs: Path) -> None:
    (docs / "a.txt").write_bytes(b"")
    for _ in range(2):
        with pytest.raises(RequestError, match=r"a\.txt"):
            asked()


def names_in(library: Library) -> list[str]:
    return sorted(source.path.name for source in library.sources())


def test_a_server_asks_the_persons_library_with_what_was_uploaded(
    settings: Settings, docs: Path, tmp_path: Path
) -> None:
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    for expected in (["a.txt"], ["a.txt", "up.txt"]):
        library, sample = open_served(settings, Screen(), uploads)
        with library:
            assert (names_in(library), sample) == (expected, None)
        (uploads / "up.txt").write_text("Epsilon is a letter.")


def test_a_server_over_an_empty_library_has_the_sample_to_ask(settings: Settings, tmp_path: Path) -> None:
    library, sample = open_served(settings, Screen(), tmp_path / "uploads")
    with library, sample:
        assert (names_in(library), names_in(sample)) == ([], ["sample.txt"])
        assert sample.store.embeddings is library.store.embeddings


def test_what_others_upload_never_enters_the_persons_library(
    settings: Settings, asked: Asked, docs: Path, tmp_path: Path
) -> None:
    uploads, more = tmp_path / "uploads", tmp_path / "more"
    for folder in (uploads / "ann", more):
        folder.mkdir(parents=True)
        (folder / f"{folder.name}.txt").write_text("Epsilon is a letter.")
    with open_shared(settings, Screen(), uploads) as shared:
        assert names_in(shared) == ["a.txt", "ann.txt"]
        assert asked() == ["a.txt"]
        with open_own(settings, Screen()) as own:
            own.add([more])
            own.remove(docs)
        follow_own(shared, settings, uploads)
        shared.sync()
        assert names_in(shared) == ["ann.txt", "more.txt"]
    with open_shared(settings, Screen(), uploads) as shared:
        assert names_in(shared) == ["ann.txt", "more.txt"]


def test_what_the_person_excludes_no_question_finds_and_others_do_not_see(
    settings: Settings, asked: Asked, docs: Path, tmp_path: Path
) -> None:
    (docs / "a-draft.txt").write_text("Zeta is a letter.")
    for pattern in ({"*draft*"}, set()):
        with open_own(settings, Screen()) as own:
            own.exclude(pattern)
            own.include(own.excluded() - pattern)
        assert asked() == (["a.txt"] if pattern else ["a-draft.txt", "a.txt"])
        assert asked(docs) == ["a-draft.txt", "a.txt"]
        with open_shared(settings, Screen(), tmp_path / "uploads") as shared:
            assert names_in(shared) == (["a.txt"] if pattern else ["a-draft.txt", "a.txt"])


def asking(settings: Settings, within: Filter, *docs: Path) -> None:
    with library_to_ask(docs, settings, Screen(), within):
        pass


def test_a_filter_that_fits_no_passage_is_refused(settings: Settings, docs: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("Gamma is a letter.")
    asking(settings, Filter(sources=("a.txt",)))
    asking(settings, Filter(sources=("other.*",)), other)
    for named in ((), (other,)):
        with pytest.raises(RequestError, match=r"No passage fits --source none\.pdf: "):
            asking(settings, Filter(sources=("none.pdf",)), *named)


@pytest.mark.parametrize(
    "store",
    [
        *"redis://here sqlite :// sqlite://// sqlite://host/folder sqlite:///a?b sqlite:///a#b sqlite://[bad".split(),
        *" ,sqlite:///a%00b,sqlite://\u2100,sqlite:///~nosuchuser/x,http://[::1".split(","),
    ],
)
def test_a_store_that_is_none_is_refused(settings: Settings, store: str) -> None:
    with pytest.raises(RequestError, match=r"SELFRAG_STORE.*[^.]\.$"):
        open_own(settings.model_copy(update={"selfrag_store": store}), Screen())


@pytest.mark.parametrize(
    "store", ["sqlite:///dev/null/x", f"sqlite:///{'a' * 300}", f"sqlite:///{'a/' * 5_000}", "sqlite:///proc/x"]
)
def test_a_store_where_no_folder_can_be_is_refused(settings: Settings, store: str) -> None:
    with pytest.raises(RequestError, match="cannot be written"):
        open_own(settings.model_copy(update={"selfrag_store": store}), Screen())


def test_passages_that_overlap_by_more_than_their_length_are_refused(settings: Settings) -> None:
    with pytest.raises(RequestError, match="SELFRAG_CHUNK_OVERLAP must be less than SELFRAG_CHUNK_SIZE"):
        open_own(settings.model_copy(update={"selfrag_chunk_overlap": 9_000}), Screen())


def test_a_store_may_be_in_the_persons_home(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    open_own(settings.model_copy(update={"selfrag_store": "sqlite:///~/x"}), Screen()).close()
    assert (tmp_path / "person" / "x" / "library").is_dir()


def open_to_others(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder, *folder.rglob("*")) if path.stat().st_mode & 0o077)


@pytest.mark.parametrize("named", [False, True])
def test_all_libraries_are_closed_to_others_when_one_is_opened(settings: Settings, tmp_path: Path, named: bool) -> None:
    home = tmp_path / "named" if named else settings.libraries_folder
    for folder in (home / "library", home / "other"):
        folder.mkdir(parents=True)
        (folder / "index.sqlite").touch()
    (home / "no library").mkdir()
    for path in (home, *home.rglob("*")):
        path.chmod(0o755)
    store = f"sqlite://{home}" if named else "sqlite://"
    open_own(settings.model_copy(update={"selfrag_store": store}), Screen()).close()
    assert home.stat().st_mode & 0o077 == (0o055 if named else 0)  # another folder may hold other things
    assert (home / "other").stat().st_mode & 0o077 == 0
    assert (home / "no library").stat().st_mode & 0o077 == 0o055
    assert open_to_others(home / "library") == []


def refuse_to_wait(_: float) -> None:
    raise AssertionError("a reader waited for a writer")


def test_a_question_does_not_wait_for_a_writer(
    settings: Settings, asked: Asked, docs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (docs / "new.txt").write_text("Delta is a letter.")
    monkeypatch.setattr("time.sleep", refuse_to_wait)
    with Database(settings.libraries_folder / "library").only_writer():
        assert asked() == ["a.txt"]
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"note: Process \d+ \(.*\) is indexing: the answer is from what the library holds so far\.", line
    )


def test_an_evaluation_does_not_ask_what_another_process_is_filling(
    settings: Settings, asked: Asked, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked(docs) == ["a.txt"]
    (docs / "new.txt").write_text("Delta is a letter.")
    monkeypatch.setattr("app.libraries.WAIT", 0.2)
    filling = Database(settings.libraries_folder / library_name([docs]))
    with filling.only_writer(), pytest.raises(IndexBusy, match="is writing"):
        library_to_ask([docs], settings, Screen(), complete=True)


def test_a_library_that_holds_nothing_yet_is_waited_for_a_moment(
    settings: Settings, asked: Asked, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_own(settings, Screen()) as library:
        library.remove(docs)
        library.add([docs])
    monkeypatch.setattr("app.libraries.WAIT", 0.2)
    filling = Database(settings.libraries_folder / "library")
    told = r"is writing the index in .*: wait until it has finished, then try again\.$"
    with filling.only_writer(), pytest.raises(IndexBusy, match=told):
        asked()


def test_of_many_that_were_left_out_the_first_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    failures = [Failure(Path(f"/d/{number}.txt"), f"{number}.txt is empty.") for number in range(30)]
    report_sync(SyncReport(failed=failures[:10], empty=failures[10:], notes=["The folder /d/e is away."]), Screen())
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["note: The folder /d/e is away.", "note: left out: /d/0.txt is empty."]
    assert lines[-1] == "note: 10 more were left out."
    assert len(lines) == 22


def test_the_settings_say_how_a_library_is_searched(settings: Settings, docs: Path) -> None:
    with open_own(settings.model_copy(update={"selfrag_search": "bm25"}), Screen()) as library:
        assert library.store.similarity_search("nothing of it") == []
        assert len(library.store.similarity_search("beta")) == 1
