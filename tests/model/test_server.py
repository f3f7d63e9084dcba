import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import SystemMessage
from langchain_core.prompts import ChatPromptTemplate

from core.errors import ModelError
from models.embedded import EmbeddedServer, Endpoint, start_embedded
from models.prefix_cache import Prefixes
from tests.command_line import ROOT

SHOTS = [
    {"role": "system", "content": "Does the passage answer the question? Reply yes or no. " * 20},
    {"role": "user", "content": "Passage: Paris is in France.\nQuestion: Where is Paris?"},
    {"role": "assistant", "content": "yes"},
    {"role": "user", "content": "Passage: Cats purr.\nQuestion: Where is Rome?"},
    {"role": "assistant", "content": "no"},
]


def post(endpoint: Endpoint, key: str | None = None, **body: object) -> dict[str, Any]:
    request = urllib.request.Request(  # noqa: S310
        f"{endpoint.base_url}/chat/completions",
        json.dumps({"model": "embedded", "temperature": 0, **body}).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {key or endpoint.api_key}"},
    )
    with urllib.request.urlopen(request, timeout=200) as response:  # noqa: S310
        reply: dict[str, Any] = json.load(response)
    return reply


def grade(endpoint: Endpoint, passage: str, shots: list[dict[str, str]] = SHOTS) -> dict[str, Any]:
    question = {"role": "user", "content": f"Passage: {passage}\nQuestion: Where is Berlin?"}
    return post(endpoint, messages=[*shots, question], max_tokens=1, logprobs=True, top_logprobs=10)


def top(reply: dict[str, Any]) -> dict[str, float]:
    first = reply["choices"][0]["logprobs"]["content"][0]
    return {entry["token"]: entry["logprob"] for entry in first["top_logprobs"]}


def test_a_chat_completion_has_the_log_probabilities_of_its_token(server: EmbeddedServer) -> None:
    reply = grade(server.start(), "Berlin lies in Germany.")
    assert reply["choices"][0]["message"]["content"].strip().lower() == "yes"
    assert len(top(reply)) == 10


def test_a_reply_keeps_to_its_json_schema(server: EmbeddedServer) -> None:
    schema = {
        "type": "object",
        "properties": {"label": {"enum": ["fact", "chat"]}},
        "required": ["label"],
        "additionalProperties": False,
    }
    reply = post(
        server.start(),
        messages=[{"role": "user", "content": "Is 'hello' fact or chat?"}],
        max_tokens=30,
        response_format={"type": "json_schema", "json_schema": {"name": "label", "schema": schema}},
    )
    assert json.loads(reply["choices"][0]["message"]["content"])["label"] in {"fact", "chat"}


def test_a_wrong_key_is_refused(server: EmbeddedServer) -> None:
    with pytest.raises(urllib.error.HTTPError) as refusal:
        post(server.start(), key="wrong", messages=SHOTS[:1])
    refusal.value.close()
    assert refusal.value.code == 401


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads /proc")
def test_it_listens_on_loopback_only(server: EmbeddedServer) -> None:
    port = int(server.start().base_url.rsplit(":", 1)[1].split("/")[0])
    lines = [line for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    rows = [line.split() for line in lines]
    listening = [row[1] for row in rows if row[3] == "0A" and row[1].endswith(f":{port:04X}")]
    assert listening == [f"0100007F:{port:04X}"]


def test_requests_that_arrive_together_share_their_prefix(server: EmbeddedServer) -> None:
    endpoint = server.start()
    grade(endpoint, "Warm up.")
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda number: grade(endpoint, f"{number} is a number."), range(4)))
    for reply in replies:
        usage = reply["usage"]
        assert usage["prompt_tokens_details"]["cached_tokens"] > 0.8 * usage["prompt_tokens"]


def test_a_prefix_that_returns_is_cached_and_judged_as_before(server: EmbeddedServer) -> None:
    endpoint = server.start()
    other = [{"role": "system", "content": "Count the vowels of the text, as a number. " * 20}]
    before = top(grade(endpoint, "Berlin lies in Germany."))
    grade(endpoint, "Berlin lies in Germany.", other)
    again = grade(endpoint, "Berlin lies in Germany.")
    assert again["usage"]["prompt_tokens_details"]["cached_tokens"] > 200
    likeliest = max(before, key=lambda token: before[token])
    assert top(again)[likeliest] == pytest.approx(before[likeliest], abs=0.02)


def kept_in(folder: Path) -> Prefixes:
    roles = {"system": "system", "user": "human", "assistant": "ai"}
    shots = [(roles[shot["role"]], shot["content"]) for shot in SHOTS]
    other = ("system", "Count the vowels of the text, as a number. " * 20)
    prompts = [
        [other, ("human", "Passage: {text}")],
        [*shots, ("human", "Passage: {text}\nQuestion: Where is Berlin?")],
    ]
    return Prefixes(folder, [ChatPromptTemplate.from_messages(prompt) for prompt in prompts])


def asked_of_a_new_server(chat_model: Path, folder: Path) -> list[dict[str, Any]]:
    """What both prompts of `kept_in` get from a server that is then stopped."""
    vowels = [{"role": "system", "content": "Count the vowels of the text, as a number. " * 20}]
    with EmbeddedServer(chat_model, context_tokens=4096, prefixes=kept_in(folder)) as server:
        endpoint = server.start()
        for system in (SHOTS[0]["content"], vowels[0]["content"]):
            server.note([SystemMessage(system)])
        return [grade(endpoint, "Berlin lies in Germany."), grade(endpoint, "Berlin", vowels)]


def cached(reply: dict[str, Any]) -> int:
    return int(reply["usage"]["prompt_tokens_details"]["cached_tokens"])


