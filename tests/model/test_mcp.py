"""The embedded model behind `mcp`: nothing of it goes to stdout, and an interrupt does not wait for it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.command_line import Program

CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
RENT = "When does the tenant pay the monthly rent?"


def message(id_: int, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}) + "\n"


def asking(id_: int, question: str) -> str:
    return message(id_, "tools/call", name="ask", arguments={"question": question})


def test_an_agent_asks_the_embedded_model_and_an_interrupt_ends_it(program: Program, docs: Path) -> None:
    """A question of 7,000 characters takes half a minute to read on two cores."""
    with program.start("mcp", "--docs", str(docs), stdin=subprocess.PIPE) as process:
        try:
            assert process.stdin
            assert process.stdout
            assert process.stderr
            ready = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n"
            process.stdin.write(message(0, "initialize", **CLIENT) + ready + asking(1, RENT))
            process.stdin.flush()
            answers = [json.loads(process.stdout.readline()) for _ in range(2)]
            assert [answer["id"] for answer in answers] == [0, 1]
            told = answers[1]["result"]["structuredContent"]
            assert (told["outcome"], "advance" in told["answer"]) == ("grounded", True)
            process.stdin.write(asking(2, f"{RENT} " * 160))
            process.stdin.flush()
            time.sleep(3)  # it reads the first prompt
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
            assert [json.loads(line)["id"] for line in process.stdout] in ([], [2]), "the protocol alone"
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()
