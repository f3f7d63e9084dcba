"""Questions that carry a ticket number, and passages in memory that name it."""

import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from random import Random
from typing import Any

from langchain_core.documents import Document

from models.chat import Chat
from models.critic import Critic
from models.generator import Generator
from run.context import Services

THINGS = ("kettle", "lantern", "bicycle", "telescope", "piano", "violin", "anchor", "compass", "plough", "loom")
MATTERS = ("copper", "oak", "iron", "brass", "glass", "walnut", "silver", "granite")
TICKET = re.compile(r"\bticket (\d+)\b")
# That of the question being asked, for where a fault may strike the number from a query.
ticket: ContextVar[str] = ContextVar("ticket", default="")


def question_of(number: int) -> str:
    return f"What does ticket {number} say about the {THINGS[number % len(THINGS)]}?"


def varied_question_of(number: int) -> str:
    """The question of a ticket; one in six asks for a comparison."""
    if number % 6 == 5:
        return f"Compare the {THINGS[number % 4]} and the {THINGS[4 + number % 5]} by what ticket {number} says"
    return question_of(number)


def ticket_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """The number of the last ticket that the messages name; "" for none."""
    found = TICKET.findall("\n".join(str(one["content"]) for one in messages))
    return found[-1] if found else ""


class TicketRetriever:
    """Sample k passages, seeded by the query; each names the ticket, as a claim may not."""

    def __init__(self) -> None:
        """Make forty passages of three sentences each, no two the same."""
        dice = Random(0)
        pairs = dice.sample([(matter, thing) for matter in MATTERS for thing in THINGS], 40)
        self.passages = {
            f"{matter} {thing}": f"The {matter} {thing} weighs {dice.randrange(3, 90)} kilograms. "
            f"It was made by hand in {dice.randrange(1700, 1900)}. "
            f"The {thing} of {matter} is kept in room {dice.randrange(1, 30)} of the house."
            for matter, thing in pairs
        }

    async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
        number = ticket.get() or TICKET.findall(input)[-1]
        return [
            Document(f"{text} Ask for it by ticket {number}.", id=name, metadata={"source": "inventory.txt"})
            for name, text in Random(input).sample(list(self.passages.items()), k)
        ]


def services_of(chat: Chat) -> Services:
    return Services(Generator(chat), Critic(chat), TicketRetriever())
