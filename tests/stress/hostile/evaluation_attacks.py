"""Attack evaluation: question sets, existing records, and result folders that hold foreign files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from evaluation.fingerprint import digest
from tests.stress.hostile.hostile_texts import HOSTILE, UNSHOWN
from tests.stress.hostile.surface import Surface, named
from tests.stress.hostile.world import QUESTION, World, listing

SOUND = {"question": QUESTION, "answerable": True, "answer": "In advance.", "source": "lease.md"}
OTHER = {"question": "Who wrote the lease?", "answerable": False}
SQUAD: dict[str, Any] = {
    "version": "v2.0",
    "data": [
        {
            "title": "Lease",
            "paragraphs": [
                {
                    "context": "The tenant pays the monthly rent in advance.",
                    "qas": [{"id": "1", "question": QUESTION, "answers": [{"text": "in advance", "answer_start": 33}]}],
                }
            ],
        }
    ],
}
Rows = Callable[[Any], bytes]


def _lines(value: Any) -> bytes:
    return b"".join(json.dumps({**SOUND, field: value}).encode() + b"\n" for field in FIELDS)


def _field(field: str) -> Rows:
    return lambda value: b"\n".join(json.dumps(row).encode() for row in ({**SOUND, field: value}, OTHER))


def _listed(value: Any) -> bytes:
    return json.dumps([SOUND, {**SOUND, "question": value}, value]).encode()


def _table(separator: str) -> Rows:
    def make(value: Any) -> bytes:
        cell = value if isinstance(value, str) else json.dumps(value)
        rows = (["question", "answerable", "answer", "page"], [QUESTION, "yes", cell, "1"], [cell, cell, "x", cell])
        return "\n".join(separator.join(row) for row in rows).encode("utf-8", "surrogatepass")

    return make


def _squad(place: str) -> Rows:
    def make(value: Any) -> bytes:
        whole = json.loads(json.dumps(SQUAD))
        article = whole["data"][0]
        holder = {
            "data": whole,
            "title": article,
            "paragraphs": article,
            "context": article["paragraphs"][0],
            "qas": article["paragraphs"][0],
            "question": article["paragraphs"][0]["qas"][0],
            "id": article["paragraphs"][0]["qas"][0],
            "answers": article["paragraphs"][0]["qas"][0],
            "is_impossible": article["paragraphs"][0]["qas"][0],
        }[place]
        holder[place] = value
        return json.dumps(whole).encode()

    return make


FIELDS = ("question", "id", "answerable", "answer", "route", "outcome", "source", "page", "row", "gold", "plausible")
FORMS: dict[str, Rows] = {
    **{f"JSONL, {field}": _field(field) for field in FIELDS},
    **{f"SQuAD, {place}": _squad(place) for place in ("data", "title", "paragraphs", "context", "qas", "question")},
    **{f"SQuAD, {place}": _squad(place) for place in ("id", "answers", "is_impossible")},
    "a list": _listed,
    "CSV": _table(","),
    "TSV": _table("\t"),
    "semicolons": _table(";"),
    "every field": _lines,
    "alone": lambda value: json.dumps(value).encode(),
    "raw": lambda value: (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "surrogatepass"),
}


def _nested(depth: int) -> Any:
    made: Any = 1
    for _ in range(depth):
        made = [made]
    return made


VALUES: dict[str, Any] = {
    **{f"text {name}": text for name, text in HOSTILE.items()},
    "integer of 4,000 digits": 10**4_000,
    "integer": 10**30,
    "minus": -1,
    "fraction": 1.5,
    "truth": True,
    "none": None,
    "empty list": [],
    "empty object": {},
    "list of lists": [[["x"]]],
    "nested": _nested(900),
    "objects": [{"text": {"text": "x"}, "page": "9" * 5_000}],
    "page of 5,000 digits": {"page": "9" * 5_000, "row": "٣", "source": "\x1b[31m"},
    "many": ["x"] * 20_000,
    "a text of a megabyte": "word " * 200_000,
    "digits of a megabyte": "9" * 1_000_000,
}
FILE_NAMES = {
    ascii(one)[1:-1][:40]: one
    for one in (
        *("set.jsonl", "...jsonl", ".jsonl", "..json", "a.b.c", "set", "con.jsonl", " .jsonl", "-x.jsonl", "%.jsonl"),
        *("a\nb.jsonl", "\u202ea.jsonl", "\x1b[31m.jsonl", "x" * 240 + ".jsonl", os.fsdecode(b"\xff.jsonl"), "~.jsonl"),
    )
}
COMMANDS: dict[str, tuple[str, ...]] = {
    "plainly": (),
    "judged": ("--judge",),
    "some": ("--most", "1", "--balanced"),
    "by paragraph": ("--paragraphs", "1-1"),
    "a variant": ("--variant", "x:k=2", "--systems", "plain"),
}


def _set(world: World, dice: Random, form: Rows, value: Any, name: str, options: tuple[str, ...]) -> None:
    path = world.write(world.home / name, form(value))
    world.run("eval", str(path), "--docs", str(world.docs), *options, seconds=25)


SETS = Surface("sets", (FORMS, VALUES, FILE_NAMES, COMMANDS), _set)

KEPT_FILES = named("records.jsonl", "judgements.jsonl", "report.html", "summary.json", "documents")
OUT = Path("eval/set")


EVALUATED: dict[str, bytes] = {}  # the results of an evaluation, which are the same in every world


def _asked(world: World) -> tuple[list[str], Path]:
    path = world.write("home/set.jsonl", json.dumps(SOUND) + "\n")
    words, out = ["eval", str(path), "--docs", str(world.docs), "--judge"], world.work / OUT
    if not EVALUATED:
        world.run(*words, seconds=25)
        EVALUATED.update({one.name: one.read_bytes() for one in out.iterdir() if one.is_file()})
    for name, data in EVALUATED.items():
        world.write(out / name, data)
    return words, out


def _record(change: Callable[[dict[str, Any]], Any]) -> Callable[[bytes], bytes]:
    def edit(data: bytes) -> bytes:
        try:
            rows = [json.loads(line) for line in data.splitlines() if line.strip()]
        except ValueError:  # another file of results
            return data * 2
        return b"".join(json.dumps(change(row)).encode("utf-8", "replace") + b"\n" for row in rows)

    return edit


def _in_all(value: Any) -> Callable[[bytes], bytes]:
    """Replace every value of every record except its identifying fields."""
    same = ("system", "example", "question", "fingerprint", "key", "error")

    def change(row: dict[str, Any]) -> dict[str, Any]:
        record = row.get("record", row)
        record.update({key: value for key in record if key not in same})
        return row

    return _record(change)


LINES: dict[str, Callable[[bytes], bytes]] = {
    **{f"all {name}": _in_all(value) for name, value in VALUES.items() if not name.startswith("text ")},
    **{f"all {name}": _in_all("x" + text) for name, text in UNSHOWN.items()},
    "nested": lambda data: b"[" * 200_000 + b"\n" + data,
    "numbers": lambda data: b'{"key": ' + b"9" * 100_000 + b"}\n" + data,
    "not text": lambda data: bytes(range(256)) * 100 + data,
    "cut": lambda data: data[: len(data) // 2],
    "doubled": lambda data: data * 1_000,
    "empty lines": lambda data: b"\n" * 2_000_000 + data,
    "other objects": lambda data: (
        b'{"fingerprint": [], "record": {}}\n{"fingerprint": {}, "record": []}\nnull\n1\n""\n'
    ),
    "keys that are lists": _record(
        lambda row: {**row, "fingerprint": [1], "record": {**row.get("record", {}), "system": {}, "example": []}}
    ),
    "a long line": lambda data: data + b'{"x": "' + b"y" * 50_000_000 + b'"}\n',
}


def _records(world: World, dice: Random, name: str, change: Callable[[bytes], bytes]) -> None:
    words, out = _asked(world)
    path = out / name
    before = path.read_bytes() if path.is_file() else (out / "records.jsonl").read_bytes()
    if not path.is_dir():
        path.write_bytes(change(before))
    world.run(*words, seconds=25)


RECORDS = Surface("records", (KEPT_FILES, LINES), _records)


def _link(target: Callable[[World], Path]) -> Callable[[World, Path], object]:
    return lambda world, path: path.symlink_to(target(world))


def _precious(world: World) -> Path:
    return world.write("home/precious", "It is precious.\n")


def _closed(world: World, path: Path) -> None:
    path.write_text("x", encoding="utf-8")
    path.chmod(0)


THERE: dict[str, Callable[[World, Path], object]] = {
    "another's": lambda world, path: path.write_text("It is precious.\n"),
    "another's JSON lines": lambda world, path: path.write_text('{"a": 1}\n{"b": 2}\nunfinished'),
    "a link": _link(_precious),
    "a link to nothing": _link(lambda world: world.home / "new"),
    "a FIFO": lambda world, path: os.mkfifo(path),
    "a folder": lambda world, path: path.mkdir(),
    "a device": _link(lambda world: Path("/dev/full")),
    "zeros": _link(lambda world: Path("/dev/zero")),
    "a closed file": _closed,
}
OF_SQUAD = digest(SQUAD["data"][0]["paragraphs"][0]["context"])[:8]  # where its paragraphs are written
PLACES = named(
    *("records.jsonl", "judgements.jsonl", ".records.jsonl.lock", "report.html", "summary.json", "failures.jsonl"),
    *("documents", "documents/paragraph-1.txt", "documents/paragraph-01.txt", "documents/precious.txt"),
    *(f"documents/{OF_SQUAD}", f"documents/{OF_SQUAD}/paragraph-01.txt"),
    *("abstention.svg", "questions.csv", "table.md", "report.md", "another.txt"),
)
TARGETS = {"by its name": None, "by --out": Path("out"), "by --out, a link": Path("link")}


def _foreign(
    world: World, dice: Random, place: str, there: Callable[[World, Path], object], out: Path | None, squad: bool
) -> None:
    path = world.write("home/set.json", json.dumps(SQUAD if squad else [SOUND]))
    folder = world.work / (out or Path("eval/set"))
    if out == Path("link"):
        (world.home / "elsewhere").mkdir()
        folder.symlink_to(world.home / "elsewhere")
    target = folder / place
    target.parent.mkdir(parents=True, exist_ok=True)
    there(world, target)
    before = listing(world.work)
    options = ["--out", str(folder)] if out else []
    world.run("eval", str(path), *options, "--judge", may_write=[world.work, world.home / "elsewhere"], seconds=25)
    after = listing(world.work)
    harmed = [name for name, one in before.items() if one[1] != "folder" and after.get(name) != one]
    if harmed:
        names = ", ".join(os.path.relpath(name, world.work) for name in harmed)
        world.broken.append(f"foreign: {names} was there before, and is changed or gone")


KINDS = {"SQuAD": True, "a list": False}
FOREIGN = Surface("foreign files", (PLACES, THERE, TARGETS, KINDS), _foreign)
