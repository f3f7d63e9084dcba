"""A model server that also embeds, keeps what it was sent, and counts who connects."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

from benchmarks.index.bag_of_words import BagOfWords
from tests.integration.openai_server import OpenAIServer
from tests.stress.faults.misbehaviour import Fault, Wire, whole

Embedded = dict[str, Any]


class Server(OpenAIServer):
    """Serves chat as `OpenAIServer` does, and embeddings, of which ``embed`` edits each reply before it is carried."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.received: list[str] = []
        self.connections = 0
        self.embed: Fault = Fault()
        self.pages: Callable[[str], Wire] = lambda path: Wire((b"",), 404)
        self._http.verify_request = self._count  # type: ignore[method-assign]
        self._http.handle_error = lambda *_: None  # type: ignore[method-assign]

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._http.server_address[1])

    def _count(self, *_: object) -> bool:
        self.connections += 1
        return True

    def _handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - the handler's own is self
        class Handler(super()._handler()):  # type: ignore[misc]
            def do_GET(self) -> None:  # noqa: N802
                try:
                    server._play(self, server.pages(self.path))
                except OSError:
                    self.close_connection = True

            def do_HEAD(self) -> None:  # noqa: N802
                self.send_response(200)
                self.end_headers()

        return Handler

    def serve(self, http: BaseHTTPRequestHandler, body: dict[str, Any], key: str) -> None:
        """Answer one request."""
        self.received.append(json.dumps(body, ensure_ascii=False))
        if http.path.endswith("/embeddings"):
            return self._play(http, self.embed.carry(whole(self._embedded(body))))
        return super().serve(http, body, key)

    def _embedded(self, body: dict[str, Any]) -> bytes:
        given = body["input"] if isinstance(body["input"], list) else [body["input"]]
        vectors = BagOfWords().embed_documents([str(one) for one in given])
        reply: Embedded = {
            "object": "list",
            "model": "embedder",
            "data": [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(vectors)],
            "usage": {"prompt_tokens": 5, "total_tokens": 5},
        }
        self.embed.edit(reply)
        return json.dumps(reply).encode()
