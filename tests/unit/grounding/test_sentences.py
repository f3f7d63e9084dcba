import random

import pytest

from grounding.sentences import AT_ONCE, lines, sentences


@pytest.mark.parametrize(
    "found",
    [
        ["Dr. Smith met Prof. Jones and Mr. Lee.", "They spoke."],
        ["It was J. R. R. Tolkien who wrote it.", "He was born in 1892."],
        ["The U.S. Government agreed.", "It paid."],
        ["The shop closes at 5 p.m.", "It opens at 9 a.m. on Mondays."],
        ["It comes from want of vitamin C.", "The answer is no.", "It was common at sea."],
        ["See https://example.com/a.html?b=c.d for more.", "It helps."],
        ["He said “Stop!”", "“Why?” she asked."],
        ["Use `foo. Bar` now.", "`Bar` is next."],
        ["Er kam am 3. Mai 2021 an.", "Er blieb."],
        ["Es war im 19. Jahrhundert.", "Heute nicht."],
        ["It scored 5.", "August is warm."],
        ["The rent is approx. EUR 500, incl. VAT.", "It is due."],
        ["Keep this in mind.", "Take max. 4 tablets."],
        ["Nach § 5 Abs. 1 BGB beträgt sie ca. 500 Euro zzgl. Nebenkosten.", "Sie ist fällig."],
        ["Die Miete ist bis zum 3. Werktag zu zahlen.", "Er haftet nicht."],
        ["Am 1. und 15. des Monats ist Zahltag.", "Die 2. Rate folgt."],
        ["La Sra. López firmó por aprox. 500 euros.", "Vale."],
    ],
)
def test_abbreviations_code_and_dates_do_not_end_a_sentence(found: list[str]) -> None:
    text = " ".join(found)
    assert [text[slice(*span)] for span in sentences(text)] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The tenant pays the rent in advance on the first day\nof the month. It is due.", 2),
        ("- The tenant pays the rent in advance on the first day\n  of the month.\n- It is due.", 2),
        ("The tenant pays the rent in advance on the first day.\nof the month.", 2),
        ("The tenant pays the rent in advance on the first day\nThe landlord mends.", 2),
        ("name: acetylsalicylic acid, a very common medicine\ndose: 500 mg", 2),
        ("The tenant pays the rent in advance on the first day\n\nof the month.", 2),
        ("The tenant pays the rent in advance on the first day\n- of the month.", 2),
    ],
)
def test_a_sentence_goes_on_in_the_next_line_only_where_the_first_breaks_off(text: str, found: int) -> None:
    assert len(sentences(text)) == found


def test_lines_have_kinds() -> None:
    text = "# A\n\nIt is.\n- b\n  - c\n---\n| d |\n|---|\n| e |\n```\nf\n\ng\n```\n**H:**\n"
    assert [line.kind for line in lines(text)] == "title text item item head row code title".split()
    assert [line.indent for line in lines(text) if line.kind == "item"] == [0, 2]
    assert [line.after_blank for line in lines(text)][:3] == [False, True, False]


def test_titles_and_rules_are_no_sentences_but_the_head_of_a_table_is_one() -> None:
    text = "# A\n***\n| d |\n|---|\n| e |"
    assert [text[slice(*span)] for span in sentences(text)] == ["| d |", "| e |"]


def test_no_character_is_lost_or_fatal() -> None:
    dice = random.Random(1)
    letters = "aA.!?。！ \n\t\"'“”()1é\u2028\x85\x0b\x1c`*—…\u200b\ufeff𝒳\u3000\ud800\udc00\u0301»।"
    for _ in range(3000):
        text = "".join(dice.choice(letters) for _ in range(dice.randint(0, 30)))
        position = 0
        for start, end in sentences(text):
            assert text[start:end] == text[start:end].strip()
            assert position <= start < end
            position = end


def test_a_very_long_line_is_split_as_a_short_one() -> None:
    text = "It is so. " * AT_ONCE
    assert {text[slice(*span)] for span in sentences(text)} == {"It is so."}
