"""Attack what a person may give or be shown: settings, addresses and keys, options, and texts on the screen."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from random import Random

from hypothesis import strategies as st

from app.cli import PARSERS
from app.settings import Settings
from tests.integration.misbehaviour import Fault, say, status
from tests.stress.hostile.strategies import as_given, hostile, unshown
from tests.stress.hostile.surface import Surface
from tests.stress.hostile.world import EMBEDDED, QUESTION, QUESTIONS, World
from tests.unit.retrieval.documents.docx_files import docx, p

COMMANDS: dict[str, Callable[[World], list[str]]] = {
    "ask": lambda world: ["ask", QUESTION, "--docs", str(world.docs)],
    "ask JSON": lambda world: ["ask", QUESTION, "--docs", str(world.docs), "--json"],
    "index": lambda world: ["index", str(world.docs)],
    "list": lambda world: ["index", "--list"],
    "eval": lambda world: ["eval", str(world.write("work/set.jsonl", QUESTIONS)), "--docs", str(world.docs)],
}
NAMES = [name.upper() for name in Settings.model_fields]
WRITTEN = ("SELFRAG_HOME", "SELFRAG_STORE")


def _setting(world: World, dice: Random, name: str, value: str, in_file: bool, command: str) -> None:
    if name in WRITTEN and value.strip(" /.") == "":
        return  # would be done as asked, where nothing may be written
    environment: dict[str, str | None] = dict(EMBEDDED) if name == "SELFRAG_MODEL_PATH" else {}
    if in_file:
        world.write("work/.env", f"{name}={value}\n")
        environment |= {"PYTHON_DOTENV_DISABLED": None, name: None}
    else:
        environment[name] = value
    may_write = [world.work] if name in WRITTEN else []
    world.run(*COMMANDS[command](world), environment=environment, may_write=may_write, seconds=20)


SETTINGS = Surface(
    "settings", st.tuples(st.sampled_from(NAMES), hostile(), st.booleans(), st.sampled_from(sorted(COMMANDS))), _setting
)

# An address is one of each of these, put together.
SCHEMES = ("http://", "https://", "http:/", "//", "", "ftp://", "file://", "http+unix://", "  http://")
USERS = (
    *("us:{password}@", "us@er:{password}@", "us:{password}%40@", "us:{password}/x@", "us:{password}#x@"),
    *(":{password}@", "us:{password}?x@", "{password}@", ""),
)
HOSTS = (
    *("127.0.0.1", "2130706433", "0177.0.0.1", "①②⑦.⓪.⓪.①", "127。0。0。1", "[::1", "[fe80::1%25lo]", "127.0.0\t.1"),
    *("no-such-host.invalid", "ex\u202eam\x1bple", "a." * 2_000 + "example", "a" * 300 + ".example"),
)
PORTS = (":{port}", ":{port}", ":{port}", ":9", ":99999", ":many", "")
PATHS = (
    *("/v1", "/v1", "/v1?key={key}", "/v1#{key}", "\\@evil.example/{password}"),
    *("/v1\r\nX-Evil: {password}", "/{{0.x}}/%s", "/v1%0d%0aX-Evil:%20x", "/" + "v1/" * 20_000, "/v1  "),
)
ADDRESSES = st.tuples(*(st.sampled_from(one) for one in (SCHEMES, USERS, HOSTS, PORTS, PATHS))).map("".join)
KEYS = st.sampled_from(
    ("{key}", "", " ", "{key}\r\nX-Evil: 1", "  {key}  ", "{key}é☃", "{key}" + "x" * 90_000, "k", "the")
)
KEYS |= unshown().map(lambda text: "{key}" + as_given(text).replace("{", "").replace("}", ""))
MODELS = (None, "openai:gpt-4o-mini", "anthropic:claude")
EMBEDDERS = (None, "openai:text-embedding-3-small")


def _url(world: World, dice: Random, address: str, key: str, model: str | None, embedder: str | None) -> None:
    world.named = address
    secrets = {"port": world.server.port, "password": world.password, "key": world.key}
    environment: dict[str, str | None] = {
        "OPENAI_BASE_URL": None,
        "OPENAI_API_BASE" if model else "OPENAI_BASE_URL": address.format(**secrets),
        "OPENAI_API_KEY": key.format(**secrets),
        "SELFRAG_CHAT_MODEL": model,
        "SELFRAG_EMBEDDING_MODEL": embedder,
    }
    world.run(QUESTION, "--docs", str(world.docs), *dice.choice([[], ["--json"]]), environment=environment)


URLS = Surface("urls", st.tuples(ADDRESSES, KEYS, st.sampled_from(MODELS), st.sampled_from(EMBEDDERS)), _url)


def _options() -> dict[str, tuple[str, str | None]]:
    """Every option and positional argument of every command, by its name in the help."""
    found: dict[str, tuple[str, str | None]] = {}
    for command, parser in PARSERS.items():
        for action in parser()._actions:
            if not isinstance(action, argparse._HelpAction | argparse._VersionAction):
                option = action.option_strings[0] if action.option_strings else None
                found[f"{command} {option or action.dest}"] = (command, option)
    return found


OF_COMMANDS = _options()


def _option(world: World, dice: Random, name: str, word: str, joined: bool) -> None:
    command, option = OF_COMMANDS[name]
    if command == "pull" or (option in ("--out", "--output") and word.strip(" /.") == ""):
        return  # what is fetched is too large to be tried; the other is done as asked, where nothing may be written
    words = [word] if option is None else [f"{option}={word}"] if joined else [option, word]
    sound = {"ask": [QUESTION, "--docs", str(world.docs)], "eval": [str(world.write("work/set.jsonl", QUESTIONS))]}
    first = sound.get(command, []) if option is not None else []
    if command == "eval" and option != "--docs":
        words += ["--docs", str(world.docs)]
    world.run(command, *first, *words, may_write=[world.work], seconds=20)


OPTIONS = Surface("options", st.tuples(st.sampled_from(sorted(OF_COMMANDS)), hostile(), st.booleans()), _option)


def _spoken(text: str) -> str:
    return f"The tenant pays the monthly rent in advance.{text} Dogs are allowed in the garden."


def _line(text: str) -> str:
    fields = {"text": _spoken(text), "metadata": {"title": text, text: text}, "source": text, "title": text}
    return json.dumps(fields) + "\n"


DOCUMENTS: dict[str, Callable[[str], str | bytes]] = {
    "a.txt": _spoken,
    "a.html": lambda text: f"<title>{text}</title><p>{_spoken(text)}",
    "numbered.html": lambda text: "<p>" + "".join(f"&#{ord(one)};" for one in _spoken(text)),
    "a.csv": lambda text: f'"a{text}",b\n"{_spoken(text)}",2\n',
    "a.jsonl": _line,
    "a.md": lambda text: f"---\ntitle: {text}\n---\n# {text}\n{_spoken(text)}",
    "a.docx": lambda text: docx(
        p(_spoken("".join(one for one in text if one >= " ")).encode("utf-8", "replace").decode())
    ),
}
DRAFTS = ("draft", "mend", "improve")
REPLIES: dict[str, tuple[tuple[str, ...], Callable[[str], Fault]]] = {
    "the draft": (DRAFTS, lambda text: say(_spoken(text))),
    "the direct answer": (("retrieve", "direct"), lambda text: say(f"direct{text}")),
    "the query": (("relevance", "query"), lambda text: say(f"no{text}")),
    "the reasons": (("reason",), lambda text: say(f"Because{text}")),
    "the refusal": (DRAFTS, lambda text: say(None, refusal=f"No{text}")),
    "the verdict": (("support", "usefulness"), lambda text: say(f'{{"label": "5{text}"}}')),
    "an error": ((), lambda text: status(401, f"No{text}", x_request_id="1")),
}
WAYS = ("text", "JSON", "JSON with reasons", "with reasons", "a terminal", "listed")


def _show(world: World, dice: Random, place: str, text: str, way: str) -> None:
    words = ["ask", QUESTION, "--docs", str(world.docs)]
    if place in DOCUMENTS:
        made = DOCUMENTS[place](text)
        world.write(f"docs/{place}", made.encode("utf-8", "replace") if isinstance(made, str) else made)
    elif place in REPLIES:
        kinds, fault = REPLIES[place]
        made_fault = fault(text)
        world.server.always = lambda asked: made_fault if not kinds or asked.kind in kinds else None
    elif place == "a question set":
        row = {"id": f"i{text}", "question": f"{QUESTION}{text}", "answer": text, "source": text, "answerable": True}
        words = ["eval", str(world.write("home/set.jsonl", json.dumps(row))), *words[2:]]
    else:
        words[1] += as_given(text)
    if way == "listed":
        world.run("index", str(world.docs))
        words = ["index", "--list"]
    elif words[0] == "ask":
        words += ["--json"] * ("JSON" in way) + ["--explain"] * ("reasons" in way)
    world.run(*words, terminal=way == "a terminal", may_write=[world.work], seconds=20)


PLACES = st.sampled_from((*DOCUMENTS, *REPLIES, "a question set", "the question"))
SHOWN = Surface("shown", st.tuples(PLACES, unshown(), st.sampled_from(WAYS)), _show)
