"""The page as somebody finds it who has installed the program and set nothing: a document, a question, its evidence."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Seen
from tests.command_line import new_program
from tests.integration.app.test_serve import served

LEASE = "# Lease\n\nThe tenant pays the monthly rent in advance, on the first working day of the month.\n"
MINUTES = 600_000  # milliseconds: the model reads its prompts for the first time


@pytest.mark.timeout(1200)
def test_a_question_about_a_document_that_was_dropped_is_answered_with_its_quote(
    tmp_path: Path, open_page: Callable[..., tuple[Page, Seen]]
) -> None:
    (tmp_path / "lease.md").write_text(LEASE)
    with served(new_program(tmp_path)) as (address, _):
        page, _ = open_page(address)
        page.get_by_label("Add documents").set_input_files(tmp_path / "lease.md")
        expect(page.locator("#uploads")).to_contain_text("added: 1 passage", timeout=MINUTES)
        page.keyboard.press("Escape")
        page.get_by_label("Your question").fill("When does the tenant pay the monthly rent?")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.locator(".outcome")).to_contain_text("Supported by the documents", timeout=MINUTES)
        expect(page.locator(".turn.last .answer")).to_contain_text("in advance")
        expect(page.locator('[data-node="finish"]')).to_have_class(re.compile("visited"))
        page.locator(".claim").first.click()
        expect(page.locator("#passage mark")).to_contain_text("pays the monthly rent in advance")
