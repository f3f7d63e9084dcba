"""Threads on the page: what a person asks one after another, corrects, keeps, and finds again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from app.conversations.answering import ThreadAnswers
from app.conversations.store import Threads
from tests.browser.conftest import NARROW, WIDE, Seen
from tests.browser.test_page import Open, ask, require_accessible
from tests.browser.world import BREAK, DEPOSIT, PARKING, UNANSWERED, World

FOLLOW_UP = "And what about the deposit?"
ADDRESS = re.compile(r"#/threads/[\w-]+$")
EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"
ARABIC = "ومتى يجب دفع الوديعة؟"


@pytest.fixture
def world(serve: Callable[..., World]) -> World:
    return serve(threads=True)


@pytest.fixture
def threads(world: World) -> Iterator[Threads]:
    """The store of the server, opened as another program has it."""
    with closing(Threads(world.folder / "threads")) as threads:
        yield threads


def turns(page: Page) -> Locator:
    return page.locator("#turns .turn")


def answered(page: Page, question: str = BREAK) -> None:
    """Begin a thread."""
    ask(page, question)
    expect(page.locator(".turn.last .export")).to_be_visible()


def follow_up(page: Page, question: str = FOLLOW_UP) -> None:
    """Ask after what was answered, and wait for the answer."""
    before = turns(page).count()
    ask(page, question)
    expect(turns(page)).to_have_count(before + 1)
    expect(page.locator(".turn.last .export")).to_be_visible()


@contextmanager
def held(page: Page, address: str, method: str = "GET") -> Iterator[list[Route]]:
    """Hold a request that the block sends."""
    found: list[Route] = []

    def hold(route: Route) -> None:
        if found or route.request.method != method:
            route.fallback()
        else:
            found.append(route)

    page.route(re.compile(address), hold)
    yield found
    while not found:
        page.wait_for_timeout(5)


def test_a_follow_up_stands_below_its_question_and_is_found_again(page: Page) -> None:
    answered(page)
    expect(page).to_have_url(ADDRESS)
    expect(page.get_by_label("Your question")).to_have_value("")
    follow_up(page)
    expect(page.locator("#turns .asked")).to_have_text([BREAK, FOLLOW_UP])
    expect(page.locator(".turn.last .asked")).to_be_focused()
    expect(page.locator(".turn.last .understood")).to_contain_text(f"Understood as: {BREAK} {FOLLOW_UP}")
    expect(page.locator(".understood")).to_have_count(1)
    expect(page.locator('[data-node="contextualize"]')).to_have_class(re.compile("visited"))
    below = page.get_by_label("Your question").bounding_box()
    last = page.locator(".turn.last").bounding_box()
    assert below
    assert last
    assert below["y"] > last["y"] + last["height"]

    page.reload()
    expect(page.locator(".turn.last .evidence")).to_be_visible()
    first = turns(page).first
    expect(first.locator(".answer")).to_contain_text("The tenant may end the lease early on 31 March 2030.")
    expect(first.locator(".evidence")).to_have_count(0)
    first.get_by_role("button", name="Show the evidence").click()
    expect(first.locator(".evidence")).to_be_visible()
    expect(page.locator("#traced")).to_have_text(BREAK)
    expect(page.locator('[data-node="contextualize"]')).not_to_have_class(re.compile("visited"))
    page.locator(".turn.last").get_by_role("button", name="How it was answered").click()
    expect(page.locator("#traced")).to_have_text(FOLLOW_UP)
    expect(page.locator("#run-title")).to_be_focused()


def test_what_a_follow_up_was_understood_as_is_corrected(threads: Threads, page: Page) -> None:
    answered(page)
    follow_up(page)
    first = threads.turns(page.url.rpartition("/")[2])[-1].run
    page.get_by_role("button", name="Correct what the question was understood as").click()
    meant = page.get_by_label("What the question means by itself")
    expect(meant).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Correct what the question was understood as")).to_be_focused()
    page.keyboard.press("Enter")
    meant.fill(DEPOSIT)
    with page.expect_request(lambda one: one.method == "POST") as sent:
        page.keyboard.press("Enter")
    assert sent.value.post_data_json == {"question": FOLLOW_UP, "standalone": DEPOSIT, "replaces": first}
    replaced = page.locator(".replaced")
    expect(replaced.locator("> summary")).to_have_text(f"Asked before: {FOLLOW_UP}")
    expect(replaced.locator(".answer")).to_be_hidden()
    expect(page.locator(".turn.last .understood")).to_contain_text(f"Understood as: {DEPOSIT}")
    expect(page.locator(".turn.last .answer")).to_contain_text("three months' rent")

    for _ in range(2):
        page.get_by_role("button", name="Edit the question").click()
        expect(page.locator("form.edit textarea")).to_be_focused()
    page.get_by_role("textbox", name="Your question").first.fill(PARKING)
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator(".turn.last .asked")).to_have_text(PARKING)
    expect(page.locator(".turn.last .evidence")).to_be_visible()
    expect(replaced).to_have_count(2)
    replaced.first.locator("> summary").click()
    expect(replaced.first.locator(".answer")).to_be_visible()
    conversation = threads.conversation(page.url.rpartition("/")[2])
    assert [turn["question"] for turn in conversation] == [BREAK, PARKING]


def test_threads_are_listed_renamed_saved_and_deleted(threads: Threads, page: Page, tmp_path: Path) -> None:
    answered(page)
    follow_up(page)
    page.get_by_role("button", name="New thread").first.click()
    expect(turns(page)).to_have_count(0)
    expect(page.get_by_label("Your question")).to_be_focused()
    answered(page, DEPOSIT)
    listed = page.get_by_role("region", name="Threads").locator("li")
    expect(listed.locator("a")).to_have_text([DEPOSIT, BREAK])
    expect(listed.nth(1)).to_contain_text("2 questions")
    expect(listed.first.locator("a")).to_have_attribute("aria-current", "true")
    listed.nth(1).locator("a").click()
    expect(page.locator("#turns .asked")).to_have_text([BREAK, FOLLOW_UP])

    listed.nth(1).get_by_role("button", name=f"Rename, save or delete {BREAK}").click()
    page.get_by_role("button", name="Rename", exact=True).click()
    page.get_by_label("Title of the thread").fill("The lease of the mill")
    page.keyboard.press("Enter")
    expect(listed.first.locator("a")).to_have_text("The lease of the mill")
    expect(listed.first.locator("a")).to_be_focused()
    expect(page.get_by_role("heading", level=1)).to_have_text("The lease of the mill")
    for name in ("Markdown", "JSON", "Web page"):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save the thread as {name}").click()
        saved = tmp_path / download.value.suggested_filename
        download.value.save_as(saved)
        text = saved.read_text(encoding="utf-8")
        assert FOLLOW_UP in text
        assert "14 days" in text

    page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.get_by_role("dialog", name="Delete this thread?")
    expect(dialog).to_contain_text("“The lease of the mill” and its 2 questions")
    dialog.get_by_role("button", name="Keep it").click()
    expect(listed).to_have_count(2)
    page.get_by_role("button", name="Delete", exact=True).click()
    dialog.get_by_role("button", name="Delete").click()
    expect(listed.locator("a")).to_have_text([DEPOSIT])
    expect(page.locator("#threads-title")).to_be_focused()
    expect(turns(page)).to_have_count(0)
    assert [thread.title for thread in threads.list()] == [DEPOSIT]


def test_two_tabs_of_a_thread_see_what_the_other_asks(world: World, page: Page, open_page: Open) -> None:
    answered(page)
    other, seen = open_page(page.url)
    seen.expected = "a status of 409"
    expect(turns(other)).to_have_count(1)
    world.model.hold("support")
    ask(page, FOLLOW_UP)
    expect(turns(page)).to_have_count(2)
    ask(other, DEPOSIT)
    expect(other.locator("#problem")).to_contain_text("is being answered")
    expect(other.get_by_label("Your question")).to_have_value(DEPOSIT)
    expect(other.locator(".turn.last .asked")).to_have_text(FOLLOW_UP)
    expect(other.locator('[data-node="hallucination_check"]')).to_have_class(re.compile("running"))
    expect(other.locator("#threads li")).to_contain_text("being answered")
    world.model.release()
    for one in (page, other):
        expect(one.locator(".turn.last .export")).to_be_visible()
    expect(other.locator("#threads li")).not_to_contain_text("being answered")
    page.get_by_role("button", name="Edit the question").click()
    other.get_by_role("button", name="Ask", exact=True).click()
    expect(turns(other)).to_have_count(3)
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(page.locator(".turn.last .asked")).to_have_text(DEPOSIT)
    expect(page.locator("form.edit textarea")).to_be_focused()


def test_a_thread_that_was_deleted_elsewhere_is_told_and_the_question_is_kept(
    threads: Threads, page: Page, seen: Seen
) -> None:
    seen.expected = "a status of 404"
    answered(page)
    address = page.url
    (thread,) = threads.list()
    threads.delete(thread.id)
    ask(page, DEPOSIT)
    expect(page.locator("#problem")).to_contain_text("There is no such")
    expect(turns(page)).to_have_count(0)
    expect(page.get_by_label("Your question")).to_have_value(DEPOSIT)
    answered(page, DEPOSIT)
    expect(page).to_have_url(ADDRESS)
    assert page.url != address
    page.goto(address)
    expect(page.locator("#problem")).to_contain_text("There is no such")


def test_a_thread_that_is_left_while_its_question_is_sent_keeps_it_or_stays_as_it_was(page: Page, seen: Seen) -> None:
    seen.expected = "a status of 429"
    answered(page)
    with held(page, "/runs$", "POST") as sent:
        ask(page, FOLLOW_UP)
    page.get_by_role("button", name="New thread").first.click()
    expect(turns(page)).to_have_count(0)
    sent[0].fulfill(status=429, json={"error": {"message": "The queue is full."}})
    expect(page.locator("#problem")).to_contain_text("The queue is full.")
    expect(page.get_by_label("Your question")).to_have_value(FOLLOW_UP)
    page.reload()
    listed = page.locator("#threads li")
    expect(listed.locator("a")).to_have_text([BREAK])

    answered(page, DEPOSIT)
    other = page.url
    listed.locator("a", has_text=BREAK).click()
    expect(page.locator("#turns .asked")).to_have_text([BREAK])
    with held(page, "/runs$", "POST") as sent:
        ask(page, FOLLOW_UP)
    listed.locator("a", has_text=DEPOSIT).click()
    expect(page.locator("#turns .asked")).to_have_text([DEPOSIT])
    sent[0].continue_()
    expect(listed.first).to_contain_text("2 questions")
    expect(page).to_have_url(other)
    expect(page.locator("#turns .asked")).to_have_text([DEPOSIT])


def test_what_is_written_while_a_question_is_sent_stays(page: Page) -> None:
    with held(page, "/runs$", "POST") as sent:
        ask(page, BREAK)
    page.get_by_label("Your question").press("Enter")  # once more
    page.get_by_label("Your question").fill(DEPOSIT)
    sent[0].continue_()
    expect(page.locator(".turn.last .export")).to_be_visible()
    expect(page.get_by_label("Your question")).to_have_value(DEPOSIT)
    expect(page.locator("#threads li a")).to_have_text([BREAK])


def test_what_comes_when_another_address_is_shown_is_not_shown(page: Page, seen: Seen) -> None:
    seen.expected = "a status of 404"
    answered(page, DEPOSIT)
    page.get_by_role("button", name="New thread").first.click()
    answered(page)
    thread, other = page.locator("#threads a", has_text=BREAK), page.locator("#threads a", has_text=DEPOSIT)
    with held(page, r"/threads/\w+$") as late:
        other.click()
    thread.click()
    expect(page.locator(".turn.last .evidence")).to_be_visible()
    late[0].fulfill(status=404, json={"error": {"message": "There is no such thread."}})
    page.wait_for_timeout(200)
    expect(page.locator("#turns .asked")).to_have_text([BREAK])

    with held(page, r"/citations/1$") as late:
        page.locator(".evidence button").first.click()
    page.go_back()
    late[0].continue_()
    page.wait_for_timeout(200)
    expect(page.locator("#passage")).to_be_hidden()

    page.get_by_role("button", name="Check a text").click()
    page.locator("#check-text").fill("The tenant may end the lease early on 31 March 2032.")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("#outcome .export")).to_be_visible()
    thread.click()
    expect(turns(page)).to_have_count(1)
    with held(page, r"/runs/[\w-]+$") as late:
        page.locator("#history a").click()
    thread.click()
    expect(page).to_have_url(ADDRESS)
    late[0].continue_()
    page.wait_for_timeout(200)
    expect(page.locator("#turns .asked")).to_have_text([BREAK])


def test_a_thread_that_was_asked_for_before_is_not_shown_over_what_came_since(page: Page) -> None:
    answered(page)
    with held(page, r"/threads/\w+$") as late, held(page, "/api/threads$") as listed:
        page.evaluate("dispatchEvent(new Event('focus'))")
    before = [(one, one.fetch()) for one in (*late, *listed)]
    follow_up(page)
    for one, response in before:
        one.fulfill(response=response)
    page.wait_for_timeout(200)
    expect(page.locator(".turn.last .asked")).to_have_text(FOLLOW_UP)
    expect(page.locator("#threads li")).to_contain_text("2 questions")


def test_segments_are_shown_once_when_the_server_is_started_again(world: World, page: Page, seen: Seen) -> None:
    seen.expected = "net::ERR_"
    world.model.hold("draft", after=2)
    ask(page, "Summarise the rent, the deposit and the notice of the tenant")
    expect(page.locator(".segments summary")).to_have_count(2)
    with page.expect_response(re.compile("/events$")):
        world.restart()
    expect(page.locator("#steps .running")).to_have_count(1)
    expect(page.locator(".segments summary")).to_have_count(2)
    world.model.release()


def test_a_question_goes_on_when_the_server_is_started_again(world: World, page: Page, seen: Seen) -> None:
    seen.expected = "net::ERR_"
    answered(page)
    world.model.hold("support")
    ask(page, FOLLOW_UP)
    expect(page.locator('[data-node="hallucination_check"]')).to_have_class(re.compile("running"))
    world.restart()
    expect(page.locator('[data-node="hallucination_check"]')).to_have_class(re.compile("running"))
    world.model.release()
    expect(page.locator(".turn.last .export")).to_be_visible()
    expect(page.locator("#turns .asked")).to_have_text([BREAK, FOLLOW_UP])
    nodes = page.locator("#steps .node-name").all_inner_texts()
    assert len(nodes) == len(set(nodes)), " ".join(nodes)
    assert "contextualize" in nodes
    turns(page).first.get_by_role("button", name="Show the evidence").click()
    expect(turns(page).first.locator(".evidence")).to_be_visible()


def test_a_question_that_is_answered_elsewhere_is_shown_when_it_is(threads: Threads, page: Page) -> None:
    answered(page)
    (first,) = threads.turns(page.url.rpartition("/")[2])
    assert first.result
    turn = ThreadAnswers(threads).begin(first.thread, FOLLOW_UP)
    page.reload()
    expect(page.locator(".turn.last")).to_contain_text("Not answered yet")
    threads.finish(turn, first.result, first.numbered)
    expect(page.locator(".turn.last .export")).to_be_visible()


def test_a_question_that_was_stopped_is_asked_again_in_its_place(world: World, page: Page, seen: Seen) -> None:
    seen.expected = "a status of 503"
    world.model.hold("support")
    ask(page, BREAK)
    expect(page.locator('[data-node="hallucination_check"]')).to_have_class(re.compile("running"))
    with held(page, r"/runs/[\w-]+$", "DELETE") as sent:
        page.get_by_role("button", name="Stop").click()
    sent[0].fulfill(status=503, json={"error": {"message": "The database is away."}})
    expect(page.locator(".now")).to_have_text("The database is away.")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".turn.last .failure")).to_contain_text("stopped before it was answered")
    world.model.release()
    page.reload()
    expect(page.locator(".turn.last .failure")).to_contain_text("stopped before it was answered")
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator(".turn.last .evidence")).to_be_visible()
    expect(page.locator(".replaced .failure")).to_be_hidden()
    page.reload()
    expect(page.locator(".turn.last .evidence")).to_be_visible()
    expect(page.locator(".replaced")).to_have_count(1)


def test_addresses_name_a_question_of_a_thread_and_its_quotes(page: Page) -> None:
    answered(page)
    follow_up(page)
    page.get_by_role("button", name="Show the evidence").click()
    turns(page).first.get_by_role("button", name="Open quote 2").click()
    expect(page.locator("#passage mark")).to_contain_text("six months")
    link = page.url
    assert "/runs/" in link
    page.keyboard.press("Escape")
    expect(page.locator("#passage")).to_be_hidden()
    for address in (link, re.sub(r"/threads/[\w-]+", "", link), re.sub(r"/threads/[\w-]+/runs/", "run=", link)):
        page.goto("about:blank")
        page.goto(address)
        expect(page.locator("#passage mark")).to_contain_text("six months")
        expect(turns(page)).to_have_count(2)
        expect(turns(page).first.locator(".evidence")).to_be_visible()
        expect(page).to_have_url(link)
    page.go_back()


def test_a_long_thread_shows_its_last_questions_and_loads_one_result(threads: Threads, page: Page, seen: Seen) -> None:
    answered(page)
    (first,) = threads.turns(page.url.rpartition("/")[2])
    assert first.result
    for number in range(2, 31):
        threads.finish(threads.begin(first.thread, f"Question {number}?"), first.result, "")
    seen.requests.clear()
    page.reload()
    expect(page.locator(".turn.last .evidence")).to_be_visible()
    expect(turns(page)).to_have_count(20)
    assert len([one for one in seen.requests if one.url.endswith("/events")]) == 1
    page.get_by_role("button", name="Show 10 earlier questions").click()
    expect(turns(page)).to_have_count(30)
    expect(turns(page).first.locator(".asked")).to_be_focused()
    expect(turns(page).first.locator(".asked")).to_have_text(BREAK)


@pytest.mark.parametrize("width", [WIDE, {**NARROW, "width": 320}], ids=["1400", "320"])
def test_every_state_of_a_thread_fits_and_is_accessible(world: World, open_page: Open, width: dict[str, int]) -> None:
    page, _ = open_page(world.address, width)
    expect(page.locator("#scope")).to_contain_text("3 documents")
    look = partial(require_accessible, page)
    look("no threads")
    answered(page)
    look("one question")
    world.model.hold("support")
    ask(page, FOLLOW_UP)
    expect(page.locator(".draft")).to_be_visible()
    look("a follow-up that is answered")
    world.model.release()
    expect(page.locator(".turn.last .export")).to_be_visible()
    turns(page).first.get_by_role("button", name="Show the evidence").click()
    expect(turns(page).first.locator(".evidence")).to_be_visible()
    look("two answers")
    page.get_by_role("button", name="Correct what").click()
    look("correcting")
    page.get_by_label("What the question means by itself").fill(DEPOSIT)
    page.keyboard.press("Enter")
    page.locator(".replaced > summary").click()
    expect(page.locator(".turn.last .conflicts")).to_be_visible()
    look("corrected")
    follow_up(page, UNANSWERED)
    follow_up(page, ARABIC)
    assert page.locator(".turn.last .asked").evaluate("one => getComputedStyle(one).direction") == "rtl"
    look("from right to left")
    page.get_by_role("button", name="Rename, save or delete").click()
    page.get_by_role("button", name="Rename", exact=True).click()
    look("renaming")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("button", name="Keep it")).to_be_focused()
    look("deleting")


def test_markup_in_questions_documents_and_answers_stays_text(serve: Callable[..., World], open_page: Open) -> None:
    def arrange(shared: Path) -> None:
        (shared / "a <b onclick=alert(3)>.txt").write_text(f"The gate {EVIL} is green.", encoding="utf-8")

    page, _ = open_page(serve(threads=True, arrange=arrange).address)
    evil = f"What colour has the gate {EVIL}?"
    answered(page, evil)
    expect(page.locator(".turn.last .answer")).to_contain_text("<script>alert(2)</script>")
    follow_up(page)
    page.reload()
    expect(turns(page).first.locator(".asked")).to_have_text(evil)
    expect(page.locator("#threads li a")).to_contain_text("<script>")
    page.get_by_role("button", name="Documents", exact=True).click()
    expect(page.locator("#listed")).to_contain_text("a <b onclick=alert(3)>.txt")
    assert page.locator("[onerror], [onclick], main script").count() == 0


def test_a_check_of_a_text_stays_by_itself(page: Page) -> None:
    answered(page)
    page.get_by_role("button", name="Check a text").click()
    page.locator("#check-text").fill("The tenant may end the lease early on 31 March 2032.")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.get_by_role("button", name=re.compile("Contradicted"))).to_be_visible()
    expect(turns(page)).to_have_count(0)
    checked = page.get_by_role("region", name="Checks, and questions without a thread").get_by_role("link")
    expect(checked).to_have_count(1)
    page.locator("#threads li a").click()
    expect(turns(page)).to_have_count(1)
    expect(page.locator("#outcome .answer")).to_have_count(0)
    checked.click()
    expect(page.get_by_role("button", name=re.compile("Contradicted"))).to_be_visible()
    expect(turns(page)).to_have_count(0)
