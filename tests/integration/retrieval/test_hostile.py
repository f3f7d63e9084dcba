"""Documents that hang, crash, fill the memory or take over their reader cost only themselves."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core import files
from retrieval.documents.load import open_document
from retrieval.sandbox import process as reader_process
from retrieval.sandbox.pool import Readers, Reading, ReadLimits
from tests.integration.retrieval.conftest import somebody_else
from tests.unit.retrieval.documents.pdfs import pdf_of
from tests.unit.retrieval.sandbox.children import PATIENCE, Marks, child, children, hash_of, runs, write

CHECKOUT = str(Path(__file__).resolve().parents[3])


def read(paths: list[bytes], limits: ReadLimits | None = None, command: list[str] | None = None) -> list[Reading]:
    """Read files, one worker after them all, and see that no process is left."""
    before = children()
    with Readers(limits or ReadLimits(seconds=PATIENCE), workers=1, command=command) as readers:
        readings = list(readers.read(paths))
    assert children() == before
    assert [reading.path for reading in readings] == paths
    return readings


def text(reading: Reading) -> str:
    assert reading.loaded, reading.reason
    return reading.loaded.sections[0].text


SLOW = "bad.txt took longer than 2 s to read: split it, or leave it out."
CRASHED = "bad.txt made its reader crash: save it anew with another program, or leave it out."
LARGE = "bad.txt needs more than 0.5 GB of memory to read: split it, or leave it out."
LONG = "bad.txt gives more than 2,000,000 characters: split it into smaller files."
# What a parser could be made to do, and what is then said of "bad.txt".
MISDEEDS = {
    "hangs": ("exec('while True: pass')", SLOW),
    "hangs in C": ("re.match('(a+)+b', 'a' * 99)", SLOW),
    "aborts": ("os.abort()", CRASHED),
    "exits": ("sys.exit()", CRASHED),
    "fills the memory": ("kept = [bytearray(10_000_000) for _ in range(300)]", LARGE),
    "fills the memory behind a parser's back": (
        "exec('try: kept = bytearray(3_000_000_000)\\nexcept Exception as error: raise ValueError() from error')",
        LARGE,
    ),
    "recurs": ("f = lambda: f(); f()", "bad.txt cannot be read (RecursionError): save it anew, or leave it out."),
    "raises": ("raise KeyError(1)", "bad.txt cannot be read (KeyError): save it anew, or leave it out."),
    "gives too much text": ("return text('a' * 2_000_001)", LONG),
    "gives too many sections": ("return Loaded([Section('a')] * 20_001)", LONG),
    "gives no JSON": (
        "return Loaded([Section('a', extra={'a': b'a'})])",
        "bad.txt cannot be read (TypeError): save it anew, or leave it out.",
    ),
}


@pytest.mark.parametrize("misdeed", MISDEEDS)
def test_a_document_that_misbehaves_is_failed_and_the_next_is_read(tmp_path: Path, misdeed: str) -> None:
    statement, reason = MISDEEDS[misdeed]
    body = f"""
        def parse_document(path, data):
            if path.stem == "bad": {statement}
            return text(os.getpid())
    """
    paths = write(tmp_path / "d", ["a.txt", "bad.txt", "b.txt"])
    seconds = 2 if misdeed.startswith("hangs") else 60  # a busy machine takes its time to fill memory
    limits = ReadLimits(seconds=seconds, memory=500_000_000, text=2_000_000)
    first, bad, last = read(paths, limits, child(tmp_path, body))
    assert (bad.status, bad.reason) == ("failed", reason)
    assert (bad.sha256, bad.size, bad.loaded) == (hash_of(paths[1]), 16, None)
    assert (text(first) == text(last)) == (reason == LONG)  # else another process reads on


def test_a_file_waits_for_a_module_that_is_not_installed(tmp_path: Path) -> None:
    body = "def parse_document(path, data): import nowhere"
    (reading,) = read(write(tmp_path / "d", ["a.txt"]), None, child(tmp_path, body))
    assert reading.status == "unopened"
    assert reading.reason == "a.txt cannot be read without the module nowhere: install requirements.txt again."


def test_what_has_no_memory_left_to_answer_with_says_so_by_its_end(tmp_path: Path) -> None:
    body = """
        def fail(*_): raise MemoryError
        reader._failure = fail
        def parse_document(path, data): raise MemoryError
    """
    (reading,) = read(write(tmp_path / "d", ["a.txt"]), None, child(tmp_path, body))
    assert reading.reason == "a.txt needs more than 2 GB of memory to read: split it, or leave it out."


def test_a_reader_that_hangs_ends_by_itself_when_its_parent_is_gone(tmp_path: Path) -> None:
    body = """
        def parse_document(path, data):
            return text([signal.alarm(0), signal.getsignal(signal.SIGALRM) is signal.SIG_DFL])
    """
    (reading,) = read(write(tmp_path / "d", ["a.txt"]), ReadLimits(seconds=30), child(tmp_path, body))
    assert text(reading) == "[40, True]"


NONSENSE = "bad.txt made its reader answer nonsense: leave it out."
START = b'\x00\x00\x00\x59{"sha256": "' + b"0" * 64 + b'", "size": 1}'


@pytest.mark.parametrize(
    ("reply", "then", "said"),
    [
        (b"\x00\x00\x00\x05hello", "time.sleep(999)", NONSENSE),  # no JSON
        (b"\xff\xff\xff\xff", "time.sleep(999)", NONSENSE),  # too long
        *((start, "os._exit(0)", CRASHED) for start in (b"", b"\x00\x00", b"\x00\x00\x00\x09{", START)),
        (START + b'\x00\x00\x00\x50{"sections', "os._exit(0)", CRASHED),
    ],
)
def test_a_reader_that_answers_nonsense_or_breaks_off_is_replaced(
    tmp_path: Path, reply: bytes, then: str, said: str
) -> None:
    body = f"""
        honest = reader._read_and_reply
        def reply(request, descriptor, rules, replies):
            if b"bad" not in request: return honest(request, descriptor, rules, replies)
            replies.write({reply!r})
            replies.flush()
            {then}
        reader._read_and_reply = reply
        def parse_document(path, data): return text(os.getpid())
    """
    first, bad, last = read(write(tmp_path / "d", ["a.txt", "bad.txt", "b.txt"]), None, child(tmp_path, body))
    assert (bad.status, bad.reason) == ("failed", said)
    assert bad.sha256 == ("0" * 64 if START in reply else None)
    assert text(first) != text(last)


def test_a_process_that_was_killed_while_idle_costs_no_file(tmp_path: Path) -> None:
    paths = write(tmp_path / "d", ["a.txt", "b.txt"])
    with Readers(
        workers=1, command=child(tmp_path, "def parse_document(path, data): return text(os.getpid())")
    ) as readers:
        (first,) = readers.read(paths[:1])
        os.kill(int(text(first)), signal.SIGKILL)
        (second,) = readers.read(paths[1:])
    assert second.status == "read"


def test_a_process_that_ends_while_it_takes_a_file_costs_no_file(tmp_path: Path) -> None:
    body = """
        really_read, taken = reader.read_opened, []
        def read_opened(descriptor, path):
            data = really_read(descriptor, path)
            taken.append(path)
            return data if len(taken) == 1 else os._exit(0)
        reader.read_opened = read_opened
    """
    first, second = read(write(tmp_path / "d", ["a.txt", "b.txt"]), None, child(tmp_path, body))
    assert (text(first), text(second)) == ("This is a.txt.", "This is b.txt.")


def test_what_a_parser_prints_is_no_reply(tmp_path: Path) -> None:
    body = """
        def parse_document(path, data):
            print("x" * 9_000, flush=True)
            print("y", file=sys.stderr, flush=True)
            os.write(1, b"z")
            return text(repr(sys.stdin.read()))
    """
    assert text(read(write(tmp_path / "d", ["a.txt"]), None, child(tmp_path, body))[0]) == "''"


def test_a_reader_can_do_little(tmp_path: Path) -> None:
    body = f"""
        import resource as r
        file = open({str(tmp_path / "written")!r}, "wb", buffering=0)  # before it is confined
        def parse_document(path, data):
            try: written = file.write(b"x")
            except OSError: written = 0
            limits = [r.getrlimit(one) for one in (r.RLIMIT_CORE, r.RLIMIT_FSIZE, r.RLIMIT_NOFILE, r.RLIMIT_NPROC)]
            return text(json.dumps([written, limits]))
    """
    written, limits = json.loads(text(read(write(tmp_path / "d", ["a.txt"]), None, child(tmp_path, body))[0]))
    assert written == 0
    assert limits == [[0, 0], [0, 0], [64, 64], [0, 0]]


def test_neither_the_working_directory_nor_the_environment_decides_what_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("core", "json", "retrieval", "pypdf", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("import os; os._exit(7)")
    paths = write(tmp_path / "d", ["a.txt"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    with Readers() as readers:
        assert [text(one) for one in readers.read([*paths, b"d/a.txt"])] == ["This is a.txt."] * 2


@pytest.mark.parametrize(("name", "said"), [(b"a\nb.txt", "a b.txt"), (b"caf\xe9\x1b[31m.txt", "caf\ufffd.txt")])
def test_names_are_bytes_and_are_shown_on_one_line(tmp_path: Path, name: bytes, said: str) -> None:
    path = os.path.join(os.fsencode(tmp_path), name)  # noqa: PTH118
    Path(os.fsdecode(path)).write_bytes(b"A text.")
    gone = path + b".md"
    full, none = read([path, gone])
    assert text(full) == "A text."
    assert (none.status, none.sha256) == ("unopened", None)
    assert none.reason == f"{said}.md cannot be found any more: restore it, or index its folder again."


def test_paths_that_no_file_can_have_are_not_opened() -> None:
    for reading in read([b"/etc/a\0b.txt", b"", b"/" + b"a" * 300, b"/" + b"a/" * 5_000]):
        assert (reading.status, reading.sha256) in (("unopened", None), ("failed", None))
        assert reading.reason


def test_only_regular_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "fifo.txt")
    (tmp_path / "device.txt").symlink_to("/dev/zero")
    (tmp_path / "folder.txt").mkdir()
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(tmp_path)  # a socket's path must be short
        listener.bind("socket.txt")
        names = ("fifo", "device", "folder", "socket", "loop")
        readings = read([os.fsencode(tmp_path / f"{name}.txt") for name in names])
    assert [one.reason for one in readings] == [f"{name}.txt is not a regular file: name a document." for name in names]
    assert [(one.status, one.sha256) for one in readings] == [("failed", None)] * 5


@pytest.mark.parametrize("stand_in", ["fifo", "link"])
def test_what_takes_a_file_s_place_before_it_is_opened_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stand_in: str
) -> None:
    (path, other) = write(tmp_path / "d", ["a.txt", "secret.txt"])
    require = files._require_regular

    def exchange(path: Path, found: os.stat_result) -> None:
        require(path, found)
        path.unlink()
        os.mkfifo(path) if stand_in == "fifo" else path.symlink_to(os.fsdecode(other))
        monkeypatch.setattr(files, "_require_regular", require)

    monkeypatch.setattr(files, "_require_regular", exchange)
    (reading,) = read([path])
    assert (reading.loaded, reading.sha256) == (None, None)
    assert re.match(r"a\.txt (is not a regular file|cannot be opened)", reading.reason)


@pytest.fixture
def dead_drive(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A drive that opens "dead.txt" no sooner than the test has ended; the event says that it was asked to."""
    asked, ended = threading.Event(), threading.Event()

    def wait(path: Path) -> int:
        if path.stem == "dead":
            asked.set()
            ended.wait(PATIENCE)
        return open_document(path)

    monkeypatch.setattr(reader_process, "open_document", wait)
    yield asked
    ended.set()


