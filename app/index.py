"""``index``: add to the library, bring it in step with the disk, list it."""

from __future__ import annotations

import argparse

from app.libraries import open_library, tell
from app.screen import Screen
from app.settings import load_settings
from retrieval.errors import shown


def index(options: argparse.Namespace) -> int:
    """Add, remove, sync, and say what is in the library."""
    screen = Screen(quiet=options.quiet)
    settings = load_settings()
    with open_library(settings.libraries_folder / "library", settings, screen) as library:
        for path in options.remove or ():
            library.remove(path)
        if options.paths:
            library.add(options.paths)
        if not options.list or options.paths:
            with screen.indexing() as progress:
                report = library.sync(progress)
            tell(report, screen)
            if not options.remove or options.paths:
                library.require_passages()
            screen.out.print(
                f"The library holds {len(library.sources())} documents, {report.passages:,} passages.", markup=False
            )
        if options.list:
            for source in library.sources():
                state = f"{source.passages} passages" if not source.reason else source.reason
                screen.out.print(f"{source.status:9} {shown(source.path)}  {state}", markup=False)
    return 0
