"""Self-RAG: answers from your own documents that are grounded in quoted passages, or an honest no."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from core.version import VERSION as VERSION

if TYPE_CHECKING:
    from app.front_door import SelfRAG
    from app.results.events import DraftToken, Event, Finished, NodeFinished, NodeStarted
    from app.results.result import Result, Results
    from app.settings import Settings
    from core.errors import ModelError, RequestError, SelfRAGError
    from core.types import Turn
    from retrieval.filters import Filter
    from run.context import Context, Limits, Thresholds, Weights

PUBLIC = {
    "app.front_door": ("SelfRAG",),
    "app.results.events": ("Event", "NodeStarted", "NodeFinished", "DraftToken", "Finished"),
    "app.results.result": ("Result", "Results"),
    "app.settings": ("Settings",),
    "core.types": ("Turn",),
    "core.errors": ("SelfRAGError", "RequestError", "ModelError"),
    "run.context": ("Context", "Limits", "Thresholds", "Weights"),
    "retrieval.filters": ("Filter",),
}

__all__ = [
    "Context",
    "DraftToken",
    "Event",
    "Filter",
    "Finished",
    "Limits",
    "ModelError",
    "NodeFinished",
    "NodeStarted",
    "RequestError",
    "Result",
    "Results",
    "SelfRAG",
    "SelfRAGError",
    "Settings",
    "Thresholds",
    "Turn",
    "Weights",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that the command line starts without heavy imports."""
    for module, names in PUBLIC.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
