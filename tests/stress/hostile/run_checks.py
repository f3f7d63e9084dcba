"""Check what must hold of every run, whatever was done to the program."""

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from tests.integration.app.contract import keep_to_the_contract
from tests.stress.hostile.world import Ended, World

CODES = (0, 2, 3, 130)
MOST_MEMORY = 900_000_000  # a run over two small documents takes 350 MB
LONGEST_LINE = 2_000
MARK = "FORGED"  # what a hostile text has behind its line break
UNSHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
NOISE = re.compile(r"Traceback|Exception ignored|Warning: |was never (?:retrieved|awaited)|^Fatal ", re.MULTILINE)
SCANNED = 50_000_000  # bytes of a file that is looked through for a secret


def check(world: World, ended: Ended) -> Iterator[str]:
    """Yield the violations of a run, each as ``kind: details``."""
    if ended.code is None:
        yield f"time: had no end after {ended.seconds:.0f} s"
    elif ended.code not in CODES:
        yield f"exit code: {ended.code}: {_last(ended.err)}"
    if ended.memory > MOST_MEMORY:
        yield f"memory: {ended.memory / 1e9:.1f} GB"
    yield from _said(ended)
    yield from _shown(ended)
    yield from _secrets(world, ended)
    yield from _files(world, ended)
    yield from _connections(world, ended)
    if "--json" in (words := _words(ended)) and "eval" not in words and ended.code == 0:
        yield from _json(ended.out)


def _words(ended: Ended) -> list[str]:
    return [str(word) for given in ended.arguments if isinstance(given, list) for word in given]


def _said(ended: Ended) -> Iterator[str]:
    if noise := NOISE.search(ended.err):
        yield f"noise: {ended.err[noise.start() : noise.start() + 200]!r}"
    errors = [line for line in ended.err.split("\n") if line.startswith("error: ")]
    if ended.code in (2, 3):
        if not errors:
            yield f"error: exit code {ended.code} without one: {_last(ended.err)}"
        elif len(errors) > 1 and "--verify" not in _words(ended):
            yield f"error: {len(errors)} of them: {errors[:2]}"
        for line in errors:
            if not line.rstrip().endswith("."):
                yield f"error: no sentence: {line[:300]!r}"
            if len(line) > LONGEST_LINE:
                yield f"error: has {len(line):,} characters: {line[:100]!r}"
    elif errors and ended.code == 0:
        yield f"error: with exit code 0: {errors[0][:300]}"


def _shown(ended: Ended) -> Iterator[str]:
    for name, text in (("stdout", ended.out), ("stderr", ended.err)):
        if found := UNSHOWN.search(text):
            around = text[max(0, found.start() - 60) : found.start() + 60]
            yield f"control: {found.group()!r} in {name}: {around!r}"
    answers = ended.code == 0 and _words(ended)[:1] not in (["index"], ["eval"], ["graph"])
    for name, text in (("stdout", "" if answers else ended.out), ("stderr", ended.err)):
        if forged := re.search(rf"^[^\w\n]*(?:error: |note: |grounded · |\[\d+\] )*{MARK}", text, re.MULTILINE):
            yield f"forged line: in {name}: {text[max(0, forged.start() - 100) : forged.end() + 40]!r}"


def _secrets(world: World, ended: Ended) -> Iterator[str]:
    for secret, name in ((world.key, "key"), (world.password, "password")):
        for place, text in (("stdout", ended.out), ("stderr", ended.err)):
            if found := _find(secret, text):
                yield f"secret: the {name} in {place}: {text[max(0, found - 100) : found + 40]!r}"
    if any(world.canary in text for text in (ended.out, ended.err)):
        yield "outside: a file outside was shown"
    for server, whose in ((world.server, "the model's server"), (world.other, "another server")):
        if any(world.canary in body for body in server.received):
            yield f"outside: a file outside was sent to {whose}"
        if any(world.key in body for body in server.received):
            yield f"secret: the key was sent to {whose} as text"
    for path in _regular_files(world):
        data = path.read_bytes()
        where = os.path.relpath(path, world.root)
        for secret, name in ((world.key, "secret: the key"), (world.password, "secret: the password")):
            if secret.encode() in data:
                yield f"{name} in the file {where}"
        if world.canary.encode() in data:
            yield f"outside: a file outside is in {where}"


def _find(secret: str, text: str) -> int:
    """Position of a secret in a text in any common encoding; 0 if absent."""
    forms = {secret, quote(secret, safe=""), json.dumps(secret)[1:-1], secret.replace("/", "\\/"), secret.strip("=")}
    return next((place for form in forms if (place := f"\n{text}".find(form)) > 0), 0)


def _regular_files(world: World) -> Iterator[Path]:
    """The regular files that the program keeps, and its evaluation results."""
    for top in (world.kept, world.work):
        for folder, folders, names in os.walk(top):
            folders[:] = [one for one in folders if not Path(folder, one).is_symlink()]
            for name in names:
                path = Path(folder, name)
                status = path.lstat()
                if stat.S_ISREG(status.st_mode) and status.st_size < SCANNED and name != ".env":
                    yield path


def _files(world: World, ended: Ended) -> Iterator[str]:
    if ended.changed:
        yield f"files: changed {', '.join(ended.changed[:4])}"
    outside = [path for path in ended.written if not path.startswith((f"{world.root}", "/dev/", "/proc/self/"))]
    if outside:
        yield f"files: opened for writing {', '.join(outside[:4])}"
    if ended.exposed:
        yield f"modes: {', '.join(ended.exposed[:3])}"


def _connections(world: World, ended: Ended) -> Iterator[str]:
    strangers = [one for one in ended.connections if int(one.rpartition(":")[2]) not in (world.server.port, 9)]
    if strangers or world.other.connections:
        yield f"connection: to {', '.join(strangers) or 'another origin'}"
    if ended.lookups:
        yield f"connection: looked up {', '.join(ended.lookups)}"
    if ended.unrouted:
        yield f"connection: {ended.unrouted} attempts by native code to leave this machine"


def _json(text: str) -> Iterator[str]:
    try:
        result = json.loads(text)
    except ValueError as error:
        yield f"json: {error}: {text[:200]!r}"
        return
    try:
        keep_to_the_contract(result)
    except AssertionError as error:
        yield f"json: against the contract: {error}"
    try:
        json.dumps(result, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        yield f"json: {error}"


def _last(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1][:300]
