"""A server on a port, with limits on connections, request heads and the time to shut down."""

import asyncio
import logging
import os
import socket
from asyncio import Transport
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from core.errors import RequestError

MOST_CONNECTIONS = 4_000
SPARE_FILES = 256  # descriptors for all but connections
DRAIN_SECONDS = 60  # for questions that are being answered when the server ends
KEEP_ALIVE_SECONDS = 15
HEAD_SECONDS = 20.0  # in which the head of a request must come


class TimedProtocol(H11Protocol):
    """uvicorn's HTTP protocol, but a connection is closed if it does not send a request's whole head in time.

    Otherwise a client that sends a byte a second could hold connections.
    """

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for the head of the first request."""
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Limit the time for a request's head; once the head has come, the application limits the time for the body."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._timer is None:
            self._wait_for_head()

    def _wait_for_head(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None


def server_of(app: FastAPI, on_start: Callable[[], None]) -> uvicorn.Server:
    """Return a server with limits on connections, request heads and shutdown; after a signal it takes no new run."""

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            on_start()

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            app.state.service.runs.closing = True
            super().handle_exit(sig, frame)

    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        http=TimedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=most_connections(),
        backlog=MOST_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        h11_max_incomplete_event_size=64_000,
    )
    return Server(config)


def listen(host: str, port: int) -> socket.socket:
    """Bind the port, before any model is loaded. Raises `RequestError` if it is not free or not permitted."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=MOST_CONNECTIONS)
    except (OSError, UnicodeError) as error:
        errno = getattr(error, "errno", None)
        reason = os.strerror(errno) if errno and errno > 0 else "no such address"
        raise RequestError(f"--host {host} --port {port} cannot be listened on ({reason}): choose another.") from error
    # Its connections inherit this; asyncio does not set it, and each answer would wait 40 ms for an acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def most_connections() -> int:
    """Raise the limit of open files as far as the system allows, and return how many connections fit within it."""
    try:
        import resource
    except ImportError:  # not on Windows, which has no such limit
        return MOST_CONNECTIONS
    most, highest = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + SPARE_FILES
    if most < wanted:
        most = wanted if highest == resource.RLIM_INFINITY else min(wanted, highest)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, highest))
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return max(SPARE_FILES, min(MOST_CONNECTIONS, most - SPARE_FILES))
