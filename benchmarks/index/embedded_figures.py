"""What is measured of the embedded store alone: memory, keyword search against a full ranking, and changes."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.index.corpus import Known
from retrieval.index.database import Database
from retrieval.index.keyword_search import fts_query, search_keywords
from retrieval.index.schema import Snapshot
from retrieval.library.library import Library
from retrieval.unit_vectors import Vectors

MODEL = "benchmark"
TOP = 10
CANDIDATES = 50  # as the store asks for
RANKED_WHOLLY = 30  # questions that FTS5 ranks in full, for seconds each
CHANGES = ("unchanged", "added", "removed")
_ASK = """
import json, resource, sys
from pathlib import Path
import numpy as np
from benchmarks.index.corpus import Known
from retrieval.library.library import Library
known, asked = Known(), json.load(sys.stdin)
known.know(list(asked), np.array(list(asked.values()), dtype=np.float32))
with Library.open(Path(sys.argv[1]), known, embedding_name=sys.argv[2]) as library:
    for question in asked:
        library.store.similarity_search(question, 4)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def memory(index: Path, questions: Sequence[str], vectors: Vectors) -> int:
    """Return the bytes resident at most in a process that only opens the index and asks it."""
    asked = json.dumps(dict(zip(questions, vectors.tolist(), strict=True)))
    command = [sys.executable, "-c", _ASK, str(index), MODEL]
    answer = subprocess.run(command, input=asked, check=True, stdout=subprocess.PIPE, text=True)
    return int(answer.stdout) * 1024


def keywords_found(index: Path, questions: Sequence[str]) -> dict[str, float]:
    """Return which share of the ten best by a full ranking are among ours, and among our candidates."""
    overlaps = []
    database = Database(index)
    with database.reading() as connection:
        passages = Snapshot.of(connection).passages
        for question in questions[-RANKED_WHOLLY:]:
            query = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
            full = {id_ for (id_,) in connection.execute(query, (fts_query(question), TOP))}
            ours = [id_ for id_, _ in search_keywords(connection, question, CANDIDATES, passages)]
            overlaps.append([len(full & set(some)) / max(1, len(full)) for some in (ours[:TOP], ours)])
    database.close()
    in_top, in_candidates = np.mean(overlaps, axis=0).tolist()
    return {"bm25_in_top": in_top, "bm25_in_candidates": in_candidates}


def changed(index: Path, documents: Path) -> dict[str, float]:
    """Return the seconds of a sync: of nothing changed, of one passage more, and of that gone again."""
    extra = documents / "extra.txt"
    extra.unlink(missing_ok=True)
    seconds = {}
    with Library.open(index, Known(), embedding_name=MODEL) as library:
        library.sync()
        for name in CHANGES:
            if name == "added":
                extra.write_text("One passage more, which was not there before.", encoding="utf-8")
            if name == "removed":
                extra.unlink()
            begun = time.perf_counter()
            library.sync()
            seconds[f"{name}_seconds"] = time.perf_counter() - begun
    return seconds
