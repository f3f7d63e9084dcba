"""Libraries in a real PostgreSQL: who may do what, what is refused in one sentence, and what a crash leaves."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from app import libraries
from app.settings import Settings
from app.terminal.screen import Screen
from core.errors import IndexBusy, IndexDamaged, RequestError, StoreUnavailable
from retrieval.filters import Filter
from retrieval.library.library import Library, library_name, open_store
from retrieval.searching_store import Store
from retrieval.splitter import SplitSettings
from retrieval.store import Model
from tests.integration.postgres_server import SECRET, as_role, one_sentence, url_of
from tests.integration.retrieval.conftest import Opener, run_at_once, synced
from tests.integration.retrieval.test_contract import TEXTS, file, put
from tests.unit.retrieval.fakes import BagOfWords

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install -r requirements-postgres.txt")
from psycopg import sql  # noqa: E402

from retrieval.postgres import candidates, database, migrations, rows  # noqa: E402

pytestmark = pytest.mark.postgres


def open_(url: str, library: str = "library") -> Any:
    return open_store(url, library, Model(BagOfWords(), "bow"))


@contextmanager
def refused(kind: type[Exception], match: str) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """Expect an error that is one sentence without the password."""
    with pytest.raises(kind, match=match) as error:
        yield error
    one_sentence(error)


@pytest.fixture
def store(postgres_url: str) -> Iterator[Store]:
    with closing(open_(postgres_url)) as store:
        put(store, file("/d/a.txt", TEXTS))
        yield store


def test_the_libraries_of_the_application_are_schemas(
    postgres_url: str, admin: psycopg.Connection[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libraries, "embeddings_of", lambda *_: (BagOfWords(), "bow"))
    settings = Settings(selfrag_home=tmp_path / "home", selfrag_store=postgres_url)
    assert postgres_url not in repr(settings)
    (tmp_path / "a.txt").write_text(TEXTS[0])
    with libraries.open_own(settings, Screen()) as own:
        own.add([tmp_path / "a.txt"])
        assert len(own.sync().added) == 1
    with libraries.library_to_ask([], settings, Screen()) as asked:
        assert [source.path.name for source in asked.sources()] == ["a.txt"]
    libraries.library_to_ask([tmp_path / "a.txt"], settings, Screen()).close()
    libraries.open_shared(settings, Screen(), tmp_path / "uploads").close()
    rows = admin.execute("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, 'selfrag_')").fetchall()
    named = library_name([tmp_path / "a.txt"])
    assert {name for (name,) in rows} == {"selfrag_library", "selfrag_shared", f"selfrag_{named}"}
    assert not (tmp_path / "home").exists()


# Who may do what.


def test_a_role_that_may_only_read_reads_everything(
    store: Store, admin: psycopg.Connection[Any], role: str, postgres_url: str, tmp_path: Path
) -> None:
    name = sql.Identifier(role)
    admin.execute(sql.SQL("GRANT USAGE ON SCHEMA selfrag_library TO {}").format(name))
    admin.execute(sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA selfrag_library TO {}").format(name))
    with closing(open_(as_role(postgres_url, role))) as reader:
        assert not reader.writable
        (found,) = reader.similarity_search("aspirin weighs", k=1)
        assert found.page_content == TEXTS[1]
        assert reader.passage(found.id)
        assert reader.text_of(b"/d/a.txt", None, 10)[0] == "Points"
        assert reader.surroundings("/d/a.txt", TEXTS[1], 0, 5, row=2).quote == "Aspir"
        assert Library(reader, SplitSettings()).verify().problems == []
        (tmp_path / "new.txt").write_text("new")
        with refused(RequestError, "may be read only"):
            Library(reader, SplitSettings()).add([tmp_path])
    admin.execute("UPDATE frequencies SET passages = 7")
    with closing(open_(as_role(postgres_url, role))) as reader:
        assert "this role may only read" in reader.verify(lambda _: pytest.fail("read again"), None).problems[0]


def test_a_server_that_only_reads_is_read(store: Store, admin: psycopg.Connection[Any], postgres_url: str) -> None:
    (name,) = admin.execute("SELECT current_database()").fetchone() or ("",)
    admin.execute(sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(sql.Identifier(name)))
    with closing(open_(postgres_url)) as reader:
        assert not reader.writable
        assert len(reader.similarity_search("aspirin", k=9)) == 3
        with pytest.raises(RequestError, match="this role may not make them"):
            open_(postgres_url, "other")


# What is refused.


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (f"postgresql://me:{SECRET}@127.0.0.1:1/x", "cannot be reached"),
        (f"postgres://me:{SECRET}@/x?host=/nowhere", "'library' in the database x on /nowhere cannot be reached"),
        (f"postgresql://me:{SECRET}%zz@host/x", "is no address of a database"),
        (f"postgresql://me:{SECRET}@host:port/x", "cannot be reached"),
        (f"postgresql://me:{SECRET}@/x%00y", "is no address"),
        (f"postgresql://me:{SECRET}@/x?{SECRET}=1", "is no address"),
        (f"postgresql://me:{SECRET}\0@/x", "is no address"),
        (f"postgresql://me:{SECRET}\ud800@/x", "is no address"),
    ],
)
def test_an_address_that_leads_nowhere_is_told_without_the_password(url: str, message: str) -> None:
    with refused(RequestError, message):
        open_(url)


def test_a_database_that_is_not_there_is_named(postgres_url: str) -> None:
    with refused(StoreUnavailable, 'database "no\'; such" does not exist'):
        open_(url_of(postgres_url, dbname=quote("no'; such", safe="")))


def test_a_server_that_is_too_old_is_refused(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "OLDEST", 990_000)
    with pytest.raises(RequestError, match="older than PostgreSQL 99: update it"):
        open_(postgres_url)


def test_pgvector_is_installed_or_asked_for(
    admin: psycopg.Connection[Any], role: str, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (name,) = admin.execute("SELECT current_database()").fetchone() or ("",)
    with refused(RequestError, "let an administrator run CREATE EXTENSION vector"):
        open_(as_role(postgres_url, role))
    admin.execute("CREATE SCHEMA extensions")
    admin.execute("CREATE EXTENSION vector SCHEMA extensions")
    admin.execute(
        sql.SQL("GRANT CREATE ON DATABASE {} TO {}; GRANT USAGE ON SCHEMA extensions TO {}").format(
            *map(sql.Identifier, (name, role, role))
        )
    )
    with closing(open_(as_role(postgres_url, role))) as store:
        put(store, file("a", TEXTS))
        assert len(store.similarity_search("aspirin", k=9)) == 3
    monkeypatch.setattr(migrations, "OLDEST_VECTORS", (9, 9))
    with refused(RequestError, r"has pgvector 0\.\d+\.\d+, older than 9\.9: update it"):
        open_(postgres_url)


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE selfrag_library.meta (x int)", "CREATE VIEW selfrag_library.passages AS SELECT 1"]
)
def test_anothers_schema_is_left_alone(admin: psycopg.Connection[Any], postgres_url: str, statement: str) -> None:
    admin.execute(f"CREATE SCHEMA selfrag_library; {statement}".encode())
    with refused(RequestError, "is not of this program"):
        open_(postgres_url)


def test_names_are_never_syntax(postgres_url: str) -> None:
    odd = "a\"b'; DROP SCHEMA x; --%s{}"
    with closing(open_(postgres_url, odd)) as store:
        put(store, file("a", TEXTS))
        assert len(store.similarity_search("aspirin", k=9)) == 3
    for name in ("a\0b", "x" * 60):
        with pytest.raises(RequestError, match="too long or has a zero byte"):
            open_(postgres_url, name)


# Crashes, and connections.


def test_a_migration_that_is_cut_leaves_nothing(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = migrations.MIGRATIONS
    cut = (*whole[0][:5], "SELECT pg_terminate_backend(pg_backend_pid())")
    monkeypatch.setattr(migrations, "MIGRATIONS", (cut,))
    with refused(StoreUnavailable, "cannot be reached"):
        open_(postgres_url)
    monkeypatch.setattr(migrations, "MIGRATIONS", whole)
    with closing(open_(postgres_url)) as store:
        put(store, file("a", TEXTS))
    column = "ALTER TABLE documents ADD COLUMN new int"
    monkeypatch.setattr(migrations, "MIGRATIONS", (*whole, (column, "SELECT 1 / 0")))
    with pytest.raises(RequestError, match="division by zero"):
        open_(postgres_url)
    monkeypatch.setattr(migrations, "MIGRATIONS", (*whole, (column,)))
    with closing(open_(postgres_url)) as store:
        assert len(store.similarity_search("aspirin", k=9)) == 3


def test_many_make_a_library_at_once(open_at: Opener, postgres_url: str) -> None:
    stores: list[Store] = []
    run_at_once(*[lambda: stores.append(open_at(postgres_url).store)] * 4)
    assert len(stores) == 4
    put(stores[0], file("a", TEXTS))
    assert all(set(store.records()) == {b"a"} for store in stores)


def test_a_lost_connection_is_replaced(store: Store, admin: psycopg.Connection[Any]) -> None:
    store.roots()
    admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    assert len(store.similarity_search("aspirin", k=9)) == 3


def test_a_writer_that_lost_its_lock_writes_nothing(
    store: Store, admin: psycopg.Connection[Any], postgres_url: str
) -> None:
    with closing(open_(postgres_url)) as other:
        with store.only_writer():
            with pytest.raises(IndexBusy), other.only_writer(0):
                pass
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database d ON d.oid = database "
                "WHERE locktype = 'advisory' AND datname = current_database()"
            )
            with other.only_writer(), pytest.raises(StoreUnavailable):
                store.put([file("late", TEXTS)])
        assert set(store.records()) == {b"/d/a.txt"}
        with store.only_writer():
            pass


def test_a_pool_that_is_used_up_says_so(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as stack:
        for _ in range(database.CONNECTIONS):
            stack.enter_context(store.database.reading())
        monkeypatch.setattr(store.database._pool, "timeout", 0.01)
        with pytest.raises(StoreUnavailable, match="No connection for the library") as error:
            store.roots()
        monkeypatch.undo()
    one_sentence(error)
    assert error.value.retry_after
    assert store.roots().kinds == {}


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (psycopg.errors.DiskFull, RequestError, "^The server of the .* has no space left on its disk: free some"),
        (psycopg.errors.DataCorrupted, IndexDamaged, r"is damaged \(why\)"),
        (psycopg.errors.UndefinedTable, RequestError, r"was changed by another program \(why\): restore it"),
        (psycopg.errors.QueryCanceled, IndexBusy, "is being changed: wait a moment"),
        (psycopg.errors.ReadOnlySqlTransaction, RequestError, "may be read only"),
        (psycopg.OperationalError, StoreUnavailable, r"cannot be reached \(why\): check SELFRAG_STORE"),
        (psycopg.errors.InternalError, RequestError, r"refused a request \(why\): see the server's log"),
    ],
)
def test_an_error_of_the_server_is_told_in_one_sentence(
    error: type[Exception], kind: type[Exception], said: str
) -> None:
    with refused(kind, said), database.translated("library 'x' in the database y on z"):
        raise error("FATAL: why" if error is psycopg.OperationalError else "why")


def test_a_server_without_connections_says_so(
    store: Store, admin: psycopg.Connection[Any], role: str, postgres_url: str
) -> None:
    admin.execute(sql.SQL("ALTER ROLE {} CONNECTION LIMIT 0").format(sql.Identifier(role)))
    with refused(StoreUnavailable, "has no connection left") as error:
        open_(as_role(postgres_url, role))
    assert error.value.retry_after


@pytest.mark.parametrize(("given", "seconds"), [("", "30"), ("&keepalives_idle=7", "7")])
def test_a_connection_that_is_cut_is_noticed_as_soon_as_the_address_says(
    postgres_url: str, given: str, seconds: str
) -> None:
    url = url_of(postgres_url) + given
    with closing(open_(url)) as store, store.only_writer(), store.database.writing() as connection:
        both = [one.info.get_parameters() for one in (store.database._lock, connection)]
    assert [(one["keepalives_idle"], one["tcp_user_timeout"]) for one in both] == [(seconds, "60000")] * 2


def test_nothing_outlives_a_transaction(store: Any, postgres_url: str) -> None:
    """As a pooler in transaction mode demands: the next transaction may be in another connection."""
    store.similarity_search("aspirin")
    with store.only_writer():
        store.touch([])
        with store.database._pool.connection() as connection:
            for setting in ("search_path", "jit", "transaction_isolation", "hnsw.ef_search", "lock_timeout"):
                name = sql.SQL("SHOW {}").format(sql.Identifier(*setting.split(".")))
                with psycopg.connect(postgres_url) as new:
                    new.execute("SELECT NULL::vector")
                    assert connection.execute(name).fetchone() == new.execute(name).fetchone(), setting
            rows = connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
            assert rows == (0,)


# Searching and checking.


def test_the_vectors_graph_finds_what_comparing_all_finds(
    store: Any, admin: psycopg.Connection[Any], postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, file("/d/many.txt", [f"word{number} of word{number % 7} and {number}" for number in range(600)]))
    question = "word17 of word3"
    only = Filter(sources=("a.txt",))
    exact = store.similarity_search(question, k=20, search="vectors")
    few = store.similarity_search(question, k=20, search="vectors", filter=only)
    monkeypatch.setattr(candidates, "EXACT", 0)
    monkeypatch.setattr(rows, "EXACT", 0)
    store.settle()
    with store.database.writing() as connection:
        connection.execute("ANALYZE passages")
    found = store.similarity_search(question, k=20, search="vectors")
    assert len({one.id for one in found} & {one.id for one in exact}) >= 19
    (name,) = admin.execute("SELECT current_database()").fetchone() or ("",)
    for setting, value in (("hnsw.max_scan_tuples", "1"), ("enable_bitmapscan", "off"), ("enable_sort", "off")):
        statement = sql.SQL("ALTER DATABASE {} SET {} = {}")
        admin.execute(statement.format(sql.Identifier(name), sql.SQL(setting), sql.Literal(value)))
    with closing(open_(postgres_url)) as giving_up:  # the scan ends before it has met a passage of the filter
        assert giving_up.similarity_search(question, k=20, search="vectors", filter=only) == few


@pytest.mark.parametrize("others", [0, 40])
def test_of_the_passages_with_rare_words_those_with_most_of_them_are_ranked(
    store: Store, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    put(store, file("/d/asked.txt", ["An aspirin.", "Paris.", "An aspirin in Paris.", *["A day."] * 9]))
    put(store, file("/d/others.txt", ["A night."] * others))
    monkeypatch.setattr(candidates, "EXACT", 0)
    monkeypatch.setattr(candidates, "_RANKED", 1)
    monkeypatch.setattr(candidates, "_RARE", 1)
    (found,) = store.similarity_search("aspirin Paris", k=9, search="bm25", filter=Filter(sources=("asked.txt",)))
    assert found.page_content == "An aspirin in Paris."


def test_the_vectors_graph_is_made_when_many_are_there_and_none_is_being_read(
    store: Any, admin: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def made() -> bool:
        return bool(admin.execute("SELECT to_regclass('passages_by_vector') IS NOT NULL").fetchone() == (True,))

    store.settle()
    assert not made()  # the few are compared one by one
    monkeypatch.setattr(rows, "EXACT", 2)
    store.queue.put({b"/d/b.txt": (1, 1)}, lambda _: True)
    store.queue.take("another", 1, 60, everywhere=False)
    store.settle()
    assert not made()
    admin.execute("UPDATE queue SET taken_until = NULL")
    store.settle()
    assert made()
    store.settle()


def test_frequencies_that_are_wrong_are_counted_anew(
    store: Store, admin: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "EXACT", 2)
    store.settle()
    before = [one.metadata["score"] for one in store.similarity_search("aspirin Paris", k=9, search="bm25")]
    admin.execute("UPDATE frequencies SET passages = 2 WHERE word = 'aspirin'")
    admin.execute("DROP INDEX passages_by_vector")
    report = Library(store, SplitSettings()).verify()
    assert [repair.partition(":")[0] for repair in report.repairs] == [
        "The words' frequencies did not match the passages",
        "The vectors had no index",
    ]
    assert before == [one.metadata["score"] for one in store.similarity_search("aspirin Paris", k=9, search="bm25")]
    assert Library(store, SplitSettings()).verify().repairs == []


def test_documents_that_are_wrong_are_read_again(
    postgres_url: str, admin: psycopg.Connection[Any], tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(TEXTS[0])
    (tmp_path / "b.txt").write_text(TEXTS[1])
    with closing(open_(postgres_url)) as store:
        library = synced(Library(store, SplitSettings()), tmp_path)
        admin.execute("UPDATE passages SET text = 'Points are free.' WHERE text LIKE 'Points%'")
        admin.execute("UPDATE documents SET passages = 9 WHERE path LIKE '%b.txt'")
        assert "2 documents did not match" in library.verify().repairs[0]
        assert library.verify().repairs == []
        assert [one.page_content for one in store.similarity_search("points", k=1)] == [TEXTS[0]]


def test_a_damaged_database_is_not_moved_aside(store: Store) -> None:
    with refused(RequestError, "is damaged: restore the database from a backup") as error:
        store.start_over()
    assert not isinstance(error.value, IndexDamaged)


def test_words_that_no_tsvector_takes_are_kept(store: Store) -> None:
    long = "x" * 5_000
    many = " ".join(f"w{number}" for number in range(17_000))
    quotes = "O'Neil\\'s \"a:1A\" & | ! ' \\"
    put(store, file("odd", [f"{long} end", many, quotes, "水" * 3_000, "e" + "\u0301" * 5_000]))
    assert store.similarity_search(long, k=1, search="bm25")[0].page_content.endswith(" end")
    assert store.similarity_search("w16999", k=1, search="bm25")[0].page_content == many
    assert store.similarity_search("neil", k=1, search="bm25")[0].page_content == quotes
