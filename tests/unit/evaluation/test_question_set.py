import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from core.errors import RequestError
from evaluation.datasets import question_set as datasets
from evaluation.datasets.question_set import dataset_name, load
from evaluation.records import Dataset, Example, Gold

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def read_text(text: str | bytes, name: str = "set.any") -> Dataset:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return load(path, tmp_path / "documents")

    return read_text


def one(dataset: Dataset) -> Example:
    (example,) = dataset.examples
    return example


def test_a_list_that_says_has_answer(read: Any) -> None:
    rows = [
        {"question": "Why?", "ideal_answer": "So.", "reference": "Chapter 5", "has_answer": True},
        {"question": "Who?", "ideal_answer": "I don't know.", "reference": "None", "has_answer": False},
    ]
    yes, no = read(json.dumps(rows, indent=2)).examples
    assert (yes.route, yes.answerable, yes.references) == ("retrieve", True, ("So.",))
    assert (no.route, no.answerable, no.references) == ("retrieve", False, ())


def test_every_general_field(read: Any) -> None:
    row = {
        "id": 7,
        "question": " Why? ",
        "expected_route": "retrieve",
        "answerable": True,
        "references": ["So.", "Because.", "So."],
        "gold": [{"source": "a.pdf", "page": 3, "text": "so"}, {"source": "b.csv", "row": "2"}],
        "plausible_answers": ["Not so."],
    }
    assert one(read(json.dumps(row))) == Example(
        id="7",
        question="Why?",
        route="retrieve",
        answerable=True,
        references=("So.", "Because."),
        gold=(Gold(source="a.pdf", page=3, text="so"), Gold(source="b.csv", row=2)),
        plausible=("Not so.",),
    )


@pytest.mark.parametrize(
    ("fields", "answerable"),
    [
        ({}, None),
        ({"answer": "So."}, True),
        ({"answer": "4", "route": "direct"}, None),
        ({"source": "a.pdf"}, True),
        ({"outcome": "abstained", "answer": "I don't know."}, False),
        ({"outcome": "grounded"}, True),
        ({"outcome": "direct", "answer": "4"}, None),
        ({"answerable": "no", "answer": "none"}, False),
        ({"answerable": "", "has_answer": None}, None),
    ],
)
def test_what_is_answerable(read: Any, fields: dict[str, Any], answerable: bool | None) -> None:
    example = one(read(json.dumps({"question": "Why?", **fields})))
    assert example.answerable is answerable
    assert example.references == () or answerable is not False


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table(read: Any, separator: str) -> None:
    lines = [
        "Question|Reference|Answerable|Route|Source|Page|Passage|Remark",
        "Why?|So.|yes|retrieve|a.pdf|3|It is so.|x",
        "",
        "Who?||no|||",
        "What is 1 + 1?|2||Direct|||",
    ]
    why, who, sum_ = read("\n".join(lines).replace("|", separator)).examples
    assert (why.references, why.gold) == (("So.",), (Gold(source="a.pdf", page=3, text="It is so."),))
    assert (who.answerable, who.references, who.route) == (False, (), None)
    assert (sum_.route, sum_.references, sum_.answerable) == ("direct", ("2",), None)


def test_a_table_as_spreadsheets_write_it(read: Any) -> None:
    example = one(read('\ufeffquestion,answer\r\n"Why, and\r\nhow?","""So"""\r\n'))
    assert (example.question, example.references) == ("Why, and\nhow?", ('"So"',))


def test_ids_are_stable_and_distinct(read: Any) -> None:
    rows = [{"question": "Why?"}, {"question": "Who?"}, {"question": "Why?"}]
    rows += [{"question": "X?", "id": id_} for id_ in ("a", "a", "a-4", "a", "a", "a-2")]
    first = [example.id for example in read("\n".join(map(json.dumps, rows))).examples]
    assert len(set(first[:3])) == 3
    assert first[3:] == ["a", "a-2", "a-4", "a-3", "a-5", "a-2-2"]
    moved = read("\n".join(map(json.dumps, [rows[1], rows[0]]))).examples
    assert [example.id for example in moved] == [first[1], first[0]]


