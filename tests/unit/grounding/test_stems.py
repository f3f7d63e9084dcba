import pytest

from grounding.stems import figures, plain_figure, stems


@pytest.mark.parametrize(
    ("figure", "plain"),
    [
        ("1,000", "1000"),
        ("1,000,000.50", "1000000.5"),
        ("1000.0", "1000"),
        ("007", "7"),
        ("0", "0"),
        ("0.50", "0.5"),
        ("3,5", "3.5"),
        ("1.2.3", "1.2.3"),
    ],
)
def test_a_figure_has_one_form(figure: str, plain: str) -> None:
    assert plain_figure(figure) == plain


def test_words_alone_are_no_figures() -> None:
    assert figures("one or two, and 3") == {"3"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pays", "paying"),
        ("scatters", "scattered"),
        ("TENANT'S", "tenants"),
        ("cafés", "café"),
        ("five", "5"),
        ("20kg", "20 kg"),
        ("3rd", "3"),
    ],
)
def test_forms_of_a_word_are_one(one: str, other: str) -> None:
    assert stems(one) == stems(other)


def test_words_without_meaning_are_left_out() -> None:
    assert stems("It is what it is, and the") == set()
