"""``check``: hold a text that somebody wrote against the documents, claim by claim."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.options import add_concurrency, add_docs, add_json, file_path, require_docs, require_output, write_file
from core.text import shown

if TYPE_CHECKING:
    from app.checking.checked_text import Check, Checked, CheckedText
    from app.checking.text_to_check import TextToCheck
    from app.front_door import SelfRAG
    from app.settings import Settings
    from app.terminal.screen import Screen
    from evaluation.judging.saved_replies import Replies
    from grounding.checkable import Checkable

MOST_KEPT = 50  # files of kept results, each of one text
FAILED = ("no support", "contradicted")


def add_options(parser: argparse.ArgumentParser) -> None:
    """What `check` reads, but for ``quiet`` and the settings."""
    parser.add_argument("text", type=file_path, metavar="FILE", help="the text: a document of any kind, or - for stdin")
    add_docs(parser, "check against this file or folder alone")
    add_json(parser)
    parser.add_argument("--output", type=file_path, metavar="FILE", help="write a page into FILE too: .html")
    parser.add_argument(
        "--strict", action="store_true", help="exit with 1 if a claim has no support or is contradicted"
    )
    add_concurrency(parser, "claims")


def check(options: argparse.Namespace) -> int:
    """Check the text and show it with its marks; exit code 1 only with ``--strict``.

    What was checked of a text is kept, and not checked again while the documents, the models and the rules are the
    same.
    """
    from app.checking.text_to_check import STDIN, read_text
    from app.settings import load_settings
    from app.terminal.screen import Screen

    screen = Screen(quiet=options.quiet or options.json)
    settings = load_settings()
    require_docs(options.docs)
    if str(options.text) != STDIN:
        require_docs([options.text], "the path of the text")
    if options.output:
        require_output(options.output, ".html")
    given = read_text(options.text)
    checked = _checked(given, options, settings, screen)
    _show(checked, options, screen)
    return 1 if options.strict and any(checked.count(label) for label in FAILED) else 0


def _checked(given: TextToCheck, options: argparse.Namespace, settings: Settings, screen: Screen) -> CheckedText:
    from app.compose import usual_concurrency
    from app.front_door import SelfRAG
    from app.terminal.progress import checking_claims
    from core.errors import SelfRAGError
    from evaluation.judging.saved_replies import Replies

    last = (0, 0)

    async def run(rag: SelfRAG, kept: Replies) -> CheckedText:
        async with rag:
            with checking_claims(screen) as show:

                def progress(done: int, total: int) -> None:
                    nonlocal last
                    last = (done, total)
                    show(done, total)

                return await rag.acheck(
                    given.text,
                    headings=given.headings,
                    at_once=options.concurrency or usual_concurrency(settings),
                    progress=progress,
                    cached=_cached(kept, rag),
                )

    rag = SelfRAG.open(*options.docs or (), settings=settings, screen=screen)
    try:
        with Replies(_file_for(given, settings)) as kept:
            return asyncio.run(run(rag, kept))
    except (KeyboardInterrupt, SelfRAGError):
        if last[0]:
            screen.note(f"{last[0]} of {last[1]} claims are kept: the same command goes on from there.")
        raise


def _file_for(given: TextToCheck, settings: Settings) -> Path:
    """The file with what is known of a text; the oldest of others are removed."""
    from core.fingerprint import digest

    folder = settings.libraries_folder.parent / "checks"
    with suppress(OSError):
        files = sorted(folder.glob("*.jsonl"), key=lambda file: file.stat().st_mtime)
        for old in files[: max(0, len(files) - MOST_KEPT + 1)]:
            old.unlink()
    return folder / f"{digest(given.text)[:32]}.jsonl"


def _cached(kept: Replies, rag: SelfRAG) -> Check:
    """Look a claim's result up among those kept for the same models, documents, settings and rules."""
    from app.checking.verification import VerifiedClaim
    from core.fingerprint import digest, digest_of_code
    from core.types import no_usage

    code = digest_of_code(("grounding", "nodes", "prompts"))
    made_with = (rag.stamp.model_dump_json(), rag.context.model_dump_json(), code)

    async def cached(one: Checkable, call: Callable[[], Awaitable[Checked]]) -> Checked:
        spent = no_usage()

        async def ask() -> dict[str, Any]:
            nonlocal spent
            claim, spent = await call()
            return claim.model_dump(mode="json")

        key = digest(*made_with, one.statement.text, one.statement.context, one.subject)
        return VerifiedClaim.model_validate(await kept.get_or_ask(key, {}, ask)), spent

    return cached


def _show(checked: CheckedText, options: argparse.Namespace, screen: Screen) -> None:
    from app.terminal.show_check import as_page, show_check

    if options.json:
        screen.json(checked.model_dump(mode="json"))
    else:
        show_check(checked, screen)
    if options.output:
        write_file(options.output, as_page(checked, options.text.name).encode("utf-8", "replace"))
        screen.remark(f"written into {shown(options.output)}")
