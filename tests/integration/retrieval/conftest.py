"""A library in a temporary folder, and a folder of documents to fill it with."""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from langchain_core.embeddings import Embeddings

from retrieval.library.library import Library, open_store
from retrieval.splitter import SplitSettings
from retrieval.store import Machine, Model
from tests.unit.retrieval.fakes import BagOfWords

Opener = Callable[..., Library]
STORES = ["sqlite_url", pytest.param("postgres_url", marks=pytest.mark.postgres)]
QUESTION = "points on a mortgage"
NOBODY = 65_534
ANSWER = "Points on a mortgage are fees paid to the lender."


def synced(library: Library, *paths: str | Path, follow_links: bool | None = None) -> Library:
    """Add paths to a library, read what is there, and return it."""
    library.add(paths, follow_links=follow_links)
    library.sync()
    return library


def run_sql(home: Path, statements: str) -> None:
    """Change the database of an index that is closed."""
    with closing(sqlite3.connect(home / "index.sqlite", isolation_level=None)) as connection:
        connection.executescript(statements)


def run_at_once(*calls: Callable[[], object]) -> None:
    """Make each call in a thread of its own, and wait for all."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def held(library: Library) -> list[str]:
    """The names of a library's documents."""
    return [source.path.name for source in library.sources()]


@contextmanager
def somebody_else() -> Iterator[None]:
    """Be a user that permissions hold for: they do not for root."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def best(library: Library) -> str:
    return library.store.similarity_search(QUESTION, k=1)[0].page_content


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return (tmp_path / "st öre").as_uri().replace("file", "sqlite", 1)


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


@pytest.fixture
def open_at() -> Iterator[Opener]:
    """Open a library at a URL as often as a test likes, as processes of a machine do; all are closed at its end."""
    with ExitStack() as stack:

        def open_(
            url: str,
            machine: str = "a",
            model: Embeddings | None = None,
            name: str = "library",
            embedding: str = "bow",
            split: SplitSettings | None = None,
            shared: tuple[bytes, ...] = (),
        ) -> Library:
            store = open_store(url, name, Model(model or BagOfWords(), embedding), machine=Machine(machine, shared))
            return stack.enter_context(Library(store, split or SplitSettings()))

        yield open_


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.txt").write_text(ANSWER)
    (folder / "b.md").write_text("# Aspirin\n\nAspirin has a molecular weight of 180.16.")
    (folder / "c.csv").write_text("city,river\nParis,Seine\nLondon,Thames\n")
    return folder


@pytest.fixture
def model() -> BagOfWords:
    return BagOfWords()


@pytest.fixture
def open_library(home: Path, model: BagOfWords, open_at: Opener) -> Opener:
    """Open the library in ``home`` as often as a test likes."""
    url = home.parent.as_uri().replace("file", "sqlite", 1)
    return lambda given=None, name="bow": open_at(url, name=home.name, model=given or model, embedding=name)


@pytest.fixture
def indexed(open_library: Opener, docs: Path, home: Path) -> Path:
    """An index folder that is complete and closed."""
    synced(open_library(), docs).close()
    return home