def test_a_file_on_a_drive_that_does_not_answer_is_given_up(tmp_path: Path, dead_drive: threading.Event) -> None:
    lost, read_on = read(write(tmp_path / "d", ["dead.txt", "a.txt"]), ReadLimits(seconds=1))
    assert lost.reason == "dead.txt took longer than 1 s to read: split it, or leave it out."
    assert text(read_on) == "This is a.txt."


def test_whoever_stops_does_not_wait_for_a_drive_that_does_not_answer(
    tmp_path: Path, dead_drive: threading.Event
) -> None:
    with Readers(ReadLimits(seconds=999), workers=1) as readers:
        readings = readers.read(write(tmp_path / "d", ["a.txt", "dead.txt"]))
        assert text(next(readings)) == "This is a.txt."
        assert dead_drive.wait(PATIENCE)


def test_a_file_without_permission_is_to_be_tried_again(tmp_path: Path) -> None:
    first, closed = write(tmp_path / "d", ["a.txt", "closed.txt"])
    (tmp_path / "d" / "closed.txt").chmod(0)
    with Readers(workers=1) as readers:
        assert [text(one) for one in readers.read([first])] == ["This is a.txt."]
        with somebody_else():
            (reading,) = readers.read([closed])
    assert (reading.status, reading.sha256) == ("unopened", None)
    assert reading.reason == "closed.txt cannot be opened (Permission denied): check its permissions."


