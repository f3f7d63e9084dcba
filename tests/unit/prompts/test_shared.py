import pytest
from langchain_core.messages import HumanMessage
from langchain_core.prompts import ChatPromptTemplate

from prompts.compare_answers import BRIEF_ANSWER
from prompts.conversation import SYSTEM
from prompts.decide import RETRIEVE
from prompts.generate import GENERATE, REDRAFT_UNSUPPORTED
from prompts.grade_documents import RELEVANCE
from prompts.hallucination_check import SUPPORT
from prompts.shared import EXAMPLES, with_all_examples

INPUTS = {"question": "How tall is it?", "claim": "80 m", "draft": "80 m.", "failed": "- 80 m"}
PASSAGE = "The tower is 80 m tall."
CONVERSATION = {
    "relevance": RELEVANCE.messages,
    "support": SUPPORT.messages,
    "draft": GENERATE,
    "redraft": REDRAFT_UNSUPPORTED,
    "brief answer": BRIEF_ANSWER,
}


def asked(prompt: ChatPromptTemplate) -> list[tuple[str, str]]:
    shown = f'<passage id="1">\n{PASSAGE}\n</passage>'
    messages = with_all_examples(prompt.format_messages(passage=PASSAGE, passages=shown, **INPUTS))
    return [(one.type, one.text) for one in messages]


READ = f'<passage id="1">\n{PASSAGE}\n</passage>\n'


@pytest.mark.parametrize("name", CONVERSATION)
def test_all_tasks_read_the_same_up_to_the_task(name: str) -> None:
    messages, grade = asked(CONVERSATION[name]), asked(RELEVANCE.messages)
    turn = len(EXAMPLES) + 1
    assert messages[:turn] == grade[:turn]
    assert messages[turn][1].startswith(READ)
    assert grade[turn] == ("human", f"{READ}Does the passage contain the answer?\nQuestion: How tall is it?")


def test_no_other_task_begins_like_one_that_an_adapter_answers() -> None:
    """The engine switches an adapter on at the task's first word, and keeps what it read in the cache."""
    turn = len(EXAMPLES) + 1
    first = {name: asked(prompt)[turn][1].removeprefix(READ).split()[0] for name, prompt in CONVERSATION.items()}
    assert (first.pop("relevance"), first.pop("support")) == ("Does", "Do")
    assert not {"Does", "Do"} & set(first.values())


def test_each_example_is_there_once_and_a_prompt_of_another_kind_is_left_as_it_is() -> None:
    texts = [text for _, text in asked(SUPPORT.messages)]
    assert texts[0] == SYSTEM.text
    assert len(texts) == len(EXAMPLES) + 2
    questions = [text for text in texts if text.startswith("<passage")]
    assert len(set(questions)) == len(questions)
    other = RETRIEVE.messages.format_messages(question="Why?")
    assert with_all_examples(other) == other
    assert with_all_examples([HumanMessage("hello")])[0].text == "hello"
