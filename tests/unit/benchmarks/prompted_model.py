"""A chat model that replies by the kind of prompt, and services over it."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.prompts import ChatPromptTemplate

from models.chat import Chat
from models.critic import Critic
from models.generator import Generator
from run.context import RetrieverLike, Services
from tests.scripted import NotScriptedError, ScriptedChat, ScriptedRetriever, is_of, marks_of, reply

Said = str | Exception | Callable[[str], str]


class PromptedModel:
    """Replies the same each time, or a list one by one; ``asked`` is each kind and last turn.

    What is asked in none of the ``prompts`` is of the kind ``other``.
    """

    def __init__(self, prompts: Mapping[str, ChatPromptTemplate], **replies: Said | Sequence[Said]) -> None:
        self.asked: list[tuple[str, str]] = []
        self.model = ScriptedChat(script=[self._say] * 500)
        self._kinds = {marks_of(prompt): kind for kind, prompt in prompts.items()}
        self._replies = replies

    def kind_of(self, messages: Sequence[BaseMessage]) -> str:
        return next((kind for marks, kind in self._kinds.items() if is_of(messages, marks)), "other")

    def turns(self, kind: str) -> list[str]:
        return [last for one, last in self.asked if one == kind]

    def services(self, retriever: ScriptedRetriever) -> Services:
        chat = Chat(lambda: self.model, "scripted", retries=0)
        return Services(Generator(chat), Critic(chat), cast("RetrieverLike", retriever))

    def _say(self, messages: list[BaseMessage]) -> AIMessage:
        kind, last = self.kind_of(messages), messages[-1].text
        turn = len(self.turns(kind))
        self.asked.append((kind, last))
        if kind not in self._replies:
            raise NotScriptedError(kind)
        said = self._replies[kind]
        if not isinstance(said, str | Exception) and not callable(said):
            said = said[turn]
        if isinstance(said, Exception):
            raise said
        return reply(said(last) if callable(said) else said, read=10, written=2)
