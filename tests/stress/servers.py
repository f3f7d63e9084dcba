"""Kill one of three servers over one database under load; every run completes, nothing is paid twice, no event lost.

    python -m tests.stress.servers [--servers 3] [--kills 50] [--questions 9] [--seed 1]

PostgreSQL, the servers and a model server are processes or threads of this machine. In each round the servers are
asked ``--questions`` at the same time, every third in a thread, and each run is followed at another server than the one
that was asked. At a moment drawn evenly over the time that they take, one server, drawn, is sent SIGKILL and started
again. Who followed it goes on at the next server, after the last event that it has seen. Each run must end as if
nothing had been killed, without a call that a finished node had made, and its events must be numbered without a gap
and be the same at every server. One server alone keeps its threads in a folder, has each question in a thread of its
own, and answers them when it is started again. It writes ``bench/servers.json`` and ends with 1 if anything was
violated.
"""

import asyncio
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.harness import listed, option_parser
from benchmarks.postgres_server import started_server
from tests.stress.cluster import Cluster, kill_all
from tests.stress.harness import PROCESSES, Tally
from tests.stress.recorder import Recorder


def main() -> None:
    PROCESSES.set_forkserver_preload(["tests.stress.cluster"])
    options = option_parser(__doc__, servers=3, kills=50, questions=9, seed=1).parse_args()
    with ExitStack() as stack:
        store: Path | str = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if options.servers > 1:
            store = stack.enter_context(started_server()).get_uri()
        tally = asyncio.run(kill(store, options.servers, options.kills, options.questions, options.seed))
    rows = [
        ("kills", f"{options.kills} of one of {options.servers} servers with {options.questions} questions"),
        ("completed", f"{tally.outcomes.total():,} of {tally.questions:,} runs"),
        ("taken over", f"{tally.counts['struck']:,} runs of a server that was killed"),
        ("outcomes", listed(tally.outcomes)),
        ("calls", f"{tally.calls:,}"),
        ("asked anew of unfinished nodes", f"{tally.again:,}"),
    ]
    tally.conclude("servers", rows, seed=options.seed)


async def kill(store: Path | str, servers: int, kills: int, count: int, seed: int) -> Tally:
    async with Recorder(seed).listening() as recorder:
        cluster = Cluster(store, recorder.base_url, servers)
        return await kill_all(cluster, recorder, kills, count, every=3 if cluster.shared else 1)


if __name__ == "__main__":
    main()
