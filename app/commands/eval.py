"""``eval``: ask a question set through several systems, score their answers, and write the report."""

import argparse
import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, TypeVar, cast

from app.calibrations import provenance_of, with_calibration
from app.compose import context_of, critic_name, services_without_models, usual_concurrency
from app.front_door import SelfRAG
from app.libraries import SAMPLE, library_to_ask
from app.options import require_charts, require_docs
from app.settings import Settings, load_settings
from app.terminal.progress import asking, print_table, show_routes, timed
from app.terminal.screen import Screen
from core.errors import ModelError, RequestError, SelfRAGError
from core.fingerprint import digest
from core.json_lines import unwritable
from core.text import shown_path
from evaluation.datasets.question_set import dataset_name, load, select_examples
from evaluation.folder import REPLIES, claim, require_own
from evaluation.judging.judge import judge_records
from evaluation.measures.metrics import summarise
from evaluation.record_store import NAME, RecordStore
from evaluation.records import Dataset, Example, Judgements, Record, System
from evaluation.reporting.routes import expected_routes
from evaluation.reporting.tables import tables_of
from evaluation.run import run_systems
from evaluation.self_rag import self_rag_system
from evaluation.systems import closed_book, plain, with_surroundings
from evaluation.variants import variant
from retrieval.library.library import Library
from run.context import Context, RetrieverLike, Services

T = TypeVar("T")
ExtraSystems = Callable[[Services, Context], list[System]]


def evaluate(options: argparse.Namespace, extra_systems: ExtraSystems | None = None) -> int:
    """Ask the questions not answered yet, print the table, write the report; ``extra_systems`` are compared too.

    Raises `ModelError` when the model cannot be reached. The answers so far are kept, also on an interrupt.
    """
    screen = Screen(quiet=options.quiet)
    _report(screen, *ask_dataset(options, screen, extra_systems))
    return 0


def ask_dataset(
    options: argparse.Namespace, screen: Screen, extra_systems: ExtraSystems | None = None
) -> tuple[Path, Dataset, Sequence[Example], list[Record], Judgements | None]:
    """Ask the questions not answered yet; return the results' folder, data set, examples, records and judgements."""
    settings, nothing = load_settings(), cast("RetrieverLike", None)
    context = context_of(settings)
    # An error in the systems is raised before any model is loaded.
    systems_of(options, services_without_models(settings, nothing), context, None, {})
    require_docs(options.docs)
    require_charts("An evaluation")
    folder = options.out or Path("eval") / dataset_name(options.dataset, options.paragraphs)
    require_own(folder)
    dataset = load(options.dataset, folder / "documents", options.paragraphs)
    examples = select_examples(dataset.examples, most=options.most, balanced=options.balanced, seed=options.seed)

    async def judged(
        services: Services, library: Library, concurrency: int, records: list[Record]
    ) -> Judgements | None:
        if not options.judge:
            return None
        embed = library.store.model.embeddings.embed_documents
        with timed(screen, "judging", "judgements") as tell:
            given = services, embed, examples, records, folder / REPLIES, tell
            return await judge_records(*given, concurrency=concurrency)

    records, judgements = ask_systems(
        options,
        settings,
        screen,
        folder,
        dataset_documents(options.docs, options.dataset, dataset),
        examples,
        judged,
        context=context,
        needs_models=bool(extra_systems or options.judge),
        writes_report=True,
        extra_systems=extra_systems,
    )
    return folder, dataset, examples, records, judgements


def ask_systems(
    options: argparse.Namespace,
    settings: Settings,
    screen: Screen,
    folder: Path,
    documents: Sequence[Path] | None,
    examples: Sequence[Example],
    then: Callable[[Services, Library, int, list[Record]], Awaitable[T]],
    *,
    context: Context,
    needs_models: bool,
    writes_report: bool = False,
    extra_systems: ExtraSystems | None = None,
) -> tuple[list[Record], T]:
    """Ask the questions whose answers the folder lacks; return all records, and what ``then`` returns.

    ``then`` gets the services, the library, the number of calls at a time and the records. The models are loaded only
    if a question is left to ask or ``needs_models`` is true.
    """
    concurrency = options.concurrency or usual_concurrency(settings)
    with library_to_ask(documents, settings, screen, complete=True) as library:
        if writes_report:
            _require_apart(folder, library)
        retriever, surroundings = library.store.as_retriever(), surroundings_of(settings, library)
        services = with_calibration(services_without_models(settings, retriever), library, settings, screen)
        systems = systems_of(options, services, context, None, surroundings)
        claim(folder)
        with RecordStore(folder / NAME) as store:
            if needs_models or not all(store.done(system, one) for system in systems for one in examples):
                loaded = SelfRAG(retriever=retriever, settings=settings, screen=screen).services
                services = with_calibration(loaded, library, settings, Screen(quiet=True))
                systems = systems_of(options, services, context, extra_systems, surroundings)

            async def ask() -> tuple[list[Record], T]:
                provenance = provenance_of(settings, library)
                async with aclosing(services):
                    with asking(screen) as progress:
                        by_system = await run_systems(systems, examples, store, concurrency, progress, provenance)
                    records = [record for records in by_system.values() for record in records]
                    return records, await then(services, library, concurrency, records)

            if store.damaged:
                damaged = f"{store.damaged} damaged lines of {store.path} are passed over"
                screen.note(f"{damaged}; their questions are asked again.")
            try:
                return asyncio.run(ask())
            except (KeyboardInterrupt, SelfRAGError):
                done = [store.done(system, one) is not None for system in systems for one in examples]
                if any(done):
                    kept = f"{sum(done)} of {len(done)} answers are kept in {store.path}"
                    screen.note(f"{kept}: the same command goes on from there.")
                raise


