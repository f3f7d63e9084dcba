"""Attack the text rules with repeated fragments of the largest size that can reach them."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from graph.builder import build_graph
from run.context import Context, Limits
from tests.scripted import ScriptedCritic, ScriptedGenerator, ScriptedRetriever, document, services

ROOM = {"draft": 64 * 400, "direct": 64 * 400, "question": 7_980, "passages": 20_000, "query": 64 * 40}  # characters
SECONDS = 20.0  # the limit of the question
GAP = 1.5  # seconds of the processor without a turn of the event loop
WORDS = (
    "not¦no¦and¦but¦before¦more than¦at least¦between¦from¦to¦of¦the¦The¦is¦born in¦first¦million¦percent¦thousand¦two¦"
    "twenty-one¦May 5,¦2024-05-31¦1990s¦BC¦Monday¦12:30¦a.m.¦km¦USD¦Paris¦O'Neil¦John Smith¦van der Berg¦IBM¦GPT-4¦"
    "https://a.b/c¦x@y.z¦C++¦I don't know¦because¦however,¦who¦that¦said¦according to¦[2]¦passage¦e.g.¦Dr.¦U.S.¦A.B.¦"
    "1,¦1.1¦1/¦1-¦$1¦1%¦1e¦[1]¦...¦--¦“¦”¦\"¦'¦(¦)¦\n¦\n\n¦\n- ¦\n1. ¦\n# A\n¦\n| a | b |¦\n```\n¦\n> ¦e\u0301¦"
    'The tenant pays 5 pounds. ¦<think>¦</think>¦<passage id="1">\n¦\n</passage>'
).split("¦")
PLACES = (
    *(("draft",), ("question",), ("passages",), ("draft", "passages"), ("question", "draft"), ("question", "passages")),
    *(("question", "draft", "passages"), ("query",), ("direct",)),
)
TAILS = ("", "", "!", "x", "\n", " 1", "”", ".")
VERDICTS = ("fully supported", "no support", "partially supported")


def play(_: Path, dice: Random) -> Iterator[str]:
    """Ask with long texts in some places; yield a violation if the event loop stood still."""
    unit, places, tail = fragment(dice) + fragment(dice), dice.choice(PLACES), dice.choice(TAILS)
    texts = {place: (unit * (ROOM[place] // len(unit)))[: ROOM[place] - 8] + tail for place in places}
    held = asyncio.run(ask(texts, dice.choice(VERDICTS)))
    if held > GAP:
        yield f"held: the event loop stood still for {held:.1f} s over {unit!r} and {tail!r} in {places}"


def fragment(dice: Random) -> str:
    """A word, one with a space behind it, or one to three characters of any script."""
    word = dice.choice(WORDS)
    characters = "".join(chr(dice.randrange(0xD800)) for _ in range(dice.randint(1, 3)))
    return dice.choice((word, f"{word} ", characters))


async def ask(texts: Mapping[str, str], verdict: str) -> float:
    """Ask the graph with scripted models; return for how many CPU seconds the event loop was blocked."""
    route = "direct" if "direct" in texts else "retrieve"
    relevant = "irrelevant" if "query" in texts else "relevant"
    critic = ScriptedCritic(otherwise={"retrieve": route, "relevance": relevant, "support": verdict, "usefulness": "5"})
    says = {"query": texts.get("query", "other words"), "direct": texts.get("direct", "It is 4.")}
    generator = ScriptedGenerator(
        forever=lambda name, turn: says.get(name, f"{texts.get('draft', 'It is so.')}{' Again.' * turn}")
    )
    found = [document(f"{texts.get('passages', 'It is so.')} {at}") for at in range(4)]
    graph = build_graph(services(generator, critic, ScriptedRetriever(always=found), limits=Limits(seconds=SECONDS)))
    question: Any = {"question": f"What is so? {texts.get('question', '')}"}
    longest, last = 0.0, time.thread_time()
    asking = asyncio.ensure_future(graph.ainvoke(question, context=Context()))
    while not asking.done():
        await asyncio.wait([asking], timeout=0.02)
        now = time.thread_time()
        longest, last = max(longest, now - last), now
    await asking
    return longest
