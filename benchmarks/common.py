"""The application's own composition, for benchmarks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.compose import context_of, services_of
from app.libraries import SAMPLE, library_to_ask
from app.screen import Screen
from app.settings import load_settings
from evaluation.datasets import load
from evaluation.records import Example
from graph.context import Context, Services


@contextmanager
def bound(docs: Sequence[Path] | None) -> Iterator[tuple[Services, Context]]:
    """Services over ``docs``, the sample library when none, and the context of the settings."""
    screen = Screen()
    settings = load_settings()
    with library_to_ask(docs or [SAMPLE], settings, screen) as library:
        with screen.downloads() as downloads:
            services = services_of(settings, library.store.as_retriever(), downloads)
        yield services, context_of(settings)


def questions_in(path: Path) -> tuple[Example, ...]:
    """The examples of a question set whose documents are named elsewhere."""
    return load(path, Path("eval") / "documents").examples


def kept_in(path: Path) -> list[dict[str, Any]]:
    """The rows that an earlier run appended to a JSONL file; none where there is no file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
