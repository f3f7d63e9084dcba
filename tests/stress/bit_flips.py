"""Damage an index at random and query it: every answer is right, or the damage is reported and repaired.

    python -m tests.stress.bit_flips [--flips 1000] [--seed 1] [--only ROUND...]

An index of some 40 passages of five documents, with pages, rows and dates, is copied for each round. In four rounds of
five one to thirty bytes flip in its database, its vector file or its manifest, at places that lie evenly over each of
them; else a file is cut, deleted, exchanged for that of another index, or loses a page of 4,096 bytes. Then it is
opened, synced and asked. Right is the passage itself with its source, page, row, offset and date; an index may refuse
with a sentence, and then has to be right at the second try. All else is a violation; "missed" are those where all that
was told is true, but the right passage was not the first. Where the harm is still in the file
afterwards, nothing having come by it, the index is verified and asked again. A child process has 50 rounds, so that a
crash or a hang of it is seen. It writes ``bench/index_flips.json`` and ends with 1 if anything was violated.
"""

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import cast

from benchmarks.harness import end, end_progress, listed, option_parser, show_progress
from retrieval.index.document_rows import get_passages
from retrieval.index.store import PassageStore
from retrieval.library.library import Library
from tests.stress.flips import FILES, Answer, Bench, Question, Round, play_some
from tests.stress.folder import pdf_of, sentence
from tests.stress.harness import PROCESSES, Tally, ended_alone, start
from tests.unit.retrieval.fakes import BagOfWords

BATCH = 50  # rounds of one process
HUNG_SECONDS = 60.0  # for one round
DAY = 1_715_000_000  # when the documents were last changed


def main() -> None:
    """Build, damage, query, count, print."""
    parser = option_parser(__doc__, flips=1000, seed=1)
    parser.add_argument("--only", type=int, nargs="+", metavar="ROUND", help="play these again, and write nothing")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # FAISS's threads wait for each other, however little they have to do
    PROCESSES.set_forkserver_preload(["tests.stress.flips", "faiss"])
    tally, rounds = Tally(), list[Round]()
    with tempfile.TemporaryDirectory() as folder:
        bench = built(Path(folder))
        for one in played(bench, options.only or range(options.flips), options.seed, Path(folder) / "copy"):
            rounds.append(one)
            show_progress(f"{len(rounds)} rounds")
    rows = counted(tally, rounds, len(bench.known))
    if options.only:
        end_progress()
        end(None, {}, tally.violated)
    tally.conclude("index_flips", rows, seed=options.seed, rounds=len(rounds))


def built(folder: Path) -> Bench:
    """Build the index, an older one of the same documents, and one of other documents."""
    documents = folder / "documents"
    write_documents(documents, "old", DAY - 100_000)
    index(folder / "an older one", documents)
    write_documents(folder / "others", "other", DAY)
    index(folder / "another", folder / "others")
    planted = write_documents(documents, "new", DAY)
    known = index(folder / "index", documents)
    questions = []
    for text, (name, page, row) in planted.items():
        (right,) = [answer for answer in known if text in answer.text]
        if (Path(right.source).name, right.page, right.row) != (name, page, row):
            raise RuntimeError(f"the whole index has {right} for {name}, page {page}, row {row}")
        questions += [Question(text, "bm25", right), Question(right.text, "vectors", right)]
        questions += [Question(right.text, "hybrid", right)]
    others = [folder / "an older one", folder / "another"]
    # The database of other documents is not damaged: it is an index of these. The older one's is brought in step.
    (others[1] / "index.sqlite").write_bytes((others[0] / "index.sqlite").read_bytes())
    return Bench(folder / "index", documents, others, questions, known)


