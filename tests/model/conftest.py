"""The embedded model, loaded once for all tests in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.compose import embedded_server
from app.settings import Settings
from models import model_files as files
from models.embedded import EmbeddedServer
from tests.command_line import MODELS_FOLDER, ROOT, Program, new_program


@pytest.fixture(scope="session")
def chat_model() -> Path:
    return files.ensure(files.CHAT_MODEL, MODELS_FOLDER)


@pytest.fixture(scope="session")
def server(chat_model: Path) -> EmbeddedServer:
    """The server that every question in this process is put to; with what it has read of the prompts before."""
    return embedded_server(Settings(selfrag_home=MODELS_FOLDER.parent))


@pytest.fixture
def program(tmp_path: Path, server: EmbeddedServer) -> Program:
    """The command line, with an empty library."""
    return new_program(tmp_path)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "lease.md").write_text("# Lease\n\nThe tenant pays the monthly rent in advance.\n")
    return folder


@pytest.fixture
def sample(program: Program) -> Program:
    """The command line in the repository's own folder, with an empty library."""
    program.folder = ROOT
    return program
