"""``calibrate``: fit the confidence, and the threshold below which no answer is given, to models and documents."""

import argparse
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict

from app.calibrations import UNBOUNDED, kept_by_settings, labelled_questions, labels_file, reset
from app.commands.eval import dataset_documents
from app.compose import critic_name
from app.conversations.drift import drift_since
from app.conversations.opening import open_feedback, open_threads
from app.front_door import SelfRAG
from app.libraries import library_to_ask
from app.options import require_charts, require_docs, require_output, write_file
from app.settings import EMBEDDED, Settings, load_settings
from app.terminal.progress import print_table, timed
from app.terminal.screen import Screen, duration
from core.background import in_background
from core.errors import RequestError, SelfRAGError
from core.text import shown_path
from evaluation.calibrating import Calibrated, Trial
from evaluation.records import Example
from evaluation.reporting import calibration_page as page
from evaluation.written_labels import PASSAGES

# Of a question: with the calls that only some of the cuts make, and as if no cache saved any.
CALLS, TOKENS, WRITING = 7, 5_000, 3
SECONDS = {True: 12.0, False: 4.0}  # by whether the embedded model is used


def calibrate(options: argparse.Namespace) -> int:
    """Ask the labelled questions, print figures before and after the fit, and keep the calibration if it is better."""
    screen = Screen(quiet=options.quiet or options.json)
    settings = load_settings()
    require_docs(options.docs)
    if options.output:
        if options.status or options.reset:
            raise RequestError("--output writes what is fitted: leave it out of --status and --reset.")
        require_output(options.output, ".html")
        require_charts("--output")
    if options.status or options.reset:
        _look_after(options, settings, screen)
        return 0
    labels, documents = None, options.docs
    if options.labels:
        require_docs([options.labels], "the path of the labels")
        dataset = labelled_questions(options.labels, settings)
        labels, documents = dataset.examples, dataset_documents(options.docs, options.labels, dataset)
    _confirm(len(labels) if labels else None, options, settings, screen)
    with SelfRAG.open(*documents or (), settings=settings, screen=screen) as rag:
        made, trials = _fitted(rag, labels, options, screen)
        if labels is None and rag.library:
            written = labels_file(rag.library, settings)
            screen.note(f"the model's questions are in {shown_path(written)}: correct them and give them as LABELS.")
    _show(made, trials, options, screen)
    return 0


def _look_after(options: argparse.Namespace, settings: Settings, screen: Screen) -> None:
    """Show the calibration that is in use for the documents or, with ``--reset``, delete it."""
    with library_to_ask(options.docs, settings, screen) as library:
        if options.reset:
            done = reset(library, settings)
            said = "The calibration is gone." if done else "There is no calibration of these documents."
            screen.json({"reset": done}) if options.json else screen.result(said)
            return
        kept = kept_by_settings(library, settings, screen)
        if kept is None:
            screen.json(None) if options.json else screen.result("What came with the model is in use.")
            return
        with closing(open_threads(settings, expire=False)) as threads:
            drift = drift_since(kept, threads, open_feedback(settings, threads))
        if options.json:
            screen.json({**kept.model_dump(mode="json"), "drift": asdict(drift)})
            return
        screen.result(f"{kept.name}, of {kept.made}, fitted on {kept.labels} labels")
        screen.result(
            f"since then in threads: {drift.answers} answers; judged: {drift.judged}, not right {drift.wrong}"
        )
        for sentence in drift.sentences:
            screen.note(sentence)


def _confirm(n: int | None, options: argparse.Namespace, settings: Settings, screen: Screen) -> None:
    """Print an estimate of the cost of ``n`` questions; if ``n`` is None, of those that the model will write.

    Calls to a model that is not embedded need ``--yes`` or a person's yes. Raises `RequestError` without either.
    """
    calls, what = CALLS, f"{n} questions"
    if n is None:
        n, calls = 2 * PASSAGES, CALLS + WRITING
        what = f"up to {n} questions, which the model writes"
    screen.note(
        f"{what}: about {n * calls:,} calls, {n * TOKENS:,} tokens and "
        f"{duration(n * SECONDS[settings.uses_embedded])}, less what was asked before."
    )
    if options.yes or settings.chat_model == critic_name(settings) == EMBEDDED:
        return
    if not screen.reads_terminal:
        raise RequestError("The calls must be confirmed: add --yes.")
    if not screen.confirmed("Begin?"):
        raise RequestError("Nothing was asked: the calls were not confirmed.")


def _fitted(
    rag: SelfRAG, labels: Sequence[Example] | None, options: argparse.Namespace, screen: Screen
) -> tuple[Calibrated, list[Trial]]:
    try:
        with timed(screen, "asking", "questions") as show:
            budget = options.budget or UNBOUNDED
            return in_background(rag.acalibrate(labels, risk=options.risk, budget=budget, progress=show))
    except (KeyboardInterrupt, SelfRAGError):
        screen.note("what the model replied is kept: the same command goes on from there.")
        raise


def _show(made: Calibrated, trials: Sequence[Trial], options: argparse.Namespace, screen: Screen) -> None:
    if options.json:
        screen.json({"written": made.better, **asdict(made)})
    else:
        print_table(page.measure_rows(made), screen)
        screen.result()
        for sentence in page.guarantee_sentences(made, trials):
            screen.result(sentence)
    if made.better:
        screen.remark("in use for these documents from now on; calibrate --reset undoes it")
    else:
        screen.note("nothing is changed, as the confidence is no better on questions left out of the fit.")
    if options.output:
        name = options.labels.name if options.labels else "questions that the model wrote"
        write_file(options.output, page.calibration_report(name, made, trials).encode("utf-8", "replace"))
        screen.remark(f"written into {shown_path(options.output)}")
