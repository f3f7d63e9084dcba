"""Where a draft's claims begin and end, and which drafts claim nothing at all."""

import itertools
import random
import time

import pytest

from grounding.claims import claim_ends, declines, split_claims, statements, with_lead_in
from grounding.sentences import sentences


@pytest.mark.parametrize(
    ("draft", "claims"),
    [
        ("It is blue. It is deep.", ["It is blue.", "It is deep."]),
        ("It is blue! Is it? It is.", ["It is blue!", "It is."]),
        ("It is blue", ["It is blue"]),
        (
            "Dr. Smith met Prof. Jones and Mr. Lee. They spoke.",
            ["Dr. Smith met Prof. Jones and Mr. Lee.", "They spoke."],
        ),
        (
            "It was J. R. R. Tolkien who wrote it. He was born in 1892.",
            ["It was J. R. R. Tolkien who wrote it.", "He was born in 1892."],
        ),
        (
            "Points cost 1.5 percent of $3.50. They lower the rate.",
            ["Points cost 1.5 percent of $3.50.", "They lower the rate."],
        ),
        ("Eat fruit, e.g. Apples, i.e. Pomes. Then rest.", ["Eat fruit, e.g. Apples, i.e. Pomes.", "Then rest."]),
        ("The U.S. Government agreed. It paid.", ["The U.S. Government agreed.", "It paid."]),
        ("He lives in the U.S. The weather is mild.", ["He lives in the U.S.", "The weather is mild."]),
        (
            "The shop closes at 5 p.m. It opens at 9 a.m. on Mondays.",
            ["The shop closes at 5 p.m.", "It opens at 9 a.m. on Mondays."],
        ),
        (
            "It belongs to Acme Inc. The firm was founded in 1990.",
            ["It belongs to Acme Inc.", "The firm was founded in 1990."],
        ),
        (
            "Scurvy comes from want of vitamin C. It was common at sea.",
            ["Scurvy comes from want of vitamin C.", "It was common at sea."],
        ),
        ("See Fig. 3 and No. 5 on p. 12. They differ.", ["See Fig. 3 and No. 5 on p. 12.", "They differ."]),
        ("Version 2.0.1 is out. Python 3.11 runs it.", ["Version 2.0.1 is out.", "Python 3.11 runs it."]),
        (
            "See https://example.com/a.html?b=c.d for more. It helps.",
            ["See https://example.com/a.html?b=c.d for more.", "It helps."],
        ),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("He said “Stop!” “Why?” she asked.", ["He said “Stop!”", "“Why?” she asked."]),
        ("It rose (see above). It fell.", ["It rose (see above).", "It fell."]),
        ("It rose. (It fell later.) It rose again.", ["It rose.", "(It fell later.)", "It rose again."]),
        ("Sales rose. iPad sales fell.", ["Sales rose.", "iPad sales fell."]),
        ("Wait... It moved.", ["Wait...", "It moved."]),
        ("The index is 5. The other is 7.", ["The index is 5.", "The other is 7."]),
        ("模型很好。它很快！真的吗？是的。", ["模型很好。", "它很快！", "是的。"]),
        ("“模型很好。”他说。", ["“模型很好。”", "他说。"]),
        ("Él vino. Ángel también.", ["Él vino.", "Ángel también."]),
        ("- It is blue\n* It is deep\n• It is wide", ["It is blue", "It is deep", "It is wide"]),
        ("1. It is blue.\n2) It is deep.\n(3) It is wide.", ["It is blue.", "It is deep.", "It is wide."]),
        ("a) It is blue.\nb) It is deep.", ["It is blue.", "It is deep."]),
        ("The causes are:\n- heat\n- salt", ["heat", "salt"]),
        ("# Findings\nIt is blue.\n---\nIt is deep.", ["It is blue.", "It is deep."]),
        ("**Findings**\nIt is blue.", ["It is blue."]),
        ("**It is blue.** It is deep.", ["It is blue.", "It is deep."]),
        ("**Colour**: It is blue.", ["Colour**: It is blue."]),
        ("| colour | depth |\n|---|:-:|\n| blue | deep |", ["| blue | deep |"]),
        (
            "Run it:\n```python\nprint('A. B')\n\nx = 1. + 2\n```\nIt prints.",
            ["```python\nprint('A. B')\n\nx = 1. + 2\n```", "It prints."],
        ),
        ("```\nunclosed. Code", ["```\nunclosed. Code"]),
        ("Yes. The tenant may leave early.", ["Yes. The tenant may leave early."]),
        ("No. It may not. It must stay.", ["No. It may not.", "It must stay."]),
        ("Yes.", ["Yes."]),
        ("Is it blue?", ["Is it blue?"]),
        ("", []),
        ("  \n ", []),
    ],
)
def test_the_claims_of_a_draft(draft: str, claims: list[str]) -> None:
    assert split_claims(draft) == claims


