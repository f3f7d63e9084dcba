"""The questions in five languages, and what their benchmark counts."""

from typing import Any

import pytest

from benchmarks.languages import DATA, LANGUAGES, check, figures_of, is_worded_in
from benchmarks.sample import questions_in
from core.wording import WORDINGS
from grounding.language import language_of


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_rules_pass_right_answers_and_catch_changed_figures(language: str) -> None:
    checked = check(language)
    assert checked.right == 10
    assert checked.changed >= 7
    assert (checked.vetoed, checked.missed, checked.vetoed_elsewhere) == ((), (), ())


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_twenty_questions_half_of_them_answerable_in_a_language_that_is_known(language: str) -> None:
    examples = questions_in(DATA / f"{language}.jsonl")
    assert len(examples) == 20
    assert sum(example.answerable is True for example in examples) == 10
    assert {language_of(example.question) for example in examples} == {language}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_wording_is_told_from_those_of_other_languages(language: str) -> None:
    wording = WORDINGS[language]
    said = wording.unanswered.format(asked="?", why=wording.why["declined"])
    assert [one for one in LANGUAGES if is_worded_in(one, said)] == [language]


def row(language: str, answerable: bool, outcome: str, answer: str = "", *vetoes: str) -> dict[str, Any]:
    return {
        "language": language,
        "answerable": answerable,
        "outcome": outcome,
        "answer": answer,
        "vetoes": list(vetoes),
    }


def test_abstentions_and_vetoes_of_other_languages_are_counted() -> None:
    no = WORDINGS["de"].unanswered.format(asked="?", why=WORDINGS["de"].why["declined"])
    found = figures_of(
        [
            row("de", True, "grounded", "Ja.", "Ja, 42. (42 stands in no passage.)"),
            row("de", True, "abstained", no, "Anna kam. (Anna stands in no passage.)"),
            row("de", False, "abstained", no),
            row("de", False, "abstained", "The documents do not answer “?”: no."),
        ]
    )
    assert found["abstention_f1"] == pytest.approx(2 * 2 / (3 + 2))
    assert (found["abstained"], found["worded"]) == (3, 2)
    assert found["foreign_vetoes"] == ["Anna kam. (Anna stands in no passage.)"]
