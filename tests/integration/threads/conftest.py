"""Both stores of threads, opened again as often as a test likes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from app.conversations.store import Threads
from app.conversations.tables import ThreadTables


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def open_threads(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., ThreadTables]]:
    """Open the store that a test runs on, as another process would; all are closed at its end."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    with ExitStack() as stack:

        def opener(**given: Any) -> ThreadTables:
            if not url:
                return stack.enter_context(closing(Threads(tmp_path / "threads", **given)))
            from app.conversations.postgres.threads import SharedThreads

            return stack.enter_context(closing(SharedThreads(url, **given)))

        yield opener
