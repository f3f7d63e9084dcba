"""Self-RAG: answers from your own documents that are grounded in quoted passages, or an honest no.

Once installed, all packages are below this one. In a checkout they are beside it, and `selfrag.graph` is `graph`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from app import VERSION as VERSION
from app import __all__ as __all__
from app import __getattr__ as __getattr__

if TYPE_CHECKING:
    from app import *  # noqa: F403


class _Beside(Loader):
    """Imports ``selfrag.graph`` in a checkout as ``graph`` itself, so that each module is loaded once."""

    @classmethod
    def find_spec(cls, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        beside = name.startswith(f"{__name__}.") and name != f"{__name__}.__main__"
        return spec_from_loader(name, cls()) if beside else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = import_module(module.__name__.removeprefix(f"{__name__}."))


if not Path(__file__).with_name("app").is_dir():
    sys.meta_path.insert(0, _Beside)
