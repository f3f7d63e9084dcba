"""``compare``: Self-RAG and plain retrieve-and-generate side by side, on one question or on a set."""

import argparse
from pathlib import Path

from app import compose
from app.commands.ask import context_from_options
from app.commands.eval import ask_systems, dataset_documents, error_of
from app.options import as_text, require_docs, require_output, write_file
from app.settings import Settings, load_settings
from app.terminal.progress import timed
from app.terminal.screen import Screen
from app.terminal.show_comparison import show_comparison
from core.errors import ModelError, RequestError
from core.fingerprint import digest
from core.text import is_blank, shown_path
from evaluation.comparison.compared_set import ComparedSet, compare_all
from evaluation.comparison.written_forms import FORMS
from evaluation.datasets.question_set import dataset_name, load
from evaluation.folder import REPLIES, require_own
from evaluation.judging.judge import Judge
from evaluation.judging.saved_replies import Replies
from evaluation.records import Dataset, Example, Record
from models.usage import unlimited
from retrieval.library.library import Library
from run.context import Context, Services
from run.initial_state import require_question

SINGLE = "compare"  # the folder of the answers to single questions, below eval


def compare(options: argparse.Namespace) -> int:
    """Ask the questions that are not answered yet, let the model compare the answers, and show all. Returns 0.

    Raises `ModelError` when the model cannot be reached. The answers so far are kept, also on an interrupt.
    """
    screen = Screen(quiet=options.quiet or options.json)
    settings = load_settings()
    context = compose.context_of(settings, context_from_options(options))
    name = dataset_name(options.dataset) if options.dataset else None
    _check_options(options)
    folder = options.out or Path("eval") / (name or SINGLE)
    require_own(folder)
    compared, failure = _compared(options, settings, context, screen, name, folder)
    _show(compared, options, screen)
    if failure:
        raise failure
    _tell_failures(compared, screen)
    return 0


def _check_options(options: argparse.Namespace) -> None:
    """Raise `RequestError` for what is wrong with the request, before any model is loaded."""
    if not options.dataset:
        require_question(as_text(" ".join(options.question)))
    elif options.question:
        raise RequestError("A question and --set are given: compare on one of them.")
    elif options.reference is not None:
        raise RequestError("--reference is for a single question: a set has its own references.")
    require_docs(options.docs)
    if options.output:
        require_output(options.output, *FORMS)


def _compared(
    options: argparse.Namespace, settings: Settings, context: Context, screen: Screen, name: str | None, folder: Path
) -> tuple[ComparedSet, ModelError | None]:
    """Return the comparisons, and the error of a model that failed meanwhile."""
    dataset = _dataset(options, folder)

    async def judged(
        services: Services, _: Library, concurrency: int, records: list[Record]
    ) -> tuple[ComparedSet, ModelError | None]:
        with Replies(folder / REPLIES) as replies, timed(screen, "judging", "judgements") as tell:
            judge = Judge(services.with_budget(unlimited()), replies)
            return await compare_all(name, dataset.examples, records, judge, concurrency, tell)

    documents = dataset_documents(options.docs, options.dataset, dataset) if options.dataset else options.docs
    given = options, settings, screen, folder, documents, dataset.examples
    return ask_systems(*given, judged, context=context, needs_models=True)[1]


def _dataset(options: argparse.Namespace, folder: Path) -> Dataset:
    """Return the question set that is named, or a set of the single question."""
    if options.dataset:
        return load(options.dataset, folder / "documents")
    question, reference = as_text(" ".join(options.question)), as_text(options.reference or "")
    references = () if is_blank(reference) else (reference,)
    return Dataset(SINGLE, (Example(id=digest(question)[:12], question=question, references=references),))


def _show(compared: ComparedSet, options: argparse.Namespace, screen: Screen) -> None:
    if options.json:
        screen.json(compared.as_json())
    else:
        show_comparison(compared, screen)
    if options.output:
        content = FORMS[options.output.suffix.lower()](compared)
        write_file(options.output, content.encode("utf-8", "replace"))
        screen.remark(f"written into {shown_path(options.output)}")


def _tell_failures(compared: ComparedSet, screen: Screen) -> None:
    """Raise an error if no question could be compared; else note how many answers failed."""
    failed = [record for one in compared.comparisons for record in one.records if record["error"]]
    if not failed:
        return
    if all(one.failed for one in compared.comparisons):
        raise error_of(failed, "There is nothing to compare")
    screen.note(f"{len(failed)} answers failed; the same command asks for them again: {failed[0]['error']}")
