from pathlib import Path

import pytest

from retrieval import sync_report as module
from retrieval.sync_report import Advance, TimeEstimate

FILES = [(Path("large.pdf"), 7_000), (Path("a.txt"), 0), (Path("b.txt"), 0)]


def test_the_time_left_is_that_of_the_bytes_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([100.0, 100.0, 108.0, 110.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(now))
    told: list[Advance] = []
    pace = TimeEstimate(FILES, told.append)
    pace.update(0)
    pace.passages = 20
    pace.update(1)
    pace.update(3)
    assert told == [
        Advance(0, 3, 0, 0.0, Path("large.pdf"), None),
        Advance(1, 3, 20, 8.0, Path("a.txt"), 2.0),
        Advance(3, 3, 20, 10.0, Path("b.txt"), 0.0),
    ]


def test_nothing_is_told_when_there_is_nothing_to_do() -> None:
    told: list[Advance] = []
    TimeEstimate([], told.append).update(0)
    TimeEstimate(FILES, None).update(1)
    assert told == []
