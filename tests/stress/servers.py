"""Kill one of three servers over one database under load; every run completes, nothing is paid twice, no event lost.

    python -m tests.stress.servers [--kills 50] [--questions 9] [--seed 1]

PostgreSQL, the servers and a model server are processes or threads of this machine. In each round the servers are
asked ``--questions`` at the same time, every third in a thread, and each run is followed at another server than the one
that was asked. At a moment drawn evenly over the time that they take, one server, drawn, is sent SIGKILL and started
again. Who followed it goes on at the next server, after the last event that it has seen. Each run must end as if
nothing had been killed, without a call that a finished node had made, and its events must be numbered without a gap
and be the same at every server. It writes ``bench/servers.json`` and ends with 1 if anything was violated.
"""

import asyncio

from benchmarks.harness import listed, option_parser
from benchmarks.postgres_server import started_server
from tests.stress.cluster import Cluster, kill_all
from tests.stress.harness import PROCESSES, Tally
from tests.stress.recorder import Recorder

SERVERS = 3


def main() -> None:
    PROCESSES.set_forkserver_preload(["tests.stress.cluster"])
    options = option_parser(__doc__, kills=50, questions=9, seed=1).parse_args()
    with started_server() as server:
        tally = asyncio.run(kill(server.get_uri(), options.kills, options.questions, options.seed))
    rows = [
        ("kills", f"{options.kills} of one of {SERVERS} servers with {options.questions} questions"),
        ("completed", f"{tally.outcomes.total():,} of {tally.questions:,} runs"),
        ("taken over", f"{tally.counts['struck']:,} runs of a server that was killed"),
        ("outcomes", listed(tally.outcomes)),
        ("calls", f"{tally.calls:,}"),
        ("asked anew of unfinished nodes", f"{tally.again:,}"),
    ]
    tally.conclude("servers", rows, seed=options.seed)


async def kill(url: str, kills: int, count: int, seed: int) -> Tally:
    async with Recorder(seed).listening() as recorder:
        return await kill_all(Cluster(url, recorder.base_url, SERVERS), recorder, kills, count, every=3)


if __name__ == "__main__":
    main()
