import pytest

from app.checking import checked_text
from app.checking.checked_text import CheckedText, check_text
from core.errors import RequestError
from run.context import Context
from tests.scripted import ScriptedCritic, ScriptedRetriever, services

DOGS = "Dogs are allowed in the garden."
CATS = "Cats are allowed in the house."
TEXT = f"{CATS}\n\n{DOGS} Are birds? {CATS}"


async def check(text: str = TEXT, **given: object) -> CheckedText:
    critic = ScriptedCritic(otherwise={"support": "fully supported"})
    bound = services(critic=critic, retriever=ScriptedRetriever(always=[DOGS, CATS]))
    return await check_text(text, bound, Context(), **given)  # type: ignore[arg-type]


async def test_claims_stand_where_they_say_and_a_quote_is_cited_once() -> None:
    checked = await check()
    assert checked.text == TEXT
    assert [(one.text, one.label, one.citations) for one in checked.claims] == [
        (CATS, "fully supported", [1]),
        (DOGS, "fully supported", [2]),
        ("Are birds?", "no claim", []),
        (CATS, "fully supported", [1]),
    ]
    assert all(TEXT[one.start : one.end] == one.text for one in checked.claims)
    assert [(one["id"], one["quote"]) for one in checked.citations] == [(1, CATS), (2, DOGS)]
    assert checked.usage["model_calls"] == 3
    assert (checked.count("fully supported"), checked.count("contradicted")) == (3, 0)


async def test_invisible_characters_are_left_out_of_the_text() -> None:
    checked = await check(f"\u200b{DOGS}\u202e")
    assert (checked.text, [one.text for one in checked.claims]) == (DOGS, [DOGS])


async def test_nothing_to_check_and_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RequestError, match="no sentence to check"):
        await check(" \n")
    monkeypatch.setattr(checked_text, "MOST_CLAIMS", 3)
    with pytest.raises(RequestError, match="4 sentences, more than 3: check it in parts"):
        await check()
