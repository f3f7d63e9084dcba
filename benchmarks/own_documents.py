"""Ask systems about examples that each have documents of their own, found by one and the same search."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from langchain_core.embeddings import Embeddings
from langsmith import tracing_context

from app.compose import embeddings_of
from app.settings import load_settings
from app.terminal.progress import asking
from app.terminal.screen import Screen
from benchmarks.harness import FOLDER
from benchmarks.sample import open_docs
from core.fingerprint import digest
from evaluation.record_store import Store
from evaluation.records import Example, Record, System
from evaluation.run import run
from evaluation.systems import with_surroundings
from retrieval.library.library import Library
from retrieval.splitter import SplitSettings
from run.context import Context, RetrieverLike, Services

Documents = Mapping[str, str]  # texts by file name
Opens = Callable[[Example], AbstractContextManager[RetrieverLike]]
Make = Callable[[Services], System]
Bind = Callable[[Make, Services], System]
Systems = Callable[[Services, Context, Bind], list[System]]


def example_of(name: str, question: str, documents: Documents, references: tuple[str, ...] = ()) -> Example:
    """The question as a system is asked it; its id changes with the documents."""
    content = digest(question, *(f"{file}\0{text}" for file, text in sorted(documents.items())))
    return Example(id=f"{name}:{content[:16]}", question=question, answerable=True, references=references)


@dataclass
class Target:
    """A system that finds, for each example, what ``opens`` has for it."""

    name: str
    fingerprint: str
    make: Make
    services: Services
    opens: Opens

    async def ask(self, example: Example) -> Record:
        """As the system itself."""
        with self.opens(example) as retriever:
            return await self.make(replace(self.services, retriever=retriever)).ask(example)


def libraries(
    documents: Mapping[str, Documents], home: Path, embeddings: Embeddings, name: str, split: SplitSettings
) -> Opens:
    """Index an example's documents, given by its id, as a person's are: from files, cleaned, split and embedded."""

    @contextmanager
    def opens(example: Example) -> Iterator[RetrieverLike]:
        folder = home / digest(*(f"{file}\0{text}" for file, text in sorted(documents[example.id].items())))[:24]
        files = folder / "documents"
        files.mkdir(parents=True, exist_ok=True)
        for file, text in documents[example.id].items():
            (files / file).write_text(text, encoding="utf-8")
        with Library.open(folder / "index", embeddings, embedding_name=name, split=split) as library:
            library.add([files])
            library.sync()
            library.require_passages()
            yield library.store.as_retriever()

    return opens


def asked(
    name: str, examples: Sequence[Example], documents: Mapping[str, Documents], systems: Systems, screen: Screen
) -> dict[str, list[Record]]:
    """Return what each system said, asked now or kept in ``bench/<name>.jsonl`` from before.

    ``systems`` makes them of the services, the settings, and what binds a system to each example's documents.
    """
    settings = load_settings()
    embeddings, embedding = embeddings_of(settings)
    split = SplitSettings(settings.selfrag_chunk_size, settings.selfrag_chunk_overlap)
    surroundings = {
        "chat": settings.chat_model,
        "critic": settings.selfrag_critic_model or settings.chat_model,
        "file": settings.selfrag_model_path,
        "embeddings": embedding,
        "split": vars(split),
    }
    with (
        TemporaryDirectory() as home,
        Store(FOLDER / f"{name}.jsonl") as store,
        open_docs(None) as rag,
        asking(screen) as progress,
        tracing_context(enabled=False),
    ):
        opens = libraries(documents, Path(home), embeddings, embedding, split)

        def bind(make: Make, services: Services) -> System:
            one = with_surroundings(make(services), surroundings)
            return Target(one.name, one.fingerprint, make, services, opens)

        return asyncio.run(run(systems(rag.services, rag.context, bind), examples, store, progress=progress))
