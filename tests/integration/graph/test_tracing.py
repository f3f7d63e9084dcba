"""LangSmith is sent nothing of a graph that was not built to be traced, whatever the environment says."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.graph.sky import AIR, QUESTION
from tests.integration.langsmith_server import LangSmith, langsmith_of_this_machine

ROOT = Path(__file__).parents[3]


@pytest.fixture
def langsmith() -> Iterator[LangSmith]:
    with langsmith_of_this_machine() as server:
        yield server


def run(langsmith: LangSmith, *arguments: str, **environment: str) -> list[str]:
    """What LangSmith is sent of `traced`."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.graph.traced", *arguments],
        cwd=ROOT,
        env={**os.environ, **langsmith.environment(), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return langsmith.uploads


@pytest.mark.parametrize("names", [("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"), ("LANGCHAIN_TRACING",)])
def test_what_is_set_for_another_program_sends_nothing(langsmith: LangSmith, names: tuple[str, ...]) -> None:
    assert run(langsmith, "alone,compared,synchronously,asynchronously", **dict.fromkeys(names, "true")) == []


def test_a_surrounding_trace_has_no_question_and_no_passage(langsmith: LangSmith) -> None:
    sent = "".join(run(langsmith, "inside", LANGSMITH_TRACING="true"))
    assert sent.count("outer trace") >= 4
    assert AIR not in sent
    assert QUESTION not in sent


def test_a_graph_that_is_built_to_be_traced_is(langsmith: LangSmith) -> None:
    sent = "".join(run(langsmith, "synchronously,asynchronously", "traced"))
    assert sent.count('"name":"self-rag"') >= 7
    assert AIR in sent
