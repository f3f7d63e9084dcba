"""``library copy``, ``backup`` and ``restore``."""

import hashlib
from contextlib import closing
from pathlib import Path

import pytest

from retrieval.library.library import open_store
from retrieval.store import Model, Upload
from tests.command_line import Program
from tests.unit.retrieval.fakes import BagOfWords

COPIED = "2 documents copied, 0 were there; their 2 passages are the same.\n"


@pytest.fixture
def filled(program: Program, docs: Path) -> Program:
    """The command line with a library and a thread."""
    assert program("index", str(docs)).code == 0
    assert program("chat", "--json", given="Who pays the rent?\n").code == 0
    return program


def listed(program: Program, **environment: str) -> str:
    ended = program("index", "--list", environment=environment)
    assert ended.code == 0
    return ended.out


def test_a_library_is_copied_into_another_folder(filled: Program, tmp_path: Path) -> None:
    there = f"sqlite:///{tmp_path}/there"
    ended = filled("library", "copy", "sqlite://", there)
    assert (ended.code, ended.out) == (0, COPIED)
    assert listed(filled, SELFRAG_STORE=there) == listed(filled)
    again = filled("library", "copy", "sqlite://", there)
    assert again.out == COPIED.replace("2 documents copied, 0 were", "0 documents copied, 2 were")


@pytest.mark.postgres
def test_a_library_is_copied_into_postgresql_and_back(filled: Program, tmp_path: Path, postgres_url: str) -> None:
    """With the threads, which are in one folder for all embedded stores."""
    back = f"sqlite:///{tmp_path}/back"
    threads = filled("threads").out
    assert filled("library", "copy", "sqlite://", postgres_url).out == f"{COPIED}1 threads copied.\n"
    assert filled("library", "copy", postgres_url, back).out == COPIED
    filled.environment["SELFRAG_STORE"] = postgres_url
    assert filled("threads").out == threads
    del filled.environment["SELFRAG_STORE"]
    assert listed(filled, SELFRAG_STORE=postgres_url) == listed(filled, SELFRAG_STORE=back) == listed(filled)


def test_a_backup_is_restored_elsewhere(filled: Program, tmp_path: Path) -> None:
    file = tmp_path / "backup.zip"
    ended = filled("library", "backup", str(file))
    assert (ended.code, ended.out) == (0, f"Saved in {file}: 2 documents, 1 threads.\n")
    home = tmp_path / "new home"
    home.mkdir()
    (home / "models").symlink_to(Path(filled.environment["SELFRAG_HOME"]) / "models")
    new = {"SELFRAG_HOME": str(home)}
    before = filled("threads", "--json").out
    ended = filled("library", "restore", str(file), environment=new)
    assert (ended.code, ended.out) == (0, COPIED.replace("copied", "restored") + "1 threads restored.\n")
    assert listed(filled, **new) == listed(filled)
    assert filled("threads", "--json", environment=new).out == before
    again = filled("library", "restore", str(file), environment=new)
    assert again.out.endswith("0 threads restored.\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("copy", "sqlite://", "sqlite://"), "FROM and TO are the same store"),
        (("copy", "sqlite:///{home}/libraries", "sqlite://"), "FROM and TO are the same store"),
        (("copy", "sqlite:///nowhere/at/all", "sqlite://"), "There is nothing in the library"),
        (("copy", "mysql://u:geheim-1234@host/db", "sqlite://"), "There is no store for mysql"),
        (("restore", "none.zip"), "There is no file"),
        (("export-labels", "labels.jsonl"), "There is no feedback yet"),
        (("backup", "no/such/folder/backup.zip"), "no/such/folder"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(program: Program, arguments: tuple[str, ...], said: str) -> None:
    ended = program("library", *(word.format(home=program.environment["SELFRAG_HOME"]) for word in arguments))
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.count("\n") == 1
    assert said in ended.err
    assert "geheim-1234" not in ended.err


@pytest.mark.postgres
@pytest.mark.parametrize("way", ["copy", "backup"])
def test_uploads_of_a_folder_become_uploads_of_the_database(
    filled: Program, tmp_path: Path, postgres_url: str, way: str
) -> None:
    folder = Path(filled.environment["SELFRAG_HOME"]) / "uploads-of-tokens"
    (folder / "ann").mkdir(parents=True)
    (folder / "ann" / "tea.txt").write_text("Tea is grown in Assam.")
    assert filled("index", str(folder)).code == 0
    if way == "copy":
        ended = filled("library", "copy", "sqlite://", postgres_url)
    else:
        assert filled("library", "backup", str(tmp_path / "backup.zip")).code == 0
        ended = filled("library", "restore", str(tmp_path / "backup.zip"), environment={"SELFRAG_STORE": postgres_url})
    assert ended.code == 0
    assert "1 uploads were stored in the database" in ended.err
    assert "left out" not in ended.err
    filled.environment["SELFRAG_STORE"] = postgres_url
    assert "tea.txt" not in listed(filled)
    assert filled("index").code == 0
    assert [line.split()[0] for line in listed(filled).splitlines() if "uploads:/ann/tea.txt" in line] == ["indexed"]
    assert str(folder) not in listed(filled)
    assert (folder / "ann" / "tea.txt").exists()


@pytest.mark.postgres
def test_a_library_of_uploads_alone_is_saved_and_restored_by_another_name(
    program: Program, tmp_path: Path, postgres_url: str
) -> None:
    program.environment["SELFRAG_STORE"] = postgres_url
    path, content = b"uploads:/tea.txt", b"Tea is grown in Assam."
    with closing(open_store(postgres_url, "library", Model(BagOfWords(), "bow"))) as store:
        store.uploads.keep(path, Upload(hashlib.sha256(content).hexdigest(), len(content), 0), content)
    assert program("library", "backup", str(tmp_path / "backup.zip")).code == 0
    assert program("library", "restore", str(tmp_path / "backup.zip"), "--library", "shared").code == 0
    with closing(open_store(postgres_url, "shared", Model(BagOfWords(), "bow"))) as store:
        assert store.uploads.content(path) == content
