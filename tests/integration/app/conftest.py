"""The command line with a model server, a home, and a few documents."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from app import Settings, libraries
from models import model_files as files
from tests.command_line import MODELS_FOLDER, Program, new_program
from tests.integration.hasty import hasty  # noqa: F401
from tests.integration.openai_server import OpenAIServer, serving


@pytest.fixture(scope="session")
def embedding_model() -> None:
    for file in (files.EMBEDDING_MODEL, files.TOKENIZER):
        files.ensure(file, MODELS_FOLDER)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with serving(key="right") as running:
        yield running


@pytest.fixture
def program(tmp_path: Path, server: OpenAIServer, embedding_model: None) -> Program:
    return new_program(tmp_path, SELFRAG_CALL_SECONDS="20", OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="right")


@pytest.fixture
def settings(server: OpenAIServer, tmp_path: Path, embedding_model: None) -> Settings:
    """The model server and an empty home, for what is asked from Python."""
    home = tmp_path / "own"
    home.mkdir()
    (home / "models").symlink_to(MODELS_FOLDER)
    return Settings(openai_base_url=server.base_url, openai_api_key=SecretStr("right"), selfrag_home=home)


@pytest.fixture
def small_sample(program: Program, docs: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The command line with an empty library, where the documents of `docs` are the sample."""
    monkeypatch.setattr(libraries, "SAMPLE", docs)
    return program


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "lease.md").write_text(
        "# Lease\n\nThe tenant pays the monthly rent in advance. Dogs are allowed in the garden.\n"
    )
    (folder / "rivers.csv").write_text("city,river\nParis,The river of Paris is the Seine.\n")
    return folder
