"""Describe for a person what the library holds, and what was left out of it."""

from collections.abc import Sequence
from itertools import groupby

from core.text import path_text, shown_path
from retrieval.sync_report import Failure, Skipped, Source, SyncReport, VerifyReport

MOST_LINES = 20
HEAD = ["status", "passages", "date", "path", "reason"]


def sync_summary(report: SyncReport, sources: Sequence[Source]) -> str:
    """Say how many documents are in which state after a sync, and what it changed."""
    states = [source.status for source in sources]
    added, updated = len(report.added), len(report.updated)
    indexed = states.count("indexed")
    changes = counts(added=added, updated=updated, unchanged=indexed - added - updated)
    rest = counts(
        empty=states.count("empty"),
        failed=states.count("failed"),
        skipped=len(report.skipped),
        removed=len(report.removed),
    )
    return ", ".join([f"{indexed:,} indexed" + (f" ({', '.join(changes)})" if changes else ""), *rest])


def counts(**numbers: int) -> list[str]:
    """Return texts such as ``3 added``, one for each number that is not 0."""
    return [f"{number:,} {word}" for word, number in numbers.items() if number]


def left_out_lines(sources: Sequence[Source], skipped: Sequence[Skipped]) -> list[str]:
    """Return a line for each document without passages and each skipped file; many of one kind are summed up."""
    unread = [source for source in sources if source.status != "indexed"]
    lines = [f"{source.status}: {path_with_reason(source)}" for source in unread[:MOST_LINES]]
    lines += [f"and {len(unread) - MOST_LINES:,} more: index --list"] if len(unread) > MOST_LINES else []
    for reason, alike in groupby(sorted(skipped, key=lambda one: (one.reason, one.path)), lambda one: one.reason):
        files = list(alike)
        if len(files) > MOST_LINES:
            lines.append(f"skipped: {len(files):,} files: {reason} (see index --list)")
        else:
            lines += [f"skipped: {path_with_reason(file)}" for file in files]
    return lines


def inventory_rows(sources: Sequence[Source], skipped: Sequence[Skipped]) -> list[list[str]]:
    """Return a header, and a row for each document and each skipped file."""
    documents = [
        [source.status, str(source.passages), source.date or "", path_text(source.path), unnamed(source)]
        for source in sources
    ]
    others = [["skipped", "", "", path_text(file.path), unnamed(file)] for file in sorted(skipped)]
    return [HEAD, *documents, *others]


def path_with_reason(one: Source | Failure | Skipped) -> str:
    """Return the path and the reason as one sentence."""
    reason = unnamed(one)
    return f"{shown_path(one.path)}{' ' if reason != one.reason else ': '}{reason}"


def unnamed(one: Source | Failure | Skipped) -> str:
    """Return the reason without the file's name at its beginning, because the path is printed before the reason."""
    return one.reason.removeprefix(f"{shown_path(one.path.name)} ")


def check_summary(report: VerifyReport) -> str:
    """Say what a check of the index found."""
    found = [f"{len(report.repairs)} mended"] if report.repairs else []
    found += [f"{len(report.problems)} cannot be mended"] if report.problems else []
    said = ", ".join(found) or "no damage"
    return f"Checked {report.passages:,} passages of {report.documents:,} documents: {said}."
