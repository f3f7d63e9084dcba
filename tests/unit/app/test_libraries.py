"""Which documents a question is asked of."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app import libraries
from app.libraries import SAMPLE, library_to_ask, open_own, tell
from app.screen import Screen
from app.settings import Settings
from errors import RequestError
from retrieval.filters import Filter
from retrieval.report import Failure, SyncReport
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


def test_documents_named_are_asked_alone(asked: Asked, docs: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("Gamma is a letter.")
    assert asked(other) == ["other.txt"]
    assert asked() == ["a.txt"]


def test_a_library_that_lost_its_last_document_is_empty_until_it_gets_another(asked: Asked, docs: Path) -> None:
    (docs / "a.txt").unlink()
    assert asked() == ["sample.txt"]
    (docs / "b.txt").write_text("Delta is a letter.")
    assert asked() == ["b.txt"]


def test_a_library_of_unreadable_documents_is_not_empty(asked: Asked, docs: Path) -> None:
    (docs / "a.txt").write_bytes(b"")
    with pytest.raises(RequestError, match=r"a\.txt"):
        asked()
    with pytest.raises(RequestError, match=r"a\.txt"):
        asked()


def asking(settings: Settings, within: Filter, *docs: Path) -> None:
    with library_to_ask(docs, settings, Screen(), within):
        pass


def test_a_filter_that_fits_no_passage_is_refused(settings: Settings, docs: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("Gamma is a letter.")
    asking(settings, Filter(sources=("a.txt",)))
    asking(settings, Filter(sources=("other.*",)), other)
    for named in ((), (other,)):
        with pytest.raises(RequestError, match=r"No passage of the library fits --source none\.pdf: "):
            asking(settings, Filter(sources=("none.pdf",)), *named)


def test_a_filter_holds_for_the_sample_too(settings: Settings) -> None:
    asking(settings, Filter(sources=("sample.txt",)))
    with pytest.raises(RequestError, match="--page 7"):
        asking(settings, Filter(pages=(7, 7)))


def test_libraries_are_where_the_store_says(settings: Settings, tmp_path: Path) -> None:
    elsewhere = settings.model_copy(update={"selfrag_store": f"sqlite://{tmp_path}/elsewhere"})
    open_own(elsewhere, Screen()).close()
    assert (tmp_path / "elsewhere" / "library").is_dir()
    assert not settings.libraries_folder.exists()
    open_own(settings, Screen()).close()
    assert (settings.libraries_folder / "library").is_dir()


def test_an_unknown_store_is_refused(settings: Settings) -> None:
    with pytest.raises(RequestError, match="SELFRAG_STORE"):
        open_own(settings.model_copy(update={"selfrag_store": "redis://here"}), Screen())


def test_of_many_that_were_left_out_the_first_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    failures = [Failure(Path(f"/d/{number}.txt"), f"{number}.txt is empty.") for number in range(30)]
    tell(SyncReport(failed=failures[:10], empty=failures[10:]), Screen())
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "note: 0.txt was left out: 0.txt is empty."
    assert lines[-1] == "note: 10 more were left out."
    assert len(lines) == 21


def test_the_settings_say_how_a_library_is_searched(settings: Settings, docs: Path) -> None:
    with open_own(settings.model_copy(update={"selfrag_search": "bm25"}), Screen()) as library:
        assert library.store.similarity_search("nothing of it") == []
        assert len(library.store.similarity_search("beta")) == 1
