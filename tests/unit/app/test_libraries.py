"""Which documents a question is asked of."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app import libraries
from app.libraries import SAMPLE, library_to_ask, open_library
from app.screen import Screen
from app.settings import Settings
from errors import RequestError
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
    with open_library(settings.libraries_folder / "library", settings, Screen()) as library:
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
