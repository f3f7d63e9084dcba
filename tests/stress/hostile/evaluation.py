"""Attack evaluation: question sets, existing records, and result folders that hold foreign files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

from core.fingerprint import digest
from tests.stress.hostile.files import LINKS, PLACED, place
from tests.stress.hostile.strategies import HARMS, as_given, as_json, changed, changes, unshown
from tests.stress.hostile.surface import Surface
from tests.stress.hostile.world import QUESTION, World, listing

SOUND = {
    "question": QUESTION,
    "id": "1",
    "answerable": True,
    "answer": "In advance.",
    "source": "lease.md",
    "page": 1,
    "row": 1,
    "route": "retrieve",
    "outcome": "grounded",
    "gold": ["rent"],
    "plausible": ["Friday"],
}
ROWS = [SOUND, {"question": "Who wrote the lease?", "answerable": False}]
CONTEXT = "The tenant pays the monthly rent in advance."
ANSWERS = [{"text": "in advance", "answer_start": 33}]
ASKED = {"id": "1", "question": QUESTION, "answers": ANSWERS, "is_impossible": False}
SQUAD = {"version": "v2.0", "data": [{"title": "Lease", "paragraphs": [{"context": CONTEXT, "qas": [ASKED]}]}]}
FORMS = ("JSONL", "a list", "SQuAD", ",", "\t", ";")


def _written(form: str, changes: Any, key: str) -> bytes:
    if form == "SQuAD":
        return as_json(changed(SQUAD, changes), key)
    rows = changed(ROWS, changes)
    if form == "a list":
        return as_json(rows, key)
    rows = rows if isinstance(rows, list) else [rows]
    if form == "JSONL":
        return b"\n".join(as_json(row, key) for row in rows)
    rows = [row if isinstance(row, dict) else {"question": row} for row in rows]
    cells = [list(SOUND), *([row.get(name, "") for name in SOUND] for row in rows)]
    text = "\n".join(form.join(one if isinstance(one, str) else json.dumps(one) for one in row) for row in cells)
    return text.encode("utf-8", "surrogatepass")


COMMANDS: tuple[tuple[str, ...], ...] = (
    *((), ("--judge",), ("--most", "1", "--balanced"), ("--paragraphs", "1-1")),
    ("--variant", "x:k=2", "--systems", "plain"),
)
FILE_NAMES = st.sampled_from(
    ("set.jsonl", "...jsonl", ".jsonl", "set", " .jsonl", "-x.jsonl", "%.jsonl", "~.jsonl")
) | (unshown().map(lambda text: f"{as_given(text).replace('/', '∕')}.jsonl"))


def _set(
    world: World, dice: Random, form: str, changes: Any, harm: str | None, name: str, options: tuple[str, ...]
) -> None:
    data = _written(form, changes, world.key)
    path = world.write(world.home / name, HARMS[harm](data) if harm else data)
    world.run("eval", str(path), "--docs", str(world.docs), *options, seconds=25)


SETS = Surface(
    "sets",
    st.tuples(
        st.sampled_from(FORMS),
        changes(),
        st.none() | st.none() | st.sampled_from(sorted(HARMS)),
        FILE_NAMES,
        st.sampled_from(COMMANDS),
    ),
    _set,
)

KEPT_FILES = ("records.jsonl", "judgements.jsonl", "report.html", "summary.json", "documents")
EVALUATED: dict[str, bytes] = {}  # the results of an evaluation, which are the same in every world
OUT = Path("eval/set")


def _records(world: World, dice: Random, name: str, how: tuple[str, Any]) -> None:
    path = world.write("home/set.jsonl", json.dumps(ROWS[0]) + "\n")
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

OF_SQUAD = digest(CONTEXT)[:8]  # where its paragraphs are written
PLACES = (
    *("records.jsonl", "judgements.jsonl", ".records.jsonl.lock", "report.html", "summary.json", "failures.jsonl"),
    *("documents", "documents/paragraph-1.txt", "documents/paragraph-01.txt", "documents/precious.txt"),
    *(f"documents/{OF_SQUAD}", f"documents/{OF_SQUAD}/paragraph-01.txt"),
    *("abstention.svg", "questions.csv", "table.md", "report.md", "another.txt"),
)
THERE = st.sampled_from(sorted({*LINKS, *PLACED} - {"nothing", "a sparse file"})) | st.sampled_from(
    ("It is precious.\n", '{"a": 1}\n{"b": 2}\nunfinished')
)


def _foreign(world: World, dice: Random, name: str, there: str, out: str | None, squad: bool) -> None:
    path = world.write("home/set.json", json.dumps(SQUAD if squad else [SOUND]))
    folder = world.work / (out or OUT)
    if out == "link":
        (world.home / "elsewhere").mkdir()
        folder.symlink_to(world.home / "elsewhere")
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if there in LINKS or there in PLACED:
        place(world, target, there)
    else:
        target.write_text(there)
    before = listing(world.work)
    options = ["--out", str(folder)] if out else []
    world.run("eval", str(path), *options, "--judge", may_write=[world.work, world.home / "elsewhere"], seconds=25)
    after = listing(world.work)
    harmed = [one for one, what in before.items() if what[1] != "folder" and after.get(one) != what]
    if harmed:
        names = ", ".join(os.path.relpath(one, world.work) for one in harmed)
        world.broken.append(f"foreign: {names} was there before, and is changed or gone")


FOREIGN = Surface(
    "foreign files",
    st.tuples(st.sampled_from(PLACES), THERE, st.sampled_from((None, "out", "link")), st.booleans()),
    _foreign,
)
