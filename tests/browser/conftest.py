"""A browser that is driven, and the server that it is driven against; skipped where there is no Chromium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.world import World, served

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
WIDE, NARROW = {"width": 1400, "height": 900}, {"width": 360, "height": 780}
expect.set_options(timeout=30_000)
NOWHERE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium: install one, or name it in CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", NOWHERE], timeout=60_000
        )
        yield browser
        browser.close()


@pytest.fixture(autouse=True)
def _chromium(browser: Browser) -> None:
    """Skip before a server is started."""


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Start a server with these options; it ends with the test."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(served(tmp_path, **options))


@pytest.fixture
def world(serve: Callable[..., World]) -> World:
    return serve()


class Seen:
    """What a page asked for, and what went wrong on it; errors with ``expected`` in their text are no fault."""

    def __init__(self, page: Page) -> None:
        self.requests: list[Any] = []
        self.errors: list[str] = []
        self.expected = ""
        page.on("request", lambda request: self.requests.append(request))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        page.on("dialog", lambda dialog: self.errors.append(dialog.message))

    def require_no_error(self) -> None:
        assert [error for error in self.errors if not self.expected or self.expected not in error] == []


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., tuple[Page, Seen]]]:
    """Open a page at an address, if it is given, and return it with what is seen of it; nothing may go wrong on it."""
    with ExitStack() as stack:

        def opened(address: str = "", width: dict[str, int] = WIDE, **more: Any) -> tuple[Page, Seen]:
            context = browser.new_context(viewport=width, reduced_motion="reduce", **more)
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(30_000)
            seen = Seen(page)
            all_seen.append(seen)
            if address:
                page.goto(address)
            return page, seen

        all_seen: list[Seen] = []
        yield opened
        for seen in all_seen:
            seen.require_no_error()


@pytest.fixture
def opened(world: World, open_page: Callable[..., tuple[Page, Seen]]) -> tuple[Page, Seen]:
    return open_page(world.address)


@pytest.fixture
def page(opened: tuple[Page, Seen]) -> Page:
    return opened[0]


@pytest.fixture
def seen(opened: tuple[Page, Seen]) -> Seen:
    return opened[1]
