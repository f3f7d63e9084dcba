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


def read_questions(path: Path) -> list[dict[str, Any]]:
    """Questions from JSONL or a JSON list, each with ``question`` and whatever is expected of it.

    A list in the form of ``AI_Information.questions.json`` says ``has_answer`` in place of an outcome.
    """
    text = path.read_text(encoding="utf-8")
    rows = json.loads(text) if path.suffix == ".json" else [json.loads(line) for line in text.splitlines() if line]
    for row in rows:
        if "has_answer" in row:
            row["outcome"] = "grounded" if row["has_answer"] else "abstained"
            row["route"] = "retrieve"
            row["answer"] = row.get("ideal_answer") if row["has_answer"] else None
    return list(rows)
