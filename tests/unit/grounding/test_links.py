from grounding.links import LONGEST_TEXT, MOST_PASSAGES, linked_pairs
from tests.scripted import passage

SURVEY = "The depth of Skarvik harbour was measured in March. The survey of Skarvik harbour was led by Runa Tveit."
TVEIT = "Runa Tveit studied hydrography in Plymouth and keeps bees."
ACCOUNTS = "Runa Tveit signed the accounts of Skarvik harbour."
OTHER = "The ferry to Ålesund leaves at noon. It takes bicycles."
QUESTION = "Where did the leader of the Skarvik harbour survey study?"


def pairs(question: str, *texts: str) -> list[tuple[str, str]]:
    return [(one["text"], other["text"]) for one, other in linked_pairs(question, [passage(text) for text in texts])]


def test_a_name_in_both_that_the_question_lacks_links_two_passages() -> None:
    assert pairs(QUESTION, OTHER, SURVEY, TVEIT) == [(SURVEY, TVEIT)]


def test_a_name_of_the_question_links_nothing() -> None:
    assert pairs("Where did Runa Tveit, who led the Skarvik harbour survey, study?", SURVEY, TVEIT) == []


def test_passages_that_hold_little_of_the_question_are_not_linked() -> None:
    assert pairs("How many doors does the town hall of Belmarsh have?", SURVEY, TVEIT) == []


def test_a_code_and_a_word_that_is_a_name_elsewhere_link_too() -> None:
    log = "On 12 March line B stood still, since the seal of pump PX-40 had failed."
    list_ = "The PX-40 needs a new seal every 4,000 hours."
    assert pairs("How often must the seal be changed that made line B stand still?", log, list_) == [(log, list_)]
    blue = "The blue of the chapel's ceiling is a pigment called cendral."
    ore = "Cendral is made from an ore that is found near the sea."
    assert pairs("Where is the ore of the blue of the chapel's ceiling found?", blue, ore) == [(blue, ore)]


def test_the_pair_that_holds_most_of_the_question_comes_first() -> None:
    others = ["The ferry was late.", "The mill burnt down.", "It rained in June."]
    assert pairs(QUESTION, ACCOUNTS, TVEIT, SURVEY, *others)[0] == (TVEIT, SURVEY)


def test_a_name_that_most_passages_have_links_none() -> None:
    assert pairs(QUESTION, TVEIT, SURVEY) == [(TVEIT, SURVEY)]
    assert pairs(QUESTION, ACCOUNTS, TVEIT, SURVEY) == []
    assert pairs(QUESTION, ACCOUNTS, TVEIT, SURVEY, "The ferry was late.") == []


def test_only_so_many_passages_and_so_much_of_each_are_compared() -> None:
    texts = [f"Plan {number} of the town." for number in range(MOST_PASSAGES)]
    assert pairs(QUESTION, *texts, SURVEY, TVEIT) == []
    assert pairs(QUESTION, "x " * LONGEST_TEXT + SURVEY, TVEIT) == []