@pytest.mark.parametrize(
    ("draft", "claims"),
    [
        # a list, and what introduces it
        ("The tenant must:\n- pay rent\n- insure", ["The tenant must: pay rent", "The tenant must: insure"]),
        ("It is so. One must:\n\n1. pay\n2. go", ["It is so.", "One must: pay", "One must: go"]),
        ("One must:\n- pay:\n  - rent\n  - gas\n- go", ["One must: pay: rent", "One must: pay: gas", "One must: go"]),
        ("One must:\n- pay. It is law.", ["One must: pay.", "It is law."]),
        ("## Duties\n- pay\n- go\n\nAll done.", ["Duties: pay", "Duties: go", "All done."]),
        ("**Duties:**\n- pay", ["Duties: pay"]),
        ("## Duties\nOne must pay.", ["One must pay."]),
        ("Causes:\nheat\nsalt\n\nThat was all.", ["Causes: heat", "Causes: salt", "That was all."]),
        ("Here it is:\n\nThe tenant pays.", ["The tenant pays."]),
        ("One must:\n- pay\n\nAll may:\n- stay", ["One must: pay", "All may: stay"]),
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
def test_a_claim_is_whole_with_what_introduces_it(draft: str, claims: list[str]) -> None:
    assert [with_lead_in(one.text, one.context) for one in statements(draft)] == claims


@pytest.mark.parametrize(
    ("draft", "contexts"),
    [
        ("Ada wrote it. She was 27.", ["", "Ada wrote it."]),
        ("Ada wrote it. She was 27. She died young.", ["", "Ada wrote it.", "Ada wrote it."]),
        ("Ada wrote it. Babbage built it. It was large.", ["", "", "Babbage built it."]),
        ("Rent is due.\n\nIt is 500 euros.", ["", "Rent is due."]),
        ("She was 27.", [""]),
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
    parts = [
        "It is.",
        " ",
        "\n",
        "\n\n",
        "- ",
        "1. ",
        "a:",
        "```",
        "| a |",
        "|--|",
        "# b",
        "Yes.",
        "e.g. C",
        "5.",
        "`d. E`",
        "？",
    ]
    for _ in range(3000):
        draft = "".join(dice.choices(parts, k=dice.randint(1, 12)))
        position = 0
        for claim in statements(draft):
            assert claim.start >= position
            assert draft[claim.start :].startswith(claim.text)
            position = claim.start + len(claim.text)
        ends = claim_ends(draft, split_claims(draft))
        assert ends == sorted(ends)


@pytest.mark.parametrize(
    "draft",
    [
        "It is blue. **It** is deep.\n\n1. One.\n2. Two: “three.” Four.",
        "Yes. It is.\n```\ncode\n```\n模型很好。它很快！",
    ],
)
def test_claims_are_verbatim_and_in_order(draft: str) -> None:
    position = 0
    for claim in split_claims(draft):
        position = draft.index(claim, position) + len(claim)
    spans = sentences(draft)
    assert spans == sorted(spans)
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(spans))


REFUSALS = """
I don't know.
I don’t know
I do not know the answer to that.
I really don't know.
I'm sorry, but I don't know.
I’m sorry, I cannot answer that from the passages.
Sorry, I can't help with that.
I'm afraid I don't know.
Unfortunately, the documents do not say.
Unfortunately, there is no information about this in the documents.
I cannot answer this question based on the passages.
I can't find that in the documents.
I could not find an answer in the documents.
I am unable to determine that from the passages.
I'm unable to answer this.
I'm not able to help with that request.
I'm not sure.
I am not sure about that.
I have no information about that.
I have no idea.
I do not have enough information to answer the question.
I don't have access to real-time data.
I don't have that information.
As an AI language model, I don't have access to personal data.
I won't provide that.
The passages do not contain this information.
The provided passages don't mention aspirin.
The passages provided do not specify how Harry beat Quirrell.
The given context does not provide information about agent memory.
The context doesn't include an answer.
The text does not say.
The passage says nothing about that.
The documents are silent on this.
The document does not mention a deductible.
The document does not provide any information about fees.
The sources do not discuss it.
The passages contain no information about Quirrell.
The information provided does not answer the question.
These passages cannot answer the question.
Based on the provided context, I cannot answer the question.
Based on the passages, there is no information about Harry.
According to the documents, it is not stated who signed.
None of the passages answer the question.
Neither of the passages mentions it.
Neither passage mentions it.
No passage mentions it.
Nothing in the passages answers this.
There is no mention of Harry in the passages.
There is no information about agent memory.
There's not enough information to answer.
There is insufficient information in the context.
There is no answer to this question in the documents.
The answer is not in the passages.
The answer is not provided.
The answer to the question is not given in the passages.
The information is not available in the passages.
This information is not provided.
The question cannot be answered from the passages.
This question can't be answered with the given context.
Harry Potter is not mentioned in the passages.
The method by which Harry beat Quirrell is not described in the provided text.
It is not stated in the passages.
It is not clear from the passages.
It is unclear from the context.
It isn't specified whether pets are allowed.
It is not possible to say.
It is impossible to determine from the text.
Not mentioned.
Not stated in the passages.
Not specified.
Unknown.
Unclear.
No information is given about that.
No relevant information found.
No information about Harry is provided.
Not enough information.
Insufficient information to answer.
Cannot answer.
Cannot be determined from the passages.
No answer.
No answer found.
No mention of it.
N/A
None.
I don't know. The passages do not mention aspirin.
I don't know. They only describe mortgages. Ask a doctor.
Ich weiß es nicht.
Je ne sais pas.
No lo sé.
我不知道。
わかりません。
""".strip().splitlines()

ANSWERS = """
No interest is charged for 30 days.
There is no deductible.
Unknown callers are blocked.
The document does not expire.
The documents are not refundable.
The document does not cover flood damage.
The document does not provide for early termination.
The document does not include a signature page.
The document does not need a stamp.
The source is not safe to drink from.
The sources do not dry up in summer.
The information is not shared with third parties.
This information is not confidential.
Your information is not sold.
Your documents are not returned.
The context window is not larger than 4,096 tokens.
The context window does not include the system prompt.
The text message does not expire.
There is no evidence of life on Mars.
There is no data cap.
There is no passage between the two valleys.
There is no answering machine.
There is not enough evidence that it helps.
There is insufficient evidence for its use in children.
No passage through the gate is allowed after six.
No information may be disclosed to third parties.
No answer is accepted after the deadline.
No, the lease cannot be ended early.
No.
Nothing is charged in the first year.
None of the tenants may keep a dog.
Neither party may end the lease early.
It is not given to patients under 16.
It is not available in Canada.
It is not found outside Africa.
It is not clear water but brine.
It is unknown to science, and 3 cm long.
It is not possible to end the lease early.
It is impossible to overstate the effect.
I cannot recommend it to children, the doctor writes.
I do not have to pay, says the tenant.
Unfortunately, the bridge collapsed in 1940.
Sorry is what the speaker said to the tenants in 1998.
The answer is not 42 but 43.
The answer is 42.
The question is not whether it pays but when.
Not all tenants pay.
Not given to children, it is safe for adults.
The fee is not included in the price.
The library does not open on Sundays.
The library does not lend journals.
The material is not flammable.
The data is encrypted and is not stored.
The data do not leave the building.
Nobody knows who built it.
I don't know the exact figure, but the documents put the dose at about 500 mg a day.
The passages do not give the exact date, but the lease began in the spring of 2021.
The passages do not give the date. However, the lease began in 2021.
""".strip().splitlines()


@pytest.mark.parametrize("draft", ["", "  \n", *REFUSALS])
def test_a_refusal_declines(draft: str) -> None:
    assert declines(draft)


@pytest.mark.parametrize("draft", ANSWERS)
def test_an_answer_that_looks_like_a_refusal_does_not(draft: str) -> None:
    assert not declines(draft)


def test_a_refusal_at_the_head_of_a_long_answer_does_not() -> None:
    assert not declines("I don't know. " + "Points are fees. " * 3)


@pytest.mark.parametrize(
    "unit", ["is not a ", "the passages ", "i do not have any ", "no information ", "a.", "A. ", "((", "“ "]
)
def test_a_long_reply_is_read_in_time(unit: str) -> None:
    began = time.process_time()
    declines(unit * 5000)
    split_claims(unit * 5000)
    assert time.process_time() - began < 2
