"""Ctrl-C while a synchronous caller waits for a model that does not answer ends the program, and not the time limit."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.openai_server import HANG, serving

ROOT = Path(__file__).parents[3]
PROGRAM = """
import signal, sys
from graph.builder import build_graph
from run.context import Context, Limits, Services
from models.connect import openai_chat
from models.critic import Critic
from models.generator import Generator
from tests.scripted import ScriptedRetriever

signal.signal(signal.SIGINT, signal.default_int_handler)
chat = openai_chat("gpt-4o-mini", base_url=sys.argv[1], api_key="key", call_seconds=100)
shelf = ScriptedRetriever(always=["The rent is due when the month begins."])
graph = build_graph(Services(Generator(chat), Critic(chat), shelf))
asking = {"question": "When is the rent due?"}
patient = Context(limits=Limits(seconds=60))
try:
    WAY
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize(
    ("way", "kind"),
    [
        ("graph.invoke(asking, context=patient)", "usefulness"),
        ("list(graph.stream(asking, context=patient, stream_mode='messages'))", "retrieve"),
    ],
    ids=["two nodes side by side", "a node whose reply is streamed"],
)
def test_an_interrupt_ends_a_synchronous_run(way: str, kind: str) -> None:
    with serving() as server:
        server.always = lambda asked: HANG if asked.kind == kind else None
        program = [sys.executable, "-c", PROGRAM.replace("WAY", way), server.base_url]
        with subprocess.Popen(program, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
            try:
                server.wait_for(kind)
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=15)
            finally:
                process.kill()
        assert (process.returncode, err) == (130, "")
