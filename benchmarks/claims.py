"""How well `verify` tells sentences that the sample library states from those that it contradicts or does not state.

    python -m benchmarks.claims                                       60 sentences that nothing was tuned on
    python -m benchmarks.claims --claims data/claims/tuning.jsonl     30 others, on which it was tuned

A third of the sentences is true, a third has a figure or name changed, a third is stated nowhere. Precision and recall
are of the labels "no support" and "contradicted". ``bench/claims.json`` has the figures.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

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
    options = option_parser(__doc__, claims=DEFAULT).parse_args()
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
