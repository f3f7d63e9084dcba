"""Attack displays: control characters and forged lines in everything that is shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from tests.integration.misbehaviour import Fault, say, status
from tests.stress.hostile.hostile_texts import UNSHOWN
from tests.stress.hostile.surface import Surface
from tests.stress.hostile.world import QUESTION, World
from tests.unit.retrieval.documents.docx_files import docx, p

Run = tuple[list[str], dict[str, str | None]]


def _ask(world: World, question: str = QUESTION, *more: str, **environment: str | None) -> Run:
    return ["ask", question, "--docs", str(world.docs), *more], environment


def _faulty(kinds: tuple[str, ...], fault: Callable[[str], Fault]) -> Callable[[World, str], Run]:
    def place(world: World, text: str) -> Run:
        made = fault(text)
        world.server.always = lambda asked: made if asked.kind in kinds else None
        return _ask(world)

    return place


def _document(name: str, make: Callable[[str], bytes]) -> Callable[[World, str], Run]:
    def place(world: World, text: str) -> Run:
        world.write(f"docs/{name}", make(text))
        return _ask(world)

    return place


def _named(form: str) -> Callable[[World, str], Run]:
    def place(world: World, text: str) -> Run:
        name = form.format(text.replace("/", "∕"))
        world.write(world.docs / name, "The tenant pays the monthly rent in advance, says this.")
        return _ask(world)

    return place


def _words(*words: str) -> Callable[[World, str], Run]:
    def place(world: World, text: str) -> Run:
        return [word.replace("TEXT", text).replace("DOCS", str(world.docs)) for word in words], {}

    return place


def _setting(name: str) -> Callable[[World, str], Run]:
    return lambda world, text: _ask(world, QUESTION, **{name: f"x{text}"})


def _refused(world: World, text: str) -> Run:
    world.server.always = lambda asked: status(401, f"No{text}", x_request_id="1")
    return _ask(world)


def _spoken(text: str) -> str:
    return f"The tenant pays the monthly rent in advance.{text} Dogs are allowed in the garden."


def _line(text: str) -> bytes:
    fields = {"text": _spoken(text), "metadata": {"title": text, text: text}, "source": text, "title": text}
    return json.dumps(fields).encode() + b"\n"


def _evaluated(world: World, text: str) -> Run:
    row = {"id": f"i{text}", "question": f"{QUESTION}{text}", "answer": text, "source": text, "answerable": True}
    path = world.write("home/set.jsonl", json.dumps(row))
    return ["eval", str(path), "--docs", str(world.docs)], {}


PLACES: dict[str, Callable[[World, str], Run]] = {
    "the question": lambda world, text: _ask(world, (QUESTION + text)),
    "the draft": _faulty(("draft", "mend", "improve"), lambda text: say(_spoken(text))),
    "the direct answer": _faulty(("retrieve", "direct"), lambda text: say(f"direct{text}")),
    "the query": _faulty(("relevance", "query"), lambda text: say(f"no{text}")),
    "the reasons": _faulty(("reason",), lambda text: say(f"Because{text}")),
    "the refusal": _faulty(("draft",), lambda text: say(None, refusal=f"No{text}")),
    "the verdict": _faulty(("support", "usefulness"), lambda text: say(f'{{"label": "5{text}"}}')),
    "an error's message": _refused,
    "a file's name": _named("a{}b.txt"),
    "a file's suffix": _named("a.txt{}"),
    "a folder's name": _named("a{}b/c.txt"),
    "a text": _document("a.txt", lambda text: _spoken(text).encode("utf-8", "surrogatepass")),
    "a page": _document("a.html", lambda text: f"<title>{text}</title><p>{_spoken(text)}".encode("utf-8", "replace")),
    "a page, by its number": _document(
        "a.html", lambda text: ("<p>" + "".join(f"&#{ord(one)};" for one in _spoken(text))).encode()
    ),
    "a table": _document("a.csv", lambda text: f'"a{text}",b\n"{_spoken(text)}",2\n'.encode("utf-8", "replace")),
    "lines of JSON": _document("a.jsonl", _line),
    "markdown": _document(
        "a.md", lambda text: f"---\ntitle: {text}\n---\n# {text}\n{_spoken(text)}".encode("utf-8", "replace")
    ),
    "a document of Word": _document(
        "a.docx",
        lambda text: docx(p(_spoken("".join(one for one in text if one >= " ").encode("utf-8", "replace").decode()))),
    ),
    "a path that is not there": _words("ask", QUESTION, "--docs", "no such TEXT"),
    "a path to index": _words("index", "no such TEXT"),
    "a path to remove": _words("index", "--remove", "no such TEXT"),
    "a pattern": _words("ask", QUESTION, "--docs", "DOCS", "--source", "xTEXT"),
    "an option": _words("ask", QUESTION, "--TEXT"),
    "an option's value": _words("ask", QUESTION, "--mode", "TEXT"),
    "a number": _words("ask", QUESTION, "--k", "TEXT"),
    "a day": _words("ask", QUESTION, "--since", "TEXT"),
    "a variant": _words("eval", "set.jsonl", "--variant", "x:TEXT=1"),
    "a variant's name": _words("eval", "set.jsonl", "--variant", "TEXT:k=1"),
    "systems": _words("eval", "set.jsonl", "--systems", "TEXT"),
    "a picture": _words("graph", "--output", "TEXT.gif"),
    "a picture's folder": _words("graph", "--output", "no such TEXT/a.svg"),
    "a set that is not there": _words("eval", "TEXT"),
    "a set": _evaluated,
    "the model": _setting("SELFRAG_CHAT_MODEL"),
    "the provider": lambda world, text: _ask(world, SELFRAG_CHAT_MODEL=f"x{text}:y", OPENAI_BASE_URL=None),
    "the critic": _setting("SELFRAG_CRITIC_MODEL"),
    "the embedding model": lambda world, text: _ask(world, SELFRAG_EMBEDDING_MODEL=f"x{text}:y{text}"),
    "the embedding model without a provider": _setting("SELFRAG_EMBEDDING_MODEL"),
    "the store": lambda world, text: _ask(world, SELFRAG_STORE=f"x{text}://y"),
    "the store's folder": lambda world, text: _ask(world, SELFRAG_STORE=f"sqlite:///proc/{text}"),
    "the home": lambda world, text: _ask(world, SELFRAG_HOME=f"/proc/x{text}"),
    "the model's path": lambda world, text: _ask(
        world, SELFRAG_MODEL_PATH=f"/proc/x{text}", SELFRAG_CHAT_MODEL="embedded"
    ),
    "the mode": _setting("SELFRAG_MODE"),
    "the address": lambda world, text: _ask(world, OPENAI_BASE_URL=f"http://127.0.0.1:9/v1{text}"),
    "the host": lambda world, text: _ask(world, OPENAI_BASE_URL=f"http://a{text}b/v1"),
}
WAYS: dict[str, tuple[tuple[str, ...], bool]] = {
    "text": ((), False),
    "JSON": (("--json",), False),
    "JSON with reasons": (("--json", "--explain"), False),
    "with reasons": (("--explain",), False),
    "a terminal": ((), True),
    "listed": (("LIST",), False),
}


def _show(
    world: World, dice: Random, place: Callable[[World, str], Run], text: str, way: tuple[tuple[str, ...], bool]
) -> None:
    words, environment = place(world, text)
    words = [word.replace("\0", "") for word in words]
    options, terminal = way
    if options == ("LIST",):
        world.run("index", str(world.docs), environment=environment, terminal=terminal)
        words = ["index", "--list"]
    elif words[0] == "ask":
        words += options
    may_write = [world.work, world.home / "x"]
    world.run(*words, environment=environment, terminal=terminal, may_write=may_write, seconds=20)


SHOWN = Surface("shown", (PLACES, UNSHOWN, WAYS), _show)
