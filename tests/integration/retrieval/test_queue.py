"""Files of a library in PostgreSQL are read by many processes and machines, each file once and whole."""

import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from core.errors import IndexBusy, RequestError, StoreUnavailable
from retrieval.documents.load import parse_document
from retrieval.library import queued_sync
from retrieval.library import worker as worker_module
from retrieval.library.discovery import FileStamp
from retrieval.library.library import Library
from retrieval.library.queued_sync import queue_changes
from retrieval.library.sync import Sync, split_file
from retrieval.library.worker import MOST_DEATHS, Worker
from retrieval.sandbox.pool import Reading
from retrieval.splitter import SplitSettings
from retrieval.store import Job, Model
from tests.integration.retrieval.conftest import Opener, run_at_once, synced
from tests.unit.retrieval.fakes import BagOfWords

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install -r requirements-postgres.txt")
from psycopg import sql  # noqa: E402

pytestmark = pytest.mark.postgres
LEASE = 60.0


@pytest.fixture
def open_on(open_at: Opener, postgres_url: str) -> Opener:
    """Open the library as a process of a machine does."""
    return partial(open_at, postgres_url)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(40):
        (folder / f"{number:02}.txt").write_text(f"The number {number} is written here, and nowhere else.")
    return folder


def queue_all(library: Library, folder: Path) -> None:
    """Add a folder, and queue its files without reading them."""
    library.add([folder])
    run = Sync(library.store, library.settings, None)
    queue_changes(library.store, library.require_queue(), run, library.settings, 5.0)


def worker_of(library: Library, name: str = "w", **options: Any) -> Worker:
    return Worker(library.store, library.require_queue(), library.settings, name, **options)


def read_all(library: Library, name: str = "w", **options: Any) -> int:
    done = 0
    with worker_of(library, name, **options) as worker:
        while taken := worker.step():
            done += taken
    return done


def take(library: Library, most: int = 100, name: str = "dead") -> list[Job]:
    return library.require_queue().take(name, most, LEASE, everywhere=True)


def end_leases(admin: psycopg.Connection[Any]) -> None:
    admin.execute("UPDATE queue SET taken_until = '2000-01-01' WHERE taken_until IS NOT NULL")


def split_text(library: Library, job: Job) -> Any:
    """The file of a job, read by a process that took it."""
    path = Path(job.path.decode())
    data = path.read_bytes()
    reading = Reading(job.path, "read", sha256="0" * 64, size=len(data), loaded=parse_document(path, data))
    return split_file(reading, FileStamp(job.size, job.mtime_ns), library.settings)


def sources(library: Library) -> dict[str, int]:
    return {source.path.name: source.passages for source in library.sources()}


def test_workers_share_the_files_and_read_each_once(open_on: Opener, many: Path) -> None:
    queue_all(open_on(), many)
    models = [BagOfWords() for _ in range(3)]
    libraries = [open_on(model=model) for model in models]
    done: list[int] = []
    run_at_once(
        *(lambda one=one, name=str(number): done.append(read_all(one, name)) for number, one in enumerate(libraries))  # type: ignore[misc]
    )
    assert sum(done) == sum(len(model.texts) for model in models) == 40
    assert sources(libraries[0]) == {f"{number:02}.txt": 1 for number in range(40)}
    assert libraries[0].sync().unchanged == 40


def test_a_file_that_another_has_taken_since_is_not_written(
    open_on: Opener, docs: Path, admin: psycopg.Connection[Any]
) -> None:
    dead, living = open_on(), open_on()
    queue_all(dead, docs)
    late = {job: split_text(dead, job) for job in take(dead) if job.path.endswith(b"a.txt")}
    end_leases(admin)
    taken = take(living, name="living")
    assert dead.require_queue().finish(late, dead.settings) == []
    dead.require_queue().give_back(list(late))
    assert not take(dead), "what the living one has was given away"
    living.require_queue().give_back(taken)
    assert read_all(living) == 3