def write_documents(folder: Path, name: str, changed: float) -> dict[str, tuple[str, int | None, int | None]]:
    """Write five documents; return sentences with their file, page and row."""
    folder.mkdir(exist_ok=True)
    pages = [[sentence(name, 1, page, line) for line in range(4)] for page in range(1, 7)]
    rows = [sentence(name, 2, 1, row) for row in range(1, 13)]
    lines = [sentence(name, 3, 1, row) for row in range(1, 9)]
    contents = {
        "report.pdf": pdf_of(pages),
        "table.csv": ("number,text\n" + "".join(f"{at},{row}\n" for at, row in enumerate(rows, 1))).encode(),
        "lines.jsonl": "".join(
            json.dumps({"text": line, "date": f"2023-03-{at:02}"}) + "\n" for at, line in enumerate(lines, 1)
        ).encode(),
        "notes.md": "\n\n".join(sentence(name, 4, 1, row) for row in range(24)).encode(),
        "text.txt": "\n\n".join(sentence(name, 5, 1, row) for row in range(24)).encode(),
    }
    for file, content in contents.items():
        (folder / file).write_bytes(content)
        os.utime(folder / file, (changed, changed))
    planted: dict[str, tuple[str, int | None, int | None]] = {
        page[1]: ("report.pdf", number, None) for number, page in enumerate(pages, 1)
    }
    planted |= {row: ("table.csv", None, at) for at, row in enumerate(rows, 1)}
    planted |= {line: ("lines.jsonl", None, at) for at, line in enumerate(lines, 1)}
    planted |= {sentence(name, 4, 1, row): ("notes.md", None, None) for row in (1, 12, 22)}
    planted |= {sentence(name, 5, 1, row): ("text.txt", None, None) for row in (1, 12, 22)}
    return planted


def index(home: Path, documents: Path) -> set[Answer]:
    """Index documents; return every passage with its metadata."""
    with Library.open(home, BagOfWords(), embedding_name="bow") as library:
        library.add([documents])
        library.sync()
        with cast("PassageStore", library.store).database.reading() as connection:
            ids = [id_ for (id_,) in connection.execute("SELECT id FROM passages")]
            return {Answer.of(document) for document in get_passages(connection, ids).values()}


def played(bench: Bench, numbers: Sequence[int], seed: int, copy: Path) -> Iterator[Round]:
    """Play all rounds in batches, a process each; a crash or hang is a violation."""
    left = list(numbers)
    while left:
        theirs, mine = PROCESSES.Pipe(duplex=False)
        some = left[:BATCH]
        process = start(play_some, bench, some, seed, copy, mine)
        mine.close()
        for number in some:
            del left[0]
            one = told(theirs)
            if one is None:
                how = "crash" if ended_alone(process, 0.5) else "hang"
                yield Round(number, "", "", how, wrong=[f"{how}, exit code {process.exitcode}"])
                break
            yield one
        process.join()


def told(parent: Connection) -> Round | None:
    """Receive the next round; None if the process is gone or silent for too long."""
    try:
        return Round(**json.loads(parent.recv_bytes())) if parent.poll(HUNG_SECONDS) else None
    except EOFError:
        return None


def counted(tally: Tally, rounds: Sequence[Round], passages: int) -> list[tuple[str, str]]:
    """Count the rounds by outcome; return what is to be said of them."""
    lasting = [one for one in rounds if one.verified is not None]
    tally.outcomes.update(one.outcome for one in rounds)
    tally.counts.update(
        {
            "documents named again": sum(one.named_again for one in rounds),
            "texts embedded again": sum(one.embedded for one in rounds),
            "texts without salvage": passages * tally.outcomes["said and mended"],
            "harm that nothing came by": len(lasting),
            "found by a check": sum(bool(one.verified) for one in lasting),
        }
    )
    for one in rounds:
        tally.violated += [f"round {one.number}, {one.name}, {one.harm}: {text}" for text in one.wrong]
    of_files = {name: Counter(one.outcome for one in rounds if one.name == name) for name in FILES}
    return [
        ("rounds", f"{len(rounds)}, an index of {passages} passages"),
        ("outcomes", listed(tally.outcomes)),
        *((f"  {name}", listed(outcomes)) for name, outcomes in of_files.items()),
        *((name, f"{count:,}") for name, count in tally.counts.items()),
    ]


if __name__ == "__main__":
    main()
