"""Save the embedded model's state after each prompt's fixed part, so that no later start reads that part again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, convert_to_openai_messages
from langchain_core.prompts import ChatPromptTemplate

from core.files import NotRegularFileError, make_contents_private, make_private_folder, open_private, open_regular

MAX_BYTES = 400_000_000  # some 14,000 tokens; the fixed parts of all prompts together are about 2,500
# Tokens: the server reads fewer than this again for a prefix that is in its prompt cache.
READ_AGAIN = 200
_SLOT = "/slots/0?action="

# Sends a request to the server, a POST if there is a body, and returns the reply; raises OSError for a refusal.
Request = Callable[[str, Mapping[str, Any] | None], str]


class Prefixes:
    """The fixed parts of ``prompts``, saved as the server's own state files in ``folder``, readable by the user only.

    The files hold nothing that a user typed. Each file's name holds the hash of its inputs (model, engine, settings,
    text) and its own SHA-256: llama.cpp aborts the process on a truncated file, so only intact files reach it. When
    ``max_bytes`` is exceeded, the least recently used files are deleted. A failure here only costs time: the model then
    reads the prompt.
    """

    def __init__(self, folder: Path, prompts: Sequence[ChatPromptTemplate], max_bytes: int = MAX_BYTES) -> None:
        self.folder = folder
        self._prompts = prompts
        self._max_bytes = max_bytes
        self._missing: list[tuple[str, ChatPromptTemplate]] = []
        self._used: set[str] = set()

    def note(self, messages: Sequence[BaseMessage]) -> None:
        """Remember that a prompt, identified by its first message, was used."""
        self._used.add(messages[0].text)

    def open(self) -> bool:
        """Create the folder if need be; return True if it is writable."""
        try:
            make_private_folder(self.folder)
            make_contents_private(self.folder)
        except OSError:
            return False
        return os.access(self.folder, os.W_OK | os.X_OK)

    def restore(self, request: Request, identity: str) -> None:
        """Load all prefixes saved for ``identity`` into the server, one after another through its slot.

        The server moves a prefix from the slot into its prompt cache when a different prompt takes the slot; so a
        prompt of one token is sent between two prefixes. The last prefix stays in the slot.
        """
        self._missing, restored = [], 0
        for prompt in self._prompts:
            key = hashlib.sha256(json.dumps([identity, _filled(prompt, "")]).encode()).hexdigest()[:32]
            try:
                path = next((path for path in self.folder.glob(f"{key}-*.kv") if self._is_intact(path)), None)
                if path is None:
                    self._missing.append((key, prompt))
                    continue
                if restored:
                    request("/completion", {"prompt": [0], "n_predict": 0})
                request(f"{_SLOT}restore", {"filename": path.name})
                restored += 1
                os.utime(path)
            except OSError:
                continue

    def keep(self, request: Request) -> None:
        """Save the used prefixes for which `restore` found no file, if the server is idle and has read them."""
        with suppress(OSError, ValueError, KeyError):
            used = [(key, prompt) for key, prompt in self._missing if _filled(prompt, "")[0]["content"] in self._used]
            fixed = [(key, fixed_tokens(prompt, request)) for key, prompt in used]
            if _tokens_read(request) < sum(len(tokens) for _, tokens in fixed):
                return
            for key, tokens in fixed:
                read = json.loads(request("/completion", {"prompt": tokens, "n_predict": 0}))
                self._save(key, len(tokens), request)
                if read["timings"]["prompt_n"] > READ_AGAIN:
                    return  # it was not in the cache, and perhaps neither are the others
        self._prune()

    def _save(self, key: str, length: int, request: Request) -> None:
        new = self.folder / f"{key}.{os.getpid()}.new"
        try:
            os.close(open_private(new, os.O_WRONLY | os.O_TRUNC))  # the server itself would create it world-readable
            saved = json.loads(request(f"{_SLOT}save", {"filename": new.name}))
            if saved["n_saved"] == length:
                new.replace(self.folder / f"{key}-{_sha256(new)}.kv")
        finally:
            new.unlink(missing_ok=True)

    def _is_intact(self, path: Path) -> bool:
        """Return True if the file is intact; delete a damaged one."""
        with suppress(NotRegularFileError):
            if path.stem.partition("-")[2] == _sha256(path):
                return True
        path.unlink(missing_ok=True)
        return False

    def _prune(self) -> None:
        with suppress(OSError):
            files = sorted(self.folder.glob("*.kv"), key=lambda path: path.stat().st_mtime, reverse=True)
            total = 0
            for path in files:
                total += path.stat().st_size
                if total > self._max_bytes:
                    path.unlink(missing_ok=True)


def fixed_tokens(prompt: ChatPromptTemplate, request: Request) -> list[int]:
    """Return the tokens that every use of the prompt begins with, rendered by the model's own chat template."""
    return common_prefix([prompt_tokens(_filled(prompt, filler), request) for filler in ("0", "x")])


def prompt_tokens(messages: Any, request: Request) -> list[int]:
    """Return the tokens of OpenAI messages, rendered by the model's own chat template."""
    text = json.loads(request("/apply-template", {"messages": messages}))["prompt"]
    reply = request("/tokenize", {"content": text, "add_special": True, "parse_special": True})
    return list(json.loads(reply)["tokens"])


def common_prefix(token_lists: Sequence[list[int]]) -> list[int]:
    """Return the tokens that all lists begin with."""
    return [one[0] for one in takewhile(lambda each: len(set(each)) == 1, zip(*token_lists, strict=False))]


def _filled(prompt: ChatPromptTemplate, filler: str) -> Any:
    return convert_to_openai_messages(prompt.format_messages(**dict.fromkeys(prompt.input_variables, filler)))


def _tokens_read(request: Request) -> int:
    """Return how many prompt tokens the server has read since its start; 0 while it is busy."""
    figures = dict(line.rsplit(" ", 1) for line in request("/metrics", None).splitlines() if line[:1] != "#")
    if float(figures["llamacpp:requests_processing"]) or float(figures["llamacpp:requests_deferred"]):
        return 0
    return int(float(figures["llamacpp:prompt_tokens_total"]))


def _sha256(path: Path) -> str:
    with open_regular(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
