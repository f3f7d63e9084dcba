"""The schema that servers share in a real PostgreSQL: who makes it, and what is refused."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Any

import pytest

from core.errors import RequestError
from tests.integration.postgres_server import as_role, one_sentence
from tests.turns import answered

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install -r requirements-postgres.txt")
from psycopg import sql  # noqa: E402

from app.conversations.postgres.threads import SharedThreads  # noqa: E402

pytestmark = pytest.mark.postgres


@pytest.fixture
def threads(postgres_url: str) -> Iterator[SharedThreads]:
    with closing(SharedThreads(postgres_url)) as threads:
        yield threads


def refused(url: str, says: str) -> None:
    with pytest.raises(RequestError, match=says) as error:
        SharedThreads(url)
    one_sentence(error)


def test_anothers_schema_is_left_alone(admin: psycopg.Connection[Any], postgres_url: str) -> None:
    admin.execute("CREATE SCHEMA selfrag; CREATE TABLE selfrag.threads (id int)")
    refused(postgres_url, "The schema selfrag is not of this program")
    assert admin.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'selfrag'").fetchone() == (1,)


@pytest.mark.parametrize("key", ["format", "checkpoints"])
def test_a_newer_schema_is_left_alone(
    threads: SharedThreads, admin: psycopg.Connection[Any], postgres_url: str, key: str
) -> None:
    """LangGraph's tables as well: a newer program may have moved them on."""
    admin.execute("UPDATE meta SET value = '99' WHERE key = %s", (key,))
    refused(postgres_url, "made by a newer version of this program: update the program")


def test_a_role_that_may_make_no_schemas_is_given_one(
    admin: psycopg.Connection[Any], role: str, postgres_url: str
) -> None:
    admin.execute(sql.SQL("CREATE SCHEMA selfrag AUTHORIZATION {}").format(sql.Identifier(role)))
    with closing(SharedThreads(as_role(postgres_url, role))) as threads:
        thread = threads.create().id
        answered(threads, thread)
        assert threads.get(thread).turns == 1


def test_servers_that_begin_at_once_make_it_once(postgres_url: str) -> None:
    with ThreadPoolExecutor(6) as pool, ExitStack() as stack:
        made = list(pool.map(lambda _: SharedThreads(postgres_url), range(6)))
        for one in made:
            stack.callback(one.close)
        thread = made[0].create().id
        assert [[kept.id for kept in one.list()] for one in made] == [[thread]] * 6


def test_a_role_without_rights_is_told(
    threads: SharedThreads, admin: psycopg.Connection[Any], role: str, postgres_url: str
) -> None:
    refused(as_role(postgres_url, role), "threads and runs .* may be read only")
    admin.execute("DROP SCHEMA selfrag CASCADE")
    refused(as_role(postgres_url, role), "this role may not make them")


def test_what_is_said_in_a_thread_is_never_syntax(threads: SharedThreads) -> None:
    odd = "a\"b'; DROP SCHEMA selfrag CASCADE; --%s{}?\\"
    thread = threads.create(odd, odd).id
    turn = threads.begin(thread, odd, odd)
    threads.end(turn, "failed", odd)
    (kept,) = threads.turns(thread, odd)
    assert (kept.question, kept.message, threads.get(thread, odd).title) == (odd, odd, odd)


def test_a_zero_byte_is_kept_out_of_the_database(threads: SharedThreads) -> None:
    thread = threads.create().id
    turn = threads.begin(thread, "Why\0 is it \ud800blue?")
    threads.end(turn, "failed", "no\0pe")
    (kept,) = threads.turns(thread)
    assert "\0" not in kept.question + (kept.message or "")


def test_nothing_outlives_a_transaction(threads: SharedThreads, postgres_url: str) -> None:
    """As a pooler in transaction mode demands: the next transaction may be in another connection."""
    for _ in range(7):  # psycopg prepares what it is given five times, unless it is told otherwise
        answered(threads, threads.create().id)
    with threads.database._pool.connection() as connection, psycopg.connect(postgres_url) as new:
        for setting in ("search_path", "lock_timeout", "transaction_isolation"):
            name = sql.SQL("SHOW {}").format(sql.Identifier(setting))
            assert connection.execute(name).fetchone() == new.execute(name).fetchone(), setting
        assert connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)
