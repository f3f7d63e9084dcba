"""How well `verify` tells sentences that the sample library states from those that it contradicts or does not state.

    python -m benchmarks.claims                                       60 sentences that nothing was tuned on
    python -m benchmarks.claims --claims data/claims/tuning.jsonl     30 others, on which it was tuned
    python -m benchmarks.claims --records eval/squad2 --most 50       claims of answers, against the graph's verdicts

A third of the sentences is true, a third has a figure or name changed, a third is stated nowhere. Precision and recall
are of the labels "no support" and "contradicted". ``bench/claims.json`` has the figures. With ``--records`` the first
claims of an evaluation's answers are verified with their question, over the passages that they were written from.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from langchain_core.documents import Document

from app.front_door import SelfRAG
from app.verification import CONTRADICTED, VerifiedClaim, verdict_on_answer
from benchmarks.harness import end_progress, option_parser, read_rows, show_progress, write_figures
from benchmarks.sample import open_docs
from core.text import shortened
from core.types import Passage
from evaluation.measures.statistics import exact_share
from evaluation.record_store import NAME, entry_of
from evaluation.records import Seen
from grounding.claims import Statement
from models.usage import unlimited
from nodes.check_claim import Evidence
from nodes.retrieve import as_passage

DEFAULT = Path(__file__).resolve().parent.parent / "data" / "claims" / "reporting.jsonl"
FLAGGED = ("no support", CONTRADICTED)


def main() -> None:
    """Verify the sentences, print each that was misjudged, then the figures."""
    options = option_parser(__doc__, claims=DEFAULT, records=Path(), most=50).parse_args()
    if options.records != Path():
        print(asyncio.run(agreement(options.records, options.most, open_docs(None))))
        return
    rows = read_rows(options.claims)
    began = time.perf_counter()
    verified = asyncio.run(verify_all([row["claim"] for row in rows], open_docs(None)))
    seconds = time.perf_counter() - began
    flagged = [one.label in FLAGGED for one in verified]
    false = [row["kind"] != "true" for row in rows]
    for row, one, said, wrong in zip(rows, verified, flagged, false, strict=True):
        if said != wrong:
            probability = 1 - (one.probabilities or {}).get("no support", 1.0)
            print(
                f"{row['kind']:8} {one.label:20} {probability:.2f}  {row['claim']}  ({shortened(one.reason or '', 80)})"
            )
    hits = sum(said and wrong for said, wrong in zip(flagged, false, strict=True))
    precision, recall = exact_share(hits, sum(flagged)), exact_share(hits, sum(false))
    kinds = {
        kind: Counter(one.label for row, one in zip(rows, verified, strict=True) if row["kind"] == kind)
        for kind in dict.fromkeys(row["kind"] for row in rows)
    }
    for kind, labels in kinds.items():
        print(f"{kind:8} {', '.join(f'{count} {label}' for label, count in labels.most_common())}")
    for name, found in (("precision", precision), ("recall", recall)):
        print(f"{name:9} {found.value:.2f} [{found.low:.2f}, {found.high:.2f}]")
    print(f"{seconds / len(rows):.1f} s a sentence")
    figures = {
        "precision": asdict(precision),
        "recall": asdict(recall),
        "labels": kinds,
        "seconds": seconds / len(rows),
    }
    write_figures("claims", figures)


async def verify_all(claims: list[str], rag: SelfRAG) -> list[VerifiedClaim]:
    """Verify the sentences one after the other."""
    verified: list[VerifiedClaim] = []
    async with rag:
        for claim in claims:
            verified.append(await rag.averify(claim))
            show_progress(f"{len(verified)} of {len(claims)}")
    end_progress()
    return verified


async def agreement(folder: Path, most: int, rag: SelfRAG) -> str:
    """Verify claims that the graph judged, and say how often both agree that one is supported."""
    pairs: Counter[tuple[str, str]] = Counter()
    services, context = rag.services_to_check().with_budget(unlimited()), rag.services.completed(rag.context)
    async with rag:
        for claim, label, evidence in list(claims_judged(folder))[:most]:
            found = await verdict_on_answer(Statement(claim, "", 0), evidence, services, context)
            pairs[label, found["verdict"]["label"]] += 1
            show_progress(f"{pairs.total()} of {most}")
    end_progress()
    same = sum(count for (one, other), count in pairs.items() if (one in FLAGGED) == (other in FLAGGED))
    lines = [f"{count:3} {one} by the graph, {other} by verify" for (one, other), count in pairs.most_common()]
    return "\n".join([*lines, f"{same} of {pairs.total()} the same, supported or not"])


def claims_judged(folder: Path) -> Iterator[tuple[str, str, Evidence]]:
    """Yield each claim of Self-RAG's answers, its label, and its question with the passages."""
    for line in (folder / NAME).read_bytes().splitlines():
        entry = entry_of(line)
        if entry is None or entry[1]["system"] != "self-rag":
            continue
        record = entry[1]
        read = record.get("read", [])
        evidence = Evidence(record["question"], _passages(read), elsewhere=_passages(record["seen"]))
        for said in record["said"]:
            if said["label"] and read:
                yield said["text"], said["label"], evidence


def _passages(seen: Sequence[Seen]) -> list[Passage]:
    return [
        as_passage(Document(one["text"], metadata={key: value for key, value in one.items() if key != "text"}))
        for one in seen
    ]


if __name__ == "__main__":
    main()
