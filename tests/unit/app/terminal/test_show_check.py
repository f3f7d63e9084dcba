from __future__ import annotations

from typing import Any

import pytest

from app.checking.checked_text import CheckedClaim, CheckedText
from app.results.result import ResultUsage
from app.terminal.screen import Screen
from app.terminal.show_check import as_page, show_check
from core.types import no_usage

TEXT = "Cats <b>purr</b>. Dogs bark 9 times. Why?"


def claim(text: str, label: str, citations: list[int] | None = None, whole: str = TEXT) -> CheckedClaim:
    start = whole.index(text)
    return CheckedClaim(
        text=text,
        start=start,
        end=start + len(text),
        label=label,
        probabilities=None,
        reason="9 stands in no passage." if label == "contradicted" else None,
        citations=citations or [],
    )


def checked(*claims: CheckedClaim, text: str = TEXT) -> CheckedText:
    texts = {"source": "pets<1>.md", "passage": "Cats purr.", "quote": "Cats <i>purr."}
    unknown = dict.fromkeys(("title", "heading", "row", "date"))
    quoted: Any = {"id": 1, "page": 2, "start": 0, "end": 10, **texts, **unknown}
    return CheckedText(text=text, claims=list(claims), citations=[quoted], usage=ResultUsage(**no_usage(), seconds=1.0))


def test_marks_are_in_the_language_of_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    text = "Der Mieter bezahlt die Miete immer am ersten Montag des Monats."
    show_check(checked(claim(text, "contradicted", whole=text), text=text), Screen())
    assert "[von den Dokumenten widerlegt]" in capsys.readouterr().out


def test_the_page_escapes_what_others_wrote_and_links_each_quote() -> None:
    claims = claim("Cats <b>purr</b>.", "fully supported", [1]), claim("Dogs bark 9 times.", "contradicted", [1])
    page = as_page(checked(*claims, claim("Why?", "no claim")), "draft<script>.md")
    for tag in ("<script", "<b>", "<i>"):
        assert tag not in page
    for part in ('href="#c1"', 'id="c1"', '<mark class="contradicted"', "9 stands in no passage."):
        assert part in page
