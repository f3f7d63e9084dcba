"""``serve``: serve the page, the JSON API, OpenAI's API and MCP, to this machine alone unless there are tokens."""

import argparse
import signal
import socket
import webbrowser
from functools import partial

from fastapi import FastAPI

from app.compose import questions_at_once
from app.conversations.opening import open_feedback, open_threads
from app.conversations.tables import ThreadTables
from app.front_door import SelfRAG
from app.libraries import follow_own, open_served, open_shared
from app.server.access import Access, address_of
from app.server.accounts import Accounts
from app.server.application import create_app
from app.server.asking import ServerOptions
from app.server.documents import Documents
from app.server.listening import listen, server_of
from app.server.people import People, TokensFile
from app.server.sources import Sources
from app.settings import Settings, load_settings
from app.terminal.screen import Screen
from core.errors import RequestError
from core.text import shown_path
from retrieval.sandbox.pages import PageReader


def serve(options: argparse.Namespace) -> int:
    """Serve until a signal; questions that are being answered then get some time to end. Returns the exit code."""
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
        address = f"http://{host}:{port}/"
        server = server_of(app, lambda: _started(screen, address, open_page=options.open))
        # uvicorn raises the signal again after it has shut down: ignored, so that the process ends in order.
        signal.signal(signal.SIGTERM, lambda *_: None)
        server.run(sockets=[listening])
    finally:
        listening.close()
    return 0


def application(settings: Settings, options: argparse.Namespace, screen: Screen) -> FastAPI:
    """Load the models, open the documents, and bind both to the web application."""
    tokens = TokensFile(settings.selfrag_tokens_file) if settings.selfrag_tokens_file else None
    accounts = Accounts(tokens or People, settings.selfrag_audit_file)
    uploads = settings.owned_folder("uploads")
    library, sample = (
        (open_shared(settings, screen, uploads), None) if tokens else open_served(settings, screen, uploads)
    )
    try:
        rag = SelfRAG(retriever=library.store.as_retriever(), settings=settings, screen=screen)
    except BaseException:
        library.close()
        raise
    rag.ask_of(library, screen)
    names = {options.host, *(options.allow_host or ())}
    if not is_loopback(options.host):
        names.add(socket.gethostname())
    served = ServerOptions(
        access=Access(tokens or People, frozenset(name.lower() for name in names)),
        at_once=questions_at_once(settings),
        queue=settings.selfrag_server_queue,
        largest_upload=settings.selfrag_upload_mb * 1_000_000,
        lists_sources=settings.selfrag_server_sources == "on",
        mcp_allow_write=options.mcp_allow_write,
    )
    follow = partial(follow_own, library, settings, uploads) if tokens else lambda: None
    documents = Documents(rag, library, uploads, sample, tokens or People, follow)
    for pattern in documents.unmatched():
        screen.note(
            f"“only {shown_path(pattern)}” in the tokens file matches no document and protects none: check its "
            "spelling."
        )
    threads = opened_threads(settings, screen)
    feedback = open_feedback(settings, threads)
    sources = Sources(documents.around, PageReader(uploaded=documents.uploaded))
    return create_app(rag, served, documents, sources, feedback, threads, accounts)


def opened_threads(settings: Settings, screen: Screen) -> ThreadTables | None:
    """Open the store of threads; None, with a note, if it cannot be opened: the server then keeps no threads."""
    try:
        return open_threads(settings)
    except RequestError as error:
        screen.note(f"{error} Until then none are kept.")
        return None


def is_loopback(host: str) -> bool:
    """True for an address that only this machine reaches."""
    address = address_of(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _started(screen: Screen, address: str, *, open_page: bool) -> None:
    screen.result(f"Serving at {address} (end it with Ctrl+C).")
    screen.out.file.flush()
    if open_page:
        webbrowser.open(address)
