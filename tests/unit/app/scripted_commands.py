"""A working folder for the commands that ask question sets, over scripted models."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app import compose, libraries
from evaluation.reporting import report
from tests.scripted import ScriptedCritic
from tests.unit.retrieval.fakes import BagOfWords


def enter_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, rows: Sequence[object], generator: Any, support: Any
) -> None:
    """Enter a folder with ``docs/letters.txt`` and the question set ``letters.jsonl``; the critic accepts everything.

    ``support`` is its label of each claim, or the function that gives it. The report has no page.
    """
    monkeypatch.setattr(report, "evaluation_report", lambda *_: "whose pictures take a second to draw")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SELFRAG_CHAT_MODEL", "scripted")
    (folder / "docs").mkdir()
    (folder / "docs" / "letters.txt").write_text("Alpha is a letter.")
    (folder / "letters.jsonl").write_text("\n".join(map(json.dumps, rows)))
    critic = ScriptedCritic(
        otherwise={"retrieve": "retrieve", "relevance": "relevant", "support": support, "usefulness": "5"}
    )
    monkeypatch.setattr(libraries, "embeddings_of", lambda *_: (BagOfWords(), "words"))
    monkeypatch.setattr(
        compose,
        "services_of",
        lambda *given, **_: replace(compose.services_without_models(*given[:2]), generator=generator, critic=critic),
    )