def test_the_hash_is_of_what_was_parsed_when_the_file_changes_meanwhile(tmp_path: Path) -> None:
    marks = Marks(tmp_path)
    body = """
        def parse_document(path, data):
            mark()
            while os.stat(path).st_size != 3: time.sleep(0.01)
            return really_parse(path, data)
    """
    (path,) = write(tmp_path / "d", ["a.txt"])
    before = hash_of(path)

    def cut() -> None:
        marks.wait_for(1)
        os.truncate(path, 3)

    cutting = threading.Thread(target=cut)
    cutting.start()
    (reading,) = read([path], None, child(tmp_path, body, marks))
    cutting.join()
    assert (text(reading), reading.sha256, reading.size) == ("This is a.txt.", before, 14)
    assert hash_of(path) != before


def test_a_file_that_grows_while_it_is_read_is_hashed_as_it_was_read(tmp_path: Path) -> None:
    body = """
        class Status:  # as of a moment before the last bytes were written
            def __init__(self, status): self.st_mode, self.st_size = status.st_mode, status.st_size - 5
        fstat = os.fstat
        os.fstat = lambda number: Status(fstat(number))
    """
    (path,) = write(tmp_path / "d", ["a.txt"])
    (reading,) = read([path], None, child(tmp_path, body))
    assert (text(reading), reading.sha256) == ("This is a.txt.", hash_of(path))


