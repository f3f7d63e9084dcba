"""The queue of the files of a library that are still to be read, by any process and machine."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from core.errors import IndexBusy, RequestError
from core.files import is_below, read_regular
from core.text import one_line
from retrieval.filters import exclusion
from retrieval.postgres import rows
from retrieval.postgres.database import Database
from retrieval.postgres.uploads import UNREAD
from retrieval.searching_store import Store
from retrieval.splitter import SplitSettings
from retrieval.store import LARGEST_SENT, UPLOADS, Job, Machine, SplitFile, changes, path_of
from retrieval.unit_vectors import Vectors, text_hash

_ALIVE = 60.0  # seconds after which a worker that said nothing counts as gone
_MOST_SENT = 64_000_000  # bytes that wait in the database to be taken by other machines
_PUT = """
INSERT INTO queue (path, machine, size, mtime_ns) VALUES (%s, %s, %s, %s)
ON CONFLICT (sha256(path)) DO UPDATE
SET machine = excluded.machine, size = excluded.size, mtime_ns = excluded.mtime_ns, content = NULL,
    version = queue.version + 1
WHERE (queue.machine, queue.size, queue.mtime_ns) IS DISTINCT FROM (excluded.machine, excluded.size, excluded.mtime_ns)
"""
_PUT_UNREAD = f"""
INSERT INTO queue (path, machine, size, mtime_ns) SELECT path, '', size, mtime_ns {UNREAD}
ON CONFLICT (sha256(path)) DO NOTHING
"""
# Times are the database's, so that the machines' clocks need not agree.
_TAKE = """
UPDATE queue SET attempt = attempt + 1, deaths = deaths + (taken_until IS NOT NULL)::int, worker = %(worker)s,
    taken_until = clock_timestamp() + make_interval(secs => %(lease)s)
FROM (
    SELECT id FROM queue
    WHERE (taken_until IS NULL OR taken_until < clock_timestamp())
    AND (machine IN ('', %(machine)s) OR %(everywhere)s AND content IS NOT NULL)
    ORDER BY id LIMIT %(most)s FOR UPDATE SKIP LOCKED
) AS free
WHERE queue.id = free.id
RETURNING queue.id, path, size, mtime_ns, attempt, version, deaths,
    CASE WHEN machine IN ('', %(machine)s) THEN NULL ELSE content END
