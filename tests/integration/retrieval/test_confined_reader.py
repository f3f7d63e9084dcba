"""Code that a document runs inside its reader reaches no file, no network and no other process."""

import ctypes
import json
import os
import socket
import stat
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from retrieval.documents.loaded import Loaded, Section
from retrieval.sandbox import process as reader_process
from retrieval.sandbox.confinement import reading_calls
from retrieval.sandbox.pool import Readers, ReadLimits
from tests.integration.retrieval.conftest import Opener
from tests.unit.retrieval.sandbox.children import child, write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines a process without a privilege")


def landlock_version() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(444, None, ctypes.c_size_t(0), 1))


def has_seccomp() -> bool:
    filters = "Seccomp:" in Path("/proc/self/status").read_text(encoding="utf-8")
    try:
        ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return False
    return filters and find_spec("pyseccomp") is not None


# What code in a reader could try, with `outside`, a folder, `secret`, a file in it, `tcp` and `udp`, listeners' ports,
# `unix`, the name of two more, and `parent`. It has worked if nothing is raised.
FILES = {
    "read another file": "open(secret).read()",
    "read another file by a handle": "os.open('secret', os.O_RDONLY, dir_fd=os.open(outside, os.O_PATH))",
    "list another folder": "os.listdir(outside)",
    "read the settings of the checkout": "open(checkout + '/pyproject.toml').read()",
    "list the checkout": "os.listdir(checkout)",
    "read the environment of the parent": "open(f'/proc/{parent}/environ', 'rb').read()",
    "read the memory of the parent": "open(f'/proc/{parent}/mem', 'rb').seek(0)",
    "follow the descriptors of the parent": "os.listdir(f'/proc/{parent}/fd')",
    "read its own environment": "open('/proc/self/environ', 'rb').read()",
    "read the names of the users": "open('/etc/passwd').read()",
    "open a device": "os.open('/dev/zero', os.O_RDONLY)",
}
CALLS = {
    "create a file": "os.open(outside + '/new', os.O_WRONLY | os.O_CREAT)",
    "create a file without a name": "os.open(outside, os.O_WRONLY | os.O_TMPFILE)",
    "open a file to write": "os.open(secret, os.O_WRONLY)",
    "open a file to append": "os.open(secret, os.O_RDWR | os.O_APPEND)",
    "cut a file": "os.truncate(secret, 0)",
    "delete a file": "os.unlink(outside + '/victim')",
    "rename a file": "os.rename(outside + '/victim', outside + '/other')",
    "link a file": "os.link(secret, outside + '/link')",
    "link to a file": "os.symlink(secret, outside + '/symlink')",
    "make a folder": "os.mkdir(outside + '/folder')",
    "remove a folder": "os.rmdir(outside + '/empty')",
    "make a pipe with a name": "os.mkfifo(outside + '/fifo')",
    "change permissions": "os.chmod(secret, 0o777)",
    "change the owner": "os.chown(secret, os.getuid(), os.getgid())",
    "change times": "os.utime(secret)",
    "change attributes": "os.setxattr(secret, 'user.a', b'b')",
    "connect by TCP": "socket.create_connection(('127.0.0.1', tcp), 5)",
    "listen by TCP": "socket.create_server(('127.0.0.1', 0))",
    "send by UDP": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'a', ('127.0.0.1', udp))",
    "connect to a Unix socket": "socket.socket(socket.AF_UNIX).connect(unix)",
    "connect to an abstract Unix socket": "socket.socket(socket.AF_UNIX).connect('\\0' + unix)",
    "open a netlink socket": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "make a pair of sockets": "socket.socketpair()",
    "fork": "os.fork() or os._exit(0)",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "start a thread": "threading.Thread(target=int).start()",
    "become another program": "os.execv('/bin/true', ['true'])",
    "trace the parent": "succeed(libc.ptrace(0x4206, parent, 0, 0))",
    "have itself traced": "succeed(libc.ptrace(0, 0, 0, 0))",
    "read the memory of the parent by a call": "peek(libc.process_vm_readv)",
    "write the memory of the parent by a call": "peek(libc.process_vm_writev)",
    "signal the parent": "os.kill(parent, 0)",
    "signal a thread of the parent": "succeed(libc.tgkill(parent, parent, 0))",
    "signal all processes": "os.kill(-1, 0)",
    "signal the parent's group": "os.killpg(os.getpgid(parent), 0)",
    "hold the parent": "os.pidfd_open(parent)",
    "have the parent signalled": "fcntl.fcntl(inherited[0], fcntl.F_SETOWN, parent)",
    "choose the signal": "fcntl.fcntl(inherited[0], 10, 9)",
    "limit the parent": "resource.prlimit(parent, resource.RLIMIT_NOFILE)",
    "slow the parent": "os.setpriority(os.PRIO_PROCESS, parent, 10)",
    "move the parent": "os.sched_setaffinity(parent, {0})",
    "enter new name spaces": "succeed(libc.unshare(0x10000000))",
    "mount": "succeed(libc.mount(b'none', outside.encode(), b'tmpfs', 0, None))",
    "change the root": "os.chroot(outside)",
    "become another user": "os.setuid(os.getuid())",
    "make a file in memory": "os.memfd_create('a')",
    "share memory": "succeed(libc.shmget(0, 4096, 0o1600))",
    "queue messages": "succeed(libc.msgget(0, 0o1600))",
    "use io_uring": "succeed(libc.syscall(425, 1, ctypes.create_string_buffer(200)))",
    "load programs into the kernel": "succeed(libc.syscall(321 if x86 else 280, 0, b'a' * 64, 64))",
    "use the kernel's keys": "succeed(libc.syscall(250 if x86 else 219, 0, -3, 1))",
    "observe the machine": "succeed(libc.syscall(298 if x86 else 241, bytes(128), 0, -1, -1, 0))",
    "keep faults waiting": "succeed(libc.syscall(323 if x86 else 282, 1))",
    "leave its session": "os.setpgid(0, 0)",
    "type into a terminal": "fcntl.ioctl(inherited[0], 0x5412, b'a')",
}
BODY = """
import ctypes, fcntl, resource, signal, socket, stat, threading
libc = ctypes.CDLL(None, use_errno=True)
globals().update({values!r})
parent, x86 = os.getppid(), os.uname().machine == "x86_64"

def succeed(result):
    if result < 0: raise OSError(ctypes.get_errno(), "")

def peek(call):
    class Piece(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
    mine = Piece(ctypes.cast(ctypes.create_string_buffer(8), ctypes.c_void_p), 8)
    succeed(call(parent, ctypes.byref(mine), 1, ctypes.byref(Piece(0x1000, 8)), 1, 0))

def is_open(number):
    try: os.fstat(number)
    except OSError: return False
    return True

def parse_document(path, data):
    global inherited
    inherited = [number for number in range(3, 1_024) if is_open(number)]
    outcomes = dict(inherited=[os.fstat(number).st_mode for number in inherited])
    outcomes["environment"] = dict(os.environ)
    outcomes["standard"] = [os.fstat(number).st_rdev for number in range(3)]
    for name, attempt in {attempts!r}.items():
        try: exec(attempt, globals())
        except Exception as error: outcomes[name] = repr(error)
        else: outcomes[name] = "worked"
    return text(json.dumps(outcomes))
"""


