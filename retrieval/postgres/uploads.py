"""Uploaded files in a library's schema, with their bytes, so that every machine can read, replace and remove them."""

import hashlib

from retrieval.postgres import rows
from retrieval.postgres.database import Database
from retrieval.searching_store import Store
from retrieval.store import Upload

# A document that cannot be read has the hash of its file or "", and is not tried again until it is replaced.
UNREAD = """
FROM uploads WHERE NOT EXISTS (SELECT FROM queue WHERE sha256(queue.path) = sha256(uploads.path)) AND NOT EXISTS (
    SELECT FROM documents
    WHERE sha256(documents.path) = sha256(uploads.path) AND documents.sha256 IN ('', uploads.sha256)
)
"""
_KEEP = """
INSERT INTO uploads (path, sha256, size, mtime_ns, content)
VALUES (%s, %s, %s, coalesce(%s, extract(epoch FROM clock_timestamp()) * 1000000000)::bigint, %s)
ON CONFLICT (sha256(path)) DO UPDATE
SET sha256 = excluded.sha256, size = excluded.size, mtime_ns = excluded.mtime_ns, content = excluded.content
"""
# The new attempt and version take the file away from a worker that reads the replaced bytes.
_QUEUE = """
INSERT INTO queue (path, machine, size, mtime_ns)
SELECT path, '', size, mtime_ns FROM uploads WHERE sha256(path) = sha256(%s)
ON CONFLICT (sha256(path)) DO UPDATE
SET machine = '', size = excluded.size, mtime_ns = excluded.mtime_ns, content = NULL, version = queue.version + 1,
    attempt = queue.attempt + 1, deaths = 0, worker = NULL, taken_until = NULL
"""


class PostgresUploads:
    """The uploads of a library in PostgreSQL.

    Tables are changed in the order uploads, queue, documents, as workers do, so that transactions do not deadlock.
    """

    def __init__(self, store: Store, database: Database) -> None:
        """Use the library's tables."""
        self._store = store
        self._database = database

    def put(self, path: bytes, content: bytes) -> None:
        """Store or replace an upload, and queue it for any machine, in one transaction."""
        sha256 = hashlib.sha256(content).hexdigest()
        with self._database.writing() as connection:
            self._store.record_embedding(connection)
            connection.execute(_KEEP, (path, sha256, len(content), None, content))
            connection.execute(_QUEUE, (path,))

    def keep(self, path: bytes, upload: Upload, content: bytes) -> None:
        """Store a copy of an upload. The next sync queues it for indexing, unless its passages were copied too."""
        with self._database.writing() as connection:
            connection.execute(_KEEP, (path, upload.sha256, upload.size, upload.mtime_ns, content))

    def remove(self, path: bytes) -> bool:
        """Remove an upload with its passages, also those that a worker commits meanwhile; False if there is none."""
        with self._database.writing_with_others() as connection:
            found = connection.execute("DELETE FROM uploads WHERE sha256(path) = sha256(%s)", (path,)).rowcount
            if found:
                connection.execute("DELETE FROM queue WHERE sha256(path) = sha256(%s)", (path,))
                rows.remove_documents(connection, [*rows.documents_at(connection, [path]).values()])
        return bool(found)

    def stored(self) -> dict[bytes, Upload]:
        with self._database.reading() as connection:
            found = connection.execute("SELECT path, sha256, size, mtime_ns FROM uploads ORDER BY path").fetchall()
        return {path: Upload(*known) for path, *known in found}

    def content(self, path: bytes) -> bytes | None:
        with self._database.reading() as connection:
            row = connection.execute("SELECT content FROM uploads WHERE sha256(path) = sha256(%s)", (path,)).fetchone()
        return bytes(row[0]) if row else None

    def waiting(self) -> set[bytes]:
        """Return the uploads that wait in the queue, or are being read."""
        with self._database.reading() as connection:
            found = connection.execute(
                "SELECT path FROM queue "
                "WHERE EXISTS (SELECT FROM uploads WHERE sha256(uploads.path) = sha256(queue.path))"
            ).fetchall()
        return {path for (path,) in found}

    def unread(self) -> bool:
        """Return True if an upload is neither read nor queued; the next `PostgresQueue.put` queues such uploads."""
        with self._database.reading() as connection:
            return connection.execute(f"SELECT 1 {UNREAD} LIMIT 1".encode()).fetchone() is not None
