"""Where an index is, as a URL: its scheme says which kind of store it is."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from errors import RequestError
from retrieval.store import PassageStore

EMBEDDED = "sqlite"


def open_store(url: str, embeddings: Embeddings, embedding_name: str) -> VectorStore:
    """Open or make the store that a URL names: ``sqlite:///folder`` is the embedded one."""
    folder = library_folder(url, None)
    return PassageStore.open(folder, embeddings, embedding_name=embedding_name)


def library_folder(url: str, default: Path | None) -> Path:
    """Return the folder that a URL of the embedded store names; ``default`` is for one that names none."""
    parts = urlsplit(url)
    if parts.scheme != EMBEDDED:
        raise RequestError(
            f"There is no store for {parts.scheme or 'no scheme'} in SELFRAG_STORE: name a folder as sqlite:///folder."
        )
    path = unquote(parts.path)
    if parts.netloc or parts.query or parts.fragment or path in ("", "/"):
        if default is not None and not parts.netloc and path in ("", "/"):
            return default
        raise RequestError("SELFRAG_STORE names no folder: write sqlite:///, and then the folder's whole path.")
    return Path(path)
