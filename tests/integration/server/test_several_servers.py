"""Several servers over one database: each tells of all runs, and goes on with those of one that is dead or slow."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from unittest.mock import Mock

import httpx
import pytest

from app.server.accounts import Accounts
from app.server.application import create_app
from app.server.asking import ServerOptions
from app.server.people import People, Quota
from app.server.runs import Run
from core.errors import StoreUnavailable
from tests.integration.graph.sky import GOOD, QUESTION
from tests.integration.server.scripted_server import (
    ADDRESS,
    ANN,
    BOB,
    CALLS,
    FOLLOW_UP,
    TOKENS,
    Models,
    events_of,
    tokens,
    until,
)

psycopg = pytest.importorskip("psycopg")
from app.conversations.answering import ThreadAnswers  # noqa: E402
from app.conversations.postgres.database import Marked  # noqa: E402
from app.conversations.postgres.leases import Leases  # noqa: E402 - they need psycopg
from app.conversations.postgres.runs import KeptEvent, KeptRun, RunTable  # noqa: E402
from app.conversations.postgres.threads import SharedThreads  # noqa: E402
from app.conversations.thread import LeaseLostError, ThreadBusyError  # noqa: E402
from app.server import shared_runs  # noqa: E402
from app.server.shared_runs import SharedRuns  # noqa: E402

pytestmark = pytest.mark.postgres


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often at the table, and wait briefly for what ends."""
    for name, seconds in {"POLL": 0.02, "TAKE": 0.05, "SPEND": 0.02, "DRAIN": 0.2, "RETRY": 0.05}.items():
        monkeypatch.setattr(shared_runs, f"{name}_SECONDS", seconds)


@dataclass
class Server:
    """A server in this process, and a client of it."""

    models: Models
    threads: SharedThreads
    client: httpx.AsyncClient
    app: Any
    ends: asyncio.Event
    life: asyncio.Task[None]

    async def end(self) -> None:
        """End it as SIGTERM does."""
        self.ends.set()
        await self.life

    def here(self, run: str) -> Run | None:
        return self.app.state.service.runs.answered_here(run)  # type: ignore[no-any-return]

    async def start(self, path: str = "runs", **given: Any) -> str:
        """Start a run, and return its id when a model of this server was asked."""
        answer = await self.client.post(f"/api/{path}", json=given or {"question": QUESTION})
        assert answer.status_code == 202, answer.text
        await until(lambda: self.models.calls)
        return str(answer.json()["id"])

    async def finished(self, run: str, state: str = "finished") -> dict[str, Any]:
        """Return a run once it is in a state."""
        while True:
            told = (await self.client.get(f"/api/runs/{run}")).json()
            if told["state"] == state:
                return dict(told)
            assert told["state"] in ("queued", "running"), told
            await asyncio.sleep(0.02)

    async def events(self, run: str, after: int = 0) -> list[tuple[int, str, dict[str, Any]]]:
        """Follow a run to its end."""
        async with self.client.stream("GET", f"/api/runs/{run}/events?after={after}") as response:
            return [(int(number), kind, json.loads(data)) async for number, kind, data in events_of(response)]


Serves = Callable[..., Any]


@pytest.fixture
async def serves(postgres_url: str, quick: None) -> AsyncIterator[Serves]:
    """Start servers over one database."""
    servers: list[Server] = []

    async def serve(
        models: Models | None = None, *, silence: float = 600.0, accounts: Accounts | None = None, **options: Any
    ) -> Server:
        threads = await asyncio.to_thread(lambda: SharedThreads(postgres_url, silence=silence))
        models, begun, ends = models or Models(), asyncio.Event(), asyncio.Event()
        app = create_app(
            models.rag(), ServerOptions(**options), feedback=threads.feedback, threads=threads, accounts=accounts
        )

        async def live() -> None:
            async with app.router.lifespan_context(app):
                begun.set()
                await ends.wait()

        life = asyncio.create_task(live())
        await begun.wait()
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ADDRESS, timeout=60)
        servers.append(Server(models, threads, client, app, ends, life))
        return servers[-1]

    yield serve
    for server in servers:
        await server.end()


