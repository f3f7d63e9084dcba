"""Fill a store with texts that are passages already, as a library does with what it reads from files."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from retrieval.searching_store import Store
from retrieval.store import FileRecord, SplitFile


def put_texts(store: Store, texts: Sequence[str], metadatas: Sequence[Mapping[str, Any]] = ()) -> None:
    """Write each text as a passage of the file that its metadata name as ``source``, else of one file for all."""
    unnamed = f"texts-{len(store.records())}"
    files: dict[str, list[Document]] = {}
    for text, metadata in zip(texts, metadatas or [{}] * len(texts), strict=True):
        files.setdefault(metadata.get("source", unnamed), []).append(Document(text, metadata=dict(metadata)))
    with store.only_writer():
        store.put([SplitFile(FileRecord(source.encode()), passages) for source, passages in files.items()])
        store.settle()
