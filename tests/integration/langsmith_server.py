"""A LangSmith of this machine that takes every upload."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.integration.loopback import Loopback, json_reply


class LangSmith(Loopback):
    """``uploads`` are the bodies of what was uploaded."""

    @property
    def uploads(self) -> list[str]:
        """What was sent, as text."""
        return [one.content.decode() for one in self.sent if one.content]

    def environment(self) -> dict[str, str]:
        """Where a client finds it, and that its uploads can be read."""
        return {
            "LANGSMITH_ENDPOINT": self.url,
            "LANGSMITH_API_KEY": "key",
            "LANGSMITH_DISABLE_RUN_COMPRESSION": "true",
        }


@contextmanager
def langsmith_of_this_machine() -> Iterator[LangSmith]:
    server = LangSmith(lambda sent: json_reply({}))
    server.start()
    try:
        yield server
    finally:
        server.close()
