"""Read the question, and the conversation before it, from the messages of a chat."""

import re
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel

from app.options import as_text
from core.errors import RequestError
from core.types import Turn

TASK = "### Task:"  # how Open WebUI's prompts for titles, tags, follow-up questions and the like begin
CONTEXT_END = "</context>"  # in its prompt for a question about files; the question follows it


class Part(BaseModel):
    """A part of a message; only text is read."""

    type: str
    text: str | None = None


class Message(BaseModel):
    """A message of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        """The text of all parts; what clients wrap around a question is removed."""
        whole = self.content or ""
        if not isinstance(whole, str):
            whole = "\n".join(part.text for part in whole if part.text)
        text = as_text(whole)
        if self.role == "user" and text.startswith(TASK) and CONTEXT_END in text:
            rest = text.rpartition(CONTEXT_END)[2].strip()
            text = re.sub(r"</?user_query>", "", rest).strip() or text
        return text


def question_of(messages: Sequence[Message]) -> str:
    """Return the last message of the user. Raises `RequestError` where there is none."""
    asked = next((message.text for message in reversed(messages) if message.role == "user"), "")
    if not asked:
        raise RequestError("No message of the user has a text: ask something.")
    return asked


def conversation_before(messages: Sequence[Message]) -> list[Turn]:
    """Return a turn for each of the user's messages before the last, with the assistant's messages that follow it.

    A message that was not answered has an empty answer. Empty messages, and those of the assistant before the user's
    first, are left out.
    """
    last = max((index for index, message in enumerate(messages) if message.role == "user"), default=0)
    turns: list[Turn] = []
    for message in messages[:last]:
        text = message.text
        if message.role == "user" and text:
            turns.append(Turn(question=text, standalone=text, answer="", outcome=None))
        elif message.role == "assistant" and text and turns:
            turns[-1]["answer"] = f"{turns[-1]['answer']}\n{text}".strip()
    return turns
