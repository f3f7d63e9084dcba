"""Cleaning takes out what a reader cannot see, and nothing that a reader can."""

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import as_json, clean, is_blank, one_line, path_text, shortened, shown_path

# Format characters that are printed: Arabic, Syriac and Kaithi signs before or round a number.
PRINTED = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
# Invisible though Unicode counts them as letters or marks: Hangul fillers, joiners, selectors.
FILLERS = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)}


def has_no_shape(character: str) -> bool:
    code = ord(character)
    category = unicodedata.category(character)
    return (category in ("Cc", "Cf", "Cs", "Zl", "Zp") or code in FILLERS) and code not in PRINTED


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
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://other.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]never ended", "]never ended"),
        ("blank\u2800cell", "blank cell"),
        ("ក\u17b5\U0001d173\U00013430", "ក"),
        ("hard\u00a0space\u2003wide", "hard space wide"),
        ("half \ud83d pair", "half  pair"),
        ("mark \ufffd\ufffe stays", "mark \ufffd stays"),
        ("naïve café — “quoted” 日本語 مرحبا 😀", "naïve café — “quoted” 日本語 مرحبا 😀"),
    ],
)
def test_invisible_characters_go_and_visible_ones_stay(raw: str, cleaned: str) -> None:
    assert clean(raw) == cleaned
    assert clean(cleaned) == cleaned


@pytest.mark.parametrize("plane", range(0, sys.maxunicode + 1, 0x10000))
def test_no_character_without_a_shape_is_left(plane: int) -> None:
    hidden = list(filter(has_no_shape, map(chr, range(plane, plane + 0x10000))))
    assert clean("".join(f"a{one}" for one in hidden)).strip("a\t\n") == ""
    assert [one for one in hidden if one in clean(f"a{one}b") and one not in "\t\n"] == []


@given(st.text(st.one_of(st.characters(), st.sampled_from("\x1b[]m;\x07\\\r\u200b\ufffd\u2028")), max_size=30))
def test_cleaning_twice_changes_nothing_and_leaves_nothing_that_steers_a_terminal(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert not {"\x1b", "\x9b", "\x07", "\x08", "\r"} & set(cleaned)


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        ("a\n  b\r\nc\td\u2028e\x85f", "a b c d e f"),
        ("a" + 80 * " " + "b" + 80 * "\u3000" + "c", "a b c"),
        ("two  spaces are kept", "two  spaces are kept"),
        (" \n\u2800a\u200b ", "a"),
        ("a\x1b[2J\u202eb", "ab"),
    ],
)
def test_a_line_is_one_line(raw: str, line: str) -> None:
    assert one_line(raw) == line
    assert one_line(line) == line


@pytest.mark.parametrize(
    "text", ["", " \n", "\u200b", "\u2060\ufeff\xad", "\U000e0041", "\u3164", "\u2800\u3000", "\ud83d", "\ufffd\0"]
)
def test_what_nobody_sees_is_blank(text: str) -> None:
    assert is_blank(text)
    assert not is_blank(f"{text}?")


HIDDEN = "\x00\x1b\x7f\x85\x9b\xad\u061c\u200b\u200e\u202e\u2028\u2029\u2066\u3164\ufeff\U000e0041"


@given(st.dictionaries(st.text(), st.lists(st.text(st.one_of(st.characters(), st.sampled_from(HIDDEN))))))
def test_json_parses_to_the_very_same_and_hides_nothing(value: dict[str, list[str]]) -> None:
    written = as_json(value, indent=2)
    assert json.loads(written) == json.loads(json.dumps(value))  # which makes one character of two halves
    assert set(filter(has_no_shape, written)) <= {"\n"}


def test_json_escapes_as_json_does() -> None:
    assert as_json({"é\u202e": ["\x7f\x9b\u2028\ud800", "\U000e0041", "日本 😀"]}) == (
        '{"é\\u202e": ["\\u007f\\u009b\\u2028\\ud800", "\\udb40\\udc41", "日本 😀"]}'
    )
    assert as_json("é\x7f", ensure_ascii=True) == '"\\u00e9\\u007f"'


def test_a_long_text_is_one_short_line() -> None:
    assert shortened("a\nb  c", 10) == "a b c"
    assert shortened("x" * 20, 10) == "x" * 9 + "…"


def test_the_name_of_a_file_is_not_taken_for_the_label_of_a_line() -> None:
    assert shown_path("note: the lease.pdf") == "'note: the lease.pdf'"
    assert shown_path("notes/12:30.md") == "notes/12:30.md"
    assert path_text("note: the\nlease.pdf") == "note: the lease.pdf"