def gate() -> Models:
    """Models that wait in their first call."""
    return Models(gate=asyncio.Event())


async def fall_silent(server: Server) -> None:
    """Let a server look dead to the others, as when its machine is paused; it goes on without knowing."""
    server.threads.leases._closing.set()  # by which its signs of life end; to take a lease is one, too
    server.threads.leases.take = Mock(side_effect=ThreadBusyError)  # type: ignore[method-assign, assignment]
    with server.threads.database.transaction() as connection:
        connection.execute("UPDATE processes SET seen = '2020-01-01' WHERE name = %s", (server.threads.leases.process,))


async def test_any_server_tells_of_a_run_as_the_one_that_answers_it(serves: Serves) -> None:
    first, second = await serves(gate()), await serves()
    run = await first.start()
    assert (await second.finished(run, "running"))["result"] is None
    following = asyncio.create_task(second.events(run))
    listed = (await second.client.get("/api/runs")).json()["runs"]
    assert [(one["id"], one["state"], one["question"]) for one in listed] == [(run, "running", QUESTION)]
    await first.models.open()
    events = await following
    assert events == await first.events(run)
    assert [number for number, _, _ in events] == list(range(1, len(events) + 1))
    assert await second.events(run, after=5) == events[5:], "a stream is continued where the other server broke off"
    paths = ("", "/export", "/picture.svg", "/citations/1", "/events")
    for path in paths:
        here, there = [await one.client.get(f"/api/runs/{run}{path}") for one in (first, second)]
        assert (here.status_code, here.text) == (200, there.text), path
    (told,) = (await second.client.get("/api/runs")).json()["runs"]
    assert (told["state"], told["outcome"], told["events"]) == ("finished", "grounded", len(events))
    assert second.models.calls == []


async def test_a_run_is_ended_from_another_server(serves: Serves) -> None:
    first, second = await serves(gate()), await serves()
    run = await first.start()
    assert (await second.client.delete(f"/api/runs/{run}")).json()["state"] == "cancelled"
    await first.finished(run, "cancelled")
    assert (await first.events(run))[-1][1] == "cancelled"


@pytest.mark.parametrize("dies_at", ["retrieve", "draft", "support"])
async def test_a_run_of_a_server_that_falls_silent_goes_on_in_another(serves: Serves, dies_at: str) -> None:
    """What was paid is not paid again, every event is told once, and the silent one can change nothing."""
    first, second = await serves(Models(gate=asyncio.Event(), gated=dies_at)), await serves()
    run = await first.start()
    await until(lambda: dies_at in first.models.calls)
    follower = asyncio.create_task(first.events(run))
    known = (await first.client.get(f"/api/runs/{run}")).json()["events"]
    await fall_silent(first)
    done = await second.finished(run)
    assert done["result"]["answer"] == GOOD
    await first.models.open()  # the first one wakes, and wants to write
    events = await second.events(run)
    assert await follower == events, "who follows at the first server gets what the second one tells"
    assert [number for number, _, _ in events] == list(range(1, len(events) + 1))
    nodes = [data["node"] for _, kind, data in events if kind == "node_finished"]
    assert nodes == [step["node"] for step in done["result"]["path"]]
    assert await second.events(run, after=known) == events[known:]
    paid = Counter(first.models.calls[: first.models.calls.index(dies_at) + 1]) + Counter(second.models.calls)
    assert paid - CALLS in (Counter({dies_at: 1}), Counter({dies_at: 1, "usefulness": 1}))
    await until(lambda: first.here(run) is None)
    assert (await first.client.get(f"/api/runs/{run}")).json() == done