# A parent that reads, for what is done to it; its readers leave their number as the name of a file.
PARENT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell may have taken from the tests
sys.path.insert(0, {checkout!r})
from retrieval.sandbox.pool import Readers
with Readers(workers=1, command={command!r}) as readers:
    for reading in readers.read({paths!r}):
        {first}
        print(reading.loaded.sections[0].text, flush=True)
    {then}
"""


def parent(tmp_path: Path, body: str, *, first: str = "", then: str = "") -> "subprocess.Popen[bytes]":
    paths = write(tmp_path / "d", ["a.txt", "b.txt"])
    program = PARENT.format(checkout=CHECKOUT, command=child(tmp_path, body), paths=paths, first=first, then=then)
    return subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def busy(statement: str) -> str:
    """Return a reader that says its number for one file and does something endless with the next."""
    return f"""
        def parse_document(path, data):
            if path.stem == "b":
                {statement}
            return text(os.getpid())
    """


def test_an_idle_reader_does_not_outlive_its_parent(tmp_path: Path) -> None:
    with parent(tmp_path, busy("pass"), then="signal.pause()") as process:
        assert process.stdout
        number = int(process.stdout.readline())
        process.stdout.readline()
        assert runs(number)
        process.kill()
        process.wait()
        end = time.monotonic() + PATIENCE
        while runs(number) and time.monotonic() < end:
            time.sleep(0.05)
        left = runs(number)
        if left:
            os.kill(number, signal.SIGKILL)
        assert not left


@pytest.mark.parametrize("first", ["", "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])"])
def test_ctrl_c_ends_a_reader_quietly_whichever_thread_it_comes_to(tmp_path: Path, first: str) -> None:
    with parent(tmp_path, busy("while True: pass"), first=first) as process:
        assert process.stdout
        number = int(process.stdout.readline())
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    assert not runs(number)
    assert said.count(b"Traceback") == 1  # the parent's own
    assert said.rstrip().endswith(b"KeyboardInterrupt")


def test_ctrl_c_that_the_parent_survives_does_not_reach_the_reader(tmp_path: Path) -> None:
    then = "signal.signal(signal.SIGINT, lambda *_: None); os.killpg(0, signal.SIGINT); "
    then += "[print(one.loaded.sections[0].text) for one in readers.read([reading.path])]"
    with parent(tmp_path, busy("pass"), then=then) as process:
        out, _ = process.communicate(timeout=PATIENCE)
    assert len(out.split()) == 3
    assert len(set(out.split())) == 1


def stream(content: bytes, more: bytes = b"/Filter /FlateDecode") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), more, content)


CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
PAGES = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>"
FORM = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >>"


def deflated(megabytes: int, piece: bytes = b"\0") -> bytes:
    squeeze = zlib.compressobj(9)
    block = (piece * (1_000_000 // len(piece) + 1))[:1_000_000]
    return b"".join(squeeze.compress(block) for _ in range(megabytes)) + squeeze.flush()


LAUGHS = b"<!DOCTYPE a [<!ENTITY b0 'ha'>%s]><a>&b30;</a>" % b"".join(
    b"<!ENTITY b%d '&b%d;&b%d;'>" % (number, number - 1, number - 1) for number in range(1, 31)
)
HOSTILE: dict[str, Callable[[], bytes]] = {  # made when needed: some take a second
    "content that inflates.pdf": lambda: pdf_of(CATALOG, PAGES, PAGE, stream(deflated(300)), stream(b"")),
    "content of endless operators.pdf": lambda: pdf_of(
        CATALOG, PAGES, PAGE, stream(deflated(100, b"BT (a) Tj ET ")), stream(b"")
    ),
    "forms within themselves.pdf": lambda: pdf_of(
        CATALOG, PAGES, PAGE, stream(b"/X Do /X Do", b""), stream(b"/X Do /X Do", FORM)
    ),
    "arrays without end.pdf": lambda: pdf_of(CATALOG, PAGES, PAGE[:-2] + b"/A " + b"[" * 200_000 + b">>"),
    "billions of pages.pdf": lambda: pdf_of(CATALOG, b"<< /Type /Pages /Kids [] /Count 2000000000 >>"),
    "entities.xhtml": lambda: LAUGHS,
    "tags without end.html": lambda: b"<div>" * 1_000_000,
    "one cell.csv": lambda: b'a,"' + b"b," * 10_000_000,
    "lists within lists.csv": lambda: b"a,b\n['" + b"[" * 900_000 + b"'],c\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_costs_only_itself(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(HOSTILE[name]())
    paths = [os.fsencode(tmp_path / name), *write(tmp_path, ["next.txt"])]
    hostile, following = read(paths, ReadLimits(seconds=3, memory=250_000_000))
    assert hostile.sha256 == hash_of(paths[0])
    assert hostile.status == "read" or re.fullmatch(rf"{re.escape(name)} .{{20,150}}\.", hostile.reason)
    assert text(following) == "This is next.txt."
