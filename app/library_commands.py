"""``library``: what is kept beside the documents, as files."""

from __future__ import annotations

import argparse

from app.options import file_path, require_writable_file, unwritable
from core.errors import RequestError
from core.text import as_json, shown


def add_options(parser: argparse.ArgumentParser) -> None:
    """The subcommands of `library`."""
    commands = parser.add_subparsers(dest="action", required=True, metavar="export-labels")
    export = commands.add_parser(
        "export-labels", help="write what people said of answers as a question set that `eval` reads"
    )
    export.add_argument("file", type=file_path, metavar="FILE", help="the file to write: .jsonl")


def library(options: argparse.Namespace) -> int:
    """Run the subcommand."""
    return export_labels(options)


def export_labels(options: argparse.Namespace) -> int:
    """Write the labels of all owners as JSONL. Raises `RequestError` where there are none."""
    from app.feedback import FeedbackFolder, examples_of
    from app.screen import Screen
    from app.settings import load_settings
    from core.files import write_private

    screen, settings = Screen(quiet=options.quiet), load_settings()
    require_writable_file(options.file)
    rows = examples_of(FeedbackFolder(settings.feedback_folder).labels())
    if not rows:
        raise RequestError("There is no feedback yet: judge answers in the page, in a chat, or over the server's API.")
    try:
        write_private(options.file, "".join(f"{as_json(row)}\n" for row in rows).encode("utf-8", "replace"))
    except OSError as error:
        raise unwritable(options.file, error) from error
    screen.result(f"Labels written into {shown(options.file)}: {len(rows):,}")
    return 0