async def test_a_question_of_a_thread_goes_on_in_another_server(serves: Serves) -> None:
    first, second = await serves(gate()), await serves()
    thread = (await second.client.post("/api/threads", json={})).json()["id"]
    run = await first.start(f"threads/{thread}/runs")
    (turn,) = (await second.client.get(f"/api/threads/{thread}")).json()["turns"]
    assert (turn["run"], turn["state"]) == (run, "running")
    busy = await second.client.post(f"/api/threads/{thread}/runs", json={"question": FOLLOW_UP})
    assert busy.status_code == 409
    await fall_silent(first)
    await second.finished(run)
    await first.models.open()
    (turn,) = (await first.client.get(f"/api/threads/{thread}")).json()["turns"]
    assert (turn["state"], turn["answer"]) == ("finished", GOOD)
    told = await first.finished(await second.start(f"threads/{thread}/runs", question=FOLLOW_UP))
    assert told["result"]["standalone"] == f"{QUESTION} {FOLLOW_UP}"


async def test_a_run_whose_end_was_kept_in_its_thread_alone_is_told_to_its_end(serves: Serves) -> None:
    """As when a server dies between the two, and of a question that was asked in a chat."""
    server = await serves(at_once=1)
    thread = server.threads.create().id
    answers = ThreadAnswers(server.threads)
    turn = answers.begin(thread, QUESTION)
    async for _ in answers.astream(Models().rag(), turn, tokens=False):
        pass
    await server.finished(turn.run)
    events = await server.events(turn.run)
    assert [kind for _, kind, _ in events][-1] == "finished"
    path = server.threads.turn(turn.run).result.path
    assert [data["node"] for _, kind, data in events if kind == "node_finished"] == [step["node"] for step in path]
    assert server.models.calls == []


async def test_a_check_is_begun_anew_elsewhere(serves: Serves) -> None:
    first, second = await serves(gate()), await serves()
    run = await first.start("checks", text=f"{GOOD} Grass is green.", name="notes")
    await fall_silent(first)
    done = await second.finished(run)
    assert (done["kind"], done["question"], len(done["result"]["claims"])) == ("check", "notes", 2)
    assert (await first.finished(run)) == done
    assert "Grass is green" in (await first.client.get(f"/api/runs/{run}/export")).text


async def test_a_run_that_another_version_was_asked_fails_and_holds_up_no_other(serves: Serves) -> None:
    first, second = await serves(gate()), await serves()
    newer, run = await first.start(), await first.start()
    with first.threads.database.transaction() as connection:
        asked = json.dumps({"context": {"of the next version": 1}})
        connection.execute("UPDATE runs SET asked = %s WHERE id = %s", (asked, newer))
    await fall_silent(first)
    assert "by another version" in (await second.finished(newer, "failed"))["error"]
    await second.finished(run)


async def test_a_question_whose_client_went_away_with_its_server_is_not_answered(serves: Serves) -> None:
    first, second = await serves(gate()), await serves()
    asking = asyncio.create_task(first.client.post("/api/ask", json={"question": QUESTION}))
    await until(lambda: first.models.calls)
    (run,) = (await second.client.get("/api/runs")).json()["runs"]
    await fall_silent(first)
    await second.finished(run["id"], "cancelled")
    assert second.models.calls == []
    asking.cancel()
    with suppress(asyncio.CancelledError):
        await asking


async def test_a_server_that_ends_leaves_what_waits_at_once_and_ends_what_it_answers(
    serves: Serves, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_runs, "DRAIN_SECONDS", 60.0)
    first, second = await serves(gate(), at_once=1), await serves()
    answered, waiting = await first.start(), await first.start()
    ending = asyncio.create_task(first.end())
    assert (await second.finished(waiting))["result"]["answer"] == GOOD
    assert Counter(second.models.calls) == CALLS
    assert not ending.done(), "what is being answered is waited for"
    await first.models.open()
    await ending
    assert (await second.finished(answered))["result"]["answer"] == GOOD
    assert Counter(second.models.calls) == CALLS, "the second one did not answer it again"


