"""The judge's replies, saved as they arrive, so that nothing is asked twice."""

import asyncio
import hashlib
import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from core.files import FOLDER_MODE
from core.json_lines import append, open_lines, writing


def key_of(model: str, messages: Sequence[BaseMessage]) -> str:
    """Return the key of a question put to a model: a hash of the model's name and every word of the question."""
    content = json.dumps([model, *([message.type, message.text] for message in messages)])
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def model_name(model: object) -> str:
    """Return the name of the chat model behind a generator or a critic, by which its replies are known."""
    return str(getattr(getattr(model, "chat", None), "name", type(model).__name__))


class Replies(AbstractContextManager["Replies"]):
    """Replies by key in a JSONL file, one per line, appended as they arrive.

    A last line torn by a kill is cut off when the file is opened; a line that is not a reply is skipped. Raises
    `RequestError` if the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, Any] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        with writing(path):
            path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            self._file, _ = open_lines(path, b'{"key": "', self._accept)

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    async def get_or_ask(self, key: str, about: Mapping[str, Any], ask: Callable[[], Awaitable[Any]]) -> Any:
        """Return the reply stored under ``key``; else that of ``ask``, stored with ``about`` unless it is None."""
        async with self._locks.setdefault(key, asyncio.Lock()):
            if key not in self._known:
                reply = await ask()
                if reply is None:
                    return None
                self._keep(key, about, reply)
            return self._known[key]

    def _keep(self, key: str, about: Mapping[str, Any], reply: Any) -> None:
        with writing(self._path):
            append(self._file, json.dumps({"key": key, **about, "reply": reply}).encode() + b"\n")
        self._known[key] = reply

    def _accept(self, line: bytes) -> bool:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return False
        if isinstance(row, dict) and isinstance(row.get("key"), str) and row.get("reply") is not None:
            self._known[row["key"]] = row["reply"]
            return True
        return False