@pytest.fixture(scope="module")
def read_before(chat_model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A folder in which a server has kept the prefixes of both prompts, and its replies."""
    folder = tmp_path_factory.mktemp("prefixes")
    return folder, asked_of_a_new_server(chat_model, folder)


def test_what_one_server_read_of_a_prompt_the_next_one_need_not_read(
    chat_model: Path, read_before: tuple[Path, list[dict[str, Any]]]
) -> None:
    folder, first = read_before
    for read, known in zip(first, asked_of_a_new_server(chat_model, folder), strict=True):
        assert cached(read) < 50
        assert cached(known) > 200
        likeliest = max(top(read), key=lambda token: top(read)[token])
        assert top(known)[likeliest] == pytest.approx(top(read)[likeliest], abs=0.02)


def test_a_kept_prefix_that_was_cut_short_is_read_anew(
    chat_model: Path, read_before: tuple[Path, list[dict[str, Any]]], tmp_path: Path
) -> None:
    """llama.cpp itself aborts the process over such a file."""
    kept = list(read_before[0].iterdir())
    assert len(kept) == 2
    for path in kept:
        (tmp_path / path.name).write_bytes(path.read_bytes()[:-1000])
    assert all(cached(reply) < 50 for reply in asked_of_a_new_server(chat_model, tmp_path))


def test_more_connections_than_slots_are_all_answered(server: EmbeddedServer) -> None:
    endpoint = server.start()
    with ThreadPoolExecutor(12) as pool:
        replies = list(pool.map(lambda number: grade(endpoint, f"{number}"), range(12)))
    assert all(reply["choices"] for reply in replies)


def test_the_model_is_served_once_for_each_file(server: EmbeddedServer, chat_model: Path) -> None:
    found: list[EmbeddedServer] = []
    threads = [threading.Thread(target=lambda: found.append(start_embedded(chat_model))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [server] * 3


def test_a_server_that_is_stopped_at_work_stops(chat_model: Path) -> None:
    server = EmbeddedServer(chat_model, context_tokens=4096)
    endpoint = server.start()
    with ThreadPoolExecutor(1) as pool:
        messages = [{"role": "user", "content": "Count to a thousand."}]
        reply = pool.submit(post, endpoint, messages=messages, max_tokens=999)
        time.sleep(1)
        server.stop()
        assert isinstance(reply.exception(), OSError)
    assert server.start() != endpoint
    server.stop()


@pytest.mark.parametrize("length", [0, 100, 1_000_000, 20_000_000])
def test_a_truncated_model_file_is_a_clear_error(chat_model: Path, tmp_path: Path, length: int) -> None:
    short = tmp_path / "short.gguf"
    with chat_model.open("rb") as source:
        short.write_bytes(source.read(length))
    with pytest.raises(ModelError, match=r"short\.gguf could not be loaded"):
        EmbeddedServer(short).start()


PROGRAM = """
import contextlib, json, sys, threading, time, urllib.request
from pathlib import Path
from models.embedded import start_embedded

endpoint = start_embedded(Path(sys.argv[1])).start()

def ask(question="Count to a thousand.", **more):
    body = {"messages": [{"role": "user", "content": question}], **more}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {endpoint.api_key}"}
    url = f"{endpoint.base_url}/chat/completions"
    with contextlib.suppress(OSError):
        return urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers))

def stream():
    response = ask(stream=True)
    response.readline()
    return response

def ask_meanwhile(seconds, **asked):
    threading.Thread(target=ask, kwargs=asked, daemon=True).start()
    time.sleep(seconds)

"""


# A program that waits does so in short sleeps: Python misses a signal in the moment before a sleep begins.
def run(chat_model: Path, ending: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM + ending, str(chat_model)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


@pytest.mark.parametrize(
    ("ending", "code", "complaint"),
    [
        ("print('done')", 0, ""),
        ("print('done'); sys.exit(5)", 5, ""),
        ("print('done'); raise LookupError('boom')", 1, "LookupError: boom"),
        ("response = stream(); print('done'); sys.exit(5)", 5, ""),
        ("ask_meanwhile(1, max_tokens=999); print('done'); sys.exit(5)", 5, ""),
    ],
)
def test_the_process_ends_in_silence(chat_model: Path, ending: str, code: int, complaint: str) -> None:
    with run(chat_model, ending) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "done\n")
    assert err.strip().splitlines()[-1:] == ([complaint] if complaint else [])


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.parametrize("work", ["while True: time.sleep(0.1)", "stream().read()"])
def test_an_interrupt_reaches_the_program(chat_model: Path, work: str) -> None:
    ending = f"""
try:
    print("ready", flush=True)
    {work}
except KeyboardInterrupt:
    sys.exit(130)
"""
    with run(chat_model, ending) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_an_interrupt_while_a_prompt_is_read_does_not_wait_for_its_end(chat_model: Path) -> None:
    """12,000 words take four minutes on two cores; those of the batch that is being read are waited for."""
    ending = """
ask_meanwhile(2, question="word " * 12_000, max_tokens=1)
try:
    print("ready", flush=True)
    while True: time.sleep(0.1)
except KeyboardInterrupt:
    sys.exit(130)
"""
    with run(chat_model, ending) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=90)
        finally:
            process.kill()
    assert (process.returncode, err) == (130, "")


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_an_interrupt_while_the_model_is_loaded_ends_the_program(chat_model: Path) -> None:
    loading = """
import sys
from pathlib import Path
from models.embedded import start_embedded

print("loading", flush=True)
try:
    start_embedded(Path(sys.argv[1]))
except KeyboardInterrupt:
    sys.exit(130)
"""
    with subprocess.Popen(
        [sys.executable, "-c", loading, str(chat_model)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "loading\n"
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, err) == (130, "")
