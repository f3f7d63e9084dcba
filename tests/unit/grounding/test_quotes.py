from pathlib import Path

import pytest

from core.types import Passage, Quote
from grounding.claims import statements, with_lead_in
from grounding.quotes import LONGEST_QUOTE, find_quote, find_second_quote, missing_facts, quotable_spans
from tests.scripted import passage

LEASE = passage(
    "The lease runs for five years. The tenant pays the rent in advance. Dogs are not allowed in the garden."
)
SKY = passage("Air scatters blue light more than red.\nThe sea looks blue too.")


def quoted(claim: str, passages: list[Passage], question: str = "", context: str = "") -> str | None:
    quote = find_quote(claim, passages, question, context)
    if quote is None:
        return None
    return next(one["text"] for one in passages if one["id"] == quote["passage"])[quote["start"] : quote["end"]]


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("The lease runs 5 years.", "The lease runs for five years."),
        (
            "The lease runs five years and the tenant pays rent in advance.",
            "The lease runs for five years. The tenant pays the rent in advance.",
        ),
        ("Bees make honey.", None),
        ("The.", None),
    ],
)
def test_a_quote_is_the_shortest_verbatim_span_that_carries_the_claim(claim: str, quote: str | None) -> None:
    assert quoted(claim, [LEASE, SKY]) == quote


def test_a_quote_carries_more_than_half_of_the_claim() -> None:
    half = [passage("alpha beta.")]
    assert quoted("alpha beta gamma delta.", half) is None
    assert quoted("alpha beta gamma.", half) == "alpha beta."


def test_a_longer_quote_must_carry_clearly_more() -> None:
    words = "amber basalt cobalt dolomite emerald feldspar gypsum halite iolite jasper kyanite lapis mica nickel onyx"
    passages = [passage(f"{words.capitalize()}. {'Whereupon nothing further followed, ' * 7}pyrite.")]
    assert quoted(f"{words} pyrite.", passages) == f"{words.capitalize()}."


def test_words_of_the_question_carry_less() -> None:
    passages = [passage("Aspirin is a common medicine weight."), passage("Its mass is 180 g.")]
    assert quoted("Aspirin weight is 180 g.", passages, "What is the weight of aspirin?") == "Its mass is 180 g."


def test_of_equal_spans_the_earlier_passage_is_quoted() -> None:
    passages = [passage("The sky is blue.", id="one"), passage("The sky is blue.", id="two")]
    assert find_quote("The sky is blue.", passages)["passage"] == "one"


def test_two_sentences_are_quoted_together_only_while_they_are_short() -> None:
    long = "word " * (LONGEST_QUOTE // 5) + "end."
    assert all(end - start <= LONGEST_QUOTE for start, end in quotable_spans(f"Short one. {long}")[2:])
    assert len(quotable_spans("One is. Two are. Three be.")) == 5
    assert quotable_spans("One is. Two are.") == [(0, 7), (8, 16), (0, 16)]
    *_, last = quotable_spans(f"{long} One is. Two are.")
    assert last[1] - last[0] == len("One is. Two are."), "also far into a text"


@pytest.mark.parametrize(
    ("claim", "context", "quote"),
    [
        ("pay water", "The tenant must:", "The tenant must pay for water and gas."),
        ("pay water", "The landlord must:", "The landlord must pay for the water main."),
    ],
)
def test_the_lead_in_of_a_list_chooses_the_quote(claim: str, context: str, quote: str | None) -> None:
    texts = "The landlord must pay for the water main. Dogs may stay. The tenant must pay for water and gas."
    assert quoted(claim, [passage(texts)], context=context) == quote


def test_a_word_of_the_context_breaks_a_tie_also_if_the_question_has_it() -> None:
    text = "Economy is for flights of six hours. Premium may be taken for flights of six hours."
    found = quoted("flights of six hours", [passage(text)], "What is the premium of flights?", "premium:")
    assert found == "Premium may be taken for flights of six hours."


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        ("Brazil emitted 60 Gt in 2019.", ["60", "Brazil"]),
        ("The net emissions of Brazil were 59 Gt in 2021.", ["2021", "Brazil"]),
        ("The net emissions were 59 Gt in 2019.", []),
    ],
)
def test_figures_and_names_are_looked_up_together(claim: str, missing: list[str]) -> None:
    found = [passage("Global net emissions in 2019 were 59 Gt.", source="climate.md")]
    assert missing_facts(claim, found, "How much did Brazil emit in 2021?") == missing


@pytest.mark.parametrize(
    ("source", "elsewhere", "missing"),
    [
        ("climate.md", [], ["Brazil"]),
        ("brazil-2019.md", [], []),
        ("Reports/BrazilReport.pdf", [], []),
        ("climate.md", [passage("Brazil is large.", source="climate.md")], []),
        ("climate.md", [passage("Brazil is large.", source="other.md")], ["Brazil"]),
    ],
)
def test_a_name_that_was_asked_for_may_stand_elsewhere_in_the_document(
    source: str, elsewhere: list[Passage], missing: list[str]
) -> None:
    found = [passage("Global net emissions were 59 Gt.", source=source)]
    claim = "Brazil emitted 59 Gt."
    assert missing_facts(claim, found, "How much did Brazil emit?", elsewhere=elsewhere) == missing


def test_a_name_that_was_not_asked_for_must_stand_in_what_was_read() -> None:
    found = [passage("The net emissions were 59 Gt.", source="brazil.md")]
    assert missing_facts("The net emissions of Brazil were 59 Gt.", found, "How much was emitted?") == ["Brazil"]


def test_a_fact_may_stand_in_any_of_the_passages() -> None:
    assert missing_facts("In 1969 came Armstrong.", [passage("It was 1969."), passage("armstrong landed")], "") == []


