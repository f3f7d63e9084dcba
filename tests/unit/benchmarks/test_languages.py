import pytest

from benchmarks.languages import LANGUAGES, check


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_rules_pass_right_answers_and_catch_changed_figures(language: str) -> None:
    checked = check(language)
    assert checked["right answers"].asked == 10
    assert checked["changed figures"].asked >= 7
    assert [one.wrong for one in checked.values()] == [(), (), ()]
