import pytest

from grounding.language import MOST_PIECES, PIECE, is_english, language_of, languages_in

ENGLISH = "The bridge was opened in the spring and has been repaired twice since then. "
GERMAN = "Die Brücke wurde im Frühjahr eröffnet und ist seitdem zweimal ausgebessert worden. "


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Die Miete ist am ersten des Monats zu zahlen und wird nicht erlassen.", "de"),
        ("Le loyer est dû le premier du mois.", "fr"),
        ("El alquiler es de los primeros del mes.", "es"),
        ("De huur is op de eerste van de maand te betalen.", "nl"),
        ("天空是蓝色的。", "zh"),
        ("Who opened the bridge?", "en"),
        ("Brazil emitted 59 Gt.", None),
        ("Harry Potter", None),
        ("42 %", None),
        ("", None),
    ],
)
def test_the_language_of_a_text(text: str, language: str | None) -> None:
    assert language_of(text) == language


def test_a_text_in_two_languages_has_both() -> None:
    assert languages_in(ENGLISH * 3 + GERMAN * 3) == {"en", "de"}
    assert not is_english(ENGLISH * 3 + GERMAN * 3)
    assert is_english(ENGLISH, "Brazil emitted 59 Gt.")


def test_a_name_in_another_language_is_no_text_in_it() -> None:
    assert is_english("Goethe wrote Die Leiden des jungen Werthers in four weeks, and it made him famous at once.")


def test_a_long_text_is_sampled() -> None:
    languages_in.cache_clear()
    language_of.cache_clear()
    languages_in("".join(f"{number} {ENGLISH}" for number in range(MOST_PIECES * PIECE)))
    assert language_of.cache_info().misses <= MOST_PIECES
