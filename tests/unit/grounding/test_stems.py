import pytest

from grounding.stems import stems


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("scatters", "scattered"),
        ("TENANT'S", "tenants"),
        ("five", "5"),
        ("20kg", "20 kg"),
        ("3rd", "3"),
    ],
)
def test_forms_of_a_word_are_one(one: str, other: str) -> None:
    assert stems(one) == stems(other)


def test_words_without_meaning_are_left_out() -> None:
    assert stems("It is what it is, and the") == set()
