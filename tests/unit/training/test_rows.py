import re
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from training.asked import Asked, Claim, Family
from training.row_sources import documents, tables
from training.row_words import Kinds, mentions
from training.rows import Passages, row_of

BRIDGE = "The Alder Bridge was opened by Mary Holt in 1911. It carries 4200 cars a day over the river in Prague."
FERRY = "The ferry at Alder was opened in 1931. It carries 3100 cars a day, and Anna Weiss was its first captain."
MARKET = "The market hall of Vienna was built by Karl Brandt. It has been closed since 1911 for lack of money."
TEXTS = {
    "bridge.txt": BRIDGE,
    "ferry.txt": FERRY,
    "market.txt": MARKET,
    "park.txt": "The park has 30 old oak trees.",
    "mill.txt": "The mill has a wheel of oak.",
}
WHEN = Asked("1", "When was the Alder Bridge opened?", ("1911",), "right", ("bridge.txt",))


class Found(Passages):
    """Passages that need no library: every document is one, found in this order."""

    def __init__(self, found: list[str]) -> None:
        self.pieces = {name: [text] for name, text in TEXTS.items()}
        self._order = found

    def found(self, question: str, without: Any = ()) -> list[tuple[str, str]]:
        return [(name, TEXTS[name]) for name in self._order if name not in without]

    def near(self, names: Any) -> set[str]:
        return set(names)


def row(asked: Asked, found: list[str]) -> Any:
    return row_of(Family("test", TEXTS, [asked]), asked, Found(found), Kinds(TEXTS.values()))


def test_a_passage_is_labelled_by_its_document_and_its_answer() -> None:
    made = row(WHEN, ["ferry.txt", "market.txt", "bridge.txt", "park.txt"])
    assert [one["label"] for one in made["passages"]] == [0, None, 1, 0]  # 1911 stands in the market by chance
    assert "forced" not in made


def test_what_is_written_with_its_claims_is_left_out_where_the_search_finds_only_a_part_of_it() -> None:
    claims = (Claim("1911", "full", "gold"), Claim("1931", "none", "mistaken"))
    gold = ("It carries 4200 cars a day over the river in Prague.", "The park has 30 old oak trees.")
    asked = replace(WHEN, gold=gold, claims=claims, documents=("bridge.txt", "park.txt"))
    made = row(asked, ["bridge.txt", "park.txt", "ferry.txt", "mill.txt"])
    assert [one["label"] for one in made["passages"]] == [1, 1, 0, 0]
    assert [one["text"] for one in made["claims"]] == ["1911", "1931"]
    assert row(replace(asked, gold=(*gold, "Nobody found this.")), ["bridge.txt", "park.txt", "ferry.txt"]) is None


def test_a_sentence_that_the_annotator_left_unmarked_does_not_belong_to_the_answer() -> None:
    marked, unmarked = BRIDGE.split(". ", 1)[0] + ".", BRIDGE.split(". ", 1)[1]
    asked = replace(WHEN, gold=(marked,))
    made = row(asked, ["bridge.txt", "ferry.txt", "park.txt", "mill.txt"])
    claims = [(one["text"], one["label"]) for one in made["claims"] if "marked" in one["kind"]]
    assert claims == [(marked, "full"), (unmarked, "none")]


def test_each_written_document_holds_what_its_answers_rest_on() -> None:
    for name in ("conditions", "technical"):
        family = documents(name)
        for one in family.asked:
            text = " ".join(family.documents[one.documents[0]].split())
            assert all(" ".join(gold.split()) in text for gold in one.gold)
            assert {claim.label for claim in one.claims} == ({"full", "none"} if one.kind == "right" else {"none"})


@pytest.mark.parametrize("kind", ["twisted", "one-word", "other"])
def test_nothing_holds_the_answer_of_a_question_without_one(kind: str) -> None:
    asked = Asked("1", "Who painted the Alder Bridge?", (), kind, ("bridge.txt",))
    made = row(asked, ["bridge.txt", "ferry.txt", "market.txt", "park.txt"])
    assert made["passages"][0]["label"] == 0
    assert made["claims"]
    assert {one["label"] for one in made["claims"]} == {"none"}


@pytest.mark.parametrize(
    "question",
    ["When was the Alder Bridge opened by Mary Holt?", "What was opened in 1911?", "Which bridge of Prague is it?"],
)
def test_one_word_is_changed_for_one_that_the_document_has_not(question: str) -> None:
    changed = Kinds(TEXTS.values()).one_word(question, BRIDGE, Random(0), Counter())
    assert changed is not None
    old, new = question.rstrip("?").split(), changed.rstrip("?").split()
    (at,) = [at for at in range(len(old)) if old[at] != new[at]]
    assert len(old) == len(new)
    assert old[at] in BRIDGE
    assert not re.search(rf"\b{new[at]}\b", BRIDGE, re.IGNORECASE)


@pytest.mark.parametrize(
    "text", ["It was opened in 1911.", "It was opened by Mary Holt.", "It carries 4200 cars a day."]
)
def test_a_swapped_claim_differs_in_one_mention_of_its_kind(text: str) -> None:
    changed = Kinds(TEXTS.values()).swapped(text, BRIDGE, Random(0))
    assert changed is not None
    (old,), (new,) = mentions(text), mentions(changed)
    assert changed == text[: old.start] + new.text + text[old.end :]
    assert old.text != new.text
    assert old.kind == new.kind
    assert new.text not in BRIDGE


def test_a_question_on_a_table_has_its_value_and_a_twisted_one_has_none() -> None:
    family = tables("en", "tables", 100)
    assert {one.kind for one in family.asked} == {"right", "twisted"}
    for one in family.asked:
        text = family.documents[one.documents[0]]
        assert one.kind == "twisted" or one.answers[0] in text
        labels = {"none"} if one.kind == "twisted" else {"full", "partial", "none"}
        assert {claim.label for claim in one.claims} == labels