def test_half_characters_are_mended(read: Any) -> None:
    read('{"question": "Why \\ud83d?", "answer": "\\ud83d\\ude00"}').examples[0].question.encode()
    assert one(read('{"question": "Why?", "answer": "\\ud83d\\ude00"}')).references == ("😀",)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ("set.any is empty",)),
        (b"%PDF-1.4\x01\x02\x03\x04\x05\x06\x01\x02", ("set.any is not text",)),
        ('{"question": "Why?"}\n{"question": "Who?"\n', ("set.any, line 2", "not JSON", "one object per line")),
        ('{"question": "Why?\n{"question": "Who?"}\n', ("set.any, line 1", "not JSON")),
        ('{"question": "Why?"}\n[1]\n', ("set.any, line 2", "not an object")),
        ('[{"question": "Why?"},\n oops]', ("set.any, line 2", "not JSON")),
        ('["Why?"]', ("set.any, entry 1", "not an object")),
        ("[" * 100_000, ("set.any",)),
        pytest.param('{"page": ' + "9" * 5000 + "}", ("set.any", "4300 digits"), id="a long number"),
        ("[]", ("set.any holds no question",)),
        ('{"query": "Why?"}', ("set.any, line 1", "question is missing")),
        ('{"question": ["Why?"]}', ("set.any, line 1", "question is ['Why?']", "a text")),
        ('{"question": "Why?", "route": "search"}', ("set.any, line 1", "'search'", "retrieve or direct")),
        ('{"question": "Why?", "answerable": "perhaps"}', ("set.any, line 1", "'perhaps'", "true or false")),
        ("context,answer\na,b\n", ("set.any, line 1", "column question is missing", "context, answer", "route")),
        ("OPENAI_API_KEY=swordfish\n", ("set.any, line 1", "the columns are no names")),
        ("question,question\na,b\n", ("set.any, line 1", "question appears twice")),
        ("question,answer\nWhy?,so,so\n", ("set.any, line 2", "3 cells", "quotation marks")),
        ('question,answer\nWhy?,"so\n', ("set.any, line 2", "not a table")),
        ('{"question": "\\u200b\\u3164"}', ("set.any, line 1", "question is missing or empty")),
        ("question,answer\nWhy?,so\n\n,so\n", ("set.any, line 4", "question is missing or empty")),
        ('question,route\n"Why?\nHow?",retrieve\nWho?,x\n', ("set.any, line 4", "'x'")),
        ("question,answer\n", ("set.any holds no question",)),
        pytest.param("question" * 100_000, ("set.any, line 1: not a table (field larger than",), id="a long cell"),
        pytest.param('{"question": "Why?"}\n{"question": ' + "[" * 100_000, ("set.any, line 2",), id="a deep line"),
    ],
)
def test_a_file_that_is_no_question_set(read: Any, text: str | bytes, parts: tuple[str, ...]) -> None:
    with pytest.raises(RequestError) as raised:
        read(text)
    said = str(raised.value)
    assert all(part in said for part in parts), said
    assert len(said.splitlines()) == 1
    assert len(said) < 400


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"There is no file .*none\.json"):
        load(tmp_path / "none.json", tmp_path)
    with pytest.raises(RequestError, match="is a folder"):
        load(tmp_path, tmp_path)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "pipe"])
def test_a_device_or_a_fifo_is_no_question_set(tmp_path: Path, path: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RequestError, match=r"it is not a regular file.*: name a file of questions"):
        load(tmp_path / path, tmp_path)


def test_a_set_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "set.jsonl").open("wb") as file:
        file.truncate(datasets.LARGEST + 1)
    with pytest.raises(RequestError, match=r"it is larger than 100 MB.*split it"):
        load(tmp_path / "set.jsonl", tmp_path)


