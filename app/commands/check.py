"""``check``: check a text that somebody wrote against the documents, claim by claim."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from app.checking.checked_text import Check, Checked, CheckedText
from app.checking.text_to_check import STDIN, TextToCheck, read_text
from app.checking.verification import VerifiedClaim
from app.compose import usual_concurrency
from app.front_door import SelfRAG
from app.options import require_docs, require_output, write_file
from app.settings import Settings, load_settings
from app.terminal.progress import timed
from app.terminal.screen import Screen
from app.terminal.show_check import as_page, show_check
from core.errors import SelfRAGError
from core.fingerprint import digest, digest_of_code
from core.text import shown_path
from core.types import UNKNOWN, no_usage
from evaluation.judging.saved_replies import Replies
from grounding.checkable import Checkable

MOST_KEPT = 50  # files of kept results, each of one text
FAILED = ("no support", "contradicted", UNKNOWN)


def check(options: argparse.Namespace) -> int:
    """Check the text and show it with its marks; return exit code 1 only with ``--strict``, if a claim fails.

    The results are kept: a claim is not checked again while the documents, the models and the rules are the same.
    """
    screen = Screen(quiet=options.quiet or options.json)
    settings = load_settings()
    require_docs(options.docs)
    if str(options.text) != STDIN:
        require_docs([options.text], "the path of the text")
    if options.output:
        require_output(options.output, ".html")
    checked = _checked(read_text(options.text), options, settings, screen)
    _show(checked, options, screen)
    return 1 if options.strict and any(checked.count(label) for label in FAILED) else 0


def _checked(given: TextToCheck, options: argparse.Namespace, settings: Settings, screen: Screen) -> CheckedText:
    last = (0, 0)

    async def run(rag: SelfRAG, kept: Replies) -> CheckedText:
        async with rag:
            with timed(screen, "checking", "claims") as show:

                def progress(done: int, total: int) -> None:
                    nonlocal last
                    last = (done, total)
                    show(done, total)

                return await rag.acheck(
                    given.text,
                    headings=given.headings,
                    at_once=options.concurrency or usual_concurrency(settings),
                    progress=progress,
                    cached=_cached(kept, rag, settings),
                )

    rag = SelfRAG.open(*options.docs or (), settings=settings, screen=screen)
    try:
        with Replies(file_for(given, settings)) as kept:
            return asyncio.run(run(rag, kept))
    except (KeyboardInterrupt, SelfRAGError):
        if last[0]:
            screen.note(f"{last[0]} of {last[1]} claims are kept: the same command goes on from there.")
        raise


def file_for(given: TextToCheck, settings: Settings) -> Path:
    """Return the file of the results that are kept for a text; remove the oldest files of other texts."""
    file = settings.libraries_folder.parent / "checks" / f"{digest(given.text)[:32]}.jsonl"
    with suppress(OSError):
        others = sorted({*file.parent.glob("*.jsonl")} - {file}, key=lambda other: other.stat().st_mtime)
        for old in others[: max(0, len(others) - MOST_KEPT + 1)]:
            old.unlink()
    return file


def _cached(kept: Replies, rag: SelfRAG, settings: Settings) -> Check:
    """Return a function that looks up a claim's result, or checks the claim and keeps the result.

    A result is used again only with the same models, documents, settings and rules; an unknown label is not kept.
    """
    code = digest_of_code(("grounding", "nodes", "prompts"))
    context = rag.services.completed(rag.context).model_dump_json()
    made_with = [rag.stamp.model_dump_json(), rag.calibration or "", context, settings.selfrag_search, code]
    made_with += [settings.server] if settings.server else []

    async def cached(one: Checkable, call: Callable[[], Awaitable[Checked]]) -> Checked:
        claim: VerifiedClaim | None = None
        spent = no_usage()

        async def ask() -> dict[str, Any] | None:
            nonlocal claim, spent
            claim, spent = await call()
            return None if claim.label == UNKNOWN else claim.model_dump(mode="json")

        key = digest(*made_with, one.statement.text, one.statement.context, one.subject)
        found = await kept.get_or_ask(key, {}, ask)
        return claim or VerifiedClaim.model_validate(found), spent

    return cached


def _show(checked: CheckedText, options: argparse.Namespace, screen: Screen) -> None:
    if options.json:
        screen.json(checked.model_dump(mode="json"))
    else:
        show_check(checked, screen)
    if options.output:
        write_file(options.output, as_page(checked, options.text.name).encode("utf-8", "replace"))
        screen.remark(f"written into {shown_path(options.output)}")
