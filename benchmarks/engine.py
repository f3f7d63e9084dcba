"""How fast the embedded engine is with each of its settings, against the shipped ones, in one run.

    python -m benchmarks.engine [--questions 1] [--only ubatch,flash] [--again]

The calls of a few real questions are recorded once through the graph. For each setting a second server is loaded
beside the shipped one, and both are asked the same calls, question by question and in turns: the same calls at once
where the graph asks at once. Printed are ratios to the shipped settings, by the clock and in CPU seconds, which other
programs disturb less: of reading a prompt that is in no cache, of writing, and of whole questions; and what the
setting changed in the verdicts. A setting that was measured already is not measured again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import httpx2

from app.compose import chat_file, prefixes_of
from app.settings import load_settings
from benchmarks.figures import FOLDER, read_figures, write_figures
from benchmarks.recorded import Call, record
from models.embedded import EmbeddedServer
from models.prefix_cache import Prefixes

CALLS = FOLDER / "engine_calls.json"
AT_ONCE = {"support": "checks", "usefulness": "checks"}

Change = Callable[[Any, Any], None]


def _set(**values: Any) -> Change:
    """Set parameters of the server by name; two underscores stand for a dot."""

    def change(_: Any, parameters: Any) -> None:
        for name, value in values.items():
            *way, last = name.split("__")
            owner = parameters
            for step in way:
                owner = getattr(owner, step)
            setattr(owner, last, value)

    return change


def _threads(count: int) -> Change:
    return _set(cpuparams__n_threads=count, cpuparams_batch__n_threads=count)


def _speculative(kind: str) -> Change:
    def change(engine: Any, parameters: Any) -> None:
        parameters.speculative.types = [getattr(engine.common_speculative_type, f"COMMON_SPECULATIVE_TYPE_{kind}")]

    return change


def _cache_type(name: str) -> Change:
    def change(engine: Any, parameters: Any) -> None:
        parameters.cache_type_k = parameters.cache_type_v = getattr(engine.ggml_type, f"GGML_TYPE_{name}")

    return change


def _flash(name: str) -> Change:
    def change(engine: Any, parameters: Any) -> None:
        parameters.flash_attn_type = getattr(engine.llama_flash_attn_type, f"LLAMA_FLASH_ATTN_TYPE_{name}")

    return change


SETTINGS: dict[str, Change] = {
    "shipped": _set(),
    "ubatch 64": _set(n_batch=64, n_ubatch=64),
    "ubatch 128": _set(n_batch=128, n_ubatch=128),
    "ubatch 256": _set(n_batch=256, n_ubatch=256),
    "ubatch 2048": _set(n_batch=2048, n_ubatch=2048),
    "flash off": _flash("DISABLED"),
    "cache q8_0": _cache_type("Q8_0"),
    "no repacking": _set(no_extra_bufts=True),
    "warm-up, fit": _set(warmup=True, fit_params=True),
    "parallel 4": _set(n_parallel=4),
    "reuse 64": _set(n_cache_reuse=64),
    "threads 1": _threads(1),
    "threads 4": _threads(4),
    "ngram simple": _speculative("NGRAM_SIMPLE"),
    "ngram mod": _speculative("NGRAM_MOD"),
    "ngram map-k": _speculative("NGRAM_MAP_K"),
    "ngram cache": _speculative("NGRAM_CACHE"),
}
# What is kept of the prompts fits no other kind of cache.
OTHER_STATE = ("flash", "cache")


class Tuned(EmbeddedServer):
    """The embedded server with one setting changed."""

    def __init__(self, path: Path, change: Change, prefixes: Prefixes | None) -> None:
        super().__init__(path, prefixes=prefixes)
        self._change = change

    def _parameters(self, xllamacpp: Any, key: str) -> Any:
        parameters = super()._parameters(xllamacpp, key)
        self._change(xllamacpp, parameters)
        return parameters


class Took(NamedTuple):
    """Seconds by the clock and of the processor, and what was replied."""

    clock: float
    processor: float
    replies: list[dict[str, Any]]


def ask(server: EmbeddedServer, calls: Sequence[Call]) -> Took:
    """All the calls, those at once that the graph asks at once."""
    endpoint = server.start()
    client = httpx2.Client(
        base_url=endpoint.base_url,
        headers={"Authorization": f"Bearer {endpoint.api_key}"},
        timeout=600,
        trust_env=False,
    )

    def post(call: Call) -> dict[str, Any]:
        reply: dict[str, Any] = client.post("chat/completions", json=call["body"]).raise_for_status().json()
        return reply

    replies: list[dict[str, Any]] = []
    clock, processor = time.perf_counter(), time.process_time()
    with client, ThreadPoolExecutor(8) as pool:
        for _, together in groupby(calls, key=lambda call: AT_ONCE.get(call["kind"], call["kind"])):
            replies += pool.map(post, together)
        return Took(time.perf_counter() - clock, time.process_time() - processor, replies)


def salted(call: Call, salt: str, message: int) -> Call:
    """The call with other first words in one message: no cache holds what comes from there on."""
    messages = [dict(one) for one in call["body"]["messages"]]
    messages[message]["content"] = f"({salt}) {messages[message]['content']}"
    return {**call, "body": {**call["body"], "messages": messages}}


def measure(shipped: EmbeddedServer, name: str, file: Path, questions: list[list[Call]]) -> dict[str, Any]:
    """Ask both servers the same in turns."""
    own = None if name.startswith(OTHER_STATE) else prefixes_of(load_settings())
    server = Tuned(file, SETTINGS[name], own)
    began = time.perf_counter()
    server.start()
    loaded = time.perf_counter() - began
    grade = next(call for call in questions[0] if call["kind"] == "grade")
    pairs: list[tuple[str, Took, Took]] = []
    with server:
        if own is None:
            ask(server, questions[0])
        for number, calls in enumerate(questions):
            anew = [salted(call, name, -1) for call in calls]
            for kind, asked in (("read", [salted(grade, f"{name} {number}", 0)]), ("question", anew)):
                both = [(one, ask(one, asked)) for one in ((shipped, server), (server, shipped))[number % 2]]
                took = dict(both)
                pairs.append((kind, took[shipped], took[server]))
    questions_asked = [(one, other) for kind, one, other in pairs if kind == "question"]
    return {
        "load_seconds": loaded,
        "read": _ratios([(one, other) for kind, one, other in pairs if kind == "read"]),
        "question": _ratios(questions_asked),
        "write": _ratio_of_writing(questions_asked),
        "changed": _changed(pairs),
    }


def _ratios(pairs: list[tuple[Took, Took]]) -> dict[str, float]:
    return {
        "clock": median(other.clock / one.clock for one, other in pairs),
        "processor": median(other.processor / one.processor for one, other in pairs),
        "shipped_seconds": median(one.clock for one, _ in pairs),
    }


def _ratio_of_writing(pairs: list[tuple[Took, Took]]) -> float:
    """Of the seconds a written token takes."""
    return median(_writing(other) / _writing(one) for one, other in pairs)


def _writing(took: Took) -> float:
    timings = [reply["timings"] for reply in took.replies if reply["usage"]["completion_tokens"] > 1]
    return float(sum(one["predicted_ms"] for one in timings) / sum(one["predicted_n"] for one in timings))


def _changed(pairs: list[tuple[str, Took, Took]]) -> dict[str, float]:
    """How many first tokens and written replies differ, and by how much the likeliest token's probability."""
    both = [pair for _, one, other in pairs for pair in zip(one.replies, other.replies, strict=True)]
    verdicts = [(_top(one), _top(other)) for one, other in both if one["choices"][0].get("logprobs")]
    written = [(_text(one), _text(other)) for one, other in both if not one["choices"][0].get("logprobs")]
    likeliest = [(max(one, key=lambda token: one[token]), one, other) for one, other in verdicts]
    return {
        "verdicts": len(verdicts),
        "labels": sum(max(other, key=lambda key: other[key]) != token for token, _, other in likeliest),
        "probability": max(abs(one[token] - other.get(token, 0.0)) for token, one, other in likeliest),
        "written": len(written),
        "texts": sum(one != other for one, other in written),
    }


