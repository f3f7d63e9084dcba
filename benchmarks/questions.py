"""Ask every question of a file and compare route and outcome with what is expected.

    python -m benchmarks.questions data/questions.jsonl
    python -m benchmarks.questions ../shared/data/AI_Information.questions.json --docs ../shared/data/AI_Information.pdf

With ``--out FILE`` every result is appended as it comes, and a second run goes on where the first stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from pathlib import Path
from typing import Any

from app.result import result_of
from benchmarks.common import bound, read_questions
from evidence.words import stems
from graph.builder import build_graph

ANSWERED = ("grounded", "partially_grounded")


def main() -> None:
    """Ask, print a row for each question, then the shares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--docs", type=Path, action="append")
    parser.add_argument("--out", type=Path, help="results as JSONL; those already there are not asked again")
    parser.add_argument("--most", type=int, help="ask only the first so many")
    options = parser.parse_args()
    rows = read_questions(options.questions)[: options.most]
    earlier = read_questions(options.out) if options.out and options.out.exists() else []
    asyncio.run(run(rows, options.docs, options.out, {result["question"]: result for result in earlier}))


async def run(
    rows: list[dict[str, Any]], docs: list[Path] | None, out: Path | None, done: dict[str, dict[str, Any]]
) -> None:
    """Ask one after the other, as one person would, but for those that are done."""
    with bound(docs) as (services, context):
        graph = build_graph(services)
        for row in rows:
            result = done.get(row["question"])
            if result is None:
                state: Any = await graph.ainvoke({"question": row["question"]}, context=context)
                result = result_of(state)
                done[row["question"]] = result
                if out:
                    with out.open("a", encoding="utf-8") as lines:
                        lines.write(json.dumps(result, ensure_ascii=False) + "\n")
            print(line(row, result), flush=True)
    summary(rows, done)


def line(row: dict[str, Any], result: dict[str, Any]) -> str:
    """One question: what was expected, what came, whether it is right, the answer and its first quote."""
    right = matches(row, result)
    mark = {True: "right", False: "WRONG", None: "-"}[right]
    quote = result["citations"][0]["quote"] if result["citations"] else ""
    return " | ".join(
        [
            f"{mark:5}",
            f"{row.get('outcome', ''):9}",
            f"{result['outcome']:18}",
            f"{result['stop_reason']:18}",
            f"{result['usage']['model_calls']:2} calls {result['usage']['seconds']:5.1f} s",
            row["question"],
            " ".join(result["answer"].split())[:300],
            " ".join(quote.split())[:200],
        ]
    )


def matches(row: dict[str, Any], result: dict[str, Any]) -> bool | None:
    """Whether the answer holds the reference: its figures, and half of its words. None without a reference.

    A rough measure, to find what to read; the table is there to be read.
    """
    reference = row.get("answer")
    if row.get("outcome") == "abstained":
        return bool(result["outcome"] == "abstained")
    if not reference or result["outcome"] not in (*ANSWERED, "direct"):
        return False if reference else None
    said = stems(result["answer"] + " " + result["question"])
    wanted = stems(reference)
    figures = {word for word in wanted if re.fullmatch(r"[\d.]+", word)}
    if figures:
        return bool(figures & said)
    return len(wanted & said) >= 0.4 * len(wanted)


def route_of(result: dict[str, Any]) -> str:
    """The route that was taken."""
    return "direct" if result["outcome"] == "direct" and not result["retrieved"] else "retrieve"


def summary(rows: list[dict[str, Any]], done: dict[str, dict[str, Any]]) -> None:
    """The shares of right routes and outcomes, by what was expected."""
    results = [(row, done[row["question"]]) for row in rows]
    routes = [route_of(result) == row["route"] for row, result in results if "route" in row]
    kinds: dict[str, list[bool]] = {}
    for row, result in results:
        kinds.setdefault(row["outcome"], []).append(result["outcome"] == row["outcome"])
    outcomes = [hit for hits in kinds.values() for hit in hits]
    print(f"\nroute right: {sum(routes)} of {len(routes)} ({sum(routes) / max(1, len(routes)):.1%})")
    print(f"outcome right: {sum(outcomes)} of {len(outcomes)} ({sum(outcomes) / max(1, len(outcomes)):.1%})")
    for kind, hits in kinds.items():
        print(f"  {kind}: {sum(hits)} of {len(hits)}")
    answered = [
        (row, result)
        for row, result in results
        if row["outcome"] == "grounded" and row.get("answer") and result["outcome"] in ANSWERED
    ]
    right = sum(bool(matches(row, result)) for row, result in answered)
    print(f"of {len(answered)} answered from documents, {right} hold the reference answer (by figures or words)")


if __name__ == "__main__":
    main()
