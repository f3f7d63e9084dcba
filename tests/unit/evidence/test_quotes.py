"""The quote that carries a claim, and the facts of a claim that stand nowhere."""

import pytest

from evidence.quotes import LEAST_COVERAGE, LONGEST_QUOTE, find_quote, missing_facts, spans_of
from graph.state import Passage
from tests.scripted import passage

LEASE = passage(
    "The lease runs for five years. The tenant pays the rent in advance. Dogs are not allowed in the garden."
)
SKY = passage("Air scatters blue light more than red.\nThe sea looks blue too.")


def quoted(claim: str, passages: list[Passage], question: str = "") -> str | None:
    quote = find_quote(claim, passages, question)
    if quote is None:
        return None
    text = next(one["text"] for one in passages if one["id"] == quote["passage"])
    return text[quote["start"] : quote["end"]]


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("The tenant pays rent in advance.", "The tenant pays the rent in advance."),
        ("Rent is paid in advance by tenants.", "The tenant pays the rent in advance."),
        ("The lease runs five years.", "The lease runs for five years."),
        ("The lease runs 5 years.", "The lease runs for five years."),
        ("Blue light is scattered more than red by air.", "Air scatters blue light more than red."),
        (
            "The lease runs five years and the tenant pays rent in advance.",
            "The lease runs for five years. The tenant pays the rent in advance.",
        ),
        ("Bees make honey.", None),
        ("The.", None),
        ("", None),
    ],
)
def test_a_quote_is_the_shortest_verbatim_span_that_carries_the_claim(claim: str, quote: str | None) -> None:
    assert quoted(claim, [LEASE, SKY]) == quote


def test_a_quote_carries_more_than_half_of_the_claim() -> None:
    assert LEAST_COVERAGE == 0.5
    half = [passage("alpha beta.")]
    assert quoted("alpha beta gamma delta.", half) is None
    assert quoted("alpha beta gamma.", half) == "alpha beta."


def test_a_longer_quote_must_carry_clearly_more() -> None:
    words = "amber basalt cobalt dolomite emerald feldspar gypsum halite iolite jasper kyanite lapis mica nickel onyx"
    passages = [passage(f"{words.capitalize()}. {'Whereupon nothing further followed, ' * 7}pyrite.")]
    assert quoted(f"{words} pyrite.", passages) == f"{words.capitalize()}."


def test_words_of_the_question_carry_less() -> None:
    passages = [passage("Aspirin is a common medicine weight."), passage("Its mass is 180 g.")]
    claim = "Aspirin weight is 180 g."
    assert quoted(claim, passages, "What is the weight of aspirin?") == "Its mass is 180 g."


def test_of_equal_spans_the_earlier_passage_is_quoted() -> None:
    passages = [passage("The sky is blue.", id="one"), passage("The sky is blue.", id="two")]
    quote = find_quote("The sky is blue.", passages)
    assert quote is not None
    assert quote["passage"] == "one"


def test_chinese_is_quoted_too() -> None:
    assert quoted("天空是蓝色的。", [passage("海水很咸。天空是蓝色的。")]) == "天空是蓝色的。"


def test_two_sentences_are_quoted_together_only_while_they_are_short() -> None:
    long = "word " * (LONGEST_QUOTE // 5) + "end."
    assert all(end - start <= LONGEST_QUOTE for start, end in spans_of(f"Short one. {long}")[2:])
    assert len(spans_of("One is. Two are. Three be.")) == 5


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        # figures
        ("It costs 1,000 euros.", []),
        ("It costs 1000.00 euros.", []),
        ("It costs 1 thousand euros.", []),
        ("It costs 1,001 euros.", ["1001"]),
        ("It has 2 parts and 25 pages.", []),
        ("It has 26 pages.", ["26"]),
        ("The share is 15 percent, or 15%.", []),
        ("The share is 16%.", ["16"]),
        ("It reached 2,500,000 people.", []),
        ("It reached 2.5 million people.", []),
        ("It reached 2.6 million people.", ["2.6"]),
        ("It sold 300 copies.", []),
        ("It sold 3000 copies.", ["3000"]),
        ("It began at 9:00.", []),
        ("It began at 9:30.", ["30"]),
        ("It came 1st.", []),
        ("The distance is 12000 km.", []),
        ("It weighs 180.16 g.", []),
        ("It weighs 180.17 g.", ["180.17"]),
        ("The year 1999 was asked about.", []),
        # names
        ("The author is Lovelace.", []),
        ("The author is Babbage.", ["Babbage"]),
        ("It says Babbage and Babbage.", ["Babbage"]),
        ("Babbage wrote it.", []),
        ("Retrieval-Augmented Generation was used.", []),
        ("It is said of Germans.", []),
        ("It is said of Martians.", ["Martians"]),
        ("Note: Nobody knows.", []),
        ('He said "Nobody knows".', []),
        ("It was asked by Turing.", []),
        ("The IPCC did it.", []),
    ],
)
def test_figures_and_names_that_stand_nowhere(claim: str, missing: list[str]) -> None:
    text = (
        "Ada Lovelace wrote it. It costs 1,000 euros, has two parts and twenty-five pages, and holds 15 percent. "
        "About 2.5 million people saw it; three hundred copies were sold. It began at nine and came first. "
        "The road has 12 000 km. It weighs 180.16 g. A German used retrieval-augmented generation."
    )
    assert missing_facts(claim, [passage(text)], "Did Turing ask in 1999?") == missing


def test_a_fact_may_stand_in_any_of_the_passages() -> None:
    assert missing_facts("In 1969 came Armstrong.", [passage("It was 1969."), passage("armstrong landed")], "") == []
