"""The folder of an evaluation, marked as its own, so that the program overwrites and deletes only what it wrote."""

import json
import os
from pathlib import Path

from core.errors import RequestError
from core.files import make_private, make_private_folder, read_json, replace_private
from core.json_lines import writing
from core.text import shown_path
from evaluation.record_store import NAME

MARKER = ".self-rag-eval.json"
KEY = "paragraphs"  # of the marker; an earlier version counted its files there
REPLIES = "judgements.jsonl"
FILES = (
    *(NAME, f".{NAME}.lock", REPLIES, MARKER),
    *("report.html", "records.csv", "metrics.csv", "summary.json", "overview.svg"),
)


def require_own(folder: Path) -> None:
    """Raise `RequestError` unless results may go there: a new folder, an empty one, or this program's own."""
    with writing(folder):
        own = not folder.exists() or not any(folder.iterdir()) or _is_marked(folder)
    if not own:
        raise RequestError(
            f"{shown_path(folder)} holds files that eval did not write: name a new folder, or an empty one, with --out."
        )


def claim(folder: Path) -> None:
    """Mark the folder as this program's own and make its files private; check first with `require_own`.

    Raises `RequestError`.
    """
    with writing(folder):
        make_private_folder(Path(os.path.realpath(folder)))
        for name in FILES:
            make_private(folder / name)
        if not _is_marked(folder):
            replace_private({folder / MARKER: json.dumps({KEY: None}).encode()})


def _is_marked(folder: Path) -> bool:
    return isinstance(read_json(folder / MARKER, 1000).get(KEY, ""), int | None)
