"""Which documents a question is asked of: those named, the library, or the sample."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.compose import embeddings_of
from app.screen import Screen
from app.settings import Settings

if TYPE_CHECKING:
    from retrieval.library import Library
    from retrieval.report import SyncReport

SAMPLE = Path(__file__).resolve().parent.parent / "data" / "library"


def open_library(folder: Path, settings: Settings, screen: Screen) -> Library:
    """Open or make the index in ``folder`` with the settings' embedding model and splitter."""
    from errors import RequestError
    from retrieval.library import Library
    from retrieval.split import SplitSettings

    if settings.selfrag_chunk_overlap >= settings.selfrag_chunk_size:
        raise RequestError("SELFRAG_CHUNK_OVERLAP must be less than SELFRAG_CHUNK_SIZE.")
    with screen.downloads() as progress:
        embeddings, name = embeddings_of(settings, progress)
    split = SplitSettings(settings.selfrag_chunk_size, settings.selfrag_chunk_overlap)
    return Library.open(folder, embeddings, embedding_name=name, split=split)


def library_to_ask(docs: Sequence[Path] | None, settings: Settings, screen: Screen) -> Library:
    """The index to ask, in step with the disk. With no documents named and none in the library, the sample's."""
    if docs:
        return _in_step(open_docs(docs, settings, screen), screen)
    library = open_library(settings.libraries_folder / "library", settings, screen)
    _sync(library, screen)  # first: its folders may have got their first document, or lost their last
    if library.sources():
        library.require_passages()
        return library
    library.close()
    screen.note("your library is empty, so this asks the sample in data/library; add yours: python -m app index PATH")
    return _in_step(open_docs([SAMPLE], settings, screen), screen)


def open_docs(docs: Sequence[Path], settings: Settings, screen: Screen) -> Library:
    """The index of ``docs`` alone, kept apart from the library and used again."""
    from retrieval.library import folder_for

    library = open_library(folder_for(settings.libraries_folder, docs), settings, screen)
    library.add(docs)
    return library


def _in_step(library: Library, screen: Screen) -> Library:
    _sync(library, screen)
    library.require_passages()
    return library


def _sync(library: Library, screen: Screen) -> None:
    with screen.indexing() as progress:
        report = library.sync(progress)
    tell(report, screen)


def tell(report: SyncReport, screen: Screen) -> None:
    """Say what the sync noticed that a person should know."""
    for note in report.notes:
        screen.note(note)
    for path, reason in report.failed:
        screen.note(f"{path.name} was left out: {reason}")
    changed = [
        f"{len(paths)} {word}"
        for word, paths in (("added", report.added), ("updated", report.updated), ("removed", report.removed))
        if paths
    ]
    if changed:
        screen.err.print(f"indexed: {', '.join(changed)}; {report.passages:,} passages", style="dim", markup=False)
