"""Confine a process that reads documents with seccomp and Landlock, where Linux has them.

The parent builds the seccomp filter: a system call that is not listed fails as on a kernel without that call, which
the C library and Python can handle. The child installs the filter, and with Landlock gives up access to all files but
those of Python itself. Neither needs a privilege, both bind root as well, and neither can be undone.
"""

import ctypes
import errno
import importlib.util
import os
import struct
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

_ALLOWED = (
    # open files, and looking for files
    *("read", "readv", "pread64", "preadv", "write", "writev", "lseek", "close", "dup", "dup2", "dup3", "recvmsg"),
    *("fstat", "newfstatat", "stat", "lstat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat"),
    *("getcwd", "getdents64", "fadvise64", "poll", "ppoll", "select", "pselect6"),
    # memory
    *("brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "mincore", "membarrier", "futex", "rseq"),
    *("arch_prctl", "set_tid_address", "set_robust_list", "getrandom"),
    # time and scheduling
    *("clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "times", "getrusage"),
    *("sched_yield", "sched_getaffinity", "getcpu", "sysinfo", "uname", "getrlimit", "setrlimit"),
    *("alarm", "setitimer"),
    # the process itself, its signals and its exit
    *("getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getpgrp", "getpgid", "getsid"),
    *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigsuspend", "rt_sigtimedwait"),
    *("sigaltstack", "restart_syscall", "exit", "exit_group"),
)
_DESCRIPTOR_COMMANDS = ("F_GETFL", "F_SETFL", "F_GETFD", "F_SETFD", "F_DUPFD", "F_DUPFD_CLOEXEC")


def reading_calls(process: int) -> bytes:
    """Return a seccomp filter (BPF) that lets ``process`` open files read-only and signal only itself.

    Empty where seccomp is unavailable: on other systems, and without libseccomp or pyseccomp.
    """
    try:
        import fcntl

        from pyseccomp import ALLOW, EQ, ERRNO, MASKED_EQ, Arg, SyscallFilter  # type: ignore[import-untyped]
    except (ImportError, RuntimeError, OSError):  # RuntimeError: pyseccomp found no libseccomp
        return b""
    opening = {"open": 1, "openat": 2}  # system calls, and which argument has the flags
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
    rules: list[tuple[Any, ...]] = [(ALLOW, name) for name in _ALLOWED]
    rules += [(ALLOW, name, Arg(flags, MASKED_EQ, writing, 0)) for name, flags in opening.items()]
    rules += [(ALLOW, "fcntl", Arg(1, EQ, getattr(fcntl, command))) for command in _DESCRIPTOR_COMMANDS]
    rules += [(ALLOW, name, Arg(0, EQ, process)) for name in ("kill", "tgkill", "tkill")]
    rules += [(ALLOW, "prlimit64", Arg(0, EQ, 0))]  # its own limits
    rules += [(ERRNO(errno.ENOTTY), "ioctl")]  # Python checks whether each file is a terminal
    try:
        calls = SyscallFilter(ERRNO(errno.ENOSYS))
        for rule in rules:
            with suppress(OSError):  # unknown on this machine, or to an older libseccomp
                calls.add_rule(*rule)
        with os.fdopen(os.memfd_create("system calls"), "w+b") as file:
            calls.export_bpf(file)
            file.seek(0)
            return file.read()
    except OSError:
        return b""


_PARSERS = ("bs4", "charset_normalizer", "cryptography", "mammoth", "pypdf", "pypdfium2")  # imported when needed
_SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store", "/gnu/store", "/etc/ld.so.cache"),
    *("/usr/share/fonts", "/usr/share/X11/fonts", "/usr/local/share/fonts"),  # pdfium measures text with them
)
# From linux/prctl.h and linux/landlock.h.
_SET_DUMPABLE, _SET_SECCOMP, _SET_NO_NEW_PRIVS = 4, 22, 38
_FILTER = 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on all machines
_VERSION = 1
_PATH_BENEATH = 1
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_FILE_RIGHTS = ((1, (1 << 13) - 1), (2, 1 << 13), (3, 1 << 14), (5, 1 << 15))  # by the ABI version that added them
_TCP, _TCP_SINCE = 0b11, 4
_SCOPES, _SCOPES_SINCE = 0b11, 6  # abstract Unix sockets, and signals


def confine(system_calls: bytes) -> dict[str, bool]:
    """Confine this process; return which of ``landlock`` and ``seccomp`` are in force.

    ``system_calls`` is the seccomp filter, empty if there is none.
    """
    if sys.platform != "linux":
        return {"landlock": False, "seccomp": False}
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    # A core dump, with a document in it, must not reach a crash reporter.
    libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    if libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return {"landlock": False, "seccomp": False}
    landlock = _restrict_files(libc, _readable())
    return {"landlock": landlock, "seccomp": bool(system_calls) and _filter_calls(libc, system_calls)}


def _readable() -> Iterator[str]:
    """Yield the files and folders that modules are loaded from, not the whole checkout, which may hold a key."""
    root = Path(__file__).resolve().parents[2]
    yield from (str(root / "retrieval"), str(root / "core"))
    for prefix in {sys.prefix, sys.base_prefix, sys.base_exec_prefix}:
        yield from (f"{prefix}/lib", f"{prefix}/{sys.platlibdir}")
    yield str(Path(os.__file__).parent)
    yield from _SYSTEM
    yield from filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))
    for name in _PARSERS:
        spec = importlib.util.find_spec(name)
        if spec and spec.origin:
            yield str(Path(spec.origin).parents[1])


def _restrict_files(libc: ctypes.CDLL, readable: Iterable[str]) -> bool:
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)
    if version < 1:
        return False
    rules = struct.pack(
        "=QQQ",  # files, network, scopes
        sum(rights for since, rights in _FILE_RIGHTS if version >= since),
        _TCP if version >= _TCP_SINCE else 0,
        _SCOPES if version >= _SCOPES_SINCE else 0,
    )
    ruleset = libc.syscall(_CREATE_RULESET, rules, ctypes.c_size_t(len(rules)), 0)
    if ruleset < 0:
        return False
    for path in readable:
        with suppress(OSError):
            rights = _READ_FILE | (_READ_FOLDER if os.path.isdir(path) else 0)  # noqa: PTH112
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
            os.close(descriptor)
    failed = libc.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    return not failed


def _filter_calls(libc: ctypes.CDLL, code: bytes) -> bool:
    instructions = ctypes.create_string_buffer(code)
    program = struct.pack("HP", len(code) // struct.calcsize("HBBI"), ctypes.addressof(instructions))
    return not libc.prctl(_SET_SECCOMP, _FILTER, program, 0, 0)
