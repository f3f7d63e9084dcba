"""A wrong answer is told from a right one, and harm that lasts from harm that was mended."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.stress.flips import FILES, MISSED, OTHERS, Answer, Harm, Question, Try, harm, lies, outcome_of

RIGHT = Answer("Points are fees.", "/docs/a.pdf", 3, None, 0, "2024-05-06")
OTHER = Answer("Tulips are grown.", "/docs/b.csv", None, 2, 0, "2024-05-06")
QUESTION = Question("fees", "hybrid", RIGHT)
KNOWN = {RIGHT, OTHER}


def test_the_right_passage_first_is_right() -> None:
    assert lies(QUESTION, [RIGHT, OTHER], KNOWN) == []


@pytest.mark.parametrize(
    "lie",
    [
        replace(RIGHT, text="Points are devils."),
        replace(RIGHT, source="/docs/b.csv"),
        replace(RIGHT, page=4),
        replace(RIGHT, row=1),
        replace(RIGHT, offset=7),
        replace(RIGHT, date="1999-01-01"),
    ],
)
def test_anything_else_about_a_passage_is_a_lie_wherever_it_stands(lie: Answer) -> None:
    for found in ([lie], [RIGHT, lie]):
        (wrong,) = lies(QUESTION, found, KNOWN)
        assert wrong.endswith("is in no document")
        assert outcome_of([wrong], [Try(wrong=[wrong])], lasts=False) == "violation"


@pytest.mark.parametrize("found", [[], [OTHER], [OTHER, RIGHT]])
def test_true_passages_without_the_right_one_first_are_missed(found: list[Answer]) -> None:
    (wrong,) = lies(QUESTION, found, KNOWN)
    assert MISSED in wrong
    assert outcome_of([wrong], [Try(wrong=[wrong])], lasts=True) == "missed"


@pytest.fixture
def index(tmp_path: Path) -> Path:
    for place, fill in (("index", b"a"), ("other", b"b")):
        (tmp_path / place).mkdir()
        for name, size in zip(FILES, (5_000, 900, 70), strict=True):
            (tmp_path / place / name).write_bytes(fill * size)
    return tmp_path / "index"


def test_every_round_does_some_harm_and_the_same_again(index: Path, tmp_path: Path) -> None:
    whole = {name: (index / name).read_bytes() for name in FILES}
    done: list[Harm] = []
    for number in range(40):
        harms = []
        for _ in range(2):
            for name, content in whole.items():
                (index / name).write_bytes(content)
            harms.append(harm(index, number, 1, [tmp_path / "other"]))
        assert harms[0] == harms[1]
        (one, _) = harms
        assert one.after != whole[one.name]
        assert one.lasts(index)
        (index / one.name).write_bytes(whole[one.name])
        assert not one.lasts(index)
        done.append(one)
    assert {one.kind for one in done} == {"one byte", "some bytes", *OTHERS}
    assert {one.name for one in done} == set(FILES)
    assert sum(one.kind in OTHERS for one in done) == 8
