"""Attack evaluation with the records and the report of an earlier run that somebody else made."""

import json
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.stress.hostile.strategies import HARMS, as_json, changed, changes
from tests.stress.hostile.surface import Surface
from tests.stress.hostile.world import QUESTION, World

ROW = {"question": QUESTION, "id": "1", "answerable": True, "answer": "In advance.", "gold": ["rent"]}
KEPT_FILES = ("records.jsonl", "judgements.jsonl", "report.html", "summary.json", "documents")
EVALUATED: dict[str, bytes] = {}  # the results of an evaluation, which are the same in every world
OUT = Path("eval/set")


def _records(world: World, dice: Random, name: str, how: tuple[str, Any]) -> None:
    path = world.write("home/set.jsonl", json.dumps(ROW) + "\n")
    words, out = ["eval", str(path), "--docs", str(world.docs), "--judge"], world.work / OUT
    if not EVALUATED:
        world.run(*words, seconds=25)
        EVALUATED.update({one.name: one.read_bytes() for one in out.iterdir() if one.is_file()})
    for kept, data in EVALUATED.items():
        world.write(out / kept, data)
    kind, given = how
    if not (out / name).is_dir():
        before = EVALUATED.get(name, EVALUATED["records.jsonl"])
        world.write(out / name, HARMS[given](before) if kind == "bytes" else _lines(before, given, world.key))
    world.run(*words, seconds=25)


def _lines(data: bytes, changes: Any, key: str) -> bytes:
    """Change each line alike; what is no JSON is doubled."""
    try:
        return b"".join(as_json(changed(json.loads(line), changes), key) + b"\n" for line in data.splitlines())
    except ValueError:
        return data * 2


RECORDS = Surface(
    "records",
    st.tuples(
        st.sampled_from(KEPT_FILES),
        st.tuples(st.just("bytes"), st.sampled_from(sorted(HARMS))) | st.tuples(st.just("JSON"), changes()),
    ),
    _records,
)
