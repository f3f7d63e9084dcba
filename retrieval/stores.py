"""Where an index is, as a URL: its scheme says which kind of store it is."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from errors import RequestError
from retrieval.errors import shown
from retrieval.store import PassageStore

EMBEDDED = "sqlite"
_WRITE = "write sqlite:///, and then the folder's whole path"
_NO_FOLDER = f"SELFRAG_STORE names no folder: {_WRITE}."


def open_store(url: str, embeddings: Embeddings, embedding_name: str) -> VectorStore:
    """Open or make the store that a URL names: ``sqlite:///folder`` is the embedded one."""
    folder = library_folder(url, None)
    return PassageStore.open(folder, embeddings, embedding_name=embedding_name)


def library_folder(url: str, default: Path | None) -> Path:
    """Return the folder that a URL of the embedded store names; ``default`` is for one that names none."""
    try:
        parts = urlsplit(url)
    except ValueError as error:  # half an IPv6 address
        raise RequestError(_NO_FOLDER) from error
    if parts.scheme != EMBEDDED:
        raise RequestError(
            f"There is no store for {parts.scheme or 'no scheme'} in SELFRAG_STORE: name a folder as sqlite:///folder."
        )
    path = unquote(parts.path)
    if default is not None and path in ("", "/") and not parts.netloc:
        return default
    if parts.netloc or parts.query or parts.fragment or "\0" in path or not path.strip("/"):
        raise RequestError(_NO_FOLDER)
    try:
        return Path(path.removeprefix("/") if path.startswith("/~") else path).expanduser()
    except RuntimeError as error:  # there is no such user
        raise RequestError(f"SELFRAG_STORE names a home that is not known, {shown(path[1:])}: {_WRITE}.") from error
