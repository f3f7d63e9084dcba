"""Check what must hold of every run, whatever was done to the program."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from tests.command_line import Ended
from tests.integration.app.contract import keep_to_the_contract
from tests.stress.hostile.world import KEY, LIMIT_SECONDS, PASSWORD, World

CODES = (0, 2, 3, 130)
MOST_MEMORY = 900_000_000  # a run over two small documents takes 350 MB
LONGEST_LINE = 2_000
MARK = "FORGED"  # what a hostile text has behind its line break
UNSHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
NOISE = re.compile(r"Traceback|Exception ignored|Warning: |was never (?:retrieved|awaited)|^Fatal ", re.MULTILINE)
FORGED_LINE = re.compile(rf"^[^\w\n]*(?:error: |note: |grounded · |\[\d+\] )*{MARK}", re.MULTILINE)
SECRETS = {"key": KEY, "password": PASSWORD}


def check(world: World, ended: Ended, *, as_json: bool) -> Iterator[str]:
    """Yield the violations of a run, each as ``kind: details``."""
    if world.seconds > LIMIT_SECONDS + 10:
        yield f"time: ended after {world.seconds:.0f} s"
    if ended.code not in CODES:
        yield f"exit code: {ended.code}: {ended.err[-300:]}"
    if world.memory > MOST_MEMORY:
        yield f"memory: {world.memory / 1e9:.1f} GB"
    yield from _said(ended)
    yield from _shown(ended)
    yield from _secrets(world, ended)
    if world.other.connections:
        yield "connection: to another origin"
    if as_json and ended.code == 0:
        yield from _json(ended.out)


def _said(ended: Ended) -> Iterator[str]:
    if noise := NOISE.search(ended.err):
        yield f"noise: {ended.err[noise.start() : noise.start() + 200]!r}"
    errors = [line for line in ended.err.split("\n") if line.startswith("error: ")]
    if len(errors) != (ended.code in (2, 3)):
        yield f"error: {len(errors)} of them with exit code {ended.code}: {errors[:2]} {ended.err[-300:]}"
    for line in errors:
        if not line.rstrip().endswith("."):
            yield f"error: no sentence: {line[:300]!r}"
        if len(line) > LONGEST_LINE:
            yield f"error: has {len(line):,} characters: {line[:100]!r}"


def _shown(ended: Ended) -> Iterator[str]:
    for name, text in (("stdout", ended.out), ("stderr", ended.err)):
        if found := UNSHOWN.search(text):
            around = text[max(0, found.start() - 60) : found.start() + 60]
            yield f"control: {found.group()!r} in {name}: {around!r}"
    for text in (ended.err, "" if ended.code == 0 else ended.out):  # an answer has the lines that the model wrote
        if forged := FORGED_LINE.search(text):
            yield f"forged line: {text[max(0, forged.start() - 100) : forged.end() + 40]!r}"


def _secrets(world: World, ended: Ended) -> Iterator[str]:
    for name, secret in SECRETS.items():
        forms = {
            secret,
            quote(secret, safe=""),
            json.dumps(secret)[1:-1],
            secret.replace("/", "\\/"),
            secret.strip("="),
        }
        for text in (ended.out, ended.err):
            for form in forms:
                if form in text:
                    around = max(0, text.index(form) - 100)
                    yield f"secret: the {name} is shown: {text[around : around + 200]!r}"
        for folder, _, names in os.walk(world.root):
            for path in (Path(folder, one) for one in names):
                if path.is_file() and not path.is_symlink() and secret.encode() in path.read_bytes():
                    yield f"secret: the {name} is in the file {path}"
    if any(KEY in body for server in (world.server, world.other) for body in server.received):
        yield "secret: the key was sent as text"


def _json(text: str) -> Iterator[str]:
    try:
        result = json.loads(text)
        keep_to_the_contract(result)
        json.dumps(result, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        yield f"json: {error}: {text[:200]!r}"
    except AssertionError as error:
        yield f"json: against the contract: {error}"
