"""A model server that also embeds, serves files, and keeps what it was sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from benchmarks.index.bag_of_words import BagOfWords
from tests.integration.loopback import Sent
from tests.integration.misbehaviour import Fault, Wire, whole
from tests.integration.openai_server import OpenAIServer


class Server(OpenAIServer):
    """Serve chat as `OpenAIServer` does, and embeddings, of which ``embed`` harms each reply."""

    def __init__(self) -> None:
        self.received: list[str] = []
        self.embed: Fault = Fault()
        self.pages: Callable[[str], Wire] = lambda path: Wire((b"",), 404)
        super().__init__()

    def answer(self, sent: Sent) -> Wire:
        """The reply to one request."""
        if sent.method == "HEAD":
            return whole(b"")
        if sent.method == "GET":
            return self.pages(sent.path)
        body = sent.body
        self.received.append(json.dumps(body, ensure_ascii=False))
        if sent.path.endswith("/embeddings"):
            return self.embed.carry(whole(self._embedded(body)))
        return super().answer(sent)

    def _embedded(self, body: dict[str, Any]) -> bytes:
        given = body["input"] if isinstance(body["input"], list) else [body["input"]]
        vectors = BagOfWords().embed_documents([str(one) for one in given])
        reply: dict[str, Any] = {
            "object": "list",
            "model": "embedder",
            "data": [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(vectors)],
            "usage": {"prompt_tokens": 5, "total_tokens": 5},
        }
        return json.dumps(reply).encode()