@pytest.mark.parametrize(
    ("field", "part"),
    [
        ('"page": 0', "page is 0: write a number"),
        ('"page": 3.5', "page is 3.5"),
        ('"row": [1]', "row is [1]"),
        ('"answer": NaN', "answer is nan: write a text"),
        ('"id": {"a": 1}', "id is {'a': 1}: write a text"),
        ('"answerable": ' + "[" * 900 + "]" * 900, "answerable is [[["),
        ('"answer": {' + ",".join(f'"{n}": {n}' for n in range(10_000)) + "}", "answer is {'0': 0"),
    ],
)
def test_a_field_that_is_not_what_it_says_is_named_with_its_row(read: Any, field: str, part: str) -> None:
    with pytest.raises(RequestError) as raised:
        read(f'{{"question": "Who?"}}\n{{"question": "Why?", {field}}}')
    said = str(raised.value)
    assert said.startswith(f"set.any, line 2: {part}")
    assert len(said) < 200


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/pets.jsonl", "pets"),
        ("v1.2.json", "v1.2"),
        (".jsonl", ".jsonl"),
        ("a\\b.json", "a\\b"),
        (f"{'n' * 250}.csv", "n" * 250),
    ],
)
def test_a_name_that_a_folder_can_have_is_kept(path: str, name: str) -> None:
    assert dataset_name(Path(path)) == name


@pytest.mark.parametrize(
    "path", ["...jsonl", "..", ".", "/", "a\nb.jsonl", "a\x1b[31mb.json", "a\u202eb.json", f"{'é' * 130}.json"]
)
def test_a_name_that_no_folder_has_is_replaced_by_one_of_its_own(tmp_path: Path, path: str) -> None:
    name = dataset_name(Path(path))
    assert name not in (".", "..")
    assert (tmp_path / name).resolve().parent == tmp_path.resolve()
    assert name.isprintable()
    (tmp_path / name).mkdir()
    assert name == dataset_name(Path(path)) != dataset_name(Path("b" + path))


def test_the_documents_of_a_set_are_relative_to_its_file(read: Any, tmp_path: Path) -> None:
    rows = [{"question": "Why?", "docs": ["a.md", "../b"]}, {"question": "Who?"}, {"question": "When?", "docs": []}]
    assert read("\n".join(map(json.dumps, rows))).documents == (tmp_path / "a.md", tmp_path / ".." / "b")
    assert read("question,docs\nWhy?,/a.md\n").documents == (Path("/a.md"),)


@pytest.mark.parametrize(
    ("docs", "part"),
    [
        (["b.md"], "line 2: docs differs from line 1: a set is asked of the same documents, so make two sets."),
        ({"path": "a.md"}, "line 2: docs is {'path': 'a.md'}: write a text."),
        ([1.5, None], "line 2: docs differs"),
    ],
)
def test_a_set_has_one_value_of_docs(read: Any, docs: Any, part: str) -> None:
    with pytest.raises(RequestError, match=re.escape(part)):
        read("\n".join(map(json.dumps, [{"question": "Why?", "docs": "a.md"}, {"question": "Who?", "docs": docs}])))


EXAMPLES = sorted((ROOT / "data" / "examples").glob("*.jsonl"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_sets_that_ship_name_documents_that_ship(path: Path) -> None:
    dataset = load(path, Path("unused"))
    assert dataset.documents
    names = {document.name for document in dataset.documents}
    assert all(document.is_file() and ROOT in document.resolve().parents for document in dataset.documents)
    assert all(example.route for example in dataset.examples)
    assert {gold.source for example in dataset.examples for gold in example.gold} <= names
    texts = [document.read_text() for document in dataset.documents if document.suffix != ".pdf"]
    golds = [gold.text for example in dataset.examples for gold in example.gold if gold.text]
    assert all(any(gold in text for text in texts) for gold in golds) or len(texts) < len(names)
