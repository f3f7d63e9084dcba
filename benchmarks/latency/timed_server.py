"""A model server whose calls take a set time, and which records when each was served and what it read."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.latency.good_model import Model, PrefixCache
from benchmarks.sample import Asked
from tests.integration.loopback import Loopback, Sent
from tests.integration.misbehaviour import completion_of, refusal, reply

ANSWER_TOKENS = 100


@dataclass(frozen=True)
class Pace:
    """Seconds a call, and seconds for each token of its reply; ``admitted`` is how many calls run at a time."""

    call: float
    token: float = 0.0
    admitted: int = 64


@dataclass(frozen=True)
class Call:
    """One call: when it was asked and served, in seconds of the server's clock, and the tokens that it read anew."""

    asked: float
    ended: float
    uncached_tokens: int


class TimedServer(Loopback):
    """A server that admits so many calls at a time and lets the others wait.

    Each model name has a prefix cache and a record of its calls of its own.
    """

    def __init__(self, asked: Sequence[Asked], pace: Pace, answer_tokens: int = ANSWER_TOKENS) -> None:
        super().__init__(lambda sent: refusal(404, sent.path))
        self.model = Model(asked, answer_tokens)
        self.pace = pace
        self.calls: defaultdict[str, list[Call]] = defaultdict(list)
        self.caches: defaultdict[str, PrefixCache] = defaultdict(PrefixCache)
        self._turn = asyncio.Semaphore(pace.admitted)

    async def respond(self, sent: Sent, writer: asyncio.StreamWriter) -> bool:
        """Reply to one request once it is admitted, as slowly as the pace says."""
        asked = time.perf_counter()
        request = sent.body
        try:
            said = self.model.reply(request["messages"])
        except LookupError as error:
            return await self.play(refusal(400, str(error)), writer)
        async with self._turn:
            read, cached = self.caches[request["model"]].read(request["messages"])
            usage = {
                "prompt_tokens": read,
                "completion_tokens": said.tokens,
                "total_tokens": read + said.tokens,
                "prompt_tokens_details": {"cached_tokens": cached},
            }
            wire = reply(completion_of(said.text, said.candidates, usage), stream=bool(request.get("stream")))
            await asyncio.sleep(self.pace.call)
            spread = self.pace.token * said.tokens / len(wire.pieces)
            stays_open = await self.play(replace(wire, pause=spread), writer)
            ended = time.perf_counter()
        self.calls[request["model"]].append(Call(asked, ended, read - cached))
        return stays_open

    def calls_of(self, model: str) -> list[Call]:
        """Return the calls to ``model`` since this was last asked."""
        return self.calls.pop(model, [])
