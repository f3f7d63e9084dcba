"""Measure recall: by vectors, by BM25, and by both.

    python -m benchmarks.index.recall [SQUAD.json] [--paragraphs 25-48] [--chunk-size 500] [--k 4] [--store URL]

The article's paragraphs are indexed with the embedded model, and the answerable questions on ``--paragraphs`` asked. A
passage counts when it comes from the paragraph that the question was asked on. Then the same for the sample library
with its own questions. It writes ``bench/index_recall.json`` and ends with 1 if searching by both is not the best.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from app.compose import embeddings_of
from app.libraries import SAMPLE
from app.options import span
from app.settings import load_settings
from benchmarks.harness import aligned, end, option_parser, shown
from benchmarks.sample import QUESTIONS
from evaluation.datasets.question_set import load
from evaluation.measures.scores import is_gold_source
from evaluation.measures.statistics import Difference, difference, mean
from evaluation.records import Example
from retrieval.library.library import Library, open_store
from retrieval.searching_store import Store
from retrieval.splitter import SplitSettings
from retrieval.store import Model, Search

ARTICLE = Path("../shared/data/squad2_computational_complexity.json")
WAYS: tuple[Search, ...] = get_args(Search)
BOTH: Search = "hybrid"


def main() -> None:
    """Index, ask, print, write."""
    parser = option_parser(__doc__, chunk_size=SplitSettings().chunk_size, k=4)
    parser.add_argument("article", type=Path, nargs="?", default=ARTICLE)
    parser.add_argument("--paragraphs", type=span, default=(25, 48), metavar="FROM-TO")
    parser.add_argument("--store", default="sqlite://", metavar="URL", help="where to index, as SELFRAG_STORE names it")
    options = parser.parse_args()
    model = Model(*embeddings_of(load_settings()))
    splits = SplitSettings(options.chunk_size, min(SplitSettings().overlap, options.chunk_size // 10))
    figures: dict[str, Any] = {"k": options.k, "embedding": model.name, "chunk_size": splits.chunk_size}
    with tempfile.TemporaryDirectory() as folder:
        paragraphs = Path(folder) / "paragraphs"
        asked = {
            "article": (load(options.article, paragraphs, options.paragraphs).examples, paragraphs),
            "sample": (load(QUESTIONS, paragraphs).examples, SAMPLE),
        }
        for name, (examples, documents) in asked.items():
            known = [one for one in examples if one.answerable and any(gold.source for gold in one.gold)]
            with Library(open_store(options.store, name, model, home=Path(folder)), splits) as library:
                library.add([documents])
                library.sync()
                figures[name] = measured(library.store, known, options.k)
            print(f"\n{name}: {len(known)} questions\n{table(figures[name], options.k)}")
    end("index_recall", figures, violated(figures["article"]))


def measured(store: Store, examples: Sequence[Example], k: int) -> dict[str, Any]:
    """Each way's recall, and their paired differences."""
    values = {way: [found(store, example, k, way) for example in examples] for way in WAYS}
    pairs: tuple[tuple[Search, Search], ...] = ((BOTH, "vectors"), (BOTH, "bm25"), ("vectors", "bm25"))
    return {
        "recall": {way: mean(hits) for way, hits in values.items()},
        "differences": {f"{one} - {other}": paired(values[one], values[other]) for one, other in pairs},
    }


def found(store: Store, example: Example, k: int, way: Search) -> float:
    """Whether a passage of a document that the example names is among the first ``k``, as 0 or 1."""
    passages = store.similarity_search(example.question, k, search=way)
    return float(any(is_gold_source(example, passage.metadata["source"]) for passage in passages))


def paired(one: Sequence[float], other: Sequence[float]) -> Difference:
    """The difference of two means over the same questions."""
    return difference((one, [1.0] * len(one)), (other, [1.0] * len(other)))


def violated(figures: Mapping[str, Any]) -> list[str]:
    """The ways that are better than both together."""
    recall = figures["recall"]
    return [f"{way} alone is better than both" for way in WAYS if recall[way].value > recall[BOTH].value]


def table(figures: Mapping[str, Any], k: int) -> str:
    """The figures of one set of questions."""
    rows = [(f"{way}, recall@{k}", shown(value, 3)) for way, value in figures["recall"].items()]
    rows += [(name, f"{shown(value, 3)}, p {value.p:.2g}") for name, value in figures["differences"].items()]
    return aligned(rows)


if __name__ == "__main__":
    main()
