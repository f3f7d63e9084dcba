"""Where threads are kept: in the database that holds the libraries, or else in a folder beside them."""

from app.conversations.feedback import FeedbackFolder, FeedbackStore
from app.conversations.store import Threads
from app.conversations.tables import ThreadTables
from app.settings import Settings
from core.errors import RequestError
from retrieval.library.library import names_database


def open_threads(settings: Settings, store: str | None = None, *, expire: bool = True) -> ThreadTables:
    """Open the threads of ``store``, or else of the store in the settings; if ``expire``, delete old ones.

    Raises `ThreadStorageError`, and for a database `RequestError` and `StoreUnavailable`.
    """
    url, keep_days = store or settings.selfrag_store, settings.selfrag_keep_days if expire else None
    if not names_database(url):
        return Threads(settings.owned_folder("threads"), keep_days=keep_days)
    try:
        from app.conversations.postgres.threads import SharedThreads
    except ImportError as error:
        raise RequestError(
            f"SELFRAG_STORE names PostgreSQL, which needs {error.name}: run pip install -r requirements-postgres.txt."
        ) from error
    return SharedThreads(url, keep_days=keep_days)


def open_feedback(settings: Settings, threads: ThreadTables | None) -> FeedbackStore:
    """Open the store of feedback: in the database of the threads, if there is one, or else in a folder."""
    return (threads and threads.feedback) or FeedbackFolder(settings.owned_folder("feedback"))