def _top(reply: dict[str, Any]) -> dict[str, float]:
    top = reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    return {entry["token"]: math.exp(entry["logprob"]) for entry in top}


def _text(reply: dict[str, Any]) -> str:
    return str(reply["choices"][0]["message"]["content"])


def uncached(replies: list[dict[str, Any]], calls: Sequence[Call]) -> Iterator[tuple[str, int, int, int]]:
    """For each call its kind, the tokens of its prompt, those not from the cache, and those written."""
    for call, reply in zip(calls, replies, strict=True):
        usage = reply["usage"]
        cached = usage["prompt_tokens_details"]["cached_tokens"]
        yield call["kind"], usage["prompt_tokens"], usage["prompt_tokens"] - cached, usage["completion_tokens"]


def table(rows: dict[str, Any]) -> str:
    """One line a setting: ratios to the shipped settings, below 1 is faster."""
    lines = [f"{'setting':14} {'read':>11} {'write':>6} {'question':>11}   labels  P    texts  (clock, processor)"]
    for name, row in rows.items():
        read, question, changed = row["read"], row["question"], row["changed"]
        lines.append(
            f"{name:14} {read['clock']:5.2f} {read['processor']:5.2f} {row['write']:6.2f} "
            f"{question['clock']:5.2f} {question['processor']:5.2f}   {changed['labels']}/{changed['verdicts']}  "
            f"{changed['probability']:.3f}  {changed['texts']}/{changed['written']}"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure what was not measured yet, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--questions", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    if CALLS.exists():
        questions = json.loads(CALLS.read_text(encoding="utf-8"))
    else:
        questions = asyncio.run(record(options.questions + 2))
        FOLDER.mkdir(exist_ok=True)
        CALLS.write_text(json.dumps(questions), encoding="utf-8")
    questions = [[call for call in calls if call["kind"] != "other"] for calls in questions][: options.questions]
    figures = read_figures("engine") or {}
    rows: dict[str, Any] = figures.get("settings", {})
    settings = load_settings()
    file = chat_file(settings)
    with EmbeddedServer(file, prefixes=prefixes_of(settings)) as shipped:
        costs = [list(uncached(ask(shipped, calls).replies, calls)) for calls in questions]
        for name in SETTINGS:
            wanted = any(name.startswith(part) for part in options.only.split(","))
            if wanted and (options.again or name not in rows):
                rows[name] = measure(shipped, name, file, questions)
                write_figures("engine", {"settings": rows, "uncached": costs})
                print(table({name: rows[name]}).splitlines()[1], file=sys.stderr, flush=True)
    print(table(rows))
    for calls in costs:
        print("; ".join(f"{kind} {new} of {size}, writes {out}" for kind, size, new, out in calls))


if __name__ == "__main__":
    main()
