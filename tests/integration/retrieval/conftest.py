"""A library in a temporary folder, and a folder of documents to fill it with."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from retrieval.library.library import Library
from retrieval.splitter import SplitSettings
from tests.unit.retrieval.fakes import BagOfWords

Opener = Callable[..., Library]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.txt").write_text("Points on a mortgage are fees paid to the lender.")
    (folder / "b.md").write_text("# Aspirin\n\nAspirin has a molecular weight of 180.16.")
    (folder / "c.csv").write_text("city,river\nParis,Seine\nLondon,Thames\n")
    return folder


@pytest.fixture
def model() -> BagOfWords:
    return BagOfWords()


@pytest.fixture
def open_library(home: Path, model: BagOfWords) -> Iterator[Opener]:
    """Open the library as often as a test likes; all are closed at its end."""
    with ExitStack() as stack:

        def opener(
            embeddings: BagOfWords | None = None, name: str = "bow", split: SplitSettings | None = None
        ) -> Library:
            library = Library.open(home, embeddings or model, embedding_name=name, split=split)
            return stack.enter_context(library)

        yield opener


@pytest.fixture
def indexed(open_library: Opener, docs: Path, home: Path) -> Path:
    """An index folder that is complete and closed."""
    library = open_library()
    library.add([docs])
    library.sync()
    library.close()
    return home
