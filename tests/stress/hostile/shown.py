"""Attack what a person is shown: texts of documents, of replies and of question sets, on the screen and as JSON."""

import json
from collections.abc import Callable
from random import Random

from hypothesis import strategies as st

from tests.integration.misbehaviour import Fault, say, status
from tests.stress.hostile.strategies import as_given, unshown
from tests.stress.hostile.surface import Surface
from tests.stress.hostile.world import QUESTION, World
from tests.unit.retrieval.documents.docx_files import docx, p


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
