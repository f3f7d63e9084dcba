"""All examples of the conversation as one fixed part, for a model whose prefix cache makes them free."""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage
from langchain_core.prompts import ChatPromptTemplate

from prompts.conversation import EXAMPLE, SYSTEM
from prompts.generate import GENERATE
from prompts.grade_documents import RELEVANCE
from prompts.hallucination_check import SUPPORT

EXAMPLES = [
    message
    for prompt in (GENERATE, SUPPORT.messages, RELEVANCE.messages)
    for message in prompt.messages
    if isinstance(message, BaseMessage) and message.id == EXAMPLE
]
FIXED = ChatPromptTemplate.from_messages([SYSTEM, *EXAMPLES, ("human", "{passages}")])


def with_all_examples(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Give a prompt of `prompts.conversation` the examples of all tasks there instead of its own; keep others."""
    if messages[0].text != SYSTEM.text:
        return messages
    return [SYSTEM, *EXAMPLES, *(one for one in messages[1:] if one.id != EXAMPLE)]
