"""A library of a million passages in the embedded store and in PostgreSQL: how fast and how well it is searched.

    python -m benchmarks.index.scale [--store start] [--folder bench/scale]
    python -m benchmarks.index.scale --texts passages.jsonl --vectors folder --questions questions.json

The embedded store is always measured, and beside it ``--store``: the address of a PostgreSQL database, or ``start`` for
a server of its own. Without files of one's own the passages are drawn from topics. The libraries are made
through the application's own ingestion, with vectors looked up instead of computed, and kept in ``--folder``; after an
interruption it goes on with the files that are not indexed yet, and counts the seconds of these alone.

The stores are asked in turn, question by question. Recall@10 is that of searching by vectors, against comparing all
vectors; with filters, all that they let through. It writes ``bench/index_scale.json`` and ends with 1 where recall is
below 0.95, or PostgreSQL's p95 of hybrid search above twice the embedded store's.
"""

import json
import multiprocessing
import time
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import numpy as np

from benchmarks.harness import FOLDER, aligned, end, end_progress, option_parser, show_progress
from benchmarks.index.corpus import Corpus, Known, drawn
from benchmarks.index.exact import FILES, SHARES, TOP, Nearest, file_name, first_of, nearest, recall_of
from benchmarks.postgres_server import LARGE, started_server
from retrieval.filters import Filter, Visible
from retrieval.index.store import PassageStore
from retrieval.library.library import Library, open_store
from retrieval.searching_store import Store
from retrieval.splitter import SplitSettings
from retrieval.store import Machine, Model, Search
from retrieval.sync_report import Advance

EMBEDDED, POSTGRES = "embedded", "PostgreSQL"
MODEL = "benchmark"
LEAST_RECALL = 0.95
MOST_TIMES = 2.0  # the p95 of hybrid search in PostgreSQL, over the embedded store's
PASSAGES = 4  # that a question gets
READERS = {"a reader of 90 %": 0.9, "a reader of 10 %": 0.1}  # the share of the documents that each may read
WAYS: Sequence[tuple[Search, str]] = (
    ("bm25", "all"),
    *((search, share) for search in ("vectors", "hybrid") for share in SHARES),
    *(("hybrid", reader) for reader in READERS),
)


def main() -> None:
    """Make the libraries that are not there, ask them, and print the figures."""
    parser = option_parser(__doc__, passages=1_000_000, asked=300, folder=FOLDER / "scale")
    parser.add_argument("--store", metavar="URL", help="postgresql://…, or start")
    parser.add_argument("--texts", type=Path, help="a JSON string a line; without it passages are drawn from topics")
    parser.add_argument("--vectors", type=Path, help="a folder of .npy files, in the order of the texts")
    parser.add_argument("--questions", type=Path, help='JSON of {"questions": [...], "vectors": [[...]]}')
    options = parser.parse_args()
    home: Path = options.folder / f"{options.texts.stem if options.texts else 'drawn'}-{options.passages}"
    if options.texts:
        corpus = Corpus(options.texts, options.vectors, options.questions)
    else:
        corpus = drawn(home / "corpus", options.passages, options.asked)
    _write_documents(home / "documents", corpus, options.passages)
    right = nearest(corpus, options.passages, options.asked, home / f"nearest-{options.asked}.json")
    end_progress()
    figures: dict[str, Any] = {"stores": {}, "times": {}}
    with ExitStack() as stack:
        urls = {EMBEDDED: f"sqlite:///{(home / 'embedded').resolve()}"}
        if options.store == "start":
            urls[POSTGRES] = stack.enter_context(started_server(home / "postgres", LARGE)).get_uri()
        elif options.store:
            urls[POSTGRES] = options.store
        for name, url in urls.items():
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
                made = process.submit(_make, name, url, home, corpus, options.passages).result()
            figures["stores"][name] = made
        measured = _measured(urls, corpus, options.asked, right)
        for name in urls:
            figures["stores"][name] |= measured[name]
    base = figures["stores"][EMBEDDED]["ways"]
    for name, one in figures["stores"].items():
        figures["times"][name] = {way: p95 / base[way] for way, p95 in one["ways"].items()}
    print(_table(figures))
    end("index_scale", figures, _violated(figures))


def _write_documents(folder: Path, corpus: Corpus, passages: int) -> None:
    """Write the passages as ``FILES`` files of JSON lines; the last file is there when all are."""
    if (folder / file_name(FILES - 1)).exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    texts = (text for block, _ in corpus.blocks(passages) for text in block)
    for number in range(FILES):
        count = first_of(number + 1, passages) - first_of(number, passages)
        lines = "".join(json.dumps({"text": next(texts)}) + "\n" for _ in range(count))
        (folder / file_name(number)).write_text(lines, encoding="utf-8")
        show_progress(f"writing {number + 1} files")


def _open(url: str, known: Known) -> Store:
    return open_store(url, MODEL, Model(known, MODEL), machine=Machine(MODEL))


