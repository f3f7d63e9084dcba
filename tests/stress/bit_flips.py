"""Damage an index at random and query it: every answer is right, or the damage is reported and repaired.

    python -m tests.stress.bit_flips [--flips 1000] [--seed 1]

An index of seven documents, with pages, rows and dates, is copied for each round. In four rounds of five one to
thirty bytes flip in its database, its vector file or its manifest, at places that lie evenly over each of them; else
a file is cut, deleted, exchanged for that of another index, or loses a page of 4,096 bytes. Then it is opened, synced
and asked. Right is the passage itself with its source, page, row, offset and date; an index may refuse with a
sentence, and then has to be right at the second try. All else is a violation. Where the harm is still in the file
afterwards, nothing having come by it, the index is verified and asked again. The rounds have a process of their own,
so that a crash or a hang of it is seen. It writes ``bench/index_flips.json`` and ends with 1 if anything was
violated.
"""

import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import cast

from benchmarks.harness import listed, option_parser, show_progress
from retrieval.index.document_rows import get_passages
from retrieval.index.store import PassageStore
from retrieval.library.library import Library
from tests.stress.flips import FILES, Answer, Bench, Question, Round, play
from tests.stress.folder import KINDS, ROWS, Folder, sentence
from tests.stress.harness import PROCESSES, Tally, Worker
from tests.unit.retrieval.fakes import BagOfWords

HUNG_SECONDS = 60.0  # for one round
DAY = 1_715_000_000  # when the documents were last changed


def main() -> None:
    options = option_parser(__doc__, flips=1000, seed=1).parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # FAISS's threads wait for each other, however little they have to do
    PROCESSES.set_forkserver_preload(["tests.stress.flips", "faiss"])
    tally, outcomes = Tally(), {name: Counter[str]() for name in FILES}
    with tempfile.TemporaryDirectory() as folder:
        bench, worker = built(Path(folder)), Worker()
        for number in range(options.flips):
            try:
                one: Round = worker.call(play, bench, number, options.seed, Path(folder) / "copy", seconds=HUNG_SECONDS)
            except TimeoutError:
                one = Round("unknown harm", FILES[0], "violation", ["it crashed or hung"])
            outcomes[one.name][one.outcome] += 1
            tally.violated += [f"round {number}, {one.name}, {one.harm}: {text}" for text in one.wrong]
            show_progress(f"{number + 1} rounds")
        worker.close()
    for counts in outcomes.values():
        tally.outcomes += counts
    rows = [
        ("rounds", f"{options.flips}, an index of {len(bench.known)} passages"),
        ("outcomes", listed(tally.outcomes)),
        *((f"  {name}", listed(counts)) for name, counts in outcomes.items()),
    ]
    tally.conclude("index_flips", rows, seed=options.seed, rounds=options.flips)


def built(folder: Path) -> Bench:
    """Build the index, an older one of the same documents, and one of other documents."""
    documents, others = Folder(folder / "documents", "a"), Folder(folder / "others", "b")
    write(documents, DAY - 100_000)
    index(folder / "an older one", documents.path)
    write(others, DAY)
    index(folder / "another", others.path)
    write(documents, DAY)
    known = index(folder / "index", documents.path)
    questions = []
    for number, version in documents.versions.items():
        for row in range(1, ROWS, 6):
            text = sentence(documents.name, number, version, row)
            (right,) = [answer for answer in known if text in answer.text]
            questions += [Question(text, "bm25", right), Question(right.text, "vectors", right)]
            questions += [Question(right.text, "hybrid", right)]
    # The database of other documents is not damaged: it is an index of these. The older one's is brought in step.
    older, another = folder / "an older one", folder / "another"
    (another / "index.sqlite").write_bytes((older / "index.sqlite").read_bytes())
    return Bench(folder / "index", documents.path, [older, another], questions, known)


def write(folder: Folder, changed: float) -> None:
    """Write a document of each kind, or its next version, last changed long ago."""
    for number in range(len(KINDS)):
        folder.add(number)
        os.utime(folder.file(number), (changed, changed))


def index(home: Path, documents: Path) -> set[Answer]:
    with Library.open(home, BagOfWords(), embedding_name="bow") as library:
        library.add([documents])
        library.sync()
        with cast("PassageStore", library.store).database.reading() as connection:
            ids = [id_ for (id_,) in connection.execute("SELECT id FROM passages")]
            return {Answer.of(document) for document in get_passages(connection, ids).values()}


if __name__ == "__main__":
    main()
