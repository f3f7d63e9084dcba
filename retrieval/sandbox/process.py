"""The parent's side of the sandbox: start, limit and replace one process that reads documents."""

import base64
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Event, RLock, Thread, Timer
from typing import IO, NoReturn, cast

from core.errors import RequestError, UnreadableDocument
from core.text import shown_path
from retrieval.documents.load import open_document
from retrieval.sandbox.child import NO_MEMORY, Rules, Task, needs_memory, not_opened, receive, send
from retrieval.sandbox.confinement import reading_calls
from retrieval.sandbox.replies import Reading, ReadLimits, Ready, read_file, read_page, read_start

_PACKAGE = __name__.rpartition(".")[0]  # installed it is one of selfrag's
_ROOT = str(Path(__file__).resolve().parents[_PACKAGE.count(".") + 1])
_PROGRAM = f"import sys; sys.path.insert(0, sys.argv[1]); from {_PACKAGE}.child import main; main()"
# -I keeps the environment and the working directory from adding modules.
_COMMAND = ("-I", "-B", "-X", "utf8", "-c", _PROGRAM, _ROOT)
_ENVIRONMENT = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")  # without which Python may not start
_START = 60.0  # seconds until a new process must be ready
_EXIT = 1.0  # seconds for a process that has closed its pipe to exit by itself, with a telling exit code
_END = 10.0  # seconds until a killed process must be gone
_FILES = 500  # that one process reads before it is replaced
_PASSES_DESCRIPTORS = hasattr(socket, "send_fds")  # where it is False the process opens the files itself
_UNCONFINED = {  # what a compromised process could do, by whether there is Landlock, and seccomp
    (False, False): "read your other files and reach the network: Linux from 5.13 on, with libseccomp, prevents both",
    (False, True): "read your other files: Linux from 5.13 on prevents it, where Landlock is not turned off",
    (True, False): "reach the network and other programs: install libseccomp and, of requirements.txt, pyseccomp",
}