"""
_RENEW = """
UPDATE queue SET taken_until = clock_timestamp() + make_interval(secs => %(lease)s)
WHERE (id, attempt) IN (SELECT * FROM unnest(%(ids)s::bigint[], %(attempts)s::bigint[]))
"""
_GIVE_BACK = """
UPDATE queue SET taken_until = NULL, worker = NULL
WHERE (id, attempt) IN (SELECT * FROM unnest(%(ids)s::bigint[], %(attempts)s::bigint[]))
"""
_UNCHANGED = """
SELECT id FROM queue
WHERE (id, attempt, version) IN (
    SELECT * FROM unnest(%(ids)s::bigint[], %(attempts)s::bigint[], %(versions)s::bigint[])
) FOR UPDATE
"""
_SEEN = """
INSERT INTO workers VALUES (%s, %s, clock_timestamp())
ON CONFLICT (name) DO UPDATE SET machine = excluded.machine, seen = excluded.seen
"""
_TO_SEND = """
SELECT id, version, path FROM queue
WHERE machine = %s AND content IS NULL AND (taken_until IS NULL OR taken_until < clock_timestamp()) AND id < %s
ORDER BY id DESC LIMIT 16
"""


class PostgresQueue:
    """The queue of a library in PostgreSQL."""

    def __init__(self, store: Store, database: Database, machine: Machine) -> None:
        """Use the library's tables."""
        self.machine = machine
        self._store = store
        self._database = database

    def put(self, files: Mapping[bytes, tuple[int, int]], present: Callable[[bytes], bool]) -> None:
        """Queue files by path, with size and modification time; drop this machine's queued files not ``present``.

        A file that is queued already keeps its place. If it changed, what a worker has read of it is not written.
        Uploads that are not read yet are queued too.
        """
        with self._database.writing() as connection:
            queued = connection.execute(
                "SELECT id, path FROM queue WHERE machine = %s", (self.machine.name,)
            ).fetchall()
            gone = [id_ for id_, path in queued if not present(path)]
            connection.execute("DELETE FROM queue WHERE id = ANY(%s)", (gone,))
            values = [(path, owner(path, self.machine), *stamp) for path, stamp in files.items()]
            connection.cursor().executemany(_PUT, values)
            queued_uploads = connection.execute(_PUT_UNREAD.encode()).rowcount
            if files or queued_uploads:
                self._store.record_embedding(connection)

    def take(self, worker: str, most: int, lease: float, *, everywhere: bool) -> list[Job]:
        """Take up to ``most`` files that no worker has, the longest waiting first, and keep them for ``lease`` seconds.

        The files are this machine's and, with ``everywhere``, those of other machines whose bytes were sent.
        """
        given = {"worker": worker, "machine": self.machine.name, "most": most, "lease": lease, "everywhere": everywhere}
        with self._database.writing() as connection:
            found = connection.execute(_TAKE, given).fetchall()
            connection.execute(_SEEN, (worker, self.machine.name))
        return sorted((Job(*row) for row in found), key=lambda job: job.id)

    def renew(self, worker: str, jobs: Sequence[Job], lease: float) -> None:
        """Renew the lease of files, except those that another worker took, and record that this worker lives."""
        with self._database.writing() as connection:
            connection.execute(_RENEW, {"lease": lease, **_keys(jobs)})
            connection.execute(_SEEN, (worker, self.machine.name))

    def give_back(self, jobs: Sequence[Job]) -> None:
        """Let other workers take these files at once, as they were not read."""
        if jobs:
            with self._database.writing() as connection:
                connection.execute(_GIVE_BACK, _keys(jobs))

    def finish(self, files: Mapping[Job, SplitFile], settings: SplitSettings) -> list[Job]:
        """Embed new texts, and write the files that this process still has; return the files that were written.

        A file is written in place of its old record, and leaves the queue, in one transaction. Nothing is written of a
        file that another process took, that changed meanwhile, or that is excluded. Raises ``RequestError`` if the
        library has other settings, and ``IndexBusy`` if another process keeps the lock: the vectors are then saved for
        the next try.
        """
        texts = [one.page_content for file in files.values() for one in file.passages]
        vectors = self._store.embedded(texts)
        try:
            return self._write(files, vectors, settings)
        except IndexBusy:
            self._store.keep_vectors({text_hash(text): vector for text, vector in vectors.items()})
            raise

    def _write(
        self, files: Mapping[Job, SplitFile], vectors: Mapping[str, Vectors], settings: SplitSettings
    ) -> list[Job]:
        with self._database.writing_with_others() as connection:
            made = rows.made_with(connection)
            if changes(made, self._store.model, settings):
                raise RequestError(
                    f"The {self._database.place} is made with another embedding model or other passages: "
                    "start the worker with the settings of who indexes."
                )
            keys = _keys(list(files)) | {"versions": [job.version for job in files]}
            unchanged = {id_ for (id_,) in connection.execute(_UNCHANGED, keys)}
            excluded = exclusion(rows.get_excluded(connection), [root for root, *_ in rows.get_roots(connection)])
            wanted = [
                job for job in files if job.id in unchanged and (is_below(job.path, UPLOADS) or not excluded(job.path))
            ]
            old = rows.documents_at(connection, [job.path for job in wanted])
            kept = [
                SplitFile(replace(files[job].record, id=old.get(job.path, 0)), files[job].passages) for job in wanted
            ]
            rows.put_files(connection, kept, vectors)
            connection.execute("DELETE FROM queue WHERE id = ANY(%s)", (list(unchanged),))
        return wanted

    def waiting(self, *, everywhere: bool = False) -> int:
        """Return how many files of this machine, or of all, are not read yet."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT count(*) FROM queue WHERE machine IN ('', %s) OR %s", (self.machine.name, everywhere)
            ).fetchone()
        return int(row[0]) if row else 0

    def busy_worker(self) -> str:
        """Name a process that is reading files of this machine, as the beginning of a sentence; "" if none is."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT worker FROM queue WHERE taken_until > clock_timestamp() AND machine IN ('', %s) LIMIT 1",
                (self.machine.name,),
            ).fetchone()
        return one_line(str(row[0])) if row else ""

    def send(self, most: int | None = None) -> int:
        """Send this machine's files to other machines; return how many are too large, or cannot be read.

        Sending stops when ``most`` files wait to be taken; with None all are sent. The file that this machine would
        read last is sent first, so that this machine and the others work from opposite ends of the queue.
        """
        left_out, before = 0, 1 << 62
        while True:
            with self._database.writing() as connection:
                count, size = connection.execute(
                    "SELECT count(*), coalesce(sum(octet_length(content)), 0) FROM queue "
                    "WHERE content IS NOT NULL AND taken_until IS NULL"
                ).fetchone() or (0, 0)
                found = connection.execute(_TO_SEND, (self.machine.name, before)).fetchall()
                if not found or (most is not None and (count >= most or size >= _MOST_SENT)):
                    return left_out
                for id_, version, path in found:
                    content = None
                    with suppress(OSError, ValueError):
                        content = read_regular(path_of(path), LARGEST_SENT, follow_links=False)
                    left_out += content is None
                    sent = "UPDATE queue SET content = %s WHERE id = %s AND version = %s"
                    connection.execute(sent, (content, id_, version))
                before = found[-1][0]

    def others(self) -> bool:
        """Return True if a worker of another machine was seen lately."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT 1 FROM workers "
                "WHERE machine <> %s AND seen > clock_timestamp() - make_interval(secs => %s) LIMIT 1",
                (self.machine.name, _ALIVE),
            ).fetchone()
        return row is not None


def owner(path: bytes, machine: Machine) -> str:
    """Return the name of the machine that reads a path; "" if all machines can read it."""
    return "" if any(is_below(path, folder) for folder in machine.shared) else machine.name


def _keys(jobs: Sequence[Job]) -> dict[str, list[int]]:
    return {"ids": [job.id for job in jobs], "attempts": [job.attempt for job in jobs]}
