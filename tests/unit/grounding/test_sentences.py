"""Where sentences end, in drafts and in passages."""

import random

import pytest

from grounding.sentences import AT_ONCE, lines, sentences


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Mayor Li of Washington D.C. Mayor or not. It is.", ["Mayor Li of Washington D.C. Mayor or not.", "It is."]),
        ("He lives in Washington, D.C. The city is old.", ["He lives in Washington, D.C.", "The city is old."]),
        ("The answer is no. It is modern art. See Art. 5.", ["The answer is no.", "It is modern art.", "See Art. 5."]),
        ("See Nos. 3 and 4, and Sec. 5 of it.", ["See Nos. 3 and 4, and Sec. 5 of it."]),
        (
            "It is on Main St. The shop is on St. James Street.",
            ["It is on Main St.", "The shop is on St. James Street."],
        ),
        (
            "Gen. Smith met Sen. Jones at Mt. Hood. They spoke.",
            ["Gen. Smith met Sen. Jones at Mt. Hood.", "They spoke."],
        ),
        ("Ask Jane Doe, Ph.D. She may write.", ["Ask Jane Doe, Ph.D.", "She may write."]),
        ("Use `foo. Bar` now. Then rest.", ["Use `foo. Bar` now.", "Then rest."]),
        ("Use `foo`. `Bar` is next.", ["Use `foo`.", "`Bar` is next."]),
        ("Er kam am 3. Mai 2021 an. Er blieb.", ["Er kam am 3. Mai 2021 an.", "Er blieb."]),
        ("Es war im 19. Jahrhundert. Heute nicht.", ["Es war im 19. Jahrhundert.", "Heute nicht."]),
        ("It scored 5. August is warm.", ["It scored 5.", "August is warm."]),
        ("It scored 5. Nobody cared.", ["It scored 5.", "Nobody cared."]),
        ("Node.js runs. Next.js too.", ["Node.js runs.", "Next.js too."]),
    ],
)
def test_abbreviations_code_and_dates_do_not_end_a_sentence(text: str, found: list[str]) -> None:
    assert [text[slice(*span)] for span in sentences(text)] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The tenant pays the rent in advance on the first day\nof the month. It is due.", 2),
        ("- The tenant pays the rent in advance on the first day\n  of the month.\n- It is due.", 2),
        ("The tenant pays the rent in advance on the first day.\nof the month.", 2),
        ("The tenant pays the rent in advance on the first day\nThe landlord mends.", 2),
        ("name: acetylsalicylic acid, a very common medicine\ndose: 500 mg", 2),
        ("short line\nof verse", 2),
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
