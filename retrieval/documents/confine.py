"""Take from a process that reads documents what reading does not need, as far as Linux offers it: the child's side.

Landlock closes all files but those that Python is made of, and seccomp all system calls but those of one process that
computes. Neither needs a privilege, both bind root as well, and neither can be undone.
"""

import ctypes
import importlib.util
import os
import struct
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_PARSERS = ("bs4", "charset_normalizer", "cryptography", "mammoth", "pypdf", "pypdfium2")  # imported when needed
_SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store", "/gnu/store", "/etc/ld.so.cache"),
    *("/usr/share/fonts", "/usr/share/X11/fonts", "/usr/local/share/fonts"),  # by which pdfium finds how wide text is
)
# Of linux/prctl.h and linux/landlock.h.
_SET_DUMPABLE, _SET_SECCOMP, _SET_NO_NEW_PRIVS = 4, 22, 38
_FILTER = 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on all machines
_VERSION = 1
_PATH_BENEATH = 1
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_FILE_RIGHTS = ((1, (1 << 13) - 1), (2, 1 << 13), (3, 1 << 14), (5, 1 << 15))  # by the version that brought them
_TCP, _TCP_SINCE = 0b11, 4
_SCOPES, _SCOPES_SINCE = 0b11, 6  # abstract Unix sockets, and signals


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _fields_ = (("rights", ctypes.c_uint64), ("folder", ctypes.c_int32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def confine(system_calls: bytes) -> dict[str, bool]:
    """Give up files and system calls; return which of ``landlock`` and ``seccomp`` are in force.

    ``system_calls`` is the filter for seccomp, empty where there is none.
    """
    if sys.platform != "linux":
        return {"landlock": False, "seccomp": False}
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    # No image of its memory, with a document in it, goes to whoever collects those of crashed programs.
    libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    if libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return {"landlock": False, "seccomp": False}
    landlock = _close_files(libc, _needed())
    return {"landlock": landlock, "seccomp": bool(system_calls) and _filter_calls(libc, system_calls)}


def _needed() -> Iterator[str]:
    """Yield the files and folders that modules are loaded from; the checkout, which may hold a key, is not one."""
    yield str(Path(__file__).resolve().parents[1])
    for prefix in {sys.prefix, sys.base_prefix, sys.base_exec_prefix}:
        yield from (f"{prefix}/lib", f"{prefix}/{sys.platlibdir}")
    yield str(Path(os.__file__).parent)
    yield from _SYSTEM
    yield from filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))
    for name in _PARSERS:
        spec = importlib.util.find_spec(name)
        if spec and spec.origin:
            yield str(Path(spec.origin).parents[1])


def _close_files(libc: ctypes.CDLL, readable: Iterable[str]) -> bool:
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)
    if version < 1:
        return False
    rules = _Ruleset(
        sum(rights for since, rights in _FILE_RIGHTS if version >= since),
        _TCP if version >= _TCP_SINCE else 0,
        _SCOPES if version >= _SCOPES_SINCE else 0,
    )
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(ctypes.sizeof(rules)), 0)
    if ruleset < 0:
        return False
    for path in readable:
        with suppress(OSError):
            rights = _READ_FILE | (_READ_FOLDER if os.path.isdir(path) else 0)  # noqa: PTH112
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(_Beneath(rights, place)), 0)
            os.close(place)
    failed = libc.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    return not failed


def _filter_calls(libc: ctypes.CDLL, code: bytes) -> bool:
    program = _Program(len(code) // struct.calcsize("HBBI"), code)
    return not libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0)
