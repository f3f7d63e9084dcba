"""The command line as a user runs it: a subprocess, a model server, a home, and a few documents."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs
import pytest

from models import files
from tests.integration.openai_server import OpenAIServer, serving

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def models_folder() -> Path:
    """The user's own cache, so that the 23 MB of the embedding model are fetched once and not for every run."""
    folder = Path(platformdirs.user_cache_dir("selfrag", appauthor=False)) / "models"
    for file in (files.EMBEDDING_MODEL, files.TOKENIZER):
        files.ensure(file, folder)
    return folder


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


@dataclass
class Program:
    """Runs ``python -m app`` in an empty folder, with an environment of its own."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: str, environment: Mapping[str, str] | None = None) -> Ended:
        with self.start(*arguments, environment=environment) as process:
            out, err = process.communicate(timeout=120)
        return Ended(process.returncode, out, err)

    def start(self, *arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "app", *arguments],
            cwd=self.folder,
            env={**self.environment, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            # A shell that runs the tests in the background makes its children deaf to interrupts.
            preexec_fn=_hear_interrupts,
        )


def _hear_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with serving(key="right") as running:
        yield running


@pytest.fixture
def program(tmp_path: Path, server: OpenAIServer, models_folder: Path) -> Program:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    (home / "models").symlink_to(models_folder, target_is_directory=True)
    folder = tmp_path / "working folder"
    folder.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    return Program(
        folder,
        {
            **kept,
            "HOME": str(tmp_path),
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHON_DOTENV_DISABLED": "1",
            "SELFRAG_HOME": str(home),
            "SELFRAG_CALL_SECONDS": "20",
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "right",
        },
    )


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "lease.md").write_text(
        "# Lease\n\nThe tenant pays the monthly rent in advance. Dogs are allowed in the garden.\n"
    )
    (folder / "rivers.csv").write_text("city,river\nParis,The river of Paris is the Seine.\n")
    return folder
