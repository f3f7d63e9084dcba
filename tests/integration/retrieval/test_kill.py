"""Whenever a process stops, the index it leaves is whole, and the next one goes on from there."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from retrieval.library.library import Library
from tests.unit.retrieval.fakes import BagOfWords

INDEX = """
import sys, time
from pathlib import Path
from retrieval.library.library import Library
from tests.unit.retrieval.fakes import BagOfWords

slow = BagOfWords(before=lambda model: time.sleep(0.005))
with Library.open(Path(sys.argv[1]), slow, embedding_name="bow") as library:
    library.add([sys.argv[2]])
    library.sync(lambda at: print(at.files, flush=True))
"""


def start(home: Path, docs: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", INDEX, str(home), str(docs)], stdout=subprocess.PIPE, text=True)


def test_killed_at_any_moment_the_index_is_readable_and_no_file_is_lost(docs: Path, tmp_path: Path) -> None:
    for number in range(60):
        rows = "".join(f"{number},row {row} of file {number} says something\n" for row in range(40))
        (docs / f"{number:02}.csv").write_text("file,text\n" + rows)
    chance = random.Random(3)
    home = tmp_path / "killed"
    kept = 0
    for _ in range(4):
        process = start(home, docs)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split()
        process.stdout.close()
        process.wait()
        with Library.open(home, BagOfWords(), embedding_name="bow") as library:
            sources = library.sources()
            assert not list(home.glob("*.damaged-*"))
            # Files share a batch, so those of the last one or two may be read and not yet written.
            assert len(sources) >= max(kept, kept + int(rest[-1]) - 4 if rest else 0)
            assert all(source.passages in (40, 1, 2) for source in sources)
            if sources:
                assert library.store.similarity_search("row 3 of file 1", k=3)
        kept = len(sources)
    with Library.open(home, BagOfWords(), embedding_name="bow") as library:
        report = library.sync()
        assert len(report.added) + kept == 63
        assert report.passages == 60 * 40 + 4
        assert not list(home.glob("*.partial"))


def test_processes_that_begin_at_once_share_the_work(docs: Path, tmp_path: Path) -> None:
    home = tmp_path / "shared"
    processes = [start(home, docs) for _ in range(3)]
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0, 0, 0]
    model = BagOfWords()
    with Library.open(home, model, embedding_name="bow") as library:
        report = library.sync()
        assert (report.unchanged, report.passages, model.texts) == (3, 4, [])