class ReaderProcess:
    """A process that reads one file at a time; it is started when needed, and restarted when it is gone.

    ``read`` and ``close`` are for one thread at a time; ``kill`` is thread-safe.
    """

    def __init__(self, limits: ReadLimits, command: Sequence[str] | None = None) -> None:
        self.killed = False
        self.note = ""  # a sentence on what the process is not confined from, if anything
        self._limits = limits
        self._command = command or (sys.executable, *_COMMAND)
        self._lock = RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._opening: Future[int] = Future()
        self._files = 0

    def read(self, path: bytes, task: Task | None = None) -> Reading:
        """Return the outcome of reading a file, even if it crashes the process or makes it hang.

        With a task only a page is read, else all sections. Raises ``RequestError`` when no process can be started.
        """
        try:
            descriptor = self._open(path) if _PASSES_DESCRIPTORS else None
        except CancelledError:  # a timeout, or killed
            return Reading(path, "failed", self._too_long(path))
        except (UnreadableDocument, OSError, ValueError) as error:
            return Reading(path, *not_opened(_name(path), error))
        try:
            used = self._process is not None
            reading = self._request(path, task, descriptor)
            if reading is None and used:  # it died before it had the file: an earlier file may be the cause
                if descriptor is not None:
                    os.lseek(descriptor, 0, os.SEEK_SET)
                reading = self._request(path, task, descriptor)
        finally:
            if descriptor is not None:
                os.close(descriptor)
        return reading or Reading(path, "failed", _crashed(path))

    def kill(self) -> None:
        """Kill the process, and start none in its place."""
        with self._lock:
            self.killed = True
            self._opening.cancel()
            if self._process:
                _kill(self._process)

    def close(self) -> None:
        """Kill the process and wait until it is gone."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        _kill(process)
        with suppress(subprocess.TimeoutExpired):  # it hangs in the kernel, on a dead network drive perhaps
            process.wait(_END)
        for pipe in _pipes(process):
            with suppress(OSError):
                pipe.close()
        if self._channel:
            self._channel.close()

    def _open(self, path: bytes) -> int:
        """Open a file for the process, which may not open files, in a thread: a dead network drive may block for ever.

        Raises ``CancelledError`` on a timeout or when killed, else as ``open_document`` does.
        """
        with self._lock:
            opening = self._opening = Future()
            if self.killed:
                opening.cancel()
        try:
            Thread(target=_open, args=(Path(os.fsdecode(path)), opening), daemon=True).start()
        except RuntimeError as error:
            _fail_to_start("no thread is left", error)
        with suppress(TimeoutError):
            return opening.result(self._limits.seconds)
        opening.cancel()
        return opening.result()

    def _request(self, path: bytes, task: Task | None, descriptor: int | None) -> Reading | None:
        """Have the process read a file; return None if it died before it had read the file's bytes."""
        process = self._start_if_needed()
        requests, replies = _pipes(process)
        self._files += 1
        reading, worn = Reading(path, "failed"), True
        expired = Event()
        try:
            with _timeout(process, self._limits.seconds) as expired:
                send(requests, json.dumps([os.fsdecode(path), type(task).__name__, task]).encode())
                if self._channel and descriptor is not None:
                    socket.send_fds(self._channel, [b"f"], [descriptor])
                reading, last = read_start(reading, replies)
                if task is None:
                    reading, worn = read_file(reading, last, replies, self._limits)
                else:
                    reading, worn = read_page(reading, last, replies)
        except (OSError, EOFError):
            with suppress(subprocess.TimeoutExpired):
                process.wait(_EXIT)
            self.close()
            return self._explain(reading, process.returncode, expired.is_set())
        except ValueError:
            reason = f"{_name(path)} made its reader answer nonsense: leave it out."
            reading = replace(reading, status="failed", reason=reason)
        finally:
            if worn or expired.is_set() or self._files >= _FILES:
                self.close()
        return reading

    def _explain(self, reading: Reading, code: int | None, expired: bool) -> Reading | None:
        """Return the outcome with the reason why the process died, or None if the file may not be the cause."""
        name = _name(reading.path)
        if expired:
            return replace(reading, reason=self._too_long(reading.path))
        if code == NO_MEMORY:
            return replace(reading, reason=needs_memory(name, self._limits.memory))
        return replace(reading, reason=_crashed(reading.path)) if reading.sha256 else None

    def _too_long(self, path: bytes) -> str:
        return f"{_name(path)} took longer than {self._limits.seconds:g} s to read: split it, or leave it out."

    def _start_if_needed(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self.killed:
                raise RuntimeError("This process was ended: start another.")
            if self._process:
                return self._process
            process, self._channel, files = _start(self._command)
            self._process = process
        self._files = 0
        requests, replies = _pipes(process)
        path = [entry for entry in sys.path if os.path.isabs(entry)]  # noqa: PTH117 - it may be ''
        calls = base64.b64encode(reading_calls(process.pid)).decode()
        rules = Rules(self._limits.seconds, self._limits.memory, self._limits.text, path, calls, files)
        try:
            with _timeout(process, _START):
                send(requests, json.dumps(rules._asdict()).encode())
                ready = Ready.model_validate_json(receive(replies))
        except (OSError, EOFError, ValueError):
            self.close()
            _fail_to_start("it ended at once")
        risk = _UNCONFINED.get((ready.landlock, ready.seccomp))
        self.note = f"A document that takes over the process that reads it could {risk}." if risk else ""
        return process


@contextmanager
def _timeout(process: subprocess.Popen[bytes], seconds: float) -> Iterator[Event]:
    """Kill the process after ``seconds``; the event that is yielded is set then."""
    expired = Event()

    def expire() -> None:
        expired.set()
        _kill(process)

    timer = Timer(seconds, expire)
    timer.daemon = True
    try:
        timer.start()
    except RuntimeError as error:
        _fail_to_start("no thread is left", error)
    try:
        yield expired
    finally:
        timer.cancel()
        timer.join()


def _start(command: Sequence[str]) -> tuple[subprocess.Popen[bytes], socket.socket | None, int | None]:
    """Start a process without this one's terminal and environment, which may hold secrets.

    Return it with a socket to send it open files, and the descriptor of the socket's other end.
    """
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    flags = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    ours = theirs = None
    try:
        if _PASSES_DESCRIPTORS:
            ours, theirs = socket.socketpair()
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
            creationflags=flags,
            pass_fds=[theirs.fileno()] if theirs else [],
        )
        return process, ours, theirs.fileno() if theirs else None
    except OSError as error:
        if ours:
            ours.close()
        _fail_to_start(error.strerror or str(error), error)
    finally:
        if theirs:
            theirs.close()


def _open(path: Path, opening: "Future[int]") -> None:
    """Open a file and set the future's result, or close the file if the future was cancelled."""
    try:
        descriptor = open_document(path)
    except Exception as error:  # noqa: BLE001 - raised again where the future is awaited
        if opening.set_running_or_notify_cancel():
            opening.set_exception(error)
        return
    if opening.set_running_or_notify_cancel():
        opening.set_result(descriptor)
    else:
        os.close(descriptor)


def _fail_to_start(cause: str, error: Exception | None = None) -> NoReturn:
    raise RequestError(
        f"The process that reads documents cannot be started ({cause}): check the installation and free memory."
    ) from error


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that has not been waited for yet, and its children."""
    with suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    return cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)


def _crashed(path: bytes) -> str:
    return f"{_name(path)} made its reader crash: save it anew with another program, or leave it out."


def _name(path: bytes) -> str:
    return shown_path(Path(os.fsdecode(path)).name)
