"""Attack the text rules with repeated fragments of the largest size that can reach them."""

import asyncio
import faulthandler
import re
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random

from hypothesis import strategies as st

from tests.stress.hostile.surface import Surface
from tests.stress.hostile.world import World

DRAFT, QUESTION, PASSAGE = 64 * 400, 7_980, 20_000  # characters; a question has at most 8,000
ROOT = Path(__file__).resolve().parents[3]
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
PLACES: tuple[tuple[str, ...], ...] = (
    *(("draft",), ("question",), ("passages",), ("draft", "passages"), ("question", "draft"), ("question", "passages")),
    *(("question", "draft", "passages"), ("query",), ("direct",)),
)
VERDICTS = ("fully supported", "no support", "partially supported")


def ask(texts: Mapping[str, str], verdict: str, stacks: str) -> int:
    """Run the graph with scripted models; print on stderr for how many CPU seconds the event loop was blocked."""
    from graph.builder import build_graph
    from run.context import Context, Limits
    from tests.scripted import ScriptedCritic, ScriptedGenerator, ScriptedRetriever, document, services

    route = "direct" if "direct" in texts else "retrieve"
    relevant = "irrelevant" if "query" in texts else "relevant"
    critic = ScriptedCritic(otherwise={"retrieve": route, "relevance": relevant, "support": verdict, "usefulness": "5"})
    says = {"query": texts.get("query", "other words"), "direct": texts.get("direct", "It is 4.")}
    generator = ScriptedGenerator(
        forever=lambda name, turn: says.get(name, f"{texts.get('draft', 'It is so.')}{' Again.' * turn}")
    )
    found = [document(f"{texts.get('passages', 'It is so.')} {at}") for at in range(4)]
    graph = build_graph(services(generator, critic, ScriptedRetriever(always=found), limits=Limits(seconds=SECONDS)))
    question = f"What is so? {texts.get('question', '')}"

    async def timed() -> float:
        longest, last = 0.0, time.thread_time()
        asking = asyncio.ensure_future(graph.ainvoke({"question": question}, context=Context()))
        while not asking.done():
            await asyncio.wait([asking], timeout=0.02)
            now = time.thread_time()
            longest, last = max(longest, now - last), now
        await asking
        return longest

    with Path(stacks).open("w") as file:  # where it stands when it is held for long, whatever holds it
        faulthandler.dump_traceback_later(GAP, repeat=True, file=file)
        longest = asyncio.run(timed())
        faulthandler.cancel_dump_traceback_later()
    sys.stderr.write(f"held for {longest:.1f} s\n")
    return 0


def _rule(
    world: World, dice: Random, first: str, second: str, places: tuple[str, ...], tail: str, verdict: str
) -> None:
    unit = first + second
    room = {"draft": DRAFT, "direct": DRAFT, "question": QUESTION, "passages": PASSAGE, "query": 40 * 64}
    texts = {place: (unit * (room[place] // len(unit)))[: room[place] - 8] + tail for place in places}
    stacks = world.output / "stacks"
    ended = world.call(ask, texts, verdict, str(stacks), seconds=2 * SECONDS)
    _, found, figures = ended.err.rpartition("held for ")
    held = ", ".join(f"{place} {times} times" for place, times in _places(stacks).most_common(2))
    if not found:
        world.broken.append(f"held: to the end of {ended.seconds:.0f} s, in {held}: {ended.err[-300:]}")
    elif float(figures.split()[0]) > GAP:
        world.broken.append(f"held: the event loop stood still for {figures.split()[0]} s, in {held}")


def _places(stacks: Path) -> Counter[str]:
    """Count the innermost function of our own in each stack."""
    text = stacks.read_text("utf-8", "replace") if stacks.exists() else ""
    ours = re.compile(rf'File "{re.escape(str(ROOT))}/(?!tests|\.)(\S+)", line \d+ in (\w+)')
    inner = (ours.search(one) for one in text.split("most recent call first")[1:])
    return Counter(f"{found[1]} {found[2]}" for found in inner if found)


TAILS = ("", "", "!", "x", "\n", " 1", "”", ".")
RULES = Surface(
    "rules",
    st.tuples(FRAGMENTS, FRAGMENTS, st.sampled_from(PLACES), st.sampled_from(TAILS), st.sampled_from(VERDICTS)),
    _rule,
)
