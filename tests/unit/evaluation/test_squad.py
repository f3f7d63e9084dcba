import json
import stat
from pathlib import Path
from typing import Any

import pytest

from core.errors import RequestError
from evaluation.datasets.question_set import load
from evaluation.records import Dataset


def asked(question: str, *answers: str, **more: Any) -> dict[str, Any]:
    texts = [{"text": answer, "answer_start": 0} for answer in answers]
    return {"question": question, "answers": texts, "is_impossible": not answers, **more}


PLAUSIBLE = [{"text": "Nights"}]
ARTICLES = [
    {
        "title": "Sky",
        "paragraphs": [
            {"context": "The sky is blue.", "qas": [asked("What is blue?", "the sky", "sky", "sky", id="a")]},
            {"context": "Nights are dark.", "qas": [asked("Why dark?", id="b", plausible_answers=PLAUSIBLE)]},
        ],
    },
    {"title": "Sea", "paragraphs": [{"context": "The sea is deep.", "qas": [asked("How deep?"), asked("How deep?")]}]},
]


@pytest.fixture
def squad(tmp_path: Path) -> Any:
    def read(loaded: Any, paragraphs: tuple[int, int] | None = None) -> Dataset:
        path = tmp_path / "article.json"
        path.write_text(json.dumps(loaded))
        return load(path, tmp_path / "documents", paragraphs)

    return read


def test_all_paragraphs_are_documents_and_all_questions_are_asked(squad: Any, tmp_path: Path) -> None:
    dataset = squad({"version": "v2.0", "data": ARTICLES})
    (folder,) = dataset.documents
    assert folder.parent == tmp_path / "documents"
    assert {path.name: path.read_text().strip() for path in folder.iterdir()} == {
        "paragraph-01.txt": "The sky is blue.",
        "paragraph-02.txt": "Nights are dark.",
        "paragraph-03.txt": "The sea is deep.",
    }
    questions = [example.question for example in dataset.examples]
    assert questions == ["What is blue?", "Why dark?", "How deep?", "How deep?"]
    assert len({example.id for example in dataset.examples}) == 4
    blue, dark, *_ = dataset.examples
    assert (blue.id, blue.route, blue.answerable, blue.references) == ("a", "retrieve", True, ("the sky", "sky"))
    (gold,) = blue.gold
    assert (gold.source, gold.text) == ("paragraph-01.txt", "sky")
    assert (dark.answerable, dark.references, dark.gold, dark.plausible) == (False, (), (), ("Nights",))


def test_a_range_selects_questions_by_the_same_ids_and_not_documents(squad: Any) -> None:
    every = squad({"data": ARTICLES}).examples
    dataset = squad({"data": ARTICLES}, (2, 2))
    assert dataset.examples == every[1:2]
    assert len(list(dataset.documents[0].iterdir())) == 3
    assert dataset.name == "article-2-2"


@pytest.mark.parametrize("chosen", [(1, 4), (0, 1), (3, 2), (4, 4)])
def test_a_range_that_is_not_there(squad: Any, chosen: tuple[int, int]) -> None:
    with pytest.raises(RequestError, match="has the paragraphs 1-3: choose among them with --paragraphs"):
        squad({"data": ARTICLES}, chosen)


def test_documents_are_written_once_and_those_of_another_set_stay(squad: Any, tmp_path: Path) -> None:
    (folder,) = squad({"data": ARTICLES}).documents
    files = sorted(folder.iterdir())
    stamps = [(file.stat().st_mtime_ns, file.stat().st_ino) for file in files]
    (other,) = squad({"data": ARTICLES[1:]}).documents
    assert squad({"data": ARTICLES}).documents == (folder,)
    assert [(file.stat().st_mtime_ns, file.stat().st_ino) for file in files] == stamps
    assert [path.name for path in other.iterdir()] == ["paragraph-01.txt"]
    files[0].write_text("The sky is")  # as a kill may leave it
    squad({"data": ARTICLES})
    assert files[0].read_text() == "The sky is blue.\n"


def test_squad_1_has_no_mark_of_the_impossible(squad: Any) -> None:
    question = {"question": "What is blue?", "id": "a", "answers": [{"text": "the sky"}]}
    (example,) = squad({"data": [{"paragraphs": [{"context": "The sky is blue.", "qas": [question]}]}]}).examples
    assert (example.answerable, example.references) == (True, ("the sky",))


@pytest.mark.parametrize(
    ("paragraph", "part"),
    [
        ({"qas": []}, "article.json, paragraph 1: it has no context"),
        ({"context": "A.", "qas": {}}, "article.json, paragraph 1: it has no context, or no list qas"),
        ("A.", "article.json, paragraph 1"),
        ({"context": "A.", "qas": [{"answers": []}]}, "article.json, paragraph 1, question 1: the field question"),
        ({"context": "A.", "qas": [{"question": "\u200b"}]}, "question 1: the field question is missing or empty"),
        ({"context": "A.", "qas": [{"question": "B?", "answers": [{}]}]}, "answers without a text"),
        ({"context": "A.", "qas": ["B?"]}, "article.json, paragraph 1, question 1"),
        ({"context": "A.", "qas": [asked("B?", "A") | {"id": ["a"]}]}, "article.json, paragraph 1, question 1"),
        ({"context": "A.", "qas": [asked("B?", "A") | {"is_impossible": "false"}]}, "paragraph 1, question 1"),
        ({"context": "A.", "qas": []}, "article.json holds no question"),
    ],
)
def test_a_file_in_another_form(squad: Any, paragraph: Any, part: str) -> None:
    with pytest.raises(RequestError) as raised:
        squad({"data": [{"paragraphs": [paragraph]}]})
    assert part in str(raised.value)


@pytest.mark.parametrize("place", ["documents", "the set's own"])
def test_a_link_in_the_place_of_the_folder_is_not_followed(squad: Any, tmp_path: Path, place: str) -> None:
    (folder,) = squad({"data": ARTICLES}).documents
    link = folder if place == "the set's own" else folder.parent
    link.rename(tmp_path / "mine")
    before = sorted((tmp_path / "mine").rglob("*"))
    before[-1].unlink()
    link.symlink_to(tmp_path / "mine")
    with pytest.raises(RequestError, match=r"cannot be written into .*documents \(it is a link\).*--out"):
        squad({"data": ARTICLES})
    assert sorted((tmp_path / "mine").rglob("*")) == before[:-1]


def test_paragraphs_are_for_the_user_alone(squad: Any) -> None:
    for _ in range(2):
        (folder,) = squad({"data": ARTICLES}).documents
        assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        folder.chmod(0o755)
        for path in folder.iterdir():
            path.chmod(0o644)
