"""Attack the text rules with repeated fragments of the largest size that can reach them."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

from graph.builder import build_graph
from run.context import Context, Limits
from tests.scripted import ScriptedCritic, ScriptedGenerator, ScriptedRetriever, document, services
from tests.stress.hostile.world import World

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
FRAGMENTS = st.one_of(
    st.sampled_from(WORDS), st.sampled_from(WORDS).map(lambda word: f"{word} "), st.text(min_size=1, max_size=3)
)
PLACES = (
    *(("draft",), ("question",), ("passages",), ("draft", "passages"), ("question", "draft"), ("question", "passages")),
    *(("question", "draft", "passages"), ("query",), ("direct",)),
)
TAILS = ("", "", "!", "x", "\n", " 1", "”", ".")
VERDICTS = ("fully supported", "no support", "partially supported")
ATTACKS: st.SearchStrategy[tuple[Any, ...]] = st.tuples(
    FRAGMENTS, FRAGMENTS, st.sampled_from(PLACES), st.sampled_from(TAILS), st.sampled_from(VERDICTS)
)


def play(_: World, first: str, second: str, places: tuple[str, ...], tail: str, verdict: str) -> Iterator[str]:
    """Ask with long texts in some places; yield a violation if the event loop stood still."""
    unit = first + second
    texts = {place: (unit * (ROOM[place] // len(unit)))[: ROOM[place] - 8] + tail for place in places}
    held = asyncio.run(ask(texts, verdict))
    if held > GAP:
        yield f"held: the event loop stood still for {held:.1f} s"


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
