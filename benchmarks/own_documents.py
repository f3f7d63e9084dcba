"""Ask systems about examples that each have documents of their own, found by one and the same search."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from langchain_core.documents import Document

from app.commands.eval import surroundings_of
from app.front_door import SelfRAG
from app.libraries import SAMPLE, library_to_ask
from app.settings import load_settings
from app.terminal.progress import asking
from app.terminal.screen import Screen
from benchmarks.harness import FOLDER, WrappedSystem
from core.fingerprint import digest
from evaluation.record_store import RecordStore
from evaluation.records import Example, Record, System
from evaluation.run import run_systems
from evaluation.systems import with_surroundings
from retrieval.library.library import Library
from retrieval.splitter import SplitSettings
from retrieval.store import Model
from run.context import Context, RetrieverLike, Services

Documents = Mapping[str, str]  # texts by file name
Systems = Callable[[Services, Context], list[System]]


def example_of(name: str, question: str, documents: Documents, references: tuple[str, ...] = ()) -> Example:
    """Return the question as a system is asked it; its id changes with the documents."""
    content = digest(question, *_named(documents))
    return Example(id=f"{name}:{content[:16]}", question=question, answerable=True, references=references)


def _named(documents: Documents) -> list[str]:
    return [f"{file}\0{text}" for file, text in sorted(documents.items())]


class OwnDocuments:
    """A retriever over the documents of one example at a time.

    They are given by the example's id, and indexed as a person's are: from files, cleaned, split and embedded.
    """

    def __init__(self, documents: Mapping[str, Documents], home: Path, model: Model, split: SplitSettings) -> None:
        self._documents, self._home, self._model, self._split = documents, home, model, split
        self._retriever: RetrieverLike | None = None

    @contextmanager
    def of(self, example: Example) -> Iterator[None]:
        """Search the example's documents within the block."""
        documents = self._documents[example.id]
        folder = self._home / digest(*_named(documents))[:24]
        files = folder / "documents"
        files.mkdir(parents=True, exist_ok=True)
        for file, text in documents.items():
            (files / file).write_text(text, encoding="utf-8")
        model, name = self._model.embeddings, self._model.name
        with Library.open(folder / "index", model, embedding_name=name, split=self._split) as library:
            library.add([files])
            library.sync()
            library.require_passages()
            self._retriever = library.store.as_retriever()
            yield

    async def ainvoke(self, input: str, *, k: int) -> Sequence[Document]:  # noqa: A002
        """Search the documents of the example that is asked."""
        if self._retriever is None:
            raise LookupError("no example is asked")
        return await self._retriever.ainvoke(input, k=k)


def over(system: System, documents: OwnDocuments) -> System:
    """Return the system, whose retriever is ``documents``, searching those of each example that it is asked."""

    async def ask(example: Example) -> Record:
        with documents.of(example):
            return await system.ask(example)

    return WrappedSystem(system.name, system.fingerprint, ask)


def asked(
    name: str, examples: Sequence[Example], documents: Mapping[str, Documents], systems: Systems
) -> dict[str, list[Record]]:
    """Return what each system said, asked now or kept in ``bench/<name>.jsonl`` from before."""
    settings, screen = load_settings(), Screen()
    with (
        TemporaryDirectory() as home,
        RecordStore(FOLDER / f"{name}.jsonl") as store,
        library_to_ask([SAMPLE], settings, screen) as library,
        asking(screen) as progress,
    ):
        own = OwnDocuments(documents, Path(home), library.store.model, library.settings)
        surroundings = surroundings_of(settings, library)
        with SelfRAG(retriever=own, settings=settings, screen=screen) as rag:
            found = [over(with_surroundings(one, surroundings), own) for one in systems(rag.services, rag.context)]
            return asyncio.run(run_systems(found, examples, store, progress=progress))
