"""Fingerprint what an answer depends on; a record is reused only while the fingerprint stays the same."""

import ast
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def fingerprint(name: str, settings: Mapping[str, Any], code: Sequence[str]) -> str:
    """Return the SHA-256 of a system's name, its settings, and the code that it runs.

    ``code`` lists files and folders below the project; comments, docstrings and layout of Python files are ignored.
    """
    parts = [name, settings, digest_of_code(tuple(code))]
    return digest(json.dumps(parts, sort_keys=True, default=str))


@cache
def digest_of_code(code: tuple[str, ...], root: Path = ROOT) -> str:
    """Return the SHA-256 of the ``.py`` and ``.json`` files among ``code``, each with its path below ``root``.

    Raises `FileNotFoundError` for a missing entry.
    """
    files: set[Path] = set()
    for entry in code:
        path = root / entry
        files |= {one for kind in ("*.py", "*.json") for one in path.rglob(kind)} if path.is_dir() else {path}
    return digest(*(f"{path.relative_to(root).as_posix()}\0{_content(path)}" for path in sorted(files)))


def digest(*parts: str) -> str:
    """Return the SHA-256 of several texts as 64 hexadecimal digits; ("ab", "c") and ("a", "bc") give different ones."""
    sum_ = hashlib.sha256()
    for part in parts:
        sum_.update(hashlib.sha256(part.encode("utf-8", "replace")).digest())
    return sum_.hexdigest()


def _content(path: Path) -> str:
    text = path.read_text(encoding="utf-8").replace("selfrag.", "")  # one digest for an installation and a checkout
    if path.suffix != ".py":
        return text
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return ast.dump(tree)
