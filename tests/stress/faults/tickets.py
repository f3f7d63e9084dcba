"""Passages in memory, and questions that carry a ticket number."""

import re
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from random import Random

from langchain_core.documents import Document

THINGS = ("kettle", "lantern", "bicycle", "telescope", "piano", "violin", "anchor", "compass", "plough", "loom")
MATTERS = ("copper", "oak", "iron", "brass", "glass", "walnut", "silver", "granite")
TICKET = re.compile(r"\bticket (\d+)\b")
# That of the question being asked, for where a fault may strike the number from a query.
ticket: ContextVar[str] = ContextVar("ticket", default="")


@dataclass
class TicketRetriever:
    """Sample k passages, seeded by the query; each names the ticket, as a claim may not."""

    passages: Sequence[Document]

    async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
        """As LangChain's retrievers."""
        found = Random(input).sample(self.passages, k)
        number = ticket.get() or TICKET.findall(input)[-1]
        named = f" Ask for it by ticket {number}."
        return [one.model_copy(update={"page_content": one.page_content + named}) for one in found]


def passages() -> list[Document]:
    """Forty passages of three sentences each, no two the same."""
    dice = Random(0)
    pairs = dice.sample([(matter, thing) for matter in MATTERS for thing in THINGS], 40)
    return [
        Document(
            f"The {matter} {thing} weighs {dice.randrange(3, 90)} kilograms. "
            f"It was made by hand in {dice.randrange(1700, 1900)}. "
            f"The {thing} of {matter} is kept in room {dice.randrange(1, 30)} of the house.",
            id=f"{matter} {thing}",
            metadata={"source": "inventory.txt"},
        )
        for matter, thing in pairs
    ]
