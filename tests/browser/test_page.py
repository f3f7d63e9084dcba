"""What a person does on the page, in a real browser against a real server, over a model that answers from a script."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route, expect

from app.conversations.feedback import FeedbackFolder
from app.server import json_api
from app.server.access import Access
from app.server.people import People
from app.server.sources import Sources
from core.types import Citation
from retrieval.library.library import Library
from retrieval.sandbox.pages import PageReader
from tests.browser.conftest import NARROW, WIDE, Seen
from tests.browser.world import BREAK, CLAIMS, DEPOSIT, PARKING, PLAN, ROW, TABLE, TWO, UNANSWERED, World

Open = Callable[..., tuple[Page, Seen]]
BUDGET = 200_000  # bytes of the page and all that it loads
SCHEMES: tuple[Literal["dark", "light"], ...] = ("dark", "light")
TOKEN = "ann-has-a-long-token"


def ask(page: Page, question: str) -> None:
    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()


def answered(page: Page, question: str = BREAK) -> None:
    ask(page, question)
    expect(page.locator(".asked").last).to_contain_text(question)  # or the answer before it would do
    expect(page.locator(".export")).to_be_visible()


def violations(page: Page) -> str:
    """What axe-core finds wrong with the page as it is now."""
    found = Axe().run(page)
    return found.generate_report() if found.violations_count else ""


def require_accessible(page: Page, state: str) -> None:
    """Require that the page fits and that axe-core finds nothing wrong with it, in light and in dark colours."""
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert not violations(page), (state, scheme)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), state


def test_a_question_is_watched_until_its_answer_shows_each_verdict(world: World, page: Page) -> None:
    world.model.pause = 0.02
    world.model.hold("support")
    ask(page, BREAK)
    draft = page.locator(".drafting")
    expect(draft).to_contain_text("Draft, not checked yet")
    expect(draft).to_contain_text("The landlord must confirm")
    expect(page.locator('[data-node="hallucination_check"]')).to_have_class(re.compile("running"))
    expect(page.locator('[data-node="decide"]')).to_contain_text("retrieve 0.90")
    expect(page.locator(".answer")).to_have_count(0)
    world.model.release()

    expect(page.locator(".outcome")).to_have_text("◐Partly supported by the documents")
    expect(draft).to_have_count(0)
    marks = page.locator(".cite").all_inner_texts()
    assert [mark.replace("\n", "") for mark in marks] == ["✓1", "✓2", "◐3", "✗"]
    assert page.locator(".claim").all_inner_texts() == list(CLAIMS)
    expect(page.locator("#status")).to_contain_text("Partly supported by the documents")
    expect(page.locator('[data-node="finish"]')).to_have_class(re.compile("visited"))
    page.locator("#steps summary", has_text="hallucination_check").first.click()
    expect(page.locator("#steps details[open]")).to_contain_text("The landlord must confirm the notice within 14 days.")


def test_each_segment_of_a_long_answer_is_shown_with_its_quote_when_it_is_accepted(world: World, page: Page) -> None:
    world.model.hold("draft", after=2)
    ask(page, "Summarise the rent, the deposit and the notice of the tenant")
    shown = page.locator(".segments summary")
    expect(shown).to_have_count(2)
    shown.first.click()
    expect(page.locator(".segments details[open]")).to_contain_text("lease-summary.txt")
    require_accessible(page, "a long answer under way")
    said = shown.all_inner_texts()
    world.model.release()
    for text in said:
        expect(page.locator(".answer")).to_contain_text(text)
    expect(page.locator(".segments")).to_have_count(0)


def test_each_cell_of_a_comparison_and_each_row_of_a_table_that_the_model_drew_has_its_quote(page: Page) -> None:
    answered(page, "Compare the deposit and the service charge")
    table = page.get_by_role("table")
    assert table.locator("th").all_inner_texts() == ["deposit", "service charge", "what it says"]
    cells = table.get_by_role("cell").filter(has=page.locator(".claim"))
    expect(cells).to_have_count(2)
    expect(cells.first).to_contain_text("a deposit of two months' rent")
    assert [mark.replace("\n", "") for mark in table.locator(".cite").all_inner_texts()] == ["✓1", "✓2"]
    require_accessible(page, "a comparison")
    cells.last.locator(".claim").click()
    expect(page.get_by_role("dialog")).to_contain_text("service charge")
    page.keyboard.press("Escape")
    answered(page, TABLE)
    expect(page.locator(".claim")).to_have_text(ROW)
    assert page.locator(".cite").first.inner_text().replace("\n", "") == "✓1"


def test_a_claim_shows_its_quote_and_opens_it_in_its_document(page: Page) -> None:
    answered(page)
    page.locator(".claim").first.hover()
    peek = page.locator(".peek")
    expect(peek).to_contain_text("Supported0.90")
    expect(peek).to_contain_text("lease-summary.txt")
    page.locator(".claim").first.click()
    dialog = page.get_by_role("dialog", name="Quote 1 · lease-summary.txt")
    expect(dialog.locator("mark")).to_have_text("The tenant may end the lease early on 31 March 2030.")
    expect(dialog).to_contain_text("The landlord has no right to break.")
    page.get_by_role("button", name="Next quote").click()
    expect(page.locator("#passage mark")).to_contain_text("six months")
    link = page.url
    page.keyboard.press("Escape")
    expect(page.locator("#passage")).to_be_hidden()

    page.goto("about:blank")
    page.goto(link)
    expect(page.locator("#passage mark")).to_contain_text("six months")


def test_a_tap_shows_the_quote_before_it_opens(world: World, open_page: Open) -> None:
    page, _ = open_page(world.address, NARROW, has_touch=True)
    answered(page)
    page.locator(".cite").first.tap()
    expect(page.locator(".peek")).to_contain_text("lease-summary.txt")
    expect(page.locator("#passage")).to_be_hidden()
    page.locator(".peek").get_by_role("button", name="Open in its document").tap()
    expect(page.locator("#passage mark")).to_be_visible()


def test_documents_that_disagree_are_shown_side_by_side(page: Page) -> None:
    answered(page, DEPOSIT)
    conflicts = page.get_by_role("group", name="The documents disagree")
    expect(conflicts.locator("li")).to_have_count(2)
    expect(conflicts).to_contain_text(TWO)
    expect(page.locator(".answer")).not_to_contain_text("disagree")
    conflicts.get_by_role("button", name="heads-of-terms.md").click()
    expect(page.locator("#passage mark")).to_contain_text(TWO)


def test_an_abstention_says_what_was_tried_and_what_may_help(page: Page) -> None:
    answered(page, UNANSWERED)
    expect(page.locator(".outcome")).to_contain_text("No answer in the documents")
    facts = page.locator(".facts")
    for told in ("Searched for", "landlord's bank account", "Nearest passage", "lease-summary.txt", "Not relevant"):
        expect(facts).to_contain_text(told)
    expect(facts).to_contain_text("No passage that was found was judged to hold the answer.")
    with page.expect_request(lambda one: one.method == "POST") as sent:
        page.get_by_role("button", name="Search for more passages").click()
    assert sent.value.post_data_json == {"question": UNANSWERED, "k": 12}
    page.get_by_role("button", name="Answer without documents").click()
    expect(page.locator(".outcome")).not_to_contain_text("No answer in the documents")
    with page.expect_request(lambda one: one.method == "POST") as sent:
        ask(page, BREAK)
    assert sent.value.post_data_json == {"question": BREAK}, "what is asked next is searched for as before"


def test_a_model_that_fails_and_a_run_that_is_forgotten_are_told_in_a_sentence(
    world: World, page: Page, seen: Seen
) -> None:
    seen.expected = "a status of 404"
    world.model.broken = True
    answered(page)
    expect(page.locator(".outcome")).to_contain_text("Stopped before an answer was confirmed")
    expect(page.locator(".facts")).to_contain_text("The model failed before an answer was confirmed.")
    world.model.broken = False
    page.get_by_label("Your question").fill(DEPOSIT)
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator(".outcome")).to_contain_text("Partly supported")
    expect(page.get_by_label("Your question")).to_have_value(DEPOSIT)

    page.goto(f"{world.address}/#/runs/long-forgotten")
    expect(page.locator("#problem")).to_contain_text("There is no such run")


def test_a_document_is_added_seen_while_it_is_indexed_chosen_and_removed(
    world: World, page: Page, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents, go_on = world.app.state.service.documents, threading.Event()
    written = documents._written

    async def held(write: Any) -> Any:
        await asyncio.to_thread(go_on.wait, 30)
        return await written(write)

    seen.expected = "a status of 400"
    monkeypatch.setattr(documents, "_written", held)
    page.get_by_role("button", name="Documents", exact=True).click()
    files = [
        {"name": "mill.txt", "mimeType": "text/plain", "buffer": b"The mill was built in 1821."},
        {"name": "broken.pdf", "mimeType": "application/pdf", "buffer": b"\x7fELF\x02\x01" * 50},
        {"name": "program.exe", "mimeType": "application/octet-stream", "buffer": b"MZ"},
    ]
    page.get_by_label("Add documents").set_input_files(files)
    expect(page.locator("#listed li", has_text="mill.txt")).to_contain_text("being indexed")
    go_on.set()
    uploads = page.locator("#uploads")
    expect(uploads).to_contain_text("✓added: 1 passage")
    expect(uploads).to_contain_text("✗left out: broken.pdf is no PDF")
    expect(uploads).to_contain_text("✗left out: program.exe is not of a kind that can be read")
    expect(page.locator("#listed li", has_text="broken.pdf")).to_contain_text("left out: broken.pdf is no PDF")

    page.get_by_role("button", name="None").click()
    page.get_by_role("checkbox", name="mill.txt").check()
    expect(page.locator("#chosen")).to_have_text("1 of 4 documents is asked.")
    page.keyboard.press("Escape")
    with page.expect_request(lambda one: one.method == "POST") as sent:
        ask(page, "When was the mill built?")
    assert [Path(one).name for one in sent.value.post_data_json["sources"]] == ["mill.txt"]
    expect(page.locator(".evidence")).to_contain_text("The mill was built in 1821.")

    page.get_by_role("button", name="Documents", exact=True).click()
    page.get_by_role("button", name="Remove mill.txt").click()
    page.route("**/api/documents/mill.txt", lambda route: route.fulfill(status=400, json={}), times=1)
    page.get_by_role("button", name="Remove mill.txt: press again to confirm").click()
    expect(page.locator("#documents-problem")).to_contain_text("400")
    page.get_by_role("button", name="Remove mill.txt: press again to confirm").click(timeout=5_000)
    expect(page.locator("#listed li", has_text="mill.txt")).to_have_count(0)


def drop(page: Page, place: str) -> None:
    """Drop a file on an element."""
    page.evaluate(
        """place => {
          const carried = new DataTransfer();
          carried.items.add(new File(["The mill was built in 1821."], "mill.txt", {type: "text/plain"}));
          for (const kind of ["dragover", "drop"]) {
            const event = new DragEvent(kind, {dataTransfer: carried, bubbles: true, cancelable: true});
            document.querySelector(place).dispatchEvent(event);
          }
        }""",
        place,
    )


def test_files_that_are_dropped_are_added_or_checked_where_a_check_is_open(page: Page, seen: Seen) -> None:
    page.get_by_role("button", name="Check a text").click()
    drop(page, "#check-file")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("h2.asked")).to_have_text("mill.txt")
    expect(page.locator("#outcome .export")).to_be_visible()
    assert not [one for one in seen.requests if one.method == "PUT"]
    drop(page, "body")
    expect(page.get_by_role("dialog", name="Documents")).to_contain_text("added: 1 passage")


def test_many_files_are_looked_after_as_often_as_one(page: Page, seen: Seen) -> None:
    told = {"status": "indexed", "passages": 1, "reason": ""}
    page.route("**/api/documents/*", lambda route: (time.sleep(0.8), route.fulfill(json=told)))
    page.get_by_role("button", name="Documents", exact=True).click()
    seen.requests.clear()
    files = [{"name": f"{number}.txt", "mimeType": "text/plain", "buffer": b"One."} for number in range(6)]
    page.get_by_label("Add documents").set_input_files(files)
    expect(page.locator("#uploads .good")).to_have_count(len(files))
    assert len([one for one in seen.requests if one.url.endswith("/api/documents")]) <= 2 * len(files)


def test_an_answer_is_saved_with_its_evidence(page: Page, open_page: Open, tmp_path: Path) -> None:
    answered(page)
    saved = {}
    for name in ("Markdown", "JSON", "Web page"):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save the answer as {name}").click()
        saved[name] = tmp_path / download.value.suggested_filename
        download.value.save_as(saved[name])
    assert BREAK in saved["Markdown"].read_text(encoding="utf-8")
    assert json.loads(saved["JSON"].read_text(encoding="utf-8"))["question"] == BREAK

    alone, seen = open_page(saved["Web page"].as_uri())
    expect(alone.locator("blockquote").first).to_be_visible()
    assert [one.url for one in seen.requests] == [saved["Web page"].as_uri()]


def test_a_text_is_checked_claim_by_claim(page: Page) -> None:
    page.get_by_role("button", name="Check a text").click()
    assert violations(page) == ""
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("#check-problem")).to_contain_text("Write or paste a text")
    page.locator("#check-text").fill(
        "The tenant may end the lease early on 31 March 2032. Note 😀 The premises are in Aldersey."
    )
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator(".export")).to_be_visible()
    changed = page.get_by_role("button", name=re.compile("Contradicted"))
    expect(changed).to_have_count(1)
    expect(page.locator(".claim.bad").first).to_have_text("The tenant may end the lease early on 31 March 2032.")
    assert violations(page) == ""
    changed.click()
    expect(page.get_by_role("dialog")).to_contain_text("31 March 2030")
    page.reload()
    expect(page.get_by_role("dialog")).to_contain_text("31 March 2030")


def test_what_a_reader_says_of_an_answer_is_kept(world: World, page: Page) -> None:
    answered(page)
    page.get_by_role("button", name="Wrong").click()
    expect(page.get_by_role("button", name="Wrong")).to_have_attribute("aria-pressed", "true")
    right = page.get_by_label("What would be right?")
    right.fill("On 31 March 2030.")
    assert violations(page) == ""
    page.get_by_role("button", name="Add", exact=True).click()
    expect(right).to_be_hidden()
    (label,) = FeedbackFolder(world.folder / "feedback").labels()
    assert (label.question, label.feedback.judgement, label.feedback.answer) == (BREAK, "wrong", "On 31 March 2030.")
    page.get_by_role("button", name="Right", exact=True).click()
    expect(page.get_by_role("button", name="Wrong")).to_have_attribute("aria-pressed", "false")
    (label,) = FeedbackFolder(world.folder / "feedback").labels()
    assert label.feedback.judgement == "right"


def test_the_last_questions_can_be_opened_again(page: Page) -> None:
    answered(page)
    answered(page, DEPOSIT)
    page.get_by_role("region", name="Last questions").get_by_role("link", name=BREAK).click()
    expect(page.locator(".outcome")).to_contain_text("Partly supported")
    expect(page.locator("h2.asked")).to_be_focused()
    expect(page.locator('[data-node="finish"]')).to_have_class(re.compile("visited"))
    page.go_back()
    expect(page.locator("h2.asked")).to_have_text(DEPOSIT)


def test_a_question_in_the_address_is_filled_in_and_not_asked(world: World, open_page: Open) -> None:
    page, seen = open_page(f"{world.address}/?q=Who+wrote+it%3F")
    expect(page.get_by_label("Your question")).to_have_value("Who wrote it?")
    expect(page.locator("#scope")).to_contain_text("3 documents")
    assert not [one for one in seen.requests if one.method == "POST"]
    page.keyboard.press("Enter")
    expect(page.locator("h2.asked")).to_have_text("Who wrote it?")


def test_a_question_and_a_file_that_are_given_while_the_page_loads_are_not_lost(world: World, open_page: Open) -> None:
    page, seen = open_page()
    seen.expected = "a status of"
    held: list[Route] = []
    page.route("**/api/settings", lambda route: held.append(route))
    with page.expect_request("**/api/settings"):
        page.goto(world.address, wait_until="commit")
    page.locator("#files").set_input_files([{"name": "a.exe", "mimeType": "text/plain", "buffer": b"MZ"}])
    held.pop().fulfill(status=503, json={"error": {"message": "The server is starting."}})
    expect(page.locator("#problem")).to_have_text("The server is starting.")
    page.unroute("**/api/settings")
    answered(page)
    expect(page.locator("#uploads")).to_contain_text("a.exe is not of a kind that can be read")
    page.route("**/api/settings", lambda route: (time.sleep(1), route.continue_()))
    page.goto(world.address)
    answered(page, DEPOSIT)
    expect(page.get_by_label("Your question")).to_have_value(DEPOSIT)


def test_options_are_sent_where_they_differ_from_the_servers(page: Page) -> None:
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("Search", exact=True).select_option("always")
    page.get_by_label("Drafts").select_option("per-passage")
    page.get_by_label("Claims without support").select_option("hard")
    page.get_by_label("Passages of a search").fill("7")
    with page.expect_request(lambda one: one.method == "POST") as sent:
        ask(page, DEPOSIT)
    chosen = {"mode": "always", "strategy": "per-passage", "constraints": "hard", "k": 7}
    assert sent.value.post_data_json == {"question": DEPOSIT, **chosen}


def test_a_stream_that_is_cut_goes_on_where_it_was(page: Page, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = json_api._encoded

    async def cut(run: Any, after: int) -> Any:
        left = 4
        async for part in encoded(run, after):
            yield part
            left -= 1
            if not left:
                return

    monkeypatch.setattr(json_api, "_encoded", cut)
    answered(page, DEPOSIT)
    after = [int(one.headers["last-event-id"]) for one in seen.requests if one.url.endswith("/events")]
    assert len(after) > 3
    assert after == sorted(set(after))
    nodes = page.locator("#steps .node-name").all_inner_texts()
    checks = ["hallucination_check", "answer_check"]
    drafted = ["decide", "retrieve", "grade_documents", "generate", *checks, "select", "compare_answers", "finish"]
    assert sorted(nodes) == sorted(drafted)


def test_a_token_is_asked_for_once_and_kept_for_the_tab(serve: Callable[..., World], open_page: Open) -> None:
    world = serve(access=Access(lambda: People((("ann", TOKEN.encode()),))))
    page, seen = open_page(world.address)
    seen.expected = "a status of 401"
    dialog = page.get_by_role("dialog", name="This server asks for a token")
    for _ in range(3):
        page.keyboard.press("Escape")
    page.get_by_role("textbox", name="Token").fill("a-token-that-is-wrong")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("The token was not accepted")
    assert not violations(page)
    page.get_by_role("textbox", name="Token").fill(TOKEN)
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    answered(page)
    with page.expect_download():
        page.get_by_role("button", name="Save the answer as JSON").click()
    page.reload()
    expect(page.locator(".outcome")).to_contain_text("Partly supported")
    expect(dialog).to_be_hidden()
    assert page.evaluate("localStorage.length") == 0


def test_a_quote_in_a_pdf_opens_on_its_page(serve: Callable[..., World], open_page: Open) -> None:
    def sources(library: Library) -> Sources:
        def around(one: Citation) -> Any:
            place = (one["source"], one["passage"], one["start"], one["end"])
            return library.store.surroundings(*place, page=one["page"], row=one["row"])

        return Sources(around, PageReader())

    page, _ = open_page(serve(sources=sources).address)
    answered(page, PARKING)
    with page.expect_response(re.compile("/citations/1$")) as told:
        page.locator(".claim").click()
    dialog = page.get_by_role("dialog", name="Quote 1 · parking-plan.pdf p. 1")
    image = dialog.get_by_role("img", name=f"Page 1 with the quote marked: {PLAN}")
    expect(image).to_be_visible()
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1_200
    whole, region = image.bounding_box(), page.locator(".region").first.bounding_box()
    assert whole
    assert region
    left, top, right, _ = told.value.json()["rectangles"][0]
    assert (region["x"] - whole["x"]) / whole["width"] == pytest.approx(left, abs=0.01)
    assert (region["y"] - whole["y"]) / whole["height"] == pytest.approx(top, abs=0.01)
    assert region["width"] / whole["width"] == pytest.approx(right - left, abs=0.01)
    assert not violations(page)
    dialog.get_by_text("The passage as text").click()
    expect(dialog.locator("mark")).to_have_text(PLAN)


def test_the_page_is_small_and_asks_nothing_of_another_machine(world: World, open_page: Open) -> None:
    page, seen = open_page()
    page.goto(world.address, wait_until="networkidle")
    sizes = [one.sizes() for one in seen.requests]
    assert sum(one["responseBodySize"] + one["responseHeadersSize"] for one in sizes) < BUDGET
    answered(page)
    page.locator(".evidence button").first.click()
    expect(page.locator("#passage mark")).to_be_visible()
    own = urlsplit(world.address).netloc
    assert {urlsplit(one.url).netloc for one in seen.requests if not one.url.startswith("blob:")} == {own}


def test_the_keyboard_alone_asks_reads_a_quote_and_returns(page: Page) -> None:
    expect(page.get_by_label("Your question")).to_be_focused()
    page.keyboard.type(BREAK)
    page.keyboard.press("Enter")
    expect(page.locator(".export")).to_be_visible()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('cite')"):
            break
    first = page.locator(".cite").first
    expect(first).to_be_focused()
    expect(page.locator(".peek")).to_contain_text("lease-summary.txt")
    assert first.get_attribute("aria-describedby") == "peek"
    page.keyboard.press("Escape")
    expect(page.locator(".peek")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(page.locator("#passage mark")).to_be_visible()
    page.keyboard.press("Escape")
    expect(first).to_be_focused()
    page.keyboard.press("Shift+Tab")
    for _ in range(10):
        if page.evaluate("document.activeElement.tagName === 'SUMMARY'"):
            break
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Drafts")).to_be_visible()


@pytest.mark.parametrize("width", [WIDE, NARROW], ids=["1400", "360"])
def test_every_state_of_the_page_fits_and_is_accessible(world: World, open_page: Open, width: dict[str, int]) -> None:
    page, _ = open_page(world.address, width)
    expect(page.locator("#scope")).to_contain_text("3 documents")
    look = partial(require_accessible, page)
    look("start")
    page.get_by_text("Options", exact=True).click()
    look("options")
    page.get_by_text("Options", exact=True).click()
    world.model.hold("support")
    ask(page, BREAK)
    expect(page.locator(".draft")).to_contain_text("The landlord must confirm")
    look("draft")
    world.model.release()
    expect(page.locator(".export")).to_be_visible()
    for details in page.locator("#steps summary").all()[:3]:
        details.click()
    page.locator(".cost summary").click()
    expect(page.locator(".picture img")).to_be_visible()
    look("answer")
    page.locator(".cite").first.focus()
    expect(page.locator(".peek")).to_be_visible()
    look("peek")
    page.locator(".evidence button").first.click()
    expect(page.locator("#passage mark")).to_be_visible()
    look("passage")
    page.keyboard.press("Escape")
    answered(page, DEPOSIT)
    look("conflict")
    answered(page, UNANSWERED)
    look("abstention")
    page.get_by_role("button", name="Documents", exact=True).click()
    look("documents")
