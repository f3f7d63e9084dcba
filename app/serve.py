"""``serve``: the page, the JSON API, OpenAI's API and MCP, on this machine unless there are tokens."""

from __future__ import annotations

import argparse
import ipaddress
import logging
import os
import re
import signal
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from app.screen import Screen
from app.settings import EMBEDDED, Settings, load_settings
from core.errors import RequestError

if TYPE_CHECKING:
    from types import FrameType

    import uvicorn
    from fastapi import FastAPI

    from app.postgres.runs import RunTable
    from app.server.runs import Runs
    from app.threads.tables import ThreadTables

HOST, PORT = "127.0.0.1", 8321
AT_ONCE = 8
EMBEDDED_AT_ONCE = 1  # the embedded model reads one prompt at a time
MOST_CONNECTIONS = 4_000
SPARE_FILES = 256  # descriptors for all but connections
DRAIN_SECONDS = 60  # for which questions that are being answered hold up the end
KEEP_ALIVE_SECONDS = 15
HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?", re.ASCII | re.IGNORECASE)
LONGEST_HOST_NAME = 253


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``serve``."""
    parser.add_argument("--host", default=HOST, metavar="ADDRESS", help=f"where to listen ({HOST})")
    parser.add_argument("--port", type=_port, default=PORT, metavar="N", help=f"the port ({PORT}); 0 is any free one")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument(
        "--allow-host",
        type=_host_name,
        action="append",
        metavar="NAME",
        help="another host name that browsers reach the server by, such as a proxy's; repeatable",
    )
    parser.add_argument("--mcp-allow-write", action="store_true", help="let agents upload documents over MCP")


def serve(options: argparse.Namespace) -> int:
    """Serve until a signal ends it; what is being answered then is answered first."""
    screen = Screen(quiet=options.quiet)
    settings = load_settings()
    if settings.selfrag_tokens_file is None and not is_loopback(options.host):
        raise RequestError(
            f"--host {options.host} is open to other machines: set SELFRAG_TOKENS_FILE to a file of a name and a token "
            "a line, or leave --host out."
        )
    listening = listen(options.host, options.port)
    try:
        app = application(settings, options, screen)
        port = listening.getsockname()[1]
        host = f"[{options.host}]" if ":" in options.host else options.host
        runs = app.state.service.runs
        address = f"http://{host}:{port}/"
        server = server_of(app, lambda: _started(screen, address, open_page=options.open), runs)
        # uvicorn raises the signal again once it has drained: the process is to end in order then.
        signal.signal(signal.SIGTERM, lambda *_: None)
        server.run(sockets=[listening])
    finally:
        listening.close()
    return 0


def application(settings: Settings, options: argparse.Namespace, screen: Screen) -> FastAPI:
    """Load the models, open the documents, and bind both to the web application."""
    from app.front_door import SelfRAG
    from app.libraries import open_served, open_shared
    from app.server.access import Access, read_tokens
    from app.server.application import create_app
    from app.server.documents import Documents
    from app.server.service import ServerOptions
    from app.server.sources import Sources
    from app.threads.opening import open_feedback
    from retrieval.sandbox.pages import PageReader

    tokens = read_tokens(settings.selfrag_tokens_file) if settings.selfrag_tokens_file else ()
    uploads = settings.uploads_folder
    library, sample = (
        (open_shared(settings, screen, uploads), None) if tokens else open_served(settings, screen, uploads)
    )
    try:
        rag = SelfRAG(retriever=library.store.as_retriever(), settings=settings, screen=screen)
    except BaseException:
        library.close()
        raise
    rag.library = library
    names = {options.host, *(options.allow_host or ())}
    if not is_loopback(options.host):
        names.add(socket.gethostname())
    served = ServerOptions(
        access=Access(tokens, frozenset(name.lower() for name in names)),
        at_once=questions_at_once(settings),
        queue=settings.selfrag_server_queue,
        largest_upload=settings.selfrag_upload_mb * 1_000_000,
        lists_sources=settings.selfrag_server_sources == "on",
        mcp_allow_write=options.mcp_allow_write,
    )
    documents = Documents(rag, library, uploads, sample)
    threads = opened_threads(settings, screen)
    feedback = open_feedback(settings, threads)
    sources = Sources(documents.around, PageReader(uploaded=documents.uploaded))
    return create_app(rag, served, documents, sources, feedback, threads, table_of(threads, settings))


def opened_threads(settings: Settings, screen: Screen) -> ThreadTables | None:
    """Open the conversations that are kept; where that cannot be done, say so and serve without."""
    from app.threads.opening import open_threads

    try:
        return open_threads(settings)
    except RequestError as error:
        screen.note(f"{error} Until then none are kept.")
        return None


def table_of(threads: ThreadTables | None, settings: Settings) -> RunTable | None:
    """Return where several servers keep their runs; None without a database."""
    from retrieval.library.library import names_database

    if threads is None or not names_database(settings.selfrag_store):
        return None
    from app.postgres.runs import RunTable
    from app.postgres.threads import SharedThreads

    return RunTable(threads.database, threads.leases) if isinstance(threads, SharedThreads) else None


def questions_at_once(settings: Settings) -> int:
    """How many questions are answered at the same time."""
    embedded = EMBEDDED in (settings.chat_model, settings.selfrag_critic_model)
    return settings.selfrag_server_concurrency or (EMBEDDED_AT_ONCE if embedded else AT_ONCE)


def server_of(app: FastAPI, on_start: Callable[[], None], runs: Runs | None = None) -> uvicorn.Server:
    """A server with limits on connections, heads and the time that it takes to end; ``runs`` close at a signal."""
    import uvicorn

    from app.server.protocol import TimedProtocol

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            on_start()

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            if runs:
                runs.closing = True
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
    """Take the port before any model is loaded. Raises `RequestError` where it cannot be had."""
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
    """As many as there may be files open, which is raised as far as the system lets it."""
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


def is_loopback(host: str) -> bool:
    """True for an address that only this machine reaches."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _started(screen: Screen, address: str, *, open_page: bool) -> None:
    screen.result(f"Serving at {address} (end it with Ctrl+C).")
    screen.out.file.flush()
    if open_page:
        webbrowser.open(address)


def _port(word: str) -> int:
    if not word.isdecimal() or int(word) > 65_535:
        raise argparse.ArgumentTypeError(f"{word!r} is no port from 0 to 65535")
    return int(word)


def _host_name(word: str) -> str:
    if len(word) > LONGEST_HOST_NAME or not HOST_NAME.fullmatch(word):
        raise argparse.ArgumentTypeError(f"{word!r} is no host name: write it without http:// and without a port")
    return word
