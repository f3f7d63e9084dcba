"""The embedded store beside langchain-community's FAISS wrapper, on the same passages and vectors, in one run.

    python -m benchmarks.index.peers [--passages 20000]

The wrapper keeps everything in memory and pickles it; ours is on the disk after every call. So what leaves the
passages on the disk is compared with what leaves them on the disk: building with saving, adding one with saving.
"""

from __future__ import annotations

import argparse
import gc
import shutil
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness import FOLDER, end_progress, option_parser, show_progress, write_figures
from benchmarks.index.corpus import Corpus, Known, corpus_of, corpus_options
from benchmarks.index.texts import put_texts
from retrieval.index.store import PassageStore
from retrieval.store import Search

ROUNDS = 5
_SEARCHES: tuple[tuple[str, Search], ...] = (("search by vectors", "vectors"), ("search, hybrid", "hybrid"))
NEW = "One passage more, which was not there before, number {}."


def main() -> None:
    """Time both, and print ours over theirs."""
    options = _options()
    home = FOLDER / "peers"
    corpus = corpus_of(options, home / f"corpus-{options.passages}", options.asked)
    texts, known = _everything(corpus, options.passages)
    questions, vectors = corpus.asked()
    known.know(questions, vectors)
    seconds: dict[str, dict[str, list[float]]] = {"ours": {}, "theirs": {}}
    for number in range(ROUNDS):
        for name, run in (("theirs", _theirs), ("ours", _ours)):
            folder = home / name
            shutil.rmtree(folder, ignore_errors=True)
            gc.collect()
            for what, spent in run(folder, texts, known, questions[: options.asked]).items():
                seconds[name].setdefault(what, []).append(spent)
        show_progress(f"round {number + 1} of {ROUNDS}")
    end_progress()
    _show(len(texts), seconds)
    write_figures("index_peers", {"passages": len(texts), "seconds": seconds})


def _options() -> argparse.Namespace:
    parser = option_parser(__doc__, passages=20_000)
    parser.add_argument("--asked", type=int, default=100, help="questions")
    corpus_options(parser)
    return parser.parse_args()


def _everything(corpus: Corpus, passages: int) -> tuple[list[str], Known]:
    known, everything = Known(), []
    for texts, vectors in corpus.blocks(passages):
        known.know(texts, vectors)
        everything += texts
    return everything, known


def _ours(folder: Path, texts: list[str], known: Known, questions: list[str]) -> dict[str, float]:
    spent = {}
    with PassageStore.open(folder, known, embedding_name="benchmark") as store:
        spent["build and save"] = _time(lambda: put_texts(store, texts))
    begun = time.perf_counter()
    with PassageStore.open(folder, known, embedding_name="benchmark") as store:
        store.similarity_search(questions[0], k=4, search="vectors")
        spent["load, and the first result"] = time.perf_counter() - begun
        for what, search in _SEARCHES:
            spent[what] = median(
                _time(partial(store.similarity_search, question, 4, search=search)) for question in questions
            )
        one_more = (_time(partial(put_texts, store, [NEW.format(number)])) for number in range(5))
        spent["add one and save"] = median(one_more)
        spent["add one"] = spent["add one and save"]
    return spent


def _theirs(folder: Path, texts: list[str], known: Known, questions: list[str]) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says at import that it is maintained no more
        from langchain_community.vectorstores import FAISS
    spent: dict[str, float] = {}
    begun = time.perf_counter()
    made: Any = FAISS.from_texts(texts, known)
    made.save_local(str(folder))
    spent["build and save"] = time.perf_counter() - begun
    del made
    gc.collect()
    begun = time.perf_counter()
    store: Any = FAISS.load_local(str(folder), known, allow_dangerous_deserialization=True)
    store.similarity_search(questions[0], k=4)
    spent["load, and the first result"] = time.perf_counter() - begun
    spent["search by vectors"] = median(_time(partial(store.similarity_search, question, 4)) for question in questions)
    spent["search, hybrid"] = spent["search by vectors"]
    spent["add one"] = median(_time(partial(store.add_texts, [NEW.format(number)])) for number in range(5))

    def add_and_save(number: int) -> None:
        store.add_texts([NEW.format(number)])
        store.save_local(str(folder))

    spent["add one and save"] = median(_time(partial(add_and_save, number)) for number in range(5, 10))
    return spent


def _time(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def _show(passages: int, seconds: dict[str, dict[str, list[float]]]) -> None:
    print(f"{passages:,} passages, median of {ROUNDS} rounds{'ours':>16}{'theirs':>12}{'ratio':>8}")
    for what in seconds["ours"]:
        ours, theirs = median(seconds["ours"][what]), median(seconds["theirs"][what])
        print(f"{what:44}{1000 * ours:>9.1f} ms{1000 * theirs:>9.1f} ms{ours / theirs:>8.2f}")


if __name__ == "__main__":
    main()
