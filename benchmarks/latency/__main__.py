"""What Self-RAG's calls cost in time: plain retrieve-and-generate, ours and the peers' ways, k = 4, all checks on.

    python -m benchmarks.latency [--most 8]

Against a loopback server, in one run and in turns, after one question to warm up: each call takes 300 ms and 20 ms for
each token of its reply, or 300 ms flat. Drafts are charged as answers of 100 tokens, and their text is one claim. The
model finds one of the four passages relevant. Printed are medians over the questions: calls, the longest chain of calls
each of which began after the one before it had ended, wall-clock over plain, and input tokens not from a cache over
plain. The server's cache holds whole messages. `bench/latency.json` has the figures.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.harness import counted, option_parser, write_figures
from benchmarks.latency.timed_server import Call, Pace, TimedServer
from benchmarks.peers import peers
from benchmarks.sample import asked_of_sample
from benchmarks.turns import OURS, PLAIN, Turn, medians, table, turn_of
from evaluation.records import System
from evaluation.self_rag import self_rag_system
from evaluation.systems import plain
from models.calibration import MINILM
from models.connect import openai_chat
from models.critic import Critic
from models.generator import Generator
from run.context import Context, RetrieverLike, Services, Thresholds
from tests.integration.loopback import Remote, in_another_process

K = 4
CALL_SECONDS = 600.0


SERVERS = {"300 ms a call, 20 ms a token": Pace(0.3, 0.02), "flat 300 ms a call": Pace(0.3)}


def main() -> None:
    """Measure, print, write."""
    options = option_parser(__doc__, most=8).parse_args()
    measured = []
    for name, pace in SERVERS.items():
        turns = asyncio.run(measure(name, pace, options.most))
        ways = medians(turns)
        print(f"\n{name}; {len(turns)} questions\n{table(ways)}", flush=True)
        measured.append({"server": name, "questions": len(turns), "ways": ways})
    write_figures("latency", {"servers": measured})


def systems_at(server: Remote, retriever: RetrieverLike) -> list[System]:
    """Return plain, ours and the peers, each with its own model name, by which the server counts and caches.

    Ours has the gate that comes with the embedding model, whatever the chat model.
    """

    def services(name: str) -> Services:
        chat = openai_chat(name, base_url=server.base_url, api_key="none", call_seconds=CALL_SECONDS)
        return Services(Generator(chat), Critic(chat), retriever)

    gated = replace(services(OURS), thresholds=Thresholds(**MINILM.thresholds), fits=MINILM.fits)
    others = [replace(peer, services=services(peer.name)) for peer in peers(services(PLAIN), K)]
    return [plain(services(PLAIN), Context(k=K), PLAIN), self_rag_system(gated, Context(k=K), OURS), *others]


async def measure(name: str, pace: Pace, most: int) -> list[dict[str, Turn]]:
    """Return the turns of every way, for each question after the first; which way goes first changes."""
    asked, retriever = await asked_of_sample(K)
    asked = asked[: most + 1]
    with in_another_process(TimedServer, asked, pace) as server:
        ways = systems_at(server, retriever)
        rows = []
        for number, one in enumerate(counted(asked, name)):
            shift = number % len(ways)
            row = {way.name: await _turn(way, one.question, server) for way in ways[shift:] + ways[:shift]}
            rows.append({way.name: row[way.name] for way in ways})
    return rows[1:]


async def _turn(way: System, question: str, server: Remote) -> Turn:
    turn = await turn_of(way, question)
    calls: list[Call] = server.call("calls_of", way.name)
    if not turn.accepted:
        raise RuntimeError(f"{way.name} gave no answer at its first draft to: {question}")
    uncached = sum(call.uncached_tokens for call in calls)
    return replace(turn, calls=len(calls), uncached=uncached, chain=longest_chain(calls))


def longest_chain(calls: Sequence[Call]) -> int:
    """Return the length of the longest chain of calls each of which began after the one before it had ended."""
    chain, end = 0, float("-inf")
    for call in sorted(calls, key=lambda one: one.ended):
        if call.asked >= end:
            chain, end = chain + 1, call.ended
    return chain


if __name__ == "__main__":
    main()
