"""Read documents in this process, for benchmarks and tests; the program reads them in a sandbox."""

from pathlib import Path

from langchain_core.documents import Document

from retrieval.documents.load import documents_of, parse_document, read_regular_file


def load(path: Path) -> list[Document]:
    """Read a document of any kind, or plain text with another suffix. Raises ``UnreadableDocument``, ``OSError``."""
    return documents_of(path, parse_document(path, read_regular_file(path)))
