"""Measure recall: by vectors, by BM25, and by both.

    python -m benchmarks.index.recall [SQUAD.json] [--tuning 1-24] [--reporting 25-48] [--chunk-size 500] [--k 4]
                                     [--store URL]

The article's paragraphs are indexed with the embedded model; the answerable questions on the paragraphs ``--reporting``
are asked. A passage counts when it comes from the paragraph that the question was asked on; below that is shown how
often one holds the answer's words as well. The paragraphs ``--tuning`` serve only to look for other weights of the two
ways. Then the same for the sample library with its own questions, the first and the second half of them.
It writes ``bench/index_recall.json`` and ends with 1 if searching by both is not the best of the three.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args
from unittest.mock import patch

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from app.compose import embeddings_of
from app.libraries import SAMPLE
from app.settings import load_settings
from benchmarks.harness import option_parser, write_figures
from evaluation.datasets.question_set import load
from evaluation.measures.scores import holds_gold
from evaluation.measures.statistics import Difference, Estimate, difference, mean
from evaluation.records import Example
from retrieval.library.library import Library, open_store
from retrieval.ranking import fuse
from retrieval.searching_store import Store
from retrieval.splitter import SplitSettings
from retrieval.store import Model, Search

ARTICLE = Path("../shared/data/squad2_computational_complexity.json")
QUESTIONS = SAMPLE.parent / "questions.jsonl"
WAYS: tuple[Search, ...] = get_args(Search)
DEEP = 10  # passages that the reciprocal rank is looked for among
WEIGHTS = tuple(number / 10 for number in range(11))  # of meaning; the rest is for words
ROWS = {"recall": "recall@{k}", "answer": "recall@{k} of its words", "first": "recall@1", "reciprocal": "MRR@10"}


@dataclass(frozen=True)
class Hit:
    """What one search of a question found: whether among ``k``, whether with the answer's words, and how high."""

    recall: float
    answer: float
    first: float
    reciprocal: float


class Remembering(Embeddings):
    """Cache the embedding of each question."""

    def __init__(self, model: Embeddings) -> None:
        self._model = model
        self._known: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed passages."""
        return self._model.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Embed a question, or remember it."""
        if text not in self._known:
            self._known[text] = self._model.embed_query(text)
        return self._known[text]