async def test_what_waits_is_left_to_others_while_clients_hold_the_end_up(serves: Serves) -> None:
    first, second = await serves(gate(), at_once=1), await serves()
    answered, waiting = await first.start(), await first.start()
    following = asyncio.create_task(first.events(waiting))
    first.app.state.service.runs.closing = True  # as SIGTERM does, before the server has ended
    assert (await second.finished(waiting))["result"]["answer"] == GOOD
    assert (await following)[-1][1] == "finished", "who follows it at the first server is told"
    assert (await second.finished(answered, "running"))["result"] is None
    await first.models.open()
    await second.finished(answered)


async def test_a_server_that_is_ending_or_whose_database_is_away_is_alive_and_not_ready(serves: Serves) -> None:
    server = await serves()
    assert (await server.client.get("/readyz")).status_code == 200
    server.app.state.service.runs.closing = True
    for method, path, body in (("GET", "/readyz", None), ("POST", "/api/runs", {"question": QUESTION})):
        refused = await server.client.request(method, path, json=body)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    server.app.state.service.runs.closing = False
    server.threads.database.close()
    refused = await server.client.get("/readyz")
    assert (refused.status_code, "\n" in refused.json()["error"]["message"]) == (503, False)
    assert (await server.client.get("/livez")).status_code == 200


