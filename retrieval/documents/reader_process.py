"""Drive one process that reads documents, whatever they do to it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import RLock, Timer
from typing import IO, NoReturn, cast

from errors import RequestError
from retrieval.documents.reader import NO_MEMORY, Rules, needs_memory, send
from retrieval.documents.reader_replies import Reading, ReadLimits, take_message, take_outcome, take_start
from retrieval.errors import shown

_CHECKOUT = str(Path(__file__).resolve().parents[2])
_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from retrieval.documents.reader import main; main()"
# -I leaves out what the environment and the working directory would add to the modules.
_COMMAND = ("-I", "-B", "-X", "utf8", "-c", _PROGRAM, _CHECKOUT)
_ENVIRONMENT = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")  # without which Python may not start
_START = 60.0  # seconds until a new process must be ready
_LEAVE = 1.0  # seconds for a process that has closed its pipe to end by itself, which shows why
_END = 10.0  # seconds until a killed process must be gone
_FILES = 500  # that one process reads before a new one takes its place


class ReaderProcess:
    """A process that reads one file at a time; it is started when needed, and again when it is gone.

    One thread at a time may call ``read`` and ``close``; any may call ``kill``.
    """

    def __init__(self, limits: ReadLimits, command: Sequence[str] | None = None) -> None:
        self.killed = False
        self._limits = limits
        self._command = command or (sys.executable, *_COMMAND)
        self._lock = RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._files = 0

    def read(self, path: bytes) -> Reading:
        """Return what became of a file, whatever it does to the process.

        Raises ``RequestError`` when no process can be started.
        """
        used = self._process is not None
        reading = self._ask(path)
        if reading is None and used:  # it was gone before it had the file: another than this may have done that
            reading = self._ask(path)
        return reading or Reading(path, "failed", _crashed(path))

    def kill(self) -> None:
        """End the process at once and for good."""
        with self._lock:
            self.killed = True
            if self._process:
                _kill(self._process)

    def close(self) -> None:
        """End the process and wait until it is gone."""
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

    def _ask(self, path: bytes) -> Reading | None:
        """Return what the process makes of a file, None if it was gone before it had read its bytes."""
        process = self._running()
        requests, replies = _pipes(process)
        self._files += 1
        reading, worn = Reading(path, "failed"), True
        clock = _Clock(process, self._limits.seconds)
        try:
            with clock:
                send(requests, path if os.path.isabs(path) else os.path.join(os.getcwdb(), path))  # noqa: PTH109, PTH117, PTH118
                first = take_message(replies)
                reading = take_start(reading, first)
                reading, worn = take_outcome(reading, first, replies, self._limits)
        except (OSError, EOFError):
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LEAVE)
            self.close()
            return self._explain(reading, process.returncode, clock.expired)
        except (ValueError, RecursionError):
            reason = f"{_name(path)} made its reader answer nonsense: leave it out."
            reading = replace(reading, status="failed", reason=reason)
        finally:
            if worn or clock.expired or self._files >= _FILES:
                self.close()
        return reading

    def _explain(self, reading: Reading, code: int | None, expired: bool) -> Reading | None:
        """Say why a process is gone, or None if it may not be the file's doing."""
        name = _name(reading.path)
        if expired or code == -getattr(signal, "SIGXCPU", 0):
            limit = f"{self._limits.seconds:g} s"
            return replace(reading, reason=f"{name} took longer than {limit} to read: split it, or leave it out.")
        if code == NO_MEMORY:
            return replace(reading, reason=needs_memory(name, self._limits.memory))
        return replace(reading, reason=_crashed(reading.path)) if reading.sha256 else None

    def _running(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self.killed:
                raise RuntimeError("This process was ended: start another.")
            if self._process:
                return self._process
            process = self._process = _start(self._command)
        self._files = 0
        requests, replies = _pipes(process)
        path = [entry for entry in sys.path if os.path.isabs(entry)]  # noqa: PTH117 - it may be ''
        rules = Rules(self._limits.seconds, self._limits.memory, self._limits.text, path)
        try:
            with _Clock(process, _START):
                send(requests, json.dumps(rules._asdict()).encode())
                ready = "ready" in take_message(replies)
        except (OSError, EOFError, ValueError, RecursionError):
            ready = False
        if not ready:
            self.close()
            _refuse("it ended at once")
        return process


class _Clock:
    """Kills a process that takes too long, and tells so in ``expired``."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self.expired = False
        self._process = process
        self._timer = Timer(seconds, self._expire)
        self._timer.daemon = True

    def _expire(self) -> None:
        self.expired = True
        _kill(self._process)

    def __enter__(self) -> None:
        try:
            self._timer.start()
        except RuntimeError as error:
            _refuse("no thread is left", error)

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._timer.join()


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a process that shares neither the terminal nor the secrets of this one."""
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    flags = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
            creationflags=flags,
        )
    except OSError as error:
        _refuse(error.strerror or str(error), error)


def _refuse(why: str, error: Exception | None = None) -> NoReturn:
    raise RequestError(
        f"The process that reads documents cannot be started ({why}): check the installation and free memory."
    ) from error


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that was not waited for yet, and what it may have started."""
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
    return shown(Path(os.fsdecode(path)).name)