def main() -> None:
    """Index, ask, print, write."""
    parser = option_parser(__doc__)
    parser.add_argument("article", type=Path, nargs="?", default=ARTICLE)
    parser.add_argument("--tuning", type=span, default=(1, 24), metavar="FROM-TO")
    parser.add_argument("--reporting", type=span, default=(25, 48), metavar="FROM-TO")
    parser.add_argument("--chunk-size", type=int, default=SplitSettings().chunk_size)
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument("--store", default="sqlite://", metavar="URL", help="where to index, as SELFRAG_STORE names it")
    options = parser.parse_args()
    model, name = embeddings_of(load_settings())
    embeddings = Remembering(model)
    splits = SplitSettings(options.chunk_size, min(SplitSettings().overlap, options.chunk_size // 10))
    with tempfile.TemporaryDirectory() as folder:
        documents = Path(folder) / "paragraphs"
        reporting = answerable(load(options.article, documents, options.reporting).examples)
        tuning = answerable(load(options.article, documents, options.tuning).examples)
        with indexed(options.store, Path(folder), "article", documents, Model(embeddings, name), splits) as store:
            article = measured(store, reporting, options.k)
            article |= {"chosen_weight": chosen(store, tuning, options.k)}
            article |= {"other_weight": reweighed(store, reporting, options.k, article["chosen_weight"]["weight"])}
        own = answerable(load(QUESTIONS, documents).examples)
        with indexed(options.store, Path(folder), "sample", SAMPLE, Model(embeddings, name), splits) as store:
            halves = {"first half": own[: len(own) // 2], "second half": own[len(own) // 2 :]}
            sample = {half: measured(store, examples, options.k) for half, examples in halves.items()}
    figures = {
        "k": options.k,
        "embedding": name,
        "chunk_size": splits.chunk_size,
        "reporting": list(options.reporting),
        "tuning": list(options.tuning),
        "article": article,
        "sample": sample,
    }
    print(report(figures))
    write_figures("index_recall", figures)
    sys.exit(0 if article["both_are_best"] else 1)


def span(text: str) -> tuple[int, int]:
    """Paragraphs from and to, both included, as '25-48'."""
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def answerable(examples: Sequence[Example]) -> list[Example]:
    """The questions that some document answers, by a span that is known."""
    return [example for example in examples if example.answerable and any(gold.source for gold in example.gold)]


@contextmanager
def indexed(
    url: str, home: Path, library: str, documents: Path, model: Model, splits: SplitSettings
) -> Iterator[Store]:
    """The store of a folder of documents, split and embedded as the application does it."""
    with Library(open_store(url, library, model, home=home), splits) as opened:
        opened.add([documents])
        report = opened.sync()
        print(f"{documents.name}: {report.passages} passages of {len(report.added)} documents", file=sys.stderr)
        yield opened.store


def measured(store: Store, examples: Sequence[Example], k: int) -> dict[str, Any]:
    """Each way's figures, their paired differences, and what leaving out near-duplicates does to them."""
    hits = {way: [searched(store, example, k, way) for example in examples] for way in WAYS}
    with patch("retrieval.ranking.distinct", all_of):
        repeated = [searched(store, example, k, "hybrid") for example in examples]
    values: dict[str, list[float]] = {way: column(found, "recall") for way, found in hits.items()}
    return {
        "questions": len(examples),
        "ways": {way: {row: asdict(mean(column(found, row))) for row in ROWS} for way, found in hits.items()},
        "differences": {
            f"{one} - {other}": asdict(paired(values[one], values[other]))
            for one, other in (("hybrid", "vectors"), ("hybrid", "bm25"), ("vectors", "bm25"))
        },
        "distinct - all": asdict(paired(values["hybrid"], column(repeated, "recall"))),
        "both_are_best": best_of(values) == "hybrid",
        "found_by": found_by(values),
    }


def searched(store: Store, example: Example, k: int, way: Search) -> Hit:
    """One question asked in one way."""
    few = store.similarity_search(example.question, k, search=way)
    many = few if k >= DEEP else store.similarity_search(example.question, DEEP, search=way)
    return judged(example, few, many[:DEEP])


def judged(example: Example, few: Sequence[Document], many: Sequence[Document]) -> Hit:
    """What it means that these passages were found, ``few`` for recall and ``many`` for the reciprocal rank."""
    right = [from_gold(example, document) for document in few]
    answers = any(holds_gold(example, document.page_content, document.metadata["source"]) for document in few)
    rank = next((place for place, document in enumerate(many, 1) if from_gold(example, document)), 0)
    return Hit(float(any(right)), float(answers), float(any(right[:1])), 1 / rank if rank else 0.0)


def from_gold(example: Example, document: Document) -> bool:
    """Whether a passage comes from a document that the example names, wherever that lies."""
    name = Path(document.metadata["source"]).name
    return any(gold.source is not None and Path(gold.source).name == name for gold in example.gold)


def column(hits: Sequence[Hit], row: str) -> list[float]:
    """One figure of all questions."""
    return [float(getattr(hit, row)) for hit in hits]


def paired(one: Sequence[float], other: Sequence[float]) -> Difference:
    """The difference of two means over the same questions."""
    return difference((one, [1.0] * len(one)), (other, [1.0] * len(other)))


def best_of(values: Mapping[str, Sequence[float]]) -> str:
    """The way with the highest mean; searching by both where it shares the first place."""
    return max(values, key=lambda way: (sum(values[way]), way == "hybrid"))


def found_by(values: Mapping[str, Sequence[float]]) -> dict[str, int]:
    """How many questions were found by which of the three ways."""
    counts: dict[str, int] = {}
    for found in zip(*values.values(), strict=True):
        names = " + ".join(way for way, hit in zip(values, found, strict=True) if hit) or "none"
        counts[names] = counts.get(names, 0) + 1
    return counts


def all_of(ranked: Sequence[tuple[int, float]], texts: Mapping[int, str], most: int) -> list[tuple[int, float]]:
    """The ``most`` best, those that say the same again among them; in the place of ``distinct``."""
    return list(ranked[:most])


def weighted(weight: float) -> Callable[[Mapping[int, float], Mapping[int, float]], dict[int, float]]:
    """A way to fuse that gives meaning so much of the score and words the rest; at 0.5 it is the index's own."""

    def fused(similarities: Mapping[int, float], words: Mapping[int, float]) -> dict[int, float]:
        by_meaning, by_words = fuse(similarities, {}), fuse(dict.fromkeys(similarities, 0.0), words)
        return {id_: 2 * (weight * by_meaning[id_] + (1 - weight) * by_words[id_]) for id_ in similarities}

    return fused


def reciprocal(similarities: Mapping[int, float], words: Mapping[int, float]) -> dict[int, float]:
    """Reciprocal rank fusion, with its customary constant 60."""
    scores = dict.fromkeys(similarities, 0.0)
    for side in (similarities, words):
        for place, id_ in enumerate(sorted(side, key=lambda id_: -side[id_]), 1):
            scores[id_] += 1 / (60 + place)
    return scores


def chosen(store: Store, tuning: Sequence[Example], k: int) -> dict[str, Any]:
    """Recall on the tuning questions by the weight of meaning, and the best weight, the nearest to a half."""
    found = {}
    for weight in WEIGHTS:
        with patch("retrieval.ranking.fuse", weighted(weight)):
            hits = [searched(store, example, k, "hybrid") for example in tuning]
        found[weight] = (sum(column(hits, "recall")) / len(hits), sum(column(hits, "reciprocal")) / len(hits))
    with patch("retrieval.ranking.fuse", reciprocal):
        hits = [searched(store, example, k, "hybrid") for example in tuning]
    best = max(WEIGHTS, key=lambda weight: (found[weight][0], -abs(weight - 0.5)))
    return {
        "weight": best,
        "questions": len(tuning),
        "by_weight": {str(weight): {"recall": one[0], "reciprocal": one[1]} for weight, one in found.items()},
        "reciprocal_rank_fusion": sum(column(hits, "recall")) / len(hits),
    }


def reweighed(store: Store, examples: Sequence[Example], k: int, weight: float) -> dict[str, Any]:
    """What the weight that was best on the tuning questions comes to on the reporting ones."""
    own = [searched(store, example, k, "hybrid").recall for example in examples]
    with patch("retrieval.ranking.fuse", weighted(weight)):
        other = [searched(store, example, k, "hybrid").recall for example in examples]
    return {"weight": weight, "recall": asdict(mean(other)), "minus_own": asdict(paired(other, own))}


def report(figures: Mapping[str, Any]) -> str:
    """The tables as they are printed."""
    first, last = figures["reporting"]
    blocks = [f"paragraphs {first}-{last}: {table(figures['article'], figures['k'])}"]
    tuned, again = figures["article"]["chosen_weight"], figures["article"]["other_weight"]
    curve = ", ".join(f"{weight} {one['recall']:.3f}" for weight, one in tuned["by_weight"].items())
    blocks.append(
        f"weight of meaning, on the tuning half only ({tuned['questions']} questions): {curve}; "
        f"by reciprocal ranks {tuned['reciprocal_rank_fusion']:.3f}\n"
        f"the weight {again['weight']} there, asked of the reporting half, minus 0.5: {signed(again['minus_own'])}"
    )
    blocks += [f"sample library, {half}: {table(one, figures['k'])}" for half, one in figures["sample"].items()]
    return "\n\n".join(blocks)


def table(one: Mapping[str, Any], k: int) -> str:
    """The figures of one set of questions."""
    lines = [f"{one['questions']} questions", f"{'':26}" + "".join(f"{way:24}" for way in WAYS)]
    for row, label in ROWS.items():
        shown = "".join(f"{ranged(one['ways'][way][row]):24}" for way in WAYS)
        lines.append(f"{label.format(k=k):26}{shown}".rstrip())
    for name, value in one["differences"].items():
        lines.append(f"{name:26}{signed(value)}")
    lines.append(f"{'leaving out near-copies':26}{signed(one['distinct - all'])}")
    lines.append("none is better than both together" if one["both_are_best"] else "BOTH TOGETHER ARE NOT THE BEST")
    return "\n".join(lines)


def ranged(value: Mapping[str, Any]) -> str:
    """An estimate with its interval."""
    known = Estimate(**value)
    return f"{known.value:.3f} ({known.low:.3f}-{known.high:.3f})" if known.value is not None else "-"


def signed(value: Mapping[str, Any]) -> str:
    """A paired difference with its interval and p."""
    known = Difference(**value)
    return f"{known.value:+.3f} ({known.low:+.3f} to {known.high:+.3f}), p {known.p:.2g}"


if __name__ == "__main__":
    main()
