import pytest

from grounding.language import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The rent is due on the first of the month.", "en"),
        ("Die Miete ist am ersten des Monats zu zahlen und wird nicht erlassen.", "de"),
        ("Le loyer est dû le premier du mois.", "fr"),
        ("El alquiler es de los primeros del mes.", "es"),
        ("De huur is op de eerste van de maand te betalen.", "nl"),
        ("Brazil emitted 59 Gt.", None),
        ("", None),
        ("天空是蓝色的。", None),
    ],
)
def test_the_language_of_a_text(text: str, language: str | None) -> None:
    assert language_of(text) == language
