"""Each rule over the longest text that a server or a document may send: its cost grows as the text does.

What costs the square of such a text takes many seconds of the processor's time, and what is linear less than one.
"""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from core.types import Quote
from evaluation.measures.scores import CITED
from grounding.answers import has_subjects
from grounding.claims import LONGEST_CLAIM, claim_ends, statements
from grounding.conditions import conditions_of
from grounding.dates import dates, without_dates
from grounding.instructions import is_instruction
from grounding.measures import in_english_units
from grounding.names import Lexicon, missing_names, names
from grounding.numbers import missing_figures, stated
from grounding.quotes import find_quote, missing_facts
from grounding.refusals import declines
from grounding.stems import fold
from models.chat import MAX_CHARACTERS_PER_TOKEN
from models.critic import by_reply
from prompts.generate import MAX_TOKENS
from prompts.hallucination_check import SUPPORT
from tests.scripted import passage
from tests.unit.retrieval.documents.processor_time import bounded

LONGEST_TEXT = MAX_TOKENS * MAX_CHARACTERS_PER_TOKEN
PASSAGES = 60_000  # characters: more of them are beyond the default limit of tokens
MARKS = "a" + "\u0301" * (PASSAGES // 2) + "\u0316" * (PASSAGES // 2)


@pytest.fixture(autouse=True)
def _soon() -> Iterator[None]:
    with bounded(2.0):
        yield


def repeated(unit: str, size: int = LONGEST_TEXT) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def counted(unit: str, size: int = LONGEST_TEXT, start: int = 0) -> str:
    """The unit with ever another number in it."""
    text, numbers = "", count(start)
    while len(text) < size:
        text += "".join(unit.format(number, letters(number)) for number, _ in zip(numbers, range(100), strict=False))
    return text[:size]


def letters(number: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number:06}")


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(lambda: stated(repeated("7")), id="digits"),
        pytest.param(lambda: stated(repeated("1,", PASSAGES)), id="digits and commas"),
        pytest.param(lambda: fold(MARKS), id="marks on one letter"),
        pytest.param(lambda: is_instruction(MARKS), id="marks in a sentence of a passage"),
        pytest.param(lambda: dates(repeated("3 May ", PASSAGES)), id="dates"),
        pytest.param(
            lambda: without_dates(counted("May {0}, ", PASSAGES, 1000), dates(counted("June {0}, ", PASSAGES, 1000))),
            id="dates by dates",
        ),
        pytest.param(lambda: declines("I don't know" + " " * PASSAGES + "x"), id="white space behind a refusal"),
        pytest.param(lambda: list(names(repeated("a", PASSAGES))), id="one word"),
        pytest.param(lambda: list(names(repeated("a,", PASSAGES))), id="letters and commas"),
        pytest.param(lambda: Lexicon("aaaaaaaaaaaaa " * 2000).has("AAAAAZ"), id="an acronym nearly spelt out"),
        pytest.param(
            lambda: missing_names("the" + counted(" W{1} the", 10_000), counted("{1} ", PASSAGES, 7000), "", "x"),
            id="names by words",
        ),
        pytest.param(
            lambda: missing_figures(counted("{0} hours, ", 4000), counted("{0}.5 minutes ", PASSAGES, 7000), "", ""),
            id="amounts by amounts",
        ),
        pytest.param(
            lambda: missing_figures(
                counted("{0} things ", 4000), "x", counted("{0} ", 8000), counted("{0} things ", start=7000)
            ),
            id="amounts of the question by those of the quote",
        ),
        pytest.param(
            lambda: missing_facts(repeated("60 km ", 4000), [passage(repeated("59 miles. ", PASSAGES))], ""),
            id="figures",
        ),
        pytest.param(
            lambda: [find_quote(f"It is so {n}.", [passage(repeated("It is so. "))]) for n in range(100)],
            id="quotes of many claims",
        ),
        pytest.param(
            lambda: conditions_of(
                passage(counted("§ {0} however {0} days. ", PASSAGES, 7000)), Quote(passage="p", start=0, end=20), ""
            ),
            id="conditions",
        ),
        pytest.param(lambda: in_english_units(repeated("1 and a "), frozenset({"de", "fr"})), id="units"),
        pytest.param(lambda: has_subjects("The a-a 1 Team plan", repeated("a-a-1 ")), id="subjects"),
        pytest.param(lambda: by_reply(SUPPORT, repeated("{", 4 * LONGEST_TEXT)), id="braces"),
        pytest.param(lambda: CITED.sub("", repeated(" ", PASSAGES) + "x"), id="white space of an answer"),
    ],
)
def test_a_rule_costs_no_square_of_the_longest_text(rule: Callable[[], object]) -> None:
    rule()


@pytest.mark.parametrize("unit", ["。", "a\n", "It is. ", "A. ", "((", "“ "])
def test_each_of_many_statements_is_found_where_it_stands(unit: str) -> None:
    draft = repeated(unit)
    found = statements(draft)
    assert claim_ends(draft, [one.text for one in found]) == [one.start + len(one.text) for one in found]


def test_lead_ins_upon_lead_ins_are_kept_only_while_a_claim_with_them_can_be_read() -> None:
    found = statements(repeated("a:\nb\n"))
    assert len(found) == LONGEST_TEXT // 5
    assert max(len(one.context) for one in found) < LONGEST_CLAIM + 10


@pytest.mark.parametrize("text", ["9" * 5000 + " million", "x" + "9" * 5000, "9" * 5000 + " bn"])
def test_a_figure_too_long_to_be_reckoned_with_is_compared_as_it_is_written(text: str) -> None:
    assert missing_figures(text, f"It was {text}.", "", "") == []
    assert missing_figures(text, "It was 9.", "", "") == ["9" * 5000]