def _make(name: str, url: str, home: Path, corpus: Corpus, passages: int) -> dict[str, Any]:
    """Index the documents, unless an earlier run did, and return in how many seconds; runs in its own process."""
    kept = home / f"made-{name}.json"
    if kept.exists():
        return dict(json.loads(kept.read_text()))
    known = Known()
    for texts, vectors in corpus.blocks(passages):
        known.know(texts, vectors)
    begun = time.monotonic()

    def tell(at: Advance) -> None:
        show_progress(f"{name}: {at.files:,} of {at.total:,} files, {time.monotonic() - begun:.0f} s")

    with Library(_open(url, known), SplitSettings()) as library:
        library.add([home / "documents"])
        made: dict[str, Any] = {"passages": library.sync(tell).passages, "bytes": _bytes(library.store)}
    made |= {"missed": known.missed, "seconds": time.monotonic() - begun}
    kept.write_text(json.dumps(made))
    end_progress()
    return made


def _bytes(store: Store) -> int:
    """Return the size of a library on the disk."""
    if isinstance(store, PassageStore):
        return sum(path.stat().st_size for path in store.database.folder.iterdir())
    with cast("Any", store).database.reading() as connection:
        (size,) = connection.execute(
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = "
            "(SELECT relnamespace FROM pg_class WHERE oid = 'passages'::regclass)"
        ).fetchone()
    return int(size)


def _measured(urls: Mapping[str, str], corpus: Corpus, asked: int, right: Nearest) -> dict[str, dict[str, Any]]:
    """Return what each store finds, and how fast: first each is opened and asked all, and then they are timed."""
    questions, vectors = corpus.asked()
    questions = questions[:asked]
    known = Known()
    known.know(questions, vectors[:asked])
    figures: dict[str, dict[str, Any]] = {name: {"ways": {}, "recall": {}} for name in urls}
    with ExitStack() as stack:
        stores: dict[str, Store] = {}
        for name, url in urls.items():
            stores[name] = _open(url, known)
            stack.callback(stores[name].close)
        for share, only in SHARES.items():
            for name, store in stores.items():
                show_progress(f"{name}: recall, {share}         ")
                found = [_ten(store, question, only) for question in questions]
                figures[name]["recall"][share] = recall_of(right[share], found)
                [store.similarity_search(question, PASSAGES, filter=only) for question in questions]  # warms the caches
        for search, share in WAYS:
            show_progress(f"timing {search}, {share}          ")
            times = _times(stores, questions, search, share)
            for name, seconds in times.items():
                figures[name]["ways"][f"{search}, {share}"] = float(np.percentile(seconds, 95))
    end_progress()
    return figures


def _ten(store: Store, question: str, only: Filter | None) -> list[str]:
    """Return the texts of the nearest passages, near-duplicates included."""
    with patch("retrieval.ranking.distinct", lambda ranked, _, most: list(ranked[:most])):
        return [one.page_content for one in store.similarity_search(question, TOP, search="vectors", filter=only)]


def _times(stores: Mapping[str, Store], questions: Sequence[str], search: Search, share: str) -> dict[str, list[float]]:
    """Return the seconds of each question, asked of all stores in turn; each store is the first equally often.

    With readers each question is another reader's, who may read other documents.
    """
    seconds: dict[str, list[float]] = {name: [] for name in stores}
    names = list(stores)
    for number, question in enumerate(questions):
        visible = _visible_to(number, READERS[share]) if share in READERS else None
        for name in names if number % 2 else reversed(names):
            begun = time.perf_counter()
            stores[name].similarity_search(question, PASSAGES, search=search, filter=SHARES.get(share), visible=visible)
            seconds[name].append(time.perf_counter() - begun)
    return seconds


def _visible_to(reader: int, share: float) -> Visible:
    return cache(lambda path: zlib.crc32(path + reader.to_bytes(4, "big")) < share * 2**32)


def _violated(figures: Mapping[str, Any]) -> list[str]:
    wrong = [
        f"{name} finds {recall:.3f} of the nearest ten of {share}"
        for name, one in figures["stores"].items()
        for share, recall in one["recall"].items()
        if recall < LEAST_RECALL
    ]
    times = {name: ways["hybrid, all"] for name, ways in figures["times"].items()}
    return wrong + [f"{name} takes {one:.2f} times as long" for name, one in times.items() if one > MOST_TIMES]


def _table(figures: Mapping[str, Any]) -> str:
    """Format the stores side by side, with the p95 of each way and its ratio to the embedded store's."""
    stores: Mapping[str, Any] = figures["stores"]
    made = [
        (
            name,
            f"{one['passages']:,}",
            f"{one['missed']:,}",
            f"{one['seconds']:.0f} s",
            f"{one['bytes'] / 1e9:.2f} GB",
            *(f"{one['recall'][share]:.3f}" for share in SHARES),
            *(f"{1000 * p95:.1f} ms ({figures['times'][name][way]:.2f})" for way, p95 in one["ways"].items()),
        )
        for name, one in stores.items()
    ]
    names = ("", "passages", "without their vector", "made in", "on the disk")
    head = (*names, *(f"recall@{TOP}, {share}" for share in SHARES), *(f"{search}, {share}" for search, share in WAYS))
    return aligned(list(zip(head, *made, strict=True)))


if __name__ == "__main__":
    main()
