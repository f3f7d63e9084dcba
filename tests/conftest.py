"""No test reaches a real model, a user's library or another machine by accident."""

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.postgres_server import admin, postgres_server, postgres_url, role

__all__ = ["admin", "postgres_server", "postgres_url", "role"]
FOREIGN = ("OPENAI_", "SELFRAG_", "ANTHROPIC_", "GOOGLE_", "MISTRAL_", "LANGSMITH_", "LANGCHAIN_")
_connect = socket.socket.connect
# What is compiled is kept for the next run: each worker takes seven seconds to rewrite the assertions of all tests.
sys.dont_write_bytecode = False


def _to_this_machine(self: socket.socket, address: Any) -> None:
    if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
        raise RuntimeError(f"a test tried to leave this machine, to {address}")
    _connect(self, address)


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No keys, no ``.env``, an empty home, no embedded model, no other machine."""
    for name in list(os.environ):
        if name.startswith(FOREIGN):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SELFRAG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SELFRAG_MODEL_PATH", str(tmp_path / "no-model-in-tests.gguf"))
    monkeypatch.setenv("PYTHON_DOTENV_DISABLED", "1")
    # Or each of a hundred processes that the tests start would compile the whole program for itself.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setattr(socket.socket, "connect", _to_this_machine)


@pytest.fixture
def readable_by_all() -> Iterator[None]:
    """What is made without a mode may be read by other users."""
    before = os.umask(0o022)
    yield
    os.umask(before)
