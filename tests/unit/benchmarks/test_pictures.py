"""The picture of the cost says what the figures say."""

from __future__ import annotations

from typing import Any

from benchmarks.pictures import drawn, panels_of


def ways(**times: float) -> dict[str, dict[str, float]]:
    return {name.replace("_", "-"): {"times": value} for name, value in times.items()}


def latency() -> dict[str, Any]:
    servers = [
        {"server": f"server {number}", "questions": 5, "ways": ways(plain=1, ours=number)} for number in (2, 3, 4)
    ]
    return {"servers": servers}


def test_there_is_a_panel_for_each_server_and_for_the_embedded_model() -> None:
    cost = {"questions": 9, "ways": ways(plain=1, ours=1.5, best_of=2.5)}
    panels = panels_of(latency(), cost)
    assert [(panel.title, panel.times) for panel in panels] == [
        ("server 2", {"ours": 2}),
        ("server 3", {"ours": 3}),
        ("embedded model, 2 cores", {"ours": 1.5, "best-of": 2.5}),
    ]
    assert panels_of(None, None) == []


def test_the_picture_brings_both_schemes_and_says_its_figures() -> None:
    svg = drawn(panels_of(latency(), None))
    assert "prefers-color-scheme:dark" in svg
    assert "#0101" not in svg
    assert "server 3: ours 3.00" in svg
