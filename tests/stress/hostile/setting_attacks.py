"""Attack settings and options, given by the environment, by ``.env`` or on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from random import Random

from app.cli import PARSERS
from app.settings import Settings
from tests.stress.hostile.hostile_texts import HOSTILE
from tests.stress.hostile.surface import Surface
from tests.stress.hostile.world import EMBEDDED, QUESTION, QUESTIONS, World

COMMANDS: dict[str, Callable[[World], list[str]]] = {
    "ask": lambda world: ["ask", QUESTION, "--docs", str(world.docs)],
    "ask JSON": lambda world: ["ask", QUESTION, "--docs", str(world.docs), "--json"],
    "index": lambda world: ["index", str(world.docs)],
    "list": lambda world: ["index", "--list"],
    "eval": lambda world: ["eval", str(world.write("work/set.jsonl", QUESTIONS)), "--docs", str(world.docs)],
}
NAMES = {name.upper(): name.upper() for name in Settings.model_fields}
PLACES = {"environment": False, ".env": True}


def _setting(
    world: World, dice: Random, name: str, value: str, in_file: bool, command: Callable[..., list[str]]
) -> None:
    if name in ("SELFRAG_HOME", "SELFRAG_STORE") and value == "..":
        return  # would be done as asked, where nothing may be written
    environment: dict[str, str | None] = dict(EMBEDDED) if name == "SELFRAG_MODEL_PATH" else {}
    if in_file:
        world.write("work/.env", f"{name}={value}\n")
        environment |= {"PYTHON_DOTENV_DISABLED": None, name: None}
    else:
        environment[name] = value
    may_write = [world.work] if name in ("SELFRAG_HOME", "SELFRAG_STORE") else []
    world.run(*command(world), environment=environment, may_write=may_write, seconds=20)


SETTINGS = Surface("settings", (NAMES, HOSTILE, PLACES, COMMANDS), _setting)

ADDRESSES: dict[str, str] = {
    "two at signs": "http://us@er:{password}@127.0.0.1:{port}/v1",
    "an at sign, encoded": "http://us:{password}%40@127.0.0.1:{port}/v1",
    "a slash in the password": "http://us:{password}/x@127.0.0.1:{port}/v1",
    "a number sign in the password": "http://us:{password}#x@127.0.0.1:{port}/v1",
    "a question mark in the password": "http://us:{password}?x@127.0.0.1:{port}/v1",
    "a backslash": "http://127.0.0.1:{port}\\@evil.example/{password}",
    "a port too large": "http://us:{password}@127.0.0.1:99999/v1",
    "a port in words": "http://us:{password}@127.0.0.1:many/v1",
    "half a bracket": "http://us:{password}@[::1/v1",
    "no scheme": "us:{password}@127.0.0.1:{port}/v1",
    "two slashes alone": "//us:{password}@127.0.0.1:{port}/v1",
    "one slash": "http:/us:{password}@127.0.0.1:{port}/v1",
    "another scheme": "ftp://us:{password}@127.0.0.1:{port}/v1",
    "a file": "file:///etc/{password}",
    "a socket": "http+unix://{password}/v1",
    "a password alone": "http://:{password}@127.0.0.1:{port}/v1",
    "a user alone": "http://{password}@127.0.0.1:{port}/v1",
    "a key in the query": "http://127.0.0.1:{port}/v1?key={key}",
    "a key in the fragment": "http://127.0.0.1:{port}/v1#{key}",
    "a line break": "http://127.0.0.1:{port}/v1\r\nX-Evil: {password}",
    "a line break, encoded": "http://127.0.0.1:{port}/v1%0d%0aX-Evil:%20x",
    "a tab in the host": "http://127.0.0\t.1:{port}/v1?{password}",
    "spaces around": "  http://us:{password}@127.0.0.1:{port}/v1  ",
    "an integer": "http://us:{password}@2130706433:{port}/v1",
    "octal": "http://us:{password}@0177.0.0.1:{port}/v1",
    "circled digits": "http://us:{password}@①②⑦.⓪.⓪.①:{port}/v1",
    "a full stop of another width": "http://us:{password}@127。0。0。1:{port}/v1",
    "a name of controls": "http://us:{password}@ex\u202eam\x1bple:{port}/v1",
    "a long name": "http://us:{password}@" + "a." * 2_000 + "example/v1",
    "a long label": "http://us:{password}@" + "a" * 300 + ".example/v1",
    "a long path": "http://us:{password}@127.0.0.1:{port}/" + "v1/" * 20_000,
    "nothing listens": "http://us:{password}@127.0.0.1:9/v1",
    "TLS where there is none": "https://us:{password}@127.0.0.1:{port}/v1",
    "no such host": "http://us:{password}@no-such-host.invalid/v1",
    "a zone": "http://us:{password}@[fe80::1%25lo]:{port}/v1",
    "braces": "http://us:{password}@127.0.0.1:{port}/{{0.__class__}}/%s",
}
KEYS: dict[str, str] = {
    "a key": "{key}",
    "no key": "",
    "a space": " ",
    "a line break behind": "{key}\n",
    "a line break within": "{key}\r\nX-Evil: 1",
    "spaces around": "  {key}  ",
    "quotes": '"{key}"',
    "letters that no header has": "{key}é☃",
    "bytes that are no text": "{key}\udcff",
    "a control": "{key}\x1b[31m",
    "zero width": "{key}\u200b",
    "long": "{key}" + "x" * 90_000,
    "short": "k",
    "a word of ours": "the",
}
MODELS: dict[str, str | None] = {
    "the endpoint": None,
    "the provider": "openai:gpt-4o-mini",
    "another provider": "anthropic:claude",
}
EMBEDDERS: dict[str, str | None] = {"our own embeddings": None, "their embeddings": "openai:text-embedding-3-small"}


def _url(world: World, dice: Random, address: str, key: str, model: str | None, embedder: str | None) -> None:
    world.named = address
    secrets = {"port": world.server.port, "password": world.password, "key": world.key}
    provider = bool(model and ":" in model)
    environment: dict[str, str | None] = {
        "OPENAI_API_BASE" if provider else "OPENAI_BASE_URL": address.format(**secrets),
        "OPENAI_API_KEY": key.format(**secrets),
        "SELFRAG_CHAT_MODEL": model,
        "SELFRAG_EMBEDDING_MODEL": embedder,
    }
    if provider:
        environment["OPENAI_BASE_URL"] = None
    world.run(QUESTION, "--docs", str(world.docs), *dice.choice([[], ["--json"]]), environment=environment)


URLS = Surface("urls", (ADDRESSES, KEYS, MODELS, EMBEDDERS), _url)


def _options() -> Mapping[str, tuple[str, str | None]]:
    """Every option and positional argument of every command, by its name in the help."""
    found: dict[str, tuple[str, str | None]] = {}
    for command, parser in PARSERS.items():
        for action in parser()._actions:
            if not isinstance(action, argparse._HelpAction | argparse._VersionAction):
                option = action.option_strings[0] if action.option_strings else None
                found[f"{command} {option or action.dest}"] = (command, option)
    return found


JOINED = {"apart": False, "joined": True}


def _option(world: World, dice: Random, place: tuple[str, str | None], word: str, joined: bool) -> None:
    command, option = place
    if command == "pull" or (option in ("--out", "--output") and word == ".."):
        return  # what is fetched is too large to be tried; the other is done as asked, where nothing may be written
    words = [word] if option is None else [f"{option}={word}"] if joined else [option, word]
    sound = {"ask": [QUESTION, "--docs", str(world.docs)], "eval": [str(world.write("work/set.jsonl", QUESTIONS))]}
    first = sound.get(command, []) if option is not None else []
    if command == "eval" and option != "--docs":
        words += ["--docs", str(world.docs)]
    world.run(command, *first, *words, may_write=[world.work], seconds=20)


OPTIONS = Surface("options", (_options(), HOSTILE, JOINED), _option)
