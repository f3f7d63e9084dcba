"""Who is writing an index, for whoever has to wait."""

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from private_files import read_regular, write_private
from retrieval.clean import clean

_NAME = "writer.json"
_LARGEST = 10_000  # bytes
_LONGEST = 200  # characters of a command that are shown


def sign(folder: Path) -> None:
    """Leave word that this process is writing; where that cannot be written the lock does without."""
    command = " ".join([Path(sys.argv[0]).name if sys.argv else "python", *sys.argv[1:2]])
    word = {"process": os.getpid(), "command": command, "since": time.time()}
    with suppress(OSError, ValueError):
        write_private(folder / _NAME, json.dumps(word).encode())


def unsign(folder: Path) -> None:
    """Take the word back."""
    with suppress(OSError):
        (folder / _NAME).unlink()


def signed(folder: Path) -> str:
    """Say who is writing, as the beginning of a sentence."""
    try:
        word = json.loads(read_regular(folder / _NAME, _LARGEST))
        process, command, since = int(word["process"]), str(word["command"]), float(word["since"])
        began = time.strftime("%H:%M", time.localtime(since))
    except (OSError, ValueError, TypeError, KeyError, OverflowError):
        return "Another process"
    name = " ".join(clean(command).split())[:_LONGEST]
    return f"Process {process} ({name}, since {began})"
