"""Check a whole text that somebody wrote, claim by claim, and number the citations of all its claims."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import BaseModel

from app.checking.verification import VerifiedClaim, verify_sentence
from app.results.result import JudgedClaim, ResultUsage
from core.errors import RequestError
from core.text import clean
from core.types import Citation, Usage, add_usage, no_usage
from grounding.checkable import Checkable, checkable
from nodes.concurrency import gather_bounded, meanwhile, off_loop
from run.context import Context, Services

MOST_CLAIMS = 10_000
Checked = tuple[VerifiedClaim, Usage]
Check = Callable[[Checkable, Callable[[], Awaitable[Checked]]], Awaitable[Checked]]


class CheckedClaim(JudgedClaim):
    """A sentence of a text with its verdict, its span ``text[start:end]``, and the ids of its citations."""

    start: int
    end: int
    citations: list[int]


class CheckedText(BaseModel, frozen=True):
    """A text as it was read, its sentences with their verdicts, and the quotes that support or contradict them.

    ``model_dump(mode="json")`` is what ``check --json`` prints.
    """

    text: str
    claims: list[CheckedClaim]
    citations: list[Citation]
    usage: ResultUsage

    def count(self, label: str) -> int:
        """Return how many claims have a label."""
        return sum(claim.label == label for claim in self.claims)


class NothingToCheckError(RequestError):
    """A text has no sentence."""


async def check_text(
    text: str,
    services: Services,
    context: Context,
    *,
    headings: Sequence[tuple[int, int]] = (),
    at_once: int = 1,
    progress: Callable[[int, int], None] | None = None,
    cached: Check | None = None,
) -> CheckedText:
    """Remove invisible characters from a text, then check its claims, at most ``at_once`` at a time.

    ``headings`` are the spans of headings, which are not checked. ``cached`` gets a claim and a function that checks
    the claim; it calls the function or returns an earlier result. Raises `NothingToCheckError` for a text without a
    sentence, `RequestError` for a text with too many sentences, and `ModelError`.
    """
    began, text = time.monotonic(), clean(text)
    found = await off_loop(len(text), checkable, text, headings)
    if not found:
        raise NothingToCheckError("The text has no sentence to check: write one.")
    if len(found) > MOST_CLAIMS:
        raise RequestError(f"The text has {len(found):,} sentences, more than {MOST_CLAIMS:,}: check it in parts.")

    async def check(one: Checkable) -> Checked:
        call = partial(verify_sentence, one, services, context)
        return await (cached(one, call) if cached else call())

    checked = await gather_bounded([partial(check, one) for one in found], at_once, progress)
    usage = no_usage()
    for _, spent in checked:
        usage = add_usage(usage, spent)
    return put_together(text, found, [claim for claim, _ in checked], usage, time.monotonic() - began)


@dataclass(frozen=True)
class ClaimChecked:
    """``done`` of ``total`` claims are checked."""

    done: int
    total: int


async def check_events(
    check: Callable[[Callable[[int, int], None]], Coroutine[Any, Any, CheckedText]],
) -> AsyncGenerator[ClaimChecked | CheckedText, None]:
    """Yield the progress of ``check``, then the checked text; ``check`` gets a callback for (done, total).

    Closing the generator cancels the check.
    """
    events: asyncio.Queue[ClaimChecked | None] = asyncio.Queue()
    async with meanwhile(check(lambda done, total: events.put_nowait(ClaimChecked(done, total)))) as (checking,):
        checking.add_done_callback(lambda _: events.put_nowait(None))
        while (event := await events.get()) is not None:
            yield event
        yield await checking


def put_together(
    text: str, found: Sequence[Checkable], verified: Sequence[VerifiedClaim], usage: Usage, seconds: float
) -> CheckedText:
    """Return the text with its claims; each quote is one citation, numbered from 1 in the order of the claims."""
    citations: list[Citation] = []
    ids: dict[tuple[Any, ...], int] = {}
    claims: list[CheckedClaim] = []
    for one, claim in zip(found, verified, strict=True):
        numbers: list[int] = []
        for cited in claim.citations:
            place = (cited["source"], cited["page"], cited["row"], cited["passage"], cited["start"], cited["end"])
            if place not in ids:
                ids[place] = len(citations) + 1
                citations.append({**cited, "id": ids[place]})
            numbers.append(ids[place])
        known, start = claim.model_dump(exclude={"question", "citations"}), one.statement.start
        claims.append(CheckedClaim(**known, start=start, end=start + len(claim.text), citations=numbers))
    return CheckedText(
        text=text, claims=claims, citations=citations, usage=ResultUsage(**usage, seconds=round(seconds, 3))
    )