def _require_apart(folder: Path, library: Library) -> None:
    """Raise `RequestError` if the report's folder lies among the documents: the report would become a document."""
    place = folder.resolve()
    roots = (Path(os.fsdecode(root)) for root in library.store.roots().kinds)
    root = next((root for root in roots if place.is_relative_to(root)), None)
    if root and not library.exclusion_of(place):
        raise RequestError(
            f"{shown_path(folder)} lies in {shown_path(root)}, whose files are documents: name another folder with "
            "--out, or leave it out of your library with index --exclude."
        )


def _report(
    screen: Screen,
    folder: Path,
    dataset: Dataset,
    examples: Sequence[Example],
    records: Sequence[Record],
    judgements: Judgements | None,
) -> None:
    failed = [record for record in records if record["error"]]
    if failed and len(failed) == len(records):
        raise error_of(failed, "No question was answered")
    from evaluation.reporting.report import write_report  # draws with packages that may be missing

    summary = summarise(examples, records, judgements=judgements)
    try:
        written = write_report(folder, dataset, examples, records, summary, judgements)
    except OSError as error:
        raise unwritable(Path(error.filename or folder), error) from error
    for number, rows in enumerate(tables_of(summary)):
        if number:
            screen.result("")
        print_table(rows, screen)
    show_routes(expected_routes(examples, records), screen)
    if judgements and judgements.unanswered:
        screen.note(
            f"The judge gave no verdict on {judgements.unanswered} of {judgements.asked} questions: {judgements.reason}"
        )
    if failed:
        screen.note(
            f"{len(failed)} of {len(records)} questions failed; the same command asks them again: {failed[0]['error']}"
        )
    names = [NAME, *(path.name for path in written)]
    screen.remark(f"written into {folder}: {', '.join(names)}")


def error_of(failed: Sequence[Record], what: str) -> SelfRAGError:
    """Return the error of a command whose questions all failed: a `ModelError` if the model failed in one of them."""
    by_model = any(record["stop_reason"] == "model_failed" for record in failed)
    return (ModelError if by_model else RequestError)(f"{what}: {failed[0]['error']}")


def systems_of(
    options: argparse.Namespace,
    services: Services,
    context: Context,
    extra_systems: ExtraSystems | None,
    surroundings: dict[str, Any],
) -> list[System]:
    """Return the systems and variants of the options, and the extra systems; fingerprints include ``surroundings``."""
    made: dict[str, Callable[[Services, Context], System]] = {
        "self-rag": self_rag_system,
        "plain": plain,
        "closed-book": closed_book,
    }
    systems = [made[name](services, context) for name in options.systems]
    variants = (variant(text, context, services) for text in options.variant)
    systems += [self_rag_system(services, changed, name) for name, changed in variants]
    systems += extra_systems(services, context) if extra_systems else []
    doubled = [name for name, count in Counter(system.name for system in systems).items() if count > 1]
    if doubled:
        raise RequestError(f"Two systems are named {doubled[0]}: name each once.")
    return [with_surroundings(system, surroundings) for system in systems]


def dataset_documents(docs: Sequence[Path] | None, path: Path, dataset: Dataset) -> Sequence[Path] | None:
    """Return ``docs`` or, without them, the documents that belong to the dataset; None means the user's library."""
    if not docs:
        require_docs(dataset.documents, f"the documents that {shown_path(path.name)} names, or give --docs")
    own = dataset.documents or ((SAMPLE,) if path.resolve().parent == SAMPLE.parent else ())
    return docs or own or None


def surroundings_of(settings: Settings, library: Library) -> dict[str, Any]:
    """Return what the answers of every system depend on, for fingerprints: models, server, splitting, documents."""
    sources = [source for source in library.sources() if source.passages]
    search = settings.selfrag_search
    return {
        # Defaults are left out, so that earlier fingerprints stay the same.
        **({} if search == "hybrid" else {"search": search}),
        **({"server": settings.server} if settings.server else {}),
        "chat": settings.chat_model,
        "critic": critic_name(settings),
        "file": settings.selfrag_model_path if settings.uses_embedded else None,
        "embeddings": library.store.model.name,
        "passages": [settings.selfrag_chunk_size, settings.selfrag_chunk_overlap],
        "documents": digest(*sorted(f"{source.path.name}\0{source.sha256}" for source in sources)),
    }
