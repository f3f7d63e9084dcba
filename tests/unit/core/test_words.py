import pytest

from core.words import pairs_of, words_of


@pytest.mark.parametrize(
    ("text", "words", "pairs"),
    [
        ("The tenant's rent", ["The", "tenant", "s", "rent"], None),
        ("押金", ["押金"], "押金"),
        ("水", ["水"], "水"),
        ("错误C2001号", ["错误", "C2001", "号"], "错误 C2001 号"),
        ("ページを 読む。Go", ["ペー", "ージ", "ジを", "読む", "Go"], "ペー ージ ジを 読む"),
        ("임대료 50", ["임대", "대료", "50"], "임대 대료"),
        ("", [], None),
    ],
)
def test_a_run_of_an_unspaced_script_is_its_pairs(text: str, words: list[str], pairs: str | None) -> None:
    assert words_of(text) == words
    assert pairs_of(text, None) == pairs


def test_the_pairs_of_several_texts_do_not_cross_them() -> None:
    assert pairs_of("押金", None, "房东") == "押金 房东"
