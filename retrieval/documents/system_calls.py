"""Name the system calls that a process needs to read documents, as a filter for seccomp: the parent's side.

A call that is not named fails as one that the kernel does not have. The C library and Python have another way for each
call that an older kernel lacks, so that newer ones of both still work.
"""

import errno
import os
from contextlib import suppress
from typing import Any

_FREE = (
    # what is open, and what there is to open
    *("read", "readv", "pread64", "preadv", "write", "writev", "lseek", "close", "dup", "dup2", "dup3", "recvmsg"),
    *("fstat", "newfstatat", "stat", "lstat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat"),
    *("getcwd", "getdents64", "fadvise64", "poll", "ppoll", "select", "pselect6"),
    # memory
    *("brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "mincore", "membarrier", "futex", "rseq"),
    *("arch_prctl", "set_tid_address", "set_robust_list", "getrandom"),
    # time and turns
    *("clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "times", "getrusage"),
    *("sched_yield", "sched_getaffinity", "getcpu", "sysinfo", "uname", "getrlimit", "setrlimit"),
    # itself, its signals and its end
    *("getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getpgrp", "getpgid", "getsid"),
    *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigsuspend", "rt_sigtimedwait"),
    *("sigaltstack", "restart_syscall", "exit", "exit_group"),
)
_DESCRIPTOR_COMMANDS = ("F_GETFL", "F_SETFL", "F_GETFD", "F_SETFD", "F_DUPFD", "F_DUPFD_CLOEXEC")


def reading_calls(process: int) -> bytes:
    """Return the filter, as the kernel takes it, of a process that may open files to read and signal itself alone.

    Empty where there is no seccomp to be had: on other systems, and without libseccomp or the package that calls it.
    """
    try:
        import fcntl

        from pyseccomp import ALLOW, EQ, ERRNO, MASKED_EQ, Arg, SyscallFilter  # type: ignore[import-untyped]
    except (ImportError, RuntimeError, OSError):  # RuntimeError: the package found no libseccomp
        return b""
    to_read = {"open": 1, "openat": 2}  # and which argument has the flags
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
    rules: list[tuple[Any, ...]] = [(ALLOW, name) for name in _FREE]
    rules += [(ALLOW, name, Arg(flags, MASKED_EQ, writing, 0)) for name, flags in to_read.items()]
    rules += [(ALLOW, "fcntl", Arg(1, EQ, getattr(fcntl, command))) for command in _DESCRIPTOR_COMMANDS]
    rules += [(ALLOW, name, Arg(0, EQ, process)) for name in ("kill", "tgkill", "tkill")]
    rules += [(ALLOW, "prlimit64", Arg(0, EQ, 0))]  # its own limits
    rules += [(ERRNO(errno.ENOTTY), "ioctl")]  # Python asks of each file whether it is a terminal
    try:
        calls = SyscallFilter(ERRNO(errno.ENOSYS))
        for rule in rules:
            with suppress(OSError):  # this machine, or an older libseccomp, has no such call
                calls.add_rule(*rule)
        with os.fdopen(os.memfd_create("system calls"), "w+b") as file:
            calls.export_bpf(file)
            file.seek(0)
            return file.read()
    except OSError:
        return b""
