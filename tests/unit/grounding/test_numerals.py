import pytest

from grounding.numerals import WORDS, figures_in_full, in_digits


@pytest.mark.parametrize(
    ("language", "text", "digits"),
    [
        ("de", "zwölf Brunnen", "12 Brunnen"),
        ("fr", "quatre-vingt-dix-sept", "97"),
        ("es", "treinta y dos", "32"),
        ("zh", "一百二十三", "123"),
        ("zh", "二〇一九年", "2019年"),
        ("zh", "一亿三千万", "130000000"),
    ],
)
def test_number_words_are_read(language: str, text: str, digits: str) -> None:
    assert in_digits(text, {language}) == digits
    assert figures_in_full(text, {language}) == text


@pytest.mark.parametrize(
    ("language", "text", "digits"),
    [
        ("de", "1.234,5 km", "1234,5 km"),
        ("es", "30 mil", "30000"),
        ("zh", "3万人", "30000人"),
        ("zh", "3万亿", "3000000000000"),
        ("de", "3.5.2021", "3.5.2021"),
        ("de", "10.30 Uhr", "10:30 Uhr"),
    ],
)
def test_figures_lose_separators_and_scales(language: str, text: str, digits: str) -> None:
    assert figures_in_full(text, {language}) == digits


def test_half_a_character_does_no_harm() -> None:
    assert in_digits("zw\ud800 zwölf", {"de"}) == "zw  12"


@pytest.mark.parametrize("language", sorted(WORDS))
def test_every_language_of_number_words_is_read(language: str) -> None:
    assert in_digits("8 - 9", {language}) == "8 - 9"
