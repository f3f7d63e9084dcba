"""Measure recall: by vectors, by BM25, and by both.

    python -m benchmarks.index.recall [SQUAD.json] [--paragraphs 25-48] [--k 4]

The article's paragraphs are indexed with the embedded model, and the answerable questions on ``--paragraphs`` asked. A
passage counts when it comes from the paragraph that the question was asked on. It writes ``bench/index_recall.json``
and ends with 1 if searching by both is not the best.
"""

import tempfile
from pathlib import Path
from typing import get_args

from app.compose import embeddings_of
from app.options import number_range
from app.settings import load_settings
from benchmarks.harness import aligned, end, option_parser, shown
from evaluation.datasets.question_set import load
from evaluation.measures.scores import is_gold_source
from evaluation.measures.statistics import mean
from evaluation.records import Example
from retrieval.library.library import Library
from retrieval.searching_store import Store
from retrieval.store import Search

ARTICLE = Path("../shared/data/squad2_computational_complexity.json")
WAYS: tuple[Search, ...] = get_args(Search)
BOTH: Search = "hybrid"


def main() -> None:
    """Index, ask, print, write."""
    parser = option_parser(__doc__, k=4)
    parser.add_argument("article", type=Path, nargs="?", default=ARTICLE)
    parser.add_argument("--paragraphs", type=number_range, default=(25, 48), metavar="FROM-TO")
    options = parser.parse_args()
    model, name = embeddings_of(load_settings())
    with tempfile.TemporaryDirectory() as folder:
        paragraphs = Path(folder) / "paragraphs"
        examples = load(options.article, paragraphs, options.paragraphs).examples
        known = [one for one in examples if one.answerable and any(gold.source for gold in one.gold)]
        with Library.open(Path(folder) / "index", model, embedding_name=name) as library:
            library.add([paragraphs])
            library.sync()
            recall = {way: mean([found(library.store, one, options.k, way) for one in known]) for way in WAYS}
    print(f"{len(known)} questions, recall@{options.k}")
    print(aligned([(way, shown(one, 3)) for way, one in recall.items()]))
    figures = {"k": options.k, "embedding": name, "recall": recall}
    values = {way: one.value or 0.0 for way, one in recall.items()}
    end("index_recall", figures, [f"{way} is better than both" for way in WAYS if values[way] > values[BOTH]])


def found(store: Store, example: Example, k: int, way: Search) -> float:
    """Return 1 if a passage of a document that the example names is among the first ``k``, else 0."""
    passages = store.similarity_search(example.question, k, search=way)
    return float(any(is_gold_source(example, passage.metadata["source"]) for passage in passages))


if __name__ == "__main__":
    main()
