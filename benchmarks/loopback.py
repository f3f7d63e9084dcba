"""Where a benchmark's own server runs, and how its record is read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.request import ProxyHandler, build_opener


@dataclass(frozen=True)
class Loopback:
    """A server on this machine, which no proxy can reach."""

    port: int

    @property
    def base_url(self) -> str:
        """What a client is told."""
        return f"http://127.0.0.1:{self.port}/v1"

    def read(self, path: str) -> Any:
        """What the server says of itself at ``path``, which is JSON."""
        with build_opener(ProxyHandler({})).open(f"http://127.0.0.1:{self.port}/{path}", timeout=60) as response:
            return json.load(response)
