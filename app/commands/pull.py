"""``pull``: download the chat and the embedding model that run in this process, before they are needed."""

import argparse

from app.settings import load_settings
from app.terminal.screen import Screen
from models.model_files import CHAT_MODEL, EMBEDDING_MODEL, TOKENIZER, ensure


def pull(options: argparse.Namespace) -> int:
    """Download and check the model files that are missing; print the path of each file."""
    screen = Screen(quiet=options.quiet)
    settings = load_settings()
    with screen.downloads() as progress:
        for file in (EMBEDDING_MODEL, TOKENIZER, CHAT_MODEL):
            path = ensure(file, settings.models_folder, progress)
            screen.result(f"{path}  {file.size / 1e6:,.1f} MB, checksum right")
    return 0
