"""The systems that are attacked, each asked over an attack's own documents, found by one and the same search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from langchain_core.embeddings import Embeddings

from evaluation.fingerprint import digest
from evaluation.records import Example, Record, System
from evaluation.self_rag import self_rag
from evaluation.systems import plain, with_surroundings
from graph.context import Context, RetrieverLike, Services
from retrieval.library.library import Library
from retrieval.splitter import SplitSettings

Opens = Callable[[Example], AbstractContextManager[RetrieverLike]]
PLAIN, OURS = "plain", "self-rag"


@dataclass
class Target:
    """A system that finds, for each example, what ``opens`` has for it."""

    name: str
    fingerprint: str
    make: Callable[[Services], System]
    services: Services
    opens: Opens

    async def ask(self, example: Example) -> Record:
        """As the system itself."""
        with self.opens(example) as retriever:
            return await self.make(replace(self.services, retriever=retriever)).ask(example)


def targets(services: Services, context: Context, opens: Opens, surroundings: Mapping[str, object]) -> list[System]:
    """Plain retrieve-and-generate, and Self-RAG; ``surroundings`` is what else their answers depend on."""
    makes: dict[str, Callable[[Services], System]] = {
        PLAIN: lambda services: plain(services, context, PLAIN),
        OURS: lambda services: self_rag(services, context, OURS),
    }
    return [
        Target(name, with_surroundings(make(services), surroundings).fingerprint, make, services, opens)
        for name, make in makes.items()
    ]


def libraries(
    documents: Mapping[str, Mapping[str, str]], home: Path, embeddings: Embeddings, name: str, split: SplitSettings
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
