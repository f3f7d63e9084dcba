from typing import Any

import pytest

from app.server.messages import Message, conversation_before, question_of
from core.errors import RequestError
from run.initial_state import require_conversation


def messages(*said: tuple[str, Any]) -> list[Message]:
    return [Message.model_validate({"role": role, "content": content}) for role, content in said]


@pytest.mark.parametrize(
    ("said", "turns"),
    [
        ([("user", "c")], []),
        (
            [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d"), ("user", "e")],
            [("a", "b"), ("c", "d")],
        ),
        # it begins with an answer
        ([("assistant", "Hello!"), ("user", "a"), ("assistant", "b"), ("user", "c")], [("a", "b")]),
        # two questions in a row, two answers in a row
        ([("user", "a"), ("user", "b"), ("assistant", "c"), ("user", "d")], [("a", ""), ("b", "c")]),
        ([("user", "a"), ("assistant", "b"), ("assistant", "c"), ("user", "d")], [("a", "b\nc")]),
        # other roles, and what has no text
        ([("user", "a"), ("tool", "t"), ("assistant", "b"), ("developer", "s"), ("user", "c")], [("a", "b")]),
        ([("user", "a"), ("assistant", None), ("user", ""), ("assistant", " "), ("user", "c")], [("a", "")]),
        ([("user", [{"type": "image_url"}]), ("assistant", "b"), ("user", "c")], []),
        ([("user", "a"), ("assistant", [{"type": "text", "text": "b"}]), ("user", "c")], [("a", "b")]),
        # what follows the question is none of it
        ([("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d")], [("a", "b")]),
        # a client's prompt around a question
        ([("user", "### Task:\n<context>x</context>\n\na"), ("assistant", "b"), ("user", "c")], [("a", "b")]),
    ],
)
def test_earlier_messages_are_turns(said: list[tuple[str, Any]], turns: list[tuple[str, str]]) -> None:
    found = conversation_before(messages(*said))
    assert [(turn["question"], turn["answer"]) for turn in found] == turns
    assert all(turn["standalone"] == turn["question"] and turn["outcome"] is None for turn in found)
    assert require_conversation(found) == found


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ([("user", "a"), ("assistant", "b"), ("user", " c "), ("assistant", None)], "c"),
        ([("system", "Be brief."), ("user", [{"type": "text", "text": "why"}, {"type": "image_url"}])], "why"),
        ([("user", "### Task:\nAnswer.\n<context>\nSalt.\n</context>\n\nwhy?")], "why?"),
        ([("user", "### Task:\n<context>x</context>\n<user_query>\nwhy?\n</user_query>")], "why?"),
    ],
)
def test_the_question_is_the_text_of_the_users_last_message(said: list[tuple[str, Any]], question: str) -> None:
    assert question_of(messages(*said)) == question


@pytest.mark.parametrize("said", [[], [("assistant", "b")], [("user", "a"), ("user", " ")]])
def test_without_a_question_there_is_nothing_to_ask(said: list[tuple[str, Any]]) -> None:
    with pytest.raises(RequestError, match="No message of the user has a text"):
        question_of(messages(*said))


def test_half_a_character_in_a_message_is_no_matter() -> None:
    odd = Message.model_construct(role="user", content="a\ud800")
    assert require_conversation(conversation_before([odd, *messages(("user", "c"))]))[0]["question"] == "a\ufffd"
