"""The schema that servers share in a real PostgreSQL: who makes it, and what is refused."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from core.errors import RequestError
from tests.integration.postgres_server import as_role
from tests.turns import answered

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install -r requirements-postgres.txt")
from psycopg import sql  # noqa: E402

from app.conversations.postgres.threads import SharedThreads  # noqa: E402

pytestmark = pytest.mark.postgres


@pytest.fixture
def threads(postgres_url: str) -> Iterator[SharedThreads]:
    with closing(SharedThreads(postgres_url)) as threads:
        yield threads


def test_newer_checkpoints_are_left_alone(
    threads: SharedThreads, admin: psycopg.Connection[Any], postgres_url: str
) -> None:
    """A newer program may have moved LangGraph's tables on."""
    admin.execute("UPDATE meta SET value = '99' WHERE key = 'checkpoints'")
    with pytest.raises(RequestError, match="made by a newer version of this program"):
        SharedThreads(postgres_url)


def test_a_role_that_may_make_no_schemas_is_given_one(
    admin: psycopg.Connection[Any], role: str, postgres_url: str
) -> None:
    admin.execute(sql.SQL("CREATE SCHEMA selfrag AUTHORIZATION {}").format(sql.Identifier(role)))
    with closing(SharedThreads(as_role(postgres_url, role))) as threads:
        thread = threads.create().id
        answered(threads, thread)
        assert threads.get(thread).turns == 1


def test_what_is_said_in_a_thread_is_never_syntax_and_has_no_zero_byte(threads: SharedThreads) -> None:
    odd = "a\"b'; DROP SCHEMA selfrag CASCADE; --%s{}?\\"
    thread = threads.create(odd, odd).id
    turn = threads.begin(thread, f"{odd}\0\ud800", odd)
    threads.end(turn, "failed", f"{odd}\0")
    (kept,) = threads.turns(thread, odd)
    assert (kept.question, kept.message, threads.get(thread, odd).title) == (odd, odd, odd)


def test_nothing_outlives_a_transaction(threads: SharedThreads, postgres_url: str) -> None:
    """As a pooler in transaction mode demands: the next transaction may be in another connection."""
    for _ in range(7):  # psycopg prepares what it is given five times, unless it is told otherwise
        answered(threads, threads.create().id)
    with threads.database._pool.connection() as connection, psycopg.connect(postgres_url) as new:
        for setting in ("search_path", "lock_timeout", "transaction_isolation"):
            name = sql.SQL("SHOW {}").format(sql.Identifier(setting))
            assert connection.execute(name).fetchone() == new.execute(name).fetchone(), setting
        assert connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)
