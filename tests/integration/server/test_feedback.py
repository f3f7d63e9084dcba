"""What people say of answers, over HTTP, and as a question set on the command line."""

import math
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest

from app.calibrations import LibraryCalibration
from app.conversations.feedback import FeedbackFolder
from app.server import service
from core.errors import StoreUnavailable
from models.calibration import Fits
from run.context import Thresholds
from tests.integration.graph.sky import QUESTION
from tests.integration.server.scripted_server import ANN, BOB, client_of, scripted_app, tokens


def client(folder: Path, **options: Any) -> AbstractContextManager[httpx.AsyncClient]:
    return client_of(scripted_app(feedback=FeedbackFolder(folder), **options))


async def test_feedback_becomes_a_label_of_its_owner(tmp_path: Path) -> None:
    with client(tmp_path, access=tokens()) as asking:
        asked = await asking.post("/api/ask", json={"question": QUESTION}, headers=ANN)
        path = f"/api/runs/{asked.headers['X-Run-Id']}/feedback"
        foreign = await asking.post(path, json={"judgement": "wrong"}, headers=BOB)
        assert foreign.status_code == 404
        given = await asking.post(path, json={"judgement": "wrong", "answer": "By night."}, headers=ANN)
        assert (given.status_code, given.json()) == (200, {"kept": "wrong"})
    (label,) = FeedbackFolder(tmp_path).labels()
    assert (label.question, label.answer, label.feedback.answer) == (QUESTION, asked.json()["answer"], "By night.")


async def test_more_wrong_answers_than_the_calibration_allows_are_told(tmp_path: Path) -> None:
    kept = LibraryCalibration(
        fitted_for={}, fits=Fits(), thresholds=Thresholds(), made=date(2026, 1, 1), labels=150,
        confidences=[0.9] * 80, risk=0.1, figures={},
    )  # fmt: skip
    app = scripted_app(feedback=FeedbackFolder(tmp_path))
    rag = app.state.service.rag
    rag.library_calibration, rag._calibration = kept, kept.name
    with client_of(app) as asking:
        assert (await asking.get("/api/settings")).json()["notes"] == []
        assert "selfrag_calibration_drift 0.0" in (await asking.get("/metrics")).text
        for _ in range(8):
            asked = await asking.post("/api/ask", json={"question": QUESTION})
            await asking.post(f"/api/runs/{asked.headers['X-Run-Id']}/feedback", json={"judgement": "wrong"})
        assert (await asking.get("/api/settings")).json()["notes"] == [], "looked at an hour ago at most"
        app.state.service._drift = (-math.inf, [])
        (told,) = (await asking.get("/api/settings")).json()["notes"]
        assert "Of 8 judged answers since the calibration 8 are not right" in told
        assert "selfrag_calibration_drift 1.0" in (await asking.get("/metrics")).text


async def test_figures_are_given_while_the_database_of_the_judgements_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    app = scripted_app()
    monkeypatch.setattr(app.state.service.rag, "library_calibration", object())
    monkeypatch.setattr(service, "drift_since", Mock(side_effect=StoreUnavailable("The database is away.")))
    with client_of(app) as asking:
        assert "selfrag_calibration_drift 0.0" in (await asking.get("/metrics")).text


@pytest.mark.parametrize(
    "body", [{}, {"judgement": "good"}, {"judgement": "right", "more": 1}, {"judgement": "right", "answer": "a" * 8001}]
)
async def test_what_is_no_feedback_is_refused(tmp_path: Path, body: dict[str, Any]) -> None:
    with client(tmp_path) as asking:
        asked = await asking.post("/api/ask", json={"question": QUESTION})
        refused = await asking.post(f"/api/runs/{asked.headers['X-Run-Id']}/feedback", json=body)
    assert refused.status_code == 400
    assert refused.json()["error"]["message"]
    assert FeedbackFolder(tmp_path).labels() == []