@pytest.fixture(scope="module")
def taken_over(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what came of each attempt, by its name, of code that a reader was made to run."""
    folder = tmp_path_factory.mktemp("reader")
    outside = tmp_path_factory.mktemp("outside")
    for name in ("secret", "victim"):
        (outside / name).write_text("sesame", encoding="utf-8")
    (outside / "empty").mkdir()
    attempts = {**(FILES if landlock_version() >= 1 else {}), **(CALLS if has_seccomp() else {})}
    checkout = Path(__file__).resolve().parents[3]
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(type=socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        udp.bind(("127.0.0.1", 0))
        name = f"/tmp/self-rag-test-{os.getpid()}"  # a socket's path must be short
        unix.bind(name)
        abstract.bind("\0" + name)
        for listener in (unix, abstract):
            listener.listen()
        values = {
            "outside": str(outside),
            "secret": str(outside / "secret"),
            "checkout": str(checkout),
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "unix": name,
        }
        command = child(folder, BODY.format(values=values, attempts=attempts))
        try:
            with pytest.MonkeyPatch.context() as patch, Readers(ReadLimits(seconds=60), 1, command=command) as readers:
                patch.setenv("OPENAI_API_KEY", "sesame")
                (reading,) = readers.read(write(folder / "d", ["a.txt"]))
        finally:
            Path(name).unlink()
    assert reading.loaded, reading.reason
    left = {path.name for path in outside.iterdir()}
    return {**json.loads(reading.loaded.sections[0].text), "left": left, "secret": (outside / "secret").read_text()}


def refused(outcome: str) -> bool:
    """Whether the system refused it, rather than that the attempt is wrong."""
    return outcome.startswith(("PermissionError(", "OSError(", "RuntimeError(\"can't start new thread"))


@pytest.mark.skipif(landlock_version() < 1, reason="this kernel has no Landlock")
@pytest.mark.parametrize("attempt", FILES)
def test_code_in_a_reader_reads_no_file(taken_over: dict[str, Any], attempt: str) -> None:
    assert refused(taken_over[attempt]), taken_over[attempt]


@pytest.mark.skipif(not has_seccomp(), reason="there is no libseccomp, or no seccomp in this kernel")
@pytest.mark.parametrize("attempt", CALLS)
def test_code_in_a_reader_changes_nothing_and_reaches_nobody(taken_over: dict[str, Any], attempt: str) -> None:
    assert refused(taken_over[attempt]), taken_over[attempt]
    assert taken_over["left"] == {"secret", "victim", "empty"}
    assert taken_over["secret"] == "sesame"


def test_a_reader_inherits_its_channels_and_no_secret(taken_over: dict[str, Any]) -> None:
    kinds = [stat.S_IFMT(mode) for mode in taken_over["inherited"]]
    counter = [stat.S_IFREG]  # of its own memory
    assert sorted(kinds) == sorted([stat.S_IFIFO, stat.S_IFIFO, stat.S_IFSOCK, *counter])
    assert taken_over["standard"] == [Path(os.devnull).stat().st_rdev] * 3
    assert set(taken_over["environment"]) <= {"LC_CTYPE", "LD_LIBRARY_PATH"}
    assert "sesame" not in str(taken_over["environment"])


@pytest.mark.parametrize(
    ("landlock", "seccomp", "note"),
    [
        (True, True, None),
        (True, False, "reach the network and other programs: install libseccomp"),
        (False, True, "read your other files: Linux from 5.13 on"),
        (False, False, "read your other files and reach the network"),
    ],
)
def test_what_a_reader_cannot_be_kept_from_is_said_once(
    tmp_path: Path, landlock: bool, seccomp: bool, note: str
) -> None:
    body = f"reader.confine = lambda calls: {{'landlock': {landlock}, 'seccomp': {seccomp}}}"
    with Readers(workers=2, command=child(tmp_path, body)) as readers:
        assert readers.note == ""
        readings = list(readers.read(write(tmp_path / "d", ["a.txt", "b.txt", "c.txt"])))
    assert [reading.status for reading in readings] == ["read"] * 3
    assert f"could {note}" in readers.note if note else readers.note == ""


def test_a_sync_notes_once_that_readers_are_not_confined(
    open_library: Opener, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_process, "reading_calls", lambda process: b"")
    library = open_library()
    library.add([docs])
    report = library.sync()
    assert len(report.added) == 3
    (note,) = report.notes
    assert note.startswith("A document that takes over the process that reads it could ")
    assert library.sync().notes == []  # nothing was read


def test_there_is_no_filter_without_libseccomp(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bool(reading_calls(1)) == has_seccomp()
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    assert reading_calls(1) == b""


def test_a_system_that_cannot_hand_over_files_has_the_reader_open_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_process, "_PASSES_DESCRIPTORS", False)
    command = child(tmp_path, "reader.confine = lambda calls: {}")
    with Readers(workers=1, command=command) as readers:
        here, gone = readers.read([*write(tmp_path / "d", ["a.txt"]), b"/nowhere.txt"])
    assert here.loaded == Loaded([Section("This is a.txt.")])
    assert gone.reason == "nowhere.txt cannot be found any more: restore it, or index its folder again."
