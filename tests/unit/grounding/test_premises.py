"""Which questions bring all they need, so that no library has to be searched for them."""

import pytest

from grounding.premises import brings_premises


@pytest.mark.parametrize(
    ("question", "brings"),
    [
        ("If every A is a B and x is an A, is x a B?", True),
        ("All pumps are machines. Bella is a pump. Is Bella a machine?", True),
        ("If no fish can fly and a herring is a fish, can a herring fly?", True),
        ("If a pump moves 40 litres a minute, how many litres does it move in 5 minutes?", True),
        # What is asked for stands in no premise.
        ("If the tenant leaves early, does he owe rent?", False),
        ("If 2 of 5 tenants leave, do the tenants who leave get a refund?", False),
        ("Do all tenants have to pay a deposit, and when?", False),
        # One premise is none to draw a conclusion from.
        ("If I lose all seats of my plan, do I lose my plan?", False),
        ("Is every pump a machine?", False),
        ("Wenn jede Pumpe eine Maschine ist und x eine Pumpe ist, ist x eine Maschine?", False),
    ],
)
def test_a_conclusion_in_the_words_of_its_premises_needs_no_documents(question: str, brings: bool) -> None:
    assert brings_premises(question) is brings
