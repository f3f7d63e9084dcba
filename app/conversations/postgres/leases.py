"""Leases: which process answers which thread or run. Others take the leases of a process that is silent too long."""

import logging
import secrets
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from app.conversations.postgres.database import SharedDatabase
from app.conversations.tables import Writer
from app.conversations.thread import LeaseLostError, ThreadBusyError
from core.errors import RequestError

LEASE_SECONDS = 10.0  # of silence, after which other processes may take over the leases
BEATS = 5  # renewals in that time
log = logging.getLogger("selfrag.threads")
SEEN = """
INSERT INTO processes VALUES (%s, clock_timestamp())
ON CONFLICT (name) DO UPDATE SET seen = excluded.seen
"""
# True if the process of a lease is alive; ``silence`` is how many seconds it may have been silent.
ALIVE = """
EXISTS (
    SELECT 1 FROM processes
    WHERE processes.name = leases.process AND seen > clock_timestamp() - make_interval(secs => %(silence)s)
)
"""
TAKE = f"""
INSERT INTO leases VALUES (%(name)s, %(process)s, nextval('lease_tokens'))
ON CONFLICT (name) DO UPDATE SET process = excluded.process, token = excluded.token WHERE NOT {ALIVE}
RETURNING token
"""  # noqa: S608 - of constants
RELEASE = "DELETE FROM leases WHERE name = %s AND token = %s"
FORGOTTEN = "DELETE FROM leases WHERE process = %s AND token <> ALL(%s)"
# A row locked FOR SHARE cannot be taken over before the transaction ends.
HELD = "SELECT 1 FROM leases WHERE name = %s AND process = %s AND token = %s FOR SHARE"


class Lease(AbstractContextManager["Lease"]):
    """A lease that this process holds; a context manager that releases it."""

    def __init__(self, leases: "Leases", name: str, token: int) -> None:
        self.name = name
        self.token = token
        self._leases = leases

    def require(self, database: Writer) -> None:
        """Raise `LeaseLostError` if another process has this lease; none can take it until the transaction ends."""
        if database.execute(HELD, (self.name, self._leases.process, self.token)).fetchone() is None:
            raise LeaseLostError

    def release(self) -> None:
        self.forget()
        self._leases.write((RELEASE, (self.name, self.token)))

    def forget(self) -> None:
        """Drop the lease without telling the database: another process has it, or a transaction deleted it."""
        self._leases.held.discard(self.token)

    def __exit__(self, *_: object) -> None:
        self.release()


class Leases:
    """The leases of this process; a background thread renews them until `close`."""

    def __init__(self, database: SharedDatabase, silence: float = LEASE_SECONDS) -> None:
        self.process = secrets.token_hex(8)
        self.silence = silence
        self._database = database
        self.held: set[int] = set()
        self._changing = threading.Lock()  # so that the renewal does not delete a lease that is being taken
        self._closing = threading.Event()
        self._beating: threading.Thread | None = None

    def take(self, name: str) -> Lease:
        """Take a lease. Raises `ThreadBusyError` if a living process has it, even this process."""
        self._start()
        with self._changing, self._database.transaction() as connection:
            connection.execute(SEEN, (self.process,))
            given = {"name": name, "process": self.process, "silence": self.silence}
            row = connection.execute(TAKE.encode(), given).fetchone()
            if row is None:
                raise ThreadBusyError
            self.held.add(row[0])
        return Lease(self, name, row[0])

    def write(self, *statements: tuple[str, Sequence[Any]]) -> None:
        """Execute statements in a transaction. A failure is only logged: the next renewal makes up for it."""
        try:
            with self._database.transaction() as connection:
                for statement, values in statements:
                    connection.execute(statement.encode(), values)
        except RequestError as error:
            log.warning("%s", error)

    def close(self) -> None:
        """Stop the renewal and release all leases of this process."""
        self._closing.set()
        if self._beating:
            self._beating.join()
        own = (self.process,)
        self.write(("DELETE FROM leases WHERE process = %s", own), ("DELETE FROM processes WHERE name = %s", own))

    def _start(self) -> None:
        with self._changing:
            if self._beating is None:
                self._beating = threading.Thread(target=self._beat, name="leases", daemon=True)
                self._beating.start()

    def _beat(self) -> None:
        while not self._closing.wait(self.silence / BEATS):
            with self._changing:
                self.write((SEEN, (self.process,)), (FORGOTTEN, (self.process, list(self.held))))