async def test_events_that_cannot_be_kept_are_kept_when_the_database_is_back(
    serves: Serves, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, failures = RunTable.append, iter([True] * 3)

    def failing(*given: Any) -> None:
        if next(failures, False):
            raise StoreUnavailable("The database is away.")
        append(*given)

    first, second = await serves(gate()), await serves()
    run = await first.start()
    monkeypatch.setattr(RunTable, "append", failing)
    await first.models.open()
    done = await second.finished(run)
    assert done["result"]["answer"] == GOOD
    assert await second.events(run) == await first.events(run)


async def test_a_run_whose_end_has_just_been_kept_is_not_taken_for_lost(
    serves: Serves, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, poll = RunTable.append, SharedRuns._poll
    kept, looked = threading.Event(), threading.Event()

    def slow(*given: Any) -> None:
        append(*given)
        if given[-1][-1].kind == "finished":  # the end, with which the lease is released
            kept.set()
            assert looked.wait(timeout=30), "the server looks at the table meanwhile"

    async def once(runs: SharedRuns) -> None:
        if not looked.is_set():
            since = kept.is_set()
            await poll(runs)
            if since:
                looked.set()

    monkeypatch.setattr(RunTable, "append", slow)
    monkeypatch.setattr(SharedRuns, "_poll", once)
    server = await serves()
    run = await server.start()
    async with asyncio.timeout(30):
        assert (await server.events(run))[-1][1] == "finished"
    assert (await server.finished(run))["result"]["answer"] == GOOD


async def test_deleting_a_thread_ends_its_question_in_another_server(serves: Serves) -> None:
    first, second = await serves(gate()), await serves()
    thread = (await first.client.post("/api/threads", json={})).json()["id"]
    run = await first.start(f"threads/{thread}/runs")
    assert (await second.client.delete(f"/api/threads/{thread}")).status_code == 204
    for server in (first, second):
        assert (await server.client.get(f"/api/threads/{thread}")).status_code == 404
    assert (await second.client.get(f"/api/runs/{run}")).status_code == 404
    with second.threads.database.transaction() as connection:
        for table in ("runs", "events", "turns", "checkpoints", "checkpoint_writes", "checkpoint_blobs"):
            assert connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (0,), table  # noqa: S608


async def test_what_is_said_of_an_answer_is_kept_for_all_servers(serves: Serves) -> None:
    first, second = await serves(), await serves()
    run = await first.start()
    await first.finished(run)
    for server, judgement in ((first, "wrong"), (second, "right")):
        said = await server.client.post(f"/api/runs/{run}/feedback", json={"judgement": judgement})
        assert said.status_code == 200
    for server in (first, second):
        (label,) = server.app.state.service.feedback.labels()
        assert (label.run, label.feedback.judgement, label.answer) == (run, "right", GOOD)


async def test_owners_see_their_own_runs_alone_in_every_server(serves: Serves) -> None:
    first, second = await serves(access=tokens()), await serves(access=tokens())
    answer = await first.client.post("/api/runs", json={"question": QUESTION}, headers=ANN)
    run = answer.json()["id"]
    for server in (first, second):
        for path in ("", "/events", "/export"):
            assert (await server.client.get(f"/api/runs/{run}{path}", headers=BOB)).status_code == 404
        assert (await server.client.delete(f"/api/runs/{run}", headers=BOB)).status_code == 404
        assert (await server.client.get("/api/runs", headers=BOB)).json() == {"runs": []}
    with second.threads.database.transaction() as connection:
        assert connection.execute("SELECT cancelled FROM runs").fetchone() == (False,)


@pytest.mark.parametrize(("quota", "what"), [(Quota(questions=2), "questions"), (Quota(tokens=1), "tokens")])
async def test_a_quota_is_that_of_all_servers_also_after_a_restart(serves: Serves, quota: Quota, what: str) -> None:
    def accounts() -> Accounts:
        return Accounts(lambda: People(TOKENS, quotas={"ann": quota}))

    async def ask(server: Server, who: dict[str, str]) -> int:
        answer = await server.client.post("/api/ask", json={"question": QUESTION}, headers=who)
        return answer.status_code

    one, other = [await serves(access=tokens(), accounts=accounts()) for _ in range(2)]
    asked = 0
    while await ask(other if asked % 2 else one, ANN) == 200:
        asked += 1
        assert asked <= 2
        for server in (one, other):
            known = server.app.state.service.accounts
            await until(lambda known=known, least=asked: known._spent["ann", what] >= least)
    assert asked == (quota.questions or 1)
    assert [await ask(server, ANN) for server in (one, other)] == [429, 429]
    assert await ask(other, BOB) == 200
    await one.end()
    again = await serves(access=tokens(), accounts=accounts())
    assert await ask(again, ANN) == 429


def test_old_runs_are_forgotten(postgres_url: str) -> None:
    threads = SharedThreads(postgres_url, keep_days=30)
    began = datetime.now(UTC)
    for id_ in ("old", "new", "unfinished"):
        kept = KeptRun(id_, "ann", "question", None, QUESTION, "{}", began, outlives=True)
        lease = threads.runs.begin(kept)
        if id_ != "unfinished":
            threads.runs.append(id_, lease, [KeptEvent(id_, 1, "cancelled", {})])
    with threads.database.transaction() as connection:
        connection.execute("UPDATE runs SET ended = '2020-01-01' WHERE id = 'old'")
        connection.execute("INSERT INTO spent VALUES ('2020-01-01', 'ann', 'questions', 1)")
    threads.runs.expire()
    assert {one.id for one in threads.runs.last("ann")} == {"new", "unfinished"}
    assert threads.runs.spend(date(2020, 1, 1), {}) == {}
    threads.close()


def test_a_lease_is_of_one_process_until_it_is_silent_for_too_long(postgres_url: str) -> None:
    with ExitStack() as stack:
        one, two = (SharedThreads(postgres_url, silence=60) for _ in range(2))
        stack.callback(one.close)
        stack.callback(two.close)
        lease = one.leases.take("run x")
        for leases in (one.leases, two.leases):
            with pytest.raises(ThreadBusyError):
                leases.take("run x")
        other = Leases(two.database, silence=0.0)  # to which everybody has been silent for too long
        taken = other.take("run x")
        with one.database.transaction() as connection, pytest.raises(LeaseLostError):
            lease.require(Marked(connection))
        lease.release()  # which was lost, and changes nothing
        with two.database.transaction() as connection:
            taken.require(Marked(connection))
        other.close()
