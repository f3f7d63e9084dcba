"""How a checked text is marked, in words and as a page."""

from __future__ import annotations

import pytest

from app.checking.checked_text import CheckedClaim, CheckedText
from app.results.result import ResultUsage
from app.terminal.screen import Screen
from app.terminal.show_check import as_page, show_check
from core.types import Citation, no_usage

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
    quoted = Citation(
        id=1,
        source="pets<1>.md",
        title=None,
        heading=None,
        page=2,
        row=None,
        passage="Cats purr.",
        quote="Cats <i>purr.",
        start=0,
        end=10,
        date=None,
    )
    return CheckedText(text=text, claims=list(claims), citations=[quoted], usage=ResultUsage(**no_usage(), seconds=1.0))


CHECKED = checked(
    claim("Cats <b>purr</b>.", "fully supported", [1]),
    claim("Dogs bark 9 times.", "contradicted", [1]),
    claim("Why?", "no claim"),
)


def test_marks_are_in_the_language_of_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    text = "Der Mieter bezahlt die Miete immer am ersten Montag des Monats."
    show_check(checked(claim(text, "contradicted", whole=text), text=text), Screen())
    assert "[von den Dokumenten widerlegt]" in capsys.readouterr().out


def test_the_page_escapes_what_others_wrote_and_links_each_quote() -> None:
    page = as_page(CHECKED, "draft<script>.md")
    assert "<script" not in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert 'href="#c1"' in page
    assert 'id="c1"' in page
    assert '<mark class="contradicted"' in page
    assert "9 stands in no passage." in page
