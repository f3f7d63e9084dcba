import random

import pytest

from grounding.claims import claim_ends, split_claims, statements, with_lead_in


@pytest.mark.parametrize(
    ("draft", "claims"),
    [
        ("It is blue! Is it? It is.", ["It is blue!", "It is."]),
        ("模型很好。它很快！真的吗？是的。", ["模型很好。", "它很快！", "是的。"]),
        ("- It is blue\n* It is deep\n• It is wide", ["It is blue", "It is deep", "It is wide"]),
        ("1. It is blue.\n2) It is deep.\n(3) It is wide.", ["It is blue.", "It is deep.", "It is wide."]),
        ("a) It is blue.\nb) It is deep.", ["It is blue.", "It is deep."]),
        ("**It is blue.** It is deep.", ["It is blue.", "It is deep."]),
        ("**Colour**: It is blue.", ["Colour**: It is blue."]),
        ("```\nunclosed. Code", ["```\nunclosed. Code"]),
        ("No. It may not. It must stay.", ["No. It may not.", "It must stay."]),
        ("是的。可以养狗。", ["是的。可以养狗。"]),
        ("Yes.", ["Yes."]),
        ("Go to File → Open... . …", ["Go to File → Open..."]),
        ("Is it blue?", ["Is it blue?"]),
        ("  \n ", []),
        # a list, and what introduces it
        ("The tenant must:\n- pay rent\n- insure", ["The tenant must: pay rent", "The tenant must: insure"]),
        ("One must:\n- pay:\n  - rent\n  - gas\n- go", ["One must: pay: rent", "One must: pay: gas", "One must: go"]),
        ("## Duties\n- pay\n- go\n\nAll done.", ["Duties: pay", "Duties: go", "All done."]),
        ("**Duties:**\n- pay", ["Duties: pay"]),
        ("Causes:\nheat\nsalt\n\nThat was all.", ["Causes: heat", "Causes: salt", "That was all."]),
        ("Here it is:\n\nThe tenant pays.", ["The tenant pays."]),
        ("One must:\n- pay\nThe owner sleeps.\n- mends", ["One must: pay", "The owner sleeps.", "mends"]),
        ("One must:\n- pay\n\n  in advance\n- go", ["One must: pay", "in advance", "One must: go"]),
        ("Yes. One must:\n- pay", ["One must: pay"]),
        ("租户必须：\n- 付租金", ["租户必须： 付租金"]),
        # code and tables
        ("Run it:\n\n```sh\na. B\n```\nIt prints.", ["Run it:\n```sh\na. B\n```", "It prints."]),
        ("| a | b |\n|---|---|\n| 1 | 2. Two |\n| 3 | 4 |", ["| a | b |\n| 1 | 2. Two |", "| a | b |\n| 3 | 4 |"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\nIt is.\n| 3 | 4 |", ["| a | b |\n| 1 | 2 |", "It is.", "| 3 | 4 |"]),
    ],
)
def test_the_claims_of_a_draft_are_whole_with_what_introduces_them(draft: str, claims: list[str]) -> None:
    assert [with_lead_in(one.text, one.context) for one in statements(draft)] == claims


@pytest.mark.parametrize(
    ("draft", "contexts"),
    [
        ("Ada wrote it. She was 27.", ["", "Ada wrote it."]),
        ("Ada wrote it. She was 27. She died young.", ["", "Ada wrote it.", "Ada wrote it."]),
        ("Ada wrote it. Babbage built it. It was large.", ["", "", "Babbage built it."]),
        ("Yes. She was 27. It was late.", ["", ""]),
    ],
)
def test_a_pronoun_refers_to_the_sentence_before_which_is_no_part_of_the_claim(draft: str, contexts: list[str]) -> None:
    found = statements(draft)
    assert [one.context for one in found] == contexts
    assert [with_lead_in(one.text, one.context) for one in found] == split_claims(draft)


def test_claims_are_found_again_where_they_stand() -> None:
    draft = "The heat causes are:\n- heat\n- salt\n\nIt is so. It is so."
    ends = claim_ends(draft, split_claims(draft))
    assert ends == [draft.index("- heat") + 6, draft.index("salt") + 4, draft.index("so.") + 3, len(draft)]
    assert claim_ends("A b.", ["nowhere", "A b."]) == [0, 4]


def test_claims_of_any_text_are_verbatim_apart_and_in_order() -> None:
    dice = random.Random(5)
    parts = ["It is.", " ", "\n", "\n\n", "- ", "1. ", "a:", "```", "| a |", "|--|", "# b", "Yes.", "`d. E`", "？"]
    for _ in range(3000):
        draft = "".join(dice.choices(parts, k=dice.randint(1, 12)))
        position = 0
        for claim in statements(draft):
            assert claim.start >= position
            assert draft[claim.start :].startswith(claim.text)
            position = claim.start + len(claim.text)
        ends = claim_ends(draft, split_claims(draft))
        assert ends == sorted(ends)
