"""Fit the gate that leaves improbable passages ungraded; show how many it skips and how many gold ones it loses.

    python -m training.fit_gate ../shared/data/squad2_computational_complexity.json --paragraphs 1-24 --write
    python -m training.fit_gate ../shared/data/squad2_computational_complexity.json --paragraphs 25-48 --check
    python -m training.fit_gate data/questions.jsonl --check

No language model runs. A logistic regression is fitted to whether a passage that the first search found is gold; each
passage's chance is by a regression without its paragraph, and the threshold keeps at least ``KEPT`` of the gold ones.
A passage is also skipped if its cosine is below that of every gold one: questions on other subjects find such.
``--write`` stores both with the embedding model's description; ``--check`` shows those stored on other questions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from app.libraries import SAMPLE, library_to_ask
from app.options import number_range
from app.settings import load_settings
from app.terminal.screen import Screen
from benchmarks.harness import option_parser
from core.errors import RequestError
from core.types import Passage
from evaluation.datasets.question_set import load
from evaluation.measures.scores import holds_gold
from evaluation.records import Dataset, Example
from models.calibration import MINILM, MINILM_FILE, Fit, search_features, too_unlikely
from nodes.found_passages import as_passage
from training.fit_critic import command, cross_fitted, paragraph_of, store

EVIDENCE = ("similarity", "similarity_behind", "coverage_behind")
KEPT = 0.995  # of the gold passages
OUT = Path("eval/gate")


@dataclass(frozen=True)
class Search:
    """What the first search of an example found, what is known of each passage, and whether it is gold."""

    example: Example
    passages: list[Passage]
    evidence: list[dict[str, float]]
    gold: list[bool]


def main() -> None:
    """Search, fit or read the gate, print, and store if asked."""
    parser = option_parser(__doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--paragraphs", type=number_range)
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--check", action="store_true")
    does.add_argument("--write", action="store_true")
    options = parser.parse_args()
    dataset = load(options.dataset, OUT / "documents", options.paragraphs)
    searches = searched(dataset)
    if options.check:
        if MINILM.fits.gate is None:
            raise RequestError(f"There is no gate in {MINILM_FILE.name}: fit one with --write.")
        gate, least, similar = MINILM.fits.gate, MINILM.thresholds["graded"], MINILM.thresholds["similar"]
        chances = [[gate.probability(one) for one in search.evidence] for search in searches]
    else:
        gate, chances = fitted(searches)
        pairs = [pair for one in searches for pair in zip(one.evidence, one.gold, strict=True)]
        least = threshold(searches, chances)
        # The cosine, to one place, that every gold passage has.
        similar = math.floor(10 * min(known["similarity"] for known, gold in pairs if gold)) / 10
        print(gate, f"cosine {similar}")
    found = tally(searches, chances, least, similar)
    print(f"graded from {least:.4f}: {', '.join(f'{name} {count}' for name, count in found.items())}")
    if options.write:
        provenance = {
            "command": command(),
            "fitted": date.today().isoformat(),
            "questions": str(len(searches)),
            "passages": str(found["passages"]),
            "gold": str(found["gold"]),
            "skipped_held_out": str(found["skipped"]),
            "lost_held_out": str(found["lost"]),
        }
        store(MINILM, MINILM_FILE, {"gate": gate}, {"graded": least, "similar": similar}, provenance)


def searched(dataset: Dataset) -> list[Search]:
    """Search for each example that needs documents, with the application's index and ``k``.

    A passage of an example without gold spans counts as not gold.
    """
    settings = load_settings()
    if settings.selfrag_embedding_model:
        raise RequestError("The gate is of the default embedding model: unset SELFRAG_EMBEDDING_MODEL.")
    with library_to_ask(dataset.documents or [SAMPLE], settings, Screen()) as library:
        asked = [example for example in dataset.examples if example.route != "direct"]
        found = []
        for example in asked:
            passages = list(map(as_passage, library.store.similarity_search(example.question, settings.selfrag_k)))
            gold = [bool(holds_gold(example, passage["text"], passage["source"])) for passage in passages]
            found.append(Search(example, passages, search_features(example.question, passages), gold))
        return found


def fitted(searches: Sequence[Search]) -> tuple[Fit, list[list[float]]]:
    """Return the regression on all searches, and each passage's chance by one without those of its paragraph."""
    evidence = [one for search in searches for one in search.evidence]
    labels = [gold for search in searches for gold in search.gold]
    groups = [paragraph_of(search.example, search.passages) for search in searches for _ in search.passages]
    fit, held_out = cross_fitted(evidence, labels, groups, EVIDENCE)
    left = iter(held_out)
    return fit, [[next(left) for _ in search.passages] for search in searches]


def threshold(searches: Sequence[Search], chances: Sequence[Sequence[float]]) -> float:
    """Return the highest threshold, to four places, that loses at most 1 - ``KEPT`` of the gold passages."""
    gold = sum(sum(search.gold) for search in searches)
    at_risk = sorted(
        chance
        for search, own in zip(searches, chances, strict=True)
        for chance, is_gold in zip(own, search.gold, strict=True)
        if is_gold and chance < max(own)
    )
    spare = math.floor((1 - KEPT) * gold)
    return math.floor(at_risk[spare] * 1e4) / 1e4 if spare < len(at_risk) else 1.0


def tally(
    searches: Sequence[Search], chances: Sequence[Sequence[float]], least: float, similar: float
) -> dict[str, int]:
    """Count all passages and those skipped, the gold ones and those lost, and the questions that have none left."""
    skipped = [
        too_unlikely(own, search.evidence, least, similar) for search, own in zip(searches, chances, strict=True)
    ]
    pairs = [list(zip(search.gold, own, strict=True)) for search, own in zip(searches, skipped, strict=True)]
    return {
        "passages": sum(map(len, pairs)),
        "skipped": sum(skip for own in pairs for _, skip in own),
        "gold": sum(gold for own in pairs for gold, _ in own),
        "lost": sum(gold and skip for own in pairs for gold, skip in own),
        "answered": sum(any(gold for gold, _ in own) for own in pairs),
        "unanswered": sum(
            any(gold for gold, _ in own) and not any(gold and not skip for gold, skip in own) for own in pairs
        ),
    }


if __name__ == "__main__":
    main()
