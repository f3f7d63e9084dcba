"""Many files read by processes: in order, ahead of their user, and not too far ahead."""

import sys
import threading
import time
from itertools import count, islice
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from core.errors import RequestError
from retrieval.documents.loaded import Loaded, Section
from retrieval.sandbox import pool, process
from retrieval.sandbox.pool import Readers, Reading, ReadLimits
from tests.unit.retrieval.sandbox.children import Marks, child, children, write


def texts(readings: list[Reading]) -> list[str]:
    return ["".join(section.text for section in one.loaded.sections) if one.loaded else one.reason for one in readings]


def test_all_that_is_known_of_a_section_arrives(tmp_path: Path) -> None:
    body = """
        def parse_document(path, data):
            extra = {"much": "y" * 5_000_000}
            many = [Section("x" * 400_000, page=n, date="2024-05-06", extra=extra) for n in range(1, 8)]
            return Loaded([*many, Section("😀 end", row=9)], note="A note.", date="2020-01-01")
    """
    with Readers(command=child(tmp_path, body)) as readers:
        (reading,) = readers.read(write(tmp_path / "d", ["a.txt"]))
    extra = {"much": "y" * 5_000_000}
    many = [Section("x" * 400_000, page=n, date="2024-05-06", extra=extra) for n in range(1, 8)]
    assert reading.loaded == Loaded([*many, Section("😀 end", row=9)], "A note.", "2020-01-01")


def test_a_slow_file_does_not_hold_up_those_behind_it_and_keeps_its_place(tmp_path: Path) -> None:
    marks = Marks(tmp_path)
    body = """
        def parse_document(path, data):
            if path.stem != "slow": mark()
            for _ in range(4) if path.stem == "slow" else (): os.read(marks, 1)
            return text(path.stem)
    """
    paths = write(tmp_path / "d", ["slow.txt", *(f"{number}.txt" for number in range(6))])
    with Readers(ReadLimits(seconds=60), workers=2, command=child(tmp_path, body, marks)) as readers:
        readings = list(readers.read(paths))
    assert [one.path for one in readings] == paths
    assert texts(readings) == ["slow", "0", "1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    ("size", "ahead"),
    [(1, 4), (4_000_000, 2)],  # four files, or as many as have 6.4 million characters
)
def test_files_are_read_ahead_but_not_far_ahead(
    tmp_path: Path, size: int, ahead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_PREFETCH_TEXT", 6_400_000)
    marks = Marks(tmp_path)
    body = f"def parse_document(path, data): mark(); return text('a' * {size})"
    paths = write(tmp_path / "d", [f"{number}.txt" for number in range(9)])
    with Readers(workers=1, command=child(tmp_path, body, marks)) as readers:
        readings = readers.read(paths)
        next(readings)
        marks.wait_for(1 + ahead)
        time.sleep(0.5)
        assert marks.count() == 1 + ahead
        assert len(list(readings)) == 8


def test_one_process_reads_many_files_and_then_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_FILES", 100)  # more than it may have open at once
    command = child(tmp_path, "def parse_document(path, data): return text(os.getpid())")
    paths = write(tmp_path / "d", [f"{number}.txt" for number in range(110)])
    with Readers(workers=1, command=command) as readers:
        pids = texts(list(readers.read(paths)))
    assert len(set(pids[:100])) == 1
    assert len(set(pids)) == 2


def test_a_process_that_has_grown_is_replaced(tmp_path: Path) -> None:
    body = """
        kept = []
        def parse_document(path, data):
            if path.stem == "big": kept.append(bytearray(b"a") * 400_000_000)
            return text(os.getpid())
    """
    paths = write(tmp_path / "d", ["a.txt", "big.txt", "b.txt"])
    with Readers(workers=1, command=child(tmp_path, body)) as readers:
        first, big, last = texts(list(readers.read(paths)))
    assert first == big != last


@pytest.mark.parametrize("workers", [1, 2])
def test_a_process_is_started_with_the_first_file_and_none_is_left_by_who_stops_early(
    tmp_path: Path, workers: int
) -> None:
    before = children()
    body = """
        def parse_document(path, data):
            while path.stem != "0": time.sleep(1)
            return text(path.stem)
    """
    paths = write(tmp_path / "d", [f"{number}.txt" for number in range(20)])
    with Readers(workers=workers, command=child(tmp_path, body)) as readers:
        readings = readers.read(paths)
        assert children() == before
        assert next(readings).status == "read"
        assert children() > before
    assert children() == before
    with pytest.raises(RuntimeError, match="no longer read"):
        next(readings)
    with pytest.raises(RuntimeError, match="closed"):
        next(readers.read(paths))


def test_a_new_call_ends_the_one_before(tmp_path: Path) -> None:
    body = """
        def parse_document(path, data):
            while path.stem == "slow": time.sleep(1)
            return text(path.stem)
    """
    first, second = write(tmp_path / "d", ["0.txt", "slow.txt"]), write(tmp_path / "e", ["1.txt", "2.txt"])
    with Readers(workers=1, command=child(tmp_path, body)) as readers:
        former = readers.read(first)
        assert texts(list(islice(former, 1))) == ["0"]
        assert texts(list(readers.read(second))) == ["1", "2"]
        with pytest.raises(RuntimeError, match="no longer read"):
            next(former)


@pytest.mark.parametrize("command", [["/no/such/program"], ["/bin/true"], ["/bin/echo", "hello"]])
def test_a_process_that_cannot_be_started_is_named_in_one_sentence(tmp_path: Path, command: list[str]) -> None:
    before = children()
    with (
        Readers(command=command) as readers,
        pytest.raises(RequestError, match=r"reads documents cannot be started .*: check the installation"),
    ):
        list(readers.read(write(tmp_path / "d", ["a.txt"])))
    assert children() == before


class Instant:
    """A process that has read a file at once."""

    def __init__(self, limits: ReadLimits, command: object) -> None:
        self.killed = False

    def read(self, path: bytes) -> Reading:
        time.sleep(0.001)  # so that the caller waits, too
        return Reading(path, "read")

    def kill(self) -> None:
        self.killed = True

    def close(self) -> None:
        pass


def interrupted(step: int) -> bool:
    """Read files and interrupt whoever waits for the second, at a step; return False if there were no more steps."""
    left = step

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        frame.f_trace_lines = False  # Python looks for signals where a function begins and ends
        if frame.f_code.co_filename in (pool.__file__, threading.__file__):
            left -= 1
            if not left:
                raise KeyboardInterrupt
            return trace
        return None

    with Readers(workers=1) as readers:
        readings = readers.read([b"a", b"b", b"c"])
        next(readings)  # Thread.start itself does not stand an interrupt at any step
        sys.settrace(trace)
        try:
            assert len(list(readings)) == 2
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
    return False


@pytest.mark.timeout(60)
def test_ctrl_c_at_any_step_ends_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "ReaderProcess", Instant)
    before = threading.active_count()
    steps = next(step for step in count(1) if not interrupted(step))
    assert steps > 20
    assert threading.active_count() == before
