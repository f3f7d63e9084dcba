"""Wrong requests and models that cannot be had: one clear sentence, the right exit code, no traceback."""

import json
import signal
from pathlib import Path

import pytest

from tests.command_line import Ended, Program
from tests.integration.openai_server import HANG, OpenAIServer

RENT = "When does the tenant pay the monthly rent?"


def one_sentence(ended: Ended, *parts: str) -> None:
    last = ended.err.strip().splitlines()[-1]
    assert last.startswith("error: ")
    assert all(part in last for part in parts), last
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ((RENT, "--docs", "no such file.txt"), ("no such file.txt does not exist",)),
        ((RENT, "--docs", "."), ("holds no PDF",)),
        (("index", "no such file.txt"), ("no such file.txt",)),
        (("index", "--follow-links"), ("--follow-links holds for the folders that are named with it",)),
        (("ask", "   "), ("The question is empty",)),
        (("ask", "\udcff\udcfe"), ("The question is empty",)),  # bytes that are not UTF-8
        (("x" * 100_000,), ("100,000 characters", "8,000")),
        ((RENT, "--answer-tokens", "19"), ("--answer-tokens is 19", "greater than or equal to 20")),
        ((RENT, "--picture", "no such folder/picture.svg"), ("no such folder/picture.svg cannot be written",)),
        (("eval", "set.jsonl", "--systems", "best"), ("best is no system",)),
        (("eval", "set.jsonl", "--docs", "none"), ("none does not exist",)),
        (("mcp", "--docs", "nowhere"), ("nowhere does not exist: check the path given to --docs.",)),
        (("mcp", "--docs", "nowhere", "--allow-write"), ("name one of the two",)),
        (("serve", "--port", "70000"), ("'70000' is no port",)),
        (("serve", "--allow-host", "https://docs.example.com"), ("is no host name: write it without http://",)),
        (("serve", "--allow-host", "²"), ("is no host name",)),
        (("serve", "--host", "::"), ("--host :: is open to other machines: set SELFRAG_TOKENS_FILE",)),
        (("serve", "--host", "127.0.0.999.1"), ("is open to other machines",)),
    ],
)
def test_a_wrong_request(program: Program, server: OpenAIServer, arguments: tuple[str, ...], parts: tuple[str]) -> None:
    ended = program(*arguments)
    one_sentence(ended, *parts)
    assert (ended.code, ended.out) == (2, "")
    assert len(ended.err.splitlines()) == 1
    assert len(ended.err) < 400
    assert server.asked == []


@pytest.mark.parametrize(
    ("environment", "parts"),
    [
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, ("Cannot reach the server of gpt-4o-mini", "OPENAI_BASE_URL")),
        ({"OPENAI_API_KEY": "sk-wrong-key-123"}, ("refused the key", "OPENAI_API_KEY")),
        ({"SELFRAG_CHAT_MODEL": "none"}, ("does not know none", "check SELFRAG_CHAT_MODEL")),
        ({"SELFRAG_CRITIC_MODEL": "none"}, ("does not know none", "check SELFRAG_CRITIC_MODEL")),
    ],
)
def test_a_model_that_cannot_be_had(
    program: Program, docs: Path, environment: dict[str, str], parts: tuple[str, ...]
) -> None:
    ended = program(RENT, "--docs", str(docs), environment=environment)
    one_sentence(ended, *parts)
    assert (ended.code, ended.out.startswith("No answer to")) == (3, True)
    assert ("0 model calls · 0 tokens read, 0 written" in ended.err) == ("OPENAI_BASE_URL" in environment)
    assert "wrong-key-123" not in ended.out + ended.err


def test_a_server_that_hangs_ends_with_the_time_limit(program: Program, docs: Path, server: OpenAIServer) -> None:
    server.always = lambda asked: HANG if asked.kind == "draft" else None
    ended = program(RENT, "--docs", str(docs), "--json", environment={"SELFRAG_LIMIT_SECONDS": "1"})
    result = json.loads(ended.out)
    assert (result["outcome"], result["stop_reason"]) == ("stopped", "limit_seconds")
    assert ended.code == 0
    assert result["usage"]["seconds"] < 15  # and not SELFRAG_CALL_SECONDS


def test_an_interrupt_during_a_model_call(program: Program, docs: Path, server: OpenAIServer) -> None:
    server.always = lambda asked: HANG if asked.kind == "draft" else None
    with program.start(RENT, "--docs", str(docs)) as process:
        server.wait_for("draft")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "Interrupted."
    assert "Traceback" not in err
    server.always = lambda asked: None
    assert program(RENT, "--docs", str(docs), "--quiet").out == "The tenant pays the monthly rent in advance.\n"
