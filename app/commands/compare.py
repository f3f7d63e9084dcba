"""``compare``: Self-RAG and plain retrieve-and-generate side by side, on one question or on a set."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from app.commands.eval import ask_systems, documents_of, error_of, surroundings_of, systems_of
from app.options import add_concurrency, add_docs, add_json, as_text, file_path, require_docs, require_output
from core.errors import ModelError, RequestError
from core.text import is_blank, shown

if TYPE_CHECKING:
    from app.settings import Settings
    from app.terminal.screen import Screen
    from evaluation.comparison.compared_set import ComparedSet
    from evaluation.records import Dataset, Record

SINGLE = "compare"  # the folder of the answers to single questions, below eval


def add_options(parser: argparse.ArgumentParser) -> None:
    """What `compare` reads, but for ``quiet`` and the settings."""
    parser.add_argument("question", nargs="*", help="the question")
    parser.add_argument("--set", type=file_path, metavar="FILE", dest="dataset", help="compare on this question set")
    parser.add_argument("--reference", metavar="TEXT", help="the right answer to the question")
    add_docs(parser, "ask of this file or folder alone")
    add_json(parser)
    parser.add_argument("--output", type=file_path, metavar="FILE", help="write into FILE too: .md, .html or .csv")
    how = parser.add_argument_group("how to ask")
    how.add_argument(
        "--out", type=file_path, metavar="FOLDER", help="where the answers are kept (eval/SET, or eval/compare)"
    )
    add_concurrency(how)
    parser.set_defaults(systems=("self-rag", "plain"), variant=[])


def compare(options: argparse.Namespace) -> int:
    """Ask what was not asked yet, let the model compare the answers, and show all; exit codes as for ``ask``.

    Raises `ModelError` when the model cannot be reached; that and an interruption keep every answer there is.
    """
    from app.commands.ask import overridden
    from app.settings import load_settings
    from app.terminal.screen import Screen
    from evaluation.datasets.question_set import name_of
    from evaluation.folder import require_own

    screen = Screen(quiet=options.quiet or options.json)
    settings = overridden(load_settings(), options)
    name = name_of(options.dataset) if options.dataset else None
    _check(options)
    folder = options.out or Path("eval") / (name or SINGLE)
    require_own(folder)
    compared, failure = _compared(options, settings, screen, name, folder)
    _show(compared, options, screen)
    if failure:
        raise failure
    _tell_failures(compared, screen)
    return 0


def _check(options: argparse.Namespace) -> None:
    """Refuse what is wrong with the request before any model is loaded."""
    from run.initial_state import require_question

    if not options.dataset:
        require_question(as_text(" ".join(options.question)))
    elif options.question:
        raise RequestError("A question and --set are given: compare on one of them.")
    elif options.reference is not None:
        raise RequestError("--reference is for a single question: a set has its own references.")
    require_docs(options.docs)
    if options.output:
        require_output(options.output, ".md", ".html", ".csv")


def _compared(
    options: argparse.Namespace, settings: Settings, screen: Screen, name: str | None, folder: Path
) -> tuple[ComparedSet, ModelError | None]:
    """What was compared, and the error of a model that failed while it compared."""
    from app.compose import context_of
    from app.front_door import SelfRAG
    from app.libraries import library_to_ask
    from app.terminal.progress import judging
    from evaluation.comparison.compared_set import compare_all
    from evaluation.comparison.criteria_judge import CriteriaJudge
    from evaluation.folder import REPLIES, claim
    from evaluation.judging.saved_replies import Replies
    from evaluation.record_store import NAME, Store
    from models.usage import unlimited

    dataset = _dataset(options, folder)
    documents = documents_of(options, dataset) if options.dataset else options.docs
    with library_to_ask(documents, settings, screen, complete=True) as library:
        services = SelfRAG(retriever=library.store.as_retriever(), settings=settings, screen=screen).services
        systems = systems_of(options, services, context_of(settings), None, surroundings_of(settings, library))
        claim(folder)
        with Store(folder / NAME) as store, Replies(folder / REPLIES) as replies:

            async def judged(records: list[Record], concurrency: int) -> tuple[ComparedSet, ModelError | None]:
                judge = CriteriaJudge(services.with_budget(unlimited()).generator, replies, concurrency)
                with judging(screen) as tell:
                    return await compare_all(name, dataset.examples, records, judge, tell)

            _, compared = ask_systems(
                options, settings, screen, store, systems, dataset.examples, services, library, judged
            )
            return compared


def _dataset(options: argparse.Namespace, folder: Path) -> Dataset:
    """The set that is named, or one of the single question."""
    from core.fingerprint import digest
    from evaluation.datasets.question_set import load
    from evaluation.records import Dataset, Example

    if options.dataset:
        return load(options.dataset, folder / "documents")
    question, reference = as_text(" ".join(options.question)), as_text(options.reference or "")
    references = () if is_blank(reference) else (reference,)
    return Dataset(SINGLE, (Example(id=digest(question)[:12], question=question, references=references),))


def _show(compared: ComparedSet, options: argparse.Namespace, screen: Screen) -> None:
    if options.json:
        screen.json(compared.as_json())
    else:
        from app.terminal.show_comparison import show_comparison

        show_comparison(compared, screen)
    if options.output:
        from app.options import write_file
        from evaluation.comparison.written_forms import FORMS

        content = FORMS[options.output.suffix](compared)
        write_file(options.output, content.encode("utf-8", "replace"))
        screen.remark(f"written into {shown(options.output)}")


def _tell_failures(compared: ComparedSet, screen: Screen) -> None:
    """Raise the error of a single question, or of a set of which none could be compared; note it otherwise."""
    failed = [record for one in compared.comparisons for record in one.records if record["error"]]
    if not failed:
        return
    if all(one.failed for one in compared.comparisons):
        raise error_of(failed, "There is nothing to compare")
    screen.note(f"{len(failed)} answers failed; the same command asks for them again: {failed[0]['error']}")
