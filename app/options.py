"""Parse the values of options and settings, and check the files that they name."""

import calendar
import errno
import math
import os
import re
from argparse import ArgumentParser, ArgumentTypeError, _ActionsContainer
from collections.abc import Iterable
from datetime import date
from importlib.util import find_spec
from pathlib import Path

from core.errors import RequestError
from core.files import require_regular, write_private
from core.text import is_blank, shown_path, without_surrogates


def probability(word: str) -> float:
    """Read a number from 0 to 1. Raises `ValueError` for anything else."""
    value = float(word)
    if not 0 <= value <= 1:
        raise ValueError(f"{word} is not from 0 to 1")
    return value


def risk(word: str) -> float:
    """Read a share above 0 and below 1. Raises `ValueError` for anything else."""
    value = float(word)
    if not 0 < value < 1:
        raise ValueError(f"{word} is not between 0 and 1")
    return value


def weights(word: str) -> tuple[float, float, float]:
    """Read the weights of relevance, support and usefulness, such as ``1,1,0.5``.

    Raises `ValueError` unless there are three finite numbers, none below 0.
    """
    relevance, support, usefulness = (float(part) for part in word.split(","))
    if not all(math.isfinite(weight) and weight >= 0 for weight in (relevance, support, usefulness)):
        raise ValueError(f"{word} has a number that is not finite, or below 0")
    return relevance, support, usefulness


def number_range(word: str) -> tuple[int, int]:
    """Read ``7`` or ``3-5``: the first and the last number, from 1. Raises `ArgumentTypeError` for anything else."""
    found = re.fullmatch("([0-9]{1,9})(?:-([0-9]{1,9}))?", word)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= first <= last:
        raise ArgumentTypeError(f"{word!r} is no number such as 7 and no range such as 3-5")
    return first, last


def first_day(word: str) -> date:
    """Read the first day of ``2024``, ``2024-05`` or ``2024-05-31``. Raises `ArgumentTypeError` for anything else."""
    if not re.fullmatch("[0-9]{4}(-[0-9]{2}){0,2}", word):
        raise ArgumentTypeError(f"{word!r} is no day such as 2024-05-31, 2024-05 or 2024")
    try:
        return date.fromisoformat(f"{word}-01-01"[:10])
    except ValueError as error:
        raise ArgumentTypeError(f"{word!r} is in no calendar") from error


def last_day(word: str) -> date:
    """Read the last day of ``2024``, ``2024-05`` or ``2024-05-31``. Raises `ArgumentTypeError` for anything else."""
    first, named = first_day(word), word.count("-")
    month = first.month if named else 12
    return date(first.year, month, first.day if named == 2 else calendar.monthrange(first.year, month)[1])


def file_path(word: str) -> Path:
    """Read a path. Raises `ArgumentTypeError` for an empty one: an unset shell variable is not the working folder."""
    if not word.strip():
        raise ArgumentTypeError("a path is empty")
    return Path(word)


def file_pattern(word: str) -> str:
    """Read a pattern of files. If it is ``.`` or begins with ``..``, it is made absolute from the working folder."""
    if not word.strip():
        raise ArgumentTypeError("a pattern is empty")
    path = os.path.normpath(word)
    return os.path.abspath(path) if path == "." or path.startswith("..") else path  # noqa: PTH100 - keeps to links


def add_docs(parser: ArgumentParser, use: str = "ask this file or folder alone") -> None:
    parser.add_argument("--docs", action="append", type=file_path, metavar="PATH", help=f"{use}; repeatable")


def add_json(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def add_concurrency(parser: _ActionsContainer, what: str = "questions") -> None:
    use = f"{what} at a time (1 with the embedded model, else 8)"
    parser.add_argument("--concurrency", type=count, metavar="N", help=use)


def require_suffix(path: Path, *suffixes: str) -> None:
    """Raise `RequestError` for a file with another suffix, or for a PNG if a package that draws is missing."""
    if path.suffix.lower() not in suffixes:
        endings = " or ".join(filter(None, (", ".join(suffixes[:-1]), suffixes[-1])))
        raise RequestError(f"{shown_path(path.name)} cannot be written: name a file that ends in {endings}.")
    if path.suffix.lower() == ".png":
        require_charts("A PNG")


def require_charts(what: str) -> None:
    """Raise `RequestError` if a package that draws is not installed, before a question is asked."""
    for name in ("matplotlib", "novasvg"):
        if find_spec(name) is None:
            raise RequestError(f"{what} needs {name}: run pip install -r requirements-charts.txt.")


def require_output(path: Path, *suffixes: str) -> None:
    """Raise `RequestError` unless a file has one of the suffixes and can be written, before a question is asked."""
    require_suffix(path, *suffixes)
    require_writable_file(path)


def as_text(word: str) -> str:
    """Replace the characters of ``word`` that cannot be encoded; return "" if only blank ones are left."""
    text = without_surrogates(word)
    return "" if is_blank(text) else text


def count(word: str) -> int:
    """Read a whole number from 1. Raises `ArgumentTypeError` for anything else."""
    if not word.isdecimal() or int(word) < 1:
        raise ArgumentTypeError(f"{word!r} is no number from 1")
    return int(word)


def require_writable_file(path: Path) -> None:
    """Raise `RequestError` if a file cannot be written, before a question is asked. The file is not touched."""
    try:
        if os.path.lexists(path):
            require_regular(path, follow_links=False)
        elif not path.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    except OSError as error:
        raise unwritable_file(path, error) from error


def write_file(path: Path, data: bytes, *, new: bool = False) -> None:
    """Write a file that only the user may read; a ``new`` one must not exist. Raises `RequestError` if it fails."""
    try:
        write_private(path, data, new=new)
    except FileExistsError as error:
        raise RequestError(f"{shown_path(path)} is there already: name a new file.") from error
    except OSError as error:
        raise unwritable_file(path, error) from error


def unwritable_file(path: Path, error: OSError) -> RequestError:
    return RequestError(f"{shown_path(path)} cannot be written ({error.strerror}): name another file.")


def require_docs(paths: Iterable[Path] | None, named_by: str = "the path given to --docs") -> None:
    """Raise `RequestError` for a path that is not there, before any model is loaded."""
    for path in paths or ():
        if not os.path.exists(path):  # noqa: PTH110 - Path's own raises for a name that is too long
            raise RequestError(f"{shown_path(path)} does not exist: check {named_by}.")
