"""Cleaning takes out what a reader cannot see, and nothing that a reader can."""

import pytest

from retrieval.clean import clean


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("zero\u200bwidth\u200d\ufeff", "zerowidth"),
        ("tag\U000e0041\U000e007f smuggled", "tag smuggled"),
        ("\u202eright to left\u202c \u2066x\u2069", "right to left x"),
        ("variation\ufe0f\U000e01ef", "variation"),
        ("nul\x00 bell\x07 c1\x9f del\x7f", "nul bell c1 del"),
        ("kept:\ttab\nline", "kept:\ttab\nline"),
        ("dos\r\nmac\rpage\x0cend\u2028", "dos\nmac\npage\nend\n"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("hard\u00a0space\u2003wide", "hard space wide"),
        ("half \ud83d pair", "half  pair"),
        ("mark \ufffd\ufffe stays", "mark \ufffd stays"),
        ("naïve café — “quoted” 日本語 مرحبا 😀", "naïve café — “quoted” 日本語 مرحبا 😀"),
    ],
)
def test_invisible_characters_go_and_visible_ones_stay(raw: str, cleaned: str) -> None:
    assert clean(raw) == cleaned
    assert clean(cleaned) == cleaned