LIBRARY = Path(__file__).resolve().parents[3] / "data" / "library"


@pytest.mark.parametrize("name", sorted(one.name for one in LIBRARY.iterdir() if one.suffix in (".md", ".txt")))
def test_what_a_document_says_itself_never_lacks_a_fact(name: str) -> None:
    text = (LIBRARY / name).read_text(encoding="utf-8")
    for paragraph in text.split("\n\n"):
        read = [passage(paragraph)]
        for claim in statements(paragraph):
            assert missing_facts(with_lead_in(claim.text, claim.context), read, "") == []


def test_a_claim_that_joins_two_passages_has_a_quote_in_each() -> None:
    survey, tveit = passage("The survey of Skarvik was led by Runa Tveit."), passage("Runa Tveit studied in Plymouth.")
    claim = "Runa Tveit, who led the survey of Skarvik, studied in Plymouth."
    first = find_quote(claim, [survey, tveit])
    assert first["passage"] == survey["id"]
    second = find_second_quote(claim, [survey, tveit], first)
    assert second == Quote(passage=tveit["id"], start=0, end=len(tveit["text"]))
    assert find_second_quote("The survey of Skarvik was led by Runa Tveit.", [survey, tveit], first) is None
    assert find_second_quote(claim, [survey, passage("The sea is salt.")], first) is None


PAGE = passage(
    "Newline in constant. A string must end on its line.", title="Compiler errors", heading="Compiler error C2001"
)
ASKED = "What does compiler error C2001 mean?"


@pytest.mark.parametrize(
    ("claim", "question", "quote"),
    [
        ("Compiler error C2001 means newline in constant.", ASKED, "Newline in constant."),
        ("It is C2001.", "Which compiler error stands for a newline in a constant?", "Newline in constant."),
        ("Compiler error C2001 means division by zero.", ASKED, None),
        ("C2001 is a compiler error.", "", None),
    ],
)
def test_words_in_the_heading_need_no_quote_and_are_none(claim: str, question: str, quote: str | None) -> None:
    assert quoted(claim, [PAGE], question) == quote


def test_of_two_pages_that_say_the_same_the_one_whose_heading_the_claim_names_is_quoted() -> None:
    other = passage("Newline in constant.", id="other", heading="Compiler error C3001")
    claim = "Compiler error C2001 means newline in constant."
    assert find_quote(claim, [other, PAGE], ASKED)["passage"] == PAGE["id"]


def test_a_heading_states_names_and_figures() -> None:
    claim = "In Belgium error C2001 means newline in constant."
    text = "There is a newline in a constant. A string must end on the line on which it begins."
    assert missing_facts(claim, [passage(text, title="Belgium", heading="C2001")], "") == []
    assert missing_facts(claim, [passage(text)], "") == ["2001", "Belgium", "C2001"]


TRAIN = "小火车每年三月到十一月运行，每天六班。"
BRIDGE = "Die Brücke wurde 1921 eröffnet und ist zwölf Meter breit. Die Häuser am Ufer gehören der Stadt."


@pytest.mark.parametrize(
    ("claim", "text", "quote"),
    [
        ("Das Haus am Ufer gehört der Stadt.", BRIDGE, "Die Häuser am Ufer gehören der Stadt."),
        ("Am Bahnhof gibt es einen Kiosk, der Zeitungen verkauft.", BRIDGE, None),
        ("每天6班次。", f"{TRAIN}车站有两个入口。", TRAIN),
        ("车站附近的酒店价格很贵。", TRAIN, None),
    ],
)
def test_claims_in_other_languages_are_compared_by_their_stems(claim: str, text: str, quote: str | None) -> None:
    assert quoted(claim, [passage(text)]) == quote


@pytest.mark.parametrize(
    "claim", ["The bridge over the river was opened to the public in 1921.", "这座桥于1921年开放给市民使用。"]
)
def test_a_claim_in_another_language_is_quoted_and_its_figures_looked_up_all_the_same(claim: str) -> None:
    assert quoted(claim, [passage(BRIDGE)]) is not None
    assert missing_facts(claim, [passage(BRIDGE)], "") == []
    assert missing_facts(claim.replace("1921", "1931"), [passage(BRIDGE)], "") == ["1931"]


def test_the_nearest_sentence_is_quoted_where_languages_differ() -> None:
    nearest = "Die Brücke wurde 1921 eröffnet und ist zwölf Meter breit."
    read = [passage(f"Die Häuser am Ufer gehören der Stadt. {nearest}")]
    assert quoted("The bridge was opened in 1921 by the mayor.", read) == nearest


def test_a_passage_in_two_languages_is_judged_by_no_rule_for_one() -> None:
    both = passage(f"{BRIDGE} The gardens behind the bridge are open to everybody from the spring to the late autumn.")
    claim = "The director of the bridge is called Petersen, and she lives nearby."
    assert missing_facts(claim, [both], "") == []
    assert quoted(claim, [both]) is not None


def test_what_is_left_out_of_a_passage_is_not_quoted() -> None:
    text = "Norway: 12 boats.\nSweden: 12 boats.\n"
    one = passage(text, left_out=[(0, 18)])
    for said in ("12 boats", "Norway has 12 boats"):
        quote = find_quote(said, [one])
        assert quote is not None
        assert text[quote["start"] : quote["end"]] == "Sweden: 12 boats."
    first, other = passage("The fleet of Norway is old."), "It has 12 boats in Norway."
    said = f"The fleet of Norway is old. {other}"
    old = find_quote("The fleet of Norway is old.", [first])
    assert old is not None
    assert find_second_quote(said, [first, passage(other)], old) is not None
    assert find_second_quote(said, [first, passage(other, left_out=[(0, 9)])], old) is None