def test_a_file_that_changed_while_it_was_read_is_read_again(open_on: Opener, docs: Path) -> None:
    reader, other = open_on(), open_on()
    queue_all(reader, docs)
    taken = take(reader)
    read = {job: split_text(reader, job) for job in taken}
    (docs / "a.txt").write_text("Points cost more now than they did.")
    queue_all(other, docs)
    assert {job.path for job in reader.require_queue().finish(read, reader.settings)} == {
        job.path for job in taken if not job.path.endswith(b"a.txt")
    }
    reader.require_queue().give_back(taken)
    read_all(other)
    assert other.store.similarity_search("points")[0].page_content == "Points cost more now than they did."


def test_what_ends_every_process_that_reads_it_is_given_up_until_the_next_sync(
    open_on: Opener, docs: Path, admin: psycopg.Connection[Any]
) -> None:
    library = open_on()
    queue_all(library, docs)
    for _ in range(MOST_DEATHS):
        take(library)
        end_leases(admin)
    assert read_all(library) == 3
    assert all("was given up" in source.reason for source in library.sources())
    assert len(library.sync().updated) == 3, "it was bad luck, and is not tried again"


def test_a_worker_that_ends_gives_back_what_it_has(
    open_on: Opener, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = open_on()
    queue_all(library, docs)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(worker_module, "split_file", interrupted)
        with pytest.raises(KeyboardInterrupt), worker_of(library) as worker:
            worker.step()
    assert [job.deaths for job in take(library)] == [0, 0, 0]


def test_a_lease_is_renewed_while_a_file_is_read(
    open_on: Opener, docs: Path, admin: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = open_on()
    queue_all(library, docs)
    renewed = threading.Event()
    renew = library.require_queue().renew
    monkeypatch.setattr(library.store.queue, "renew", lambda *given: (renew(*given), renewed.set()))

    def outlast_the_lease(_: BagOfWords) -> None:
        end_leases(admin)
        renewed.clear()
        assert renewed.wait(30)
        assert not take(open_on(), name="other")

    library.store.model = Model(BagOfWords(before=outlast_the_lease), "bow")
    with worker_of(library, lease=0.3) as worker:
        assert worker.step() == 3
    assert library.require_queue().waiting() == 0


def test_index_can_be_left_and_joined_again(open_on: Opener, many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = open_on()
    library.add([many])
    step, steps = Worker.step, []

    def cut(self: Worker) -> int:
        steps.append(1)
        if len(steps) == 2:
            raise KeyboardInterrupt
        return step(self)

    with monkeypatch.context() as patched:
        patched.setattr(Worker, "step", cut)
        with pytest.raises(KeyboardInterrupt):
            library.sync()
    left = library.require_queue().waiting()
    assert 0 < left < 40
    again = open_on()
    report = again.sync()
    assert (len(report.added), report.unchanged, report.passages) == (left, 40 - left, 40)


def test_who_asks_does_not_wait_for_others(open_on: Opener, docs: Path) -> None:
    library, asker = open_on(), open_on()
    queue_all(library, docs)
    take(library, name="Process 7 on b")
    with pytest.raises(IndexBusy, match=r"^Process 7 on b is indexing"):
        asker.sync(seconds=0)


def test_who_asks_does_not_wait_for_ever_for_a_database(
    open_on: Opener, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a server that refreshes its documents, and is to end meanwhile."""
    tried = []

    def away(*_: Any, **__: Any) -> Any:
        tried.append(1)
        if len(tried) > 10:
            pytest.fail("it waits for ever")
        raise StoreUnavailable("The database is away.")

    library = open_on()
    library.add([docs])
    monkeypatch.setattr(worker_module, "PAUSE", 0.01)
    monkeypatch.setattr(queued_sync, "PATIENCE", 0.03)
    monkeypatch.setattr(type(library.require_queue()), "take", away)
    with pytest.raises(StoreUnavailable):
        library.sync()
    assert len(tried) > 1


def test_another_machine_reads_what_it_is_sent(open_on: Opener, docs: Path, tmp_path: Path) -> None:
    owner, other = open_on("a"), open_on("b")
    owner.add([docs])
    assert not take(other)
    assert owner.enqueue() == (3, 0)
    docs.rename(tmp_path / "not reachable from there")
    assert read_all(other) == 3
    found = other.store.similarity_search("aspirin", k=1)[0]
    assert found.metadata["source"] == str(docs / "b.md")
    assert found.metadata["title"] == "Aspirin"
    (tmp_path / "not reachable from there").rename(docs)
    assert owner.sync().unchanged == 3


def test_index_feeds_the_workers_of_other_machines(open_on: Opener, many: Path, admin: psycopg.Connection[Any]) -> None:
    owner, other = open_on("a"), open_on("b")
    owner.add([many])
    assert not take(other, name="far")  # which says that it lives
    step = Worker.step
    far: list[int] = []

    def both(self: Worker) -> int:
        if not far:
            far.append(0)  # the far one's own steps come here too
            far[0] = read_all(other, "far")
        return step(self)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Worker, "step", both)
        assert len(owner.sync().added) == 40
    assert far[0] == 32
    assert admin.execute("SELECT count(*) FROM queue").fetchone() == (0,)


def test_a_file_too_large_to_be_sent_waits_for_its_own_machine(
    open_on: Opener, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, other = open_on("a"), open_on("b")
    owner.add([docs])
    monkeypatch.setattr("retrieval.postgres.queue.LARGEST_SENT", 50)
    assert owner.enqueue() == (3, 1)
    assert read_all(other) == 2
    assert read_all(owner) == 1


def test_what_another_machine_added_is_left_alone(open_on: Opener, docs: Path, tmp_path: Path) -> None:
    owner, other = open_on("a"), open_on("b")
    (tmp_path / "linked.txt").write_text("Linked from the folder.")
    (docs / "link.txt").symlink_to(tmp_path / "linked.txt")
    synced(owner, docs, follow_links=True)
    for file in [tmp_path / "linked.txt", *docs.iterdir()]:
        file.unlink()  # as on a machine that lacks them
    own = tmp_path / "own"
    own.mkdir()
    (own / "d.txt").write_text("Tea is grown in Assam.")
    assert other.sync().passages == 5
    other.add([own])
    report = other.sync()
    assert (report.removed, len(report.added), report.passages) == ([], 1, 6)
    assert len(owner.sync().removed) == 4
    assert sources(owner) == {"d.txt": 1}


def test_a_root_that_another_machine_adds_is_its_own_from_then_on(open_on: Opener, docs: Path) -> None:
    owner, other = open_on("a"), open_on("b")
    synced(owner, docs)
    other.add([docs])
    (docs / "a.txt").unlink()
    assert not owner.sync().removed
    assert len(other.sync().removed) == 1


def test_what_waits_for_the_lock_is_embedded_once(open_on: Opener, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, told = BagOfWords(), threading.Event()
    owner, other = open_on("a", model), open_on("a")
    queue_all(owner, docs)
    writing = owner.store.database._writing  # type: ignore[attr-defined]
    shorter = sql.SQL("{}; SET LOCAL lock_timeout = '50ms'").format(writing)
    monkeypatch.setattr(owner.store.database, "_writing", shorter)  # type: ignore[attr-defined]
    with other.store.only_writer():
        thread = threading.Thread(target=lambda: read_all(owner, unreachable=lambda _: told.set()))
        thread.start()
        assert told.wait(30)
    thread.join()
    assert sources(owner) == sources(other) != {}
    assert len(model.texts) == len(set(model.texts)) > 0


def test_a_shared_folder_is_read_by_every_machine(open_on: Opener, docs: Path) -> None:
    shared = (str(docs.resolve()).encode(),)
    owner, other = open_on("a", shared=shared), open_on("b", shared=shared)
    queue_all(owner, docs)
    assert read_all(other) == 3
    (docs / "a.txt").unlink()
    assert len(other.sync().removed) == 1


def test_the_roots_of_another_machine_are_told_with_its_name_and_can_be_removed(open_on: Opener, docs: Path) -> None:
    owner, other = open_on("a"), open_on("b")
    queue_all(owner, docs)
    assert other.roots_elsewhere() == {docs.resolve(): "a"}
    assert owner.roots_elsewhere() == {}
    other.remove(docs)
    assert other.require_queue().waiting(everywhere=True) == 0
    assert owner.sync().added == []


def test_a_worker_with_other_settings_is_refused(open_on: Opener, docs: Path) -> None:
    queue_all(open_on(), docs)
    other = open_on(split=SplitSettings(300, 20))
    with pytest.raises(RequestError, match="start the worker with the settings of who indexes"):
        read_all(other)
    assert other.require_queue().waiting() == 3
    assert [job.deaths for job in take(other)] == [0, 0, 0]
