"""The common ways to build a self-reflecting answerer, as systems over our models."""

from benchmarks.peers.peer import Peer
from benchmarks.peers.ways import best_of, filter_flag, sequential
from run.context import Services


def peers(services: Services, k: int) -> list[Peer]:
    """Return every peer, over the same services and with the same number of passages as ours."""
    ways = {"sequential": sequential, "best-of": best_of, "filter-flag": filter_flag}
    return [Peer(name, way, services, k) for name, way in ways.items()]
