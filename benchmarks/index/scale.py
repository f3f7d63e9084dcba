"""A library of a million passages: how fast and how well it is searched, opened and changed, and in what memory.

    python -m benchmarks.index.scale
    python -m benchmarks.index.scale --texts passages.jsonl --vectors folder --questions questions.json

Without files of one's own the passages are drawn from topics. The library is made once, in ``bench/``, through the
application's own ingestion with vectors looked up instead of computed; then a process of its own opens and asks it.
Recall@10 is against exact search over the same vectors, and BM25's against a full ranking by FTS5.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.harness import FOLDER, aligned, end_progress, option_parser, show_progress, write_figures
from benchmarks.index.corpus import DIMENSION, Corpus, Known, corpus_of, corpus_options, told, units
from retrieval.filters import Filter
from retrieval.index.keyword_search import fts_query, search_keywords
from retrieval.index.schema import Snapshot
from retrieval.index.store import PassageStore
from retrieval.library.library import Library
from retrieval.store import Search

TOP = 10
CANDIDATES = 50  # as the store asks for
RANKED_WHOLLY = 30  # questions that FTS5 ranks in full, for seconds each
MODEL = "benchmark"


def main() -> None:
    """Make the library if it is not there, measure it, and print the figures."""
    options = _options()
    if options.measure:
        corpus = Corpus(options.texts, options.vectors, options.questions)
        print(json.dumps(_measured(options.measure, corpus, options.asked)))
        return
    home = FOLDER / f"scale-{'drawn' if not options.texts else options.texts.stem}-{options.passages}"
    corpus = corpus_of(options, home / "corpus", options.asked)
    if not (home / "made.json").exists():
        _make(home, corpus, options.passages)
    made = json.loads((home / "made.json").read_text())
    command = [sys.executable, "-m", "benchmarks.index.scale", "--measure", str(home / "index")]
    command += ["--texts", str(corpus.texts), "--vectors", str(corpus.vectors), "--questions", str(corpus.questions)]
    answer = subprocess.run([*command, "--asked", str(options.asked)], check=True, stdout=subprocess.PIPE, text=True)
    figures = made | json.loads(answer.stdout)
    figures |= _recall(corpus, options.passages, figures.pop("found"))
    figures |= _changed(home)
    _show(figures)
    write_figures("index_scale", figures)


def _options() -> argparse.Namespace:
    parser = option_parser(__doc__, passages=1_000_000)
    parser.add_argument("--asked", type=int, default=300, help="questions")
    corpus_options(parser)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def _make(home: Path, corpus: Corpus, passages: int) -> None:
    """Index the corpus as JSONL files of ten thousand passages each."""
    documents = home / "documents"
    documents.mkdir(parents=True, exist_ok=True)
    known = Known()
    for number, (texts, vectors) in enumerate(corpus.blocks(passages)):
        known.know(texts, vectors)
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        (documents / f"{number:05d}.jsonl").write_text(lines, encoding="utf-8")
        show_progress(f"writing {number + 1} files")
    begun = time.monotonic()
    with Library.open(home / "index", known, embedding_name=MODEL) as library:
        library.add([documents])
        report = library.sync(told)
    seconds = time.monotonic() - begun
    end_progress()
    size = sum(path.stat().st_size for path in (home / "index").iterdir())
    made = {"passages": report.passages, "made_seconds": seconds, "missed": known.missed, "bytes": size}
    (home / "made.json").write_text(json.dumps(made))


def _measured(folder: Path, corpus: Corpus, asked: int) -> dict[str, Any]:
    """Open the index as a new process does, and ask it."""
    questions, vectors = corpus.asked()
    questions, vectors = questions[:asked], vectors[:asked]
    known = Known()
    known.know(questions, vectors)
    before = _resident()
    begun = time.perf_counter()
    library = Library.open(folder, known, embedding_name=MODEL)
    library.store.similarity_search(questions[0], k=4)
    opened = time.perf_counter() - begun
    store = cast("PassageStore", library.store)
    figures: dict[str, Any] = {"opened_seconds": opened, "memory_before": before}
    ways: tuple[Search, ...] = ("vectors", "bm25", "hybrid")
    for search in ways:
        figures[search] = _times(questions, partial(store.similarity_search, k=4, search=search))
    one_file = partial(store.similarity_search, k=4, filter=Filter(sources=("00003.jsonl",)))
    figures["one file"] = _times(questions[:RANKED_WHOLLY], one_file)
    found = []
    with store.database.reading() as connection:
        snapshot = Snapshot.of(connection)
        names = dict(connection.execute("SELECT id, text FROM passages"))
        times = []
        for vector in vectors:
            begun = time.perf_counter()
            near = store.vectors.search(snapshot, vector[np.newaxis], CANDIDATES)
            times.append(time.perf_counter() - begun)
            found.append([names[id_] for id_ in near])
        figures["faiss"] = _percentiles(times)
        figures["kind"] = type(store.vectors._index).__name__
        del names
        overlaps = []
        for question in questions[-RANKED_WHOLLY:]:
            sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
            full = {id_ for (id_,) in connection.execute(sql, (fts_query(question), TOP))}
            ours = [id_ for id_, _ in search_keywords(connection, question, CANDIDATES, snapshot.passages)]
            overlaps.append(
                (len(full & set(ours[:TOP])) / max(1, len(full)), len(full & set(ours)) / max(1, len(full)))
            )
    figures["bm25_top_in_top"], figures["bm25_top_in_candidates"] = np.mean(overlaps, axis=0).tolist()
    library.close()
    return figures | {"found": found, "memory": figures_memory(folder, known, questions)}


def figures_memory(folder: Path, known: Known, questions: list[str]) -> int:
    """Bytes resident at most in a process that only opens the index and asks it."""
    code = (
        "import sys, json, resource; from pathlib import Path; from benchmarks.index.corpus import Known; "
        "from retrieval.library.library import Library; import numpy as np; k = Known(); q = json.load(sys.stdin); "
        "[k.know([t], np.array([v], dtype=np.float32)) for t, v in q.items()]; "
        f"l = Library.open(Path({str(folder)!r}), k, embedding_name={MODEL!r}); "
        "[l.store.similarity_search(t, 4) for t in q]; "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    asked = json.dumps({question: known.vectors[question].tolist() for question in questions})
    answer = subprocess.run([sys.executable, "-c", code], input=asked, check=True, stdout=subprocess.PIPE, text=True)
    return int(answer.stdout) * 1024


def _times(questions: list[str], ask: Callable[[str], object]) -> dict[str, float]:
    times = []
    for question in questions:
        begun = time.perf_counter()
        ask(question)
        times.append(time.perf_counter() - begun)
    return _percentiles(times)


def _percentiles(times: list[float]) -> dict[str, float]:
    return {"median": float(np.median(times)), "p95": float(np.percentile(times, 95))}


def _recall(corpus: Corpus, passages: int, found: list[list[str]]) -> dict[str, float]:
    """The share of the ten nearest that are among those found, and among the best ten of them by exact cosine."""
    _, asked = corpus.asked()
    asked = asked[: len(found)]
    best: list[list[tuple[float, str]]] = [[] for _ in found]
    cosines: list[dict[str, float]] = [{} for _ in found]
    for texts, vectors in corpus.blocks(passages):
        places = {text: place for place, text in enumerate(texts)}
        scores = asked @ units(vectors).T
        for number, row in enumerate(scores):
            top = np.argpartition(-row, TOP)[:TOP]
            best[number] = sorted([*best[number], *((float(row[at]), texts[at]) for at in top)], reverse=True)[:TOP]
            cosines[number].update((text, float(row[places[text]])) for text in found[number] if text in places)
    hits = 0
    for nearest, cosine in zip(best, cosines, strict=True):
        ours = sorted(cosine, key=cosine.__getitem__, reverse=True)[:TOP]
        hits += len({text for _, text in nearest} & set(ours))
    return {"recall": hits / (TOP * len(found))}


def _changed(home: Path) -> dict[str, float]:
    """Seconds that it takes to bring the library in step: unchanged, with one passage more, and with it gone again."""
    extra = home / "documents" / "extra.txt"
    extra.unlink(missing_ok=True)
    seconds = {}
    with Library.open(home / "index", Known(), embedding_name=MODEL) as library:
        library.sync()
        for name in ("unchanged", "added", "removed"):
            if name == "added":
                extra.write_text("One passage more, which was not there before.", encoding="utf-8")
            extra.unlink(missing_ok=True) if name == "removed" else None
            begun = time.perf_counter()
            library.sync()
            seconds[f"{name}_seconds"] = time.perf_counter() - begun
    return seconds


def _resident() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _show(figures: dict[str, Any]) -> None:
    raw = figures["passages"] * DIMENSION * 4
    ms = {name: f"{1000 * figures[name]['median']:.1f} / {1000 * figures[name]['p95']:.1f} ms" for name in _SEARCHES}
    rows = [
        ("passages", f"{figures['passages']:,} ({figures['missed']} without their vector), {figures['kind']}"),
        ("made in", f"{figures['made_seconds']:.0f} s without embedding; {figures['bytes'] / 1e9:.2f} GB on disk"),
        ("opened, and the first result", f"{figures['opened_seconds']:.2f} s"),
        *((f"{name}, median / p95", ms[name]) for name in _SEARCHES),
        ("recall@10 of the vectors", f"{figures['recall']:.3f}"),
        (
            "BM25's ten: in our ten, in our 50",
            f"{figures['bm25_top_in_top']:.2f}, {figures['bm25_top_in_candidates']:.2f}",
        ),
        ("memory over raw vectors", f"{figures['memory'] / raw:.2f} ({figures['memory'] / 1e9:.2f} GB)"),
        *((f"sync, {name}", f"{figures[f'{name}_seconds']:.2f} s") for name in ("unchanged", "added", "removed")),
    ]
    print(aligned(rows))


_SEARCHES = ("faiss", "vectors", "bm25", "hybrid", "one file")

if __name__ == "__main__":
    main()
