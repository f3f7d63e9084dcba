"""Keep on disk what the embedded model has read of each prompt's fixed part, so that no later start reads it anew."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

from langchain_core.messages import convert_to_openai_messages
from langchain_core.prompts import ChatPromptTemplate

from core.files import NotRegularFileError, make_contents_private, make_private_folder, open_private, open_regular

MOST_BYTES = 400_000_000  # some 14,000 tokens; the fixed parts of all prompts together are about 2,500
# A prefix that is in the server's prompt cache is not read again but for its last tokens.
READ_AGAIN = 200
_SLOT = "/slots/0?action="

# Sends a request to the server, a POST where there is a body, and returns the reply; raises OSError for a refusal.
Ask = Callable[[str, Mapping[str, Any] | None], str]


class Prefixes:
    """The fixed parts of ``prompts`` as the server's own state files in ``folder``, which only the user may read.

    They hold nothing that a user typed. Each is named by what it was made of (model, engine, settings, text) and
    by its SHA-256: llama.cpp aborts the process over a file that was cut short, so only whole ones reach it.
    Those that were not used for longest go first when ``most_bytes`` are exceeded. Whatever fails here only
    costs time: the model then reads the prompt.
    """

    def __init__(self, folder: Path, prompts: Sequence[ChatPromptTemplate], most_bytes: int = MOST_BYTES) -> None:
        self.folder = folder
        self._prompts = prompts
        self._most_bytes = most_bytes
        self._missing: list[tuple[str, ChatPromptTemplate]] = []

    def open(self) -> bool:
        """Whether the folder is there and can be written to; made if need be."""
        try:
            make_private_folder(self.folder)
            make_contents_private(self.folder)
        except OSError:
            return False
        return os.access(self.folder, os.W_OK | os.X_OK)

    def restore(self, ask: Ask, identity: str) -> None:
        """Give the server all that was kept for ``identity``, one after another through its slot.

        What a slot holds goes into the server's prompt cache when an unlike request takes the slot: here one of
        a single token. The last prefix stays in the slot.
        """
        self._missing, restored = [], 0
        for prompt in self._prompts:
            key = _key(identity, prompt)
            try:
                path = next((path for path in self.folder.glob(f"{key}-*.kv") if self._whole(path)), None)
                if path is None:
                    self._missing.append((key, prompt))
                    continue
                if restored:
                    ask("/completion", {"prompt": [0], "n_predict": 0})
                ask(f"{_SLOT}restore", {"filename": path.name})
                restored += 1
                os.utime(path)
            except OSError:
                continue

    def keep(self, ask: Ask) -> None:
        """Write what `restore` missed, as long as the server has just read it; it must be idle."""
        with suppress(OSError, ValueError, KeyError):
            fixed = [(key, fixed_tokens(prompt, ask)) for key, prompt in self._missing]
            if _tokens_read(ask) < sum(len(tokens) for _, tokens in fixed):
                return
            for key, tokens in fixed:
                read = json.loads(ask("/completion", {"prompt": tokens, "n_predict": 0}))
                self._save(key, len(tokens), ask)
                if read["timings"]["prompt_n"] > READ_AGAIN:
                    return  # it was not needed so far; neither, perhaps, were the others
        self._prune()

    def _save(self, key: str, length: int, ask: Ask) -> None:
        new = self.folder / f"{key}.{os.getpid()}.new"
        try:
            os.close(open_private(new, os.O_WRONLY | os.O_TRUNC))  # the server fills it, and would make it for all
            saved = json.loads(ask(f"{_SLOT}save", {"filename": new.name}))
            if saved["n_saved"] == length:
                new.replace(self.folder / f"{key}-{_sha256(new)}.kv")
        finally:
            new.unlink(missing_ok=True)

    def _whole(self, path: Path) -> bool:
        """Whether the file is what was written; a damaged one is deleted."""
        with suppress(NotRegularFileError):
            if path.stem.partition("-")[2] == _sha256(path):
                return True
        path.unlink(missing_ok=True)
        return False

    def _prune(self) -> None:
        with suppress(OSError):
            files = sorted(self.folder.glob("*.kv"), key=lambda path: path.stat().st_mtime, reverse=True)
            held = 0
            for path in files:
                held += path.stat().st_size
                if held > self._most_bytes:
                    path.unlink(missing_ok=True)


def fixed_tokens(prompt: ChatPromptTemplate, ask: Ask) -> list[int]:
    """The tokens that every use of the prompt begins with, as the model's own chat template writes it."""
    uses = []
    for filler in ("0", "x"):
        text = json.loads(ask("/apply-template", {"messages": _filled(prompt, filler)}))["prompt"]
        said = ask("/tokenize", {"content": text, "add_special": True, "parse_special": True})
        uses.append(json.loads(said)["tokens"])
    return [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(*uses, strict=False))]


def file_identity(path: Path) -> str:
    """What tells one model file from another at once: its size, its age, its head and its tail."""
    status = path.stat()
    with path.open("rb") as stream:
        digest = hashlib.sha256(stream.read(1 << 20))
        stream.seek(max(0, status.st_size - (1 << 20)))
        digest.update(stream.read())
    return f"{status.st_size} {status.st_mtime_ns} {digest.hexdigest()}"


def _filled(prompt: ChatPromptTemplate, filler: str) -> Any:
    return convert_to_openai_messages(prompt.format_messages(**dict.fromkeys(prompt.input_variables, filler)))


def _key(identity: str, prompt: ChatPromptTemplate) -> str:
    made_of = json.dumps([identity, _filled(prompt, "")])
    return hashlib.sha256(made_of.encode()).hexdigest()[:32]


def _tokens_read(ask: Ask) -> int:
    """How many tokens of prompts the server has read since it was started; none while it is at work."""
    figures = dict(line.rsplit(" ", 1) for line in ask("/metrics", None).splitlines() if line[:1] != "#")
    if float(figures["llamacpp:requests_processing"]) or float(figures["llamacpp:requests_deferred"]):
        return 0
    return int(float(figures["llamacpp:prompt_tokens_total"]))


def _sha256(path: Path) -> str:
    with open_regular(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
