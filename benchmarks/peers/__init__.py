"""The common ways to build a self-reflecting answerer, as systems over our models: their behaviour, not their code."""

from __future__ import annotations

from benchmarks.peers.best_of import best_of
from benchmarks.peers.filter_flag import filter_flag
from benchmarks.peers.peer import Peer
from benchmarks.peers.sequential import sequential
from graph.context import Services


def peers(services: Services, k: int) -> list[Peer]:
    """Every peer, over the same services and with the same number of passages as ours."""
    return [
        Peer("sequential", sequential, services, k),
        Peer("best-of", best_of, services, k),
        Peer("filter-flag", filter_flag, services, k),
    ]
