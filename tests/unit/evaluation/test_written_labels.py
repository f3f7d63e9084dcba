from collections.abc import Sequence

import pytest
from langchain_core.documents import Document

from evaluation.written_labels import Withheld, Written, write_questions
from tests.scripted import ScriptedGenerator, ScriptedRetriever, document, roomy_budget, services

FERRY = "The ferry of Beham costs 12 crowns a person, runs from May to October, and carries bicycles without a charge."
MILL = "The mill of Aldby was built in 1788 and ground oats until 1931. Its wheel, of oak, is six metres high."
ASKED = "What does the ferry of Beham cost?"
CHANGED = "What does the ferry of Wexford cost?"
REPLY = f"Question: {ASKED}\nAnswer: 12 crowns"


async def write(
    passages: Sequence[str], *, found: Sequence[str] = (FERRY, MILL), **scripts: Sequence[str]
) -> tuple[Written, ScriptedGenerator]:
    generator = ScriptedGenerator(**scripts)  # type: ignore[arg-type]
    models = services(generator=generator.with_budget(roomy_budget()), retriever=ScriptedRetriever(always=found))
    made = await write_questions(models, map(document, passages), 4, lambda done, total: None)
    generator.done()
    return made, generator


async def write_two(changed: str) -> Written:
    """Write about two passages; of the second one's question a word is ``changed``."""
    questions = ["Question: When was the mill of Aldby built?\nAnswer: 1788", REPLY]
    made, _ = await write([MILL, FERRY], questions=questions, drafts=["In 1788.", "12 crowns."], changed=[changed])
    return made


async def test_a_question_is_kept_with_its_answer_and_asked_without_its_passage_too() -> None:
    made, generator = await write([FERRY], questions=[REPLY], drafts=["It costs 12 crowns."])
    first, second = made.examples
    assert (first.question, first.answerable, first.references) == (ASKED, True, ("12 crowns",))
    assert (second.question, second.answerable, second.references) == (ASKED, False, ())
    assert made.withheld == {second.id: Withheld(FERRY, "12 crowns")}
    assert MILL not in str(generator.inputs("draft")), "the second asking is of the passage alone"


async def test_every_other_question_has_one_word_changed() -> None:
    made = await write_two(CHANGED)
    assert [one.question for one in made.examples[2:]] == [ASKED, CHANGED]
    assert [one.answerable for one in made.examples] == [True, False, True, False]
    assert list(made.withheld) == [made.examples[1].id]
    assert [row.get("answer") for row in made.rows()] == ["1788", "12 crowns", None]
    assert made.rows()[-1] == {"question": CHANGED, "source": "notes.txt", "answerable": False}


@pytest.mark.parametrize(
    "changed",
    [
        ASKED,
        "What does the ferry of Wexford charge?",
        "What does the old ferry of Wexford cost?",
        "What does the ferry of October cost?",
        "What does the ferry of Beham costs?",
        "I cannot.",
    ],
)
async def test_a_change_of_no_word_of_two_or_to_a_word_of_the_passage_is_not_taken(changed: str) -> None:
    made = await write_two(changed)
    assert made.examples[3].question == ASKED
    assert made.examples[3].id in made.withheld


@pytest.mark.parametrize(
    "given",
    [
        {"questions": ["What does the ferry cost?"]},
        {"questions": [f"Question: {ASKED}\nAnswer: 13 crowns"]},
        {"questions": ["Question: Who pays 12 crowns?\nAnswer: 12 crowns"]},
        {"questions": [f"Question: {ASKED}\nAnswer: 12 crowns a person, runs from May to October"]},
        {"questions": [REPLY], "drafts": ["It costs 13 crowns."]},
        {"questions": [REPLY], "drafts": ["I don't know."]},
        {"questions": [REPLY], "found": [MILL]},
    ],
)
async def test_without_an_answer_of_the_passage_that_is_found_and_given_again_no_question_is_taken(
    given: dict[str, Sequence[str]],
) -> None:
    made, _ = await write([FERRY], **given)
    assert made == Written()


async def test_what_is_withheld_is_not_found_nor_what_says_the_same() -> None:
    other = Document("A person pays 12 crowns on it.")
    nearly = Document(FERRY.replace("12 crowns", "12 crown"))
    known = ScriptedRetriever(always=[document(FERRY), other, nearly, document(MILL), document("The inn is open.")])
    found = await Withheld(FERRY, "12 crowns").over(known).ainvoke("ferry", k=1)
    assert [one.page_content for one in found] == [MILL]
    assert known.ks[0] > 1
