"""How well `verify` tells sentences that the sample library states from those that it contradicts or does not state.

    python -m benchmarks.claims                                       60 sentences that nothing was tuned on
    python -m benchmarks.claims --claims data/claims/tuning.jsonl     30 others, on which it was tuned
    python -m benchmarks.claims --agent data/claims/agents.jsonl      60 answers of an agent, each with a false claim

A third of the sentences is true, a third has a figure or name changed, a third is stated nowhere. Precision and recall
are of the labels "no support" and "contradicted". ``bench/claims.json`` has the figures.

The answers of an agent, each of a true and a false sentence, go through the middleware that checks them.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime

from app.agents import HOLDS
from app.checking.verification import CONTRADICTED, VerifiedClaim
from app.front_door import SelfRAG
from app.libraries import SAMPLE
from benchmarks.harness import counted, listed, option_parser, read_rows, shown, write_figures
from benchmarks.sample import open_docs
from core.text import shortened
from evaluation.measures.statistics import Estimate, exact_share

DEFAULT = SAMPLE.parent / "claims" / "reporting.jsonl"
KINDS = ("true", "changed", "absent")
FLAGGED = ("no support", CONTRADICTED)


def main() -> None:
    """Verify the sentences, print each that was misjudged, then the figures."""
    parser = option_parser(__doc__, claims=DEFAULT)
    parser.add_argument("--agent", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.agent:
        asyncio.run(of_an_agent(read_rows(options.agent)))
        return
    rows = read_rows(options.claims)
    began = time.perf_counter()
    verified = asyncio.run(verify_all([row["claim"] for row in rows], open_docs(None)))
    seconds = (time.perf_counter() - began) / len(rows)
    for row, one in zip(rows, verified, strict=True):
        if (row["kind"] != "true") != (one.label in FLAGGED):
            print(f"{row['kind']:8} {one.label:20} {row['claim']}  ({shortened(one.reason or '', 80)})")
    kinds = [row["kind"] for row in rows]
    labels = [one.label for one in verified]
    counts = {kind: Counter(label for one, label in zip(kinds, labels, strict=True) if one == kind) for kind in KINDS}
    for kind, found in counts.items():
        print(f"{kind:8} {listed(found)}")
    precision, recall = of_flagging(kinds, labels)
    print(f"precision {shown(precision)}\nrecall    {shown(recall)}\n{seconds:.1f} s a sentence")
    figures: dict[str, Any] = {"precision": precision, "recall": recall, "labels": counts, "seconds": seconds}
    write_figures("claims", figures)


async def of_an_agent(rows: Sequence[dict[str, str]]) -> None:
    """Print how many planted claims the middleware stops, and how many true ones it lets through."""
    stopped: Counter[str] = Counter()
    kinds = Counter(row["kind"] for row in rows)
    began = time.perf_counter()
    async with open_docs(None) as rag:
        check = rag.as_middleware(redrafts=0, seconds=3_600)
        for number, row in enumerate(counted(rows)):
            both = [row["true"], row["false"]][:: 1 - 2 * (number % 2)]  # each is the first as often
            state: Any = {"messages": [HumanMessage(row["question"]), AIMessage(" ".join(both))]}
            told = await check.aafter_model(state, Runtime())
            held = {one["text"]: one["label"] in HOLDS for one in (told or {})["checked"]["claims"]}
            for text in (row["true"], row["false"]):
                if held.get(text) is not (text == row["true"]):
                    print(f"{row['kind'] if text == row['false'] else 'true':8} {text}")
            stopped["true"] += not held.get(row["true"])
            stopped[row["kind"]] += held.get(row["false"]) is False
    seconds = (time.perf_counter() - began) / (2 * len(rows))
    figures = {kind: exact_share(stopped[kind], count) for kind, count in [*kinds.items(), ("true", len(rows))]}
    figures["false"] = exact_share(sum(stopped[kind] for kind in kinds), len(rows))
    for kind, share in figures.items():
        print(f"{kind:8} stopped {shown(share)}")
    print(f"{seconds:.1f} s a sentence")
    write_figures("agent_claims", {**figures, "seconds": seconds})


async def verify_all(claims: list[str], rag: SelfRAG) -> list[VerifiedClaim]:
    """Verify the sentences one after the other."""
    async with rag:
        return [await rag.averify(claim) for claim in counted(claims)]


def of_flagging(kinds: Sequence[str], labels: Sequence[str]) -> tuple[Estimate, Estimate]:
    """Return precision and recall of flagging what is not true."""
    flagged, false = [label in FLAGGED for label in labels], [kind != "true" for kind in kinds]
    hits = sum(said and wrong for said, wrong in zip(flagged, false, strict=True))
    return exact_share(hits, sum(flagged)), exact_share(hits, sum(false))


if __name__ == "__main__":
    main()
