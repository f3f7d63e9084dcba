"""What an answer was made with: the version, the models, the prompts and the index."""

from contextlib import suppress
from functools import cache

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel

from app.compose import calibration_of, chat_model_name, critic_name
from app.settings import EMBEDDED, Settings
from core.errors import SelfRAGError
from core.fingerprint import digest, digest_of_code
from core.version import VERSION
from models.model_files import CHAT_MODEL
from models.redaction import Secrets
from retrieval.filters import Visible
from retrieval.library.library import Library

HASH_LENGTH = 12


class Stamp(BaseModel, frozen=True):
    """The version, the names of the models, and short hashes of the prompts and of what is indexed.

    A field is None if it is unknown, such as the index of a retriever of the caller's own.
    """

    version: str
    chat_model: str | None = None
    critic_model: str | None = None
    embedding_model: str | None = None
    prompts: str
    index: str | None = None


def stamp_of(settings: Settings, model: BaseChatModel | None = None, critic: BaseChatModel | None = None) -> Stamp:
    """Return the stamp of the models that `compose.services_of` would load, without secrets in their names."""
    writes = chat_model_name(model) if model else _model_name(settings.chat_model, settings)
    judges = writes if model else _model_name(critic_name(settings), settings)
    if critic:
        judges = chat_model_name(critic)
    return bare_stamp().model_copy(
        update={"chat_model": without_secrets(writes, settings), "critic_model": without_secrets(judges, settings)}
    )


@cache
def bare_stamp() -> Stamp:
    """Return the stamp of a run of which neither models nor documents are known."""
    return Stamp(version=VERSION, prompts=digest_of_code(("prompts",))[:HASH_LENGTH])


def with_library(stamp: Stamp, library: Library, settings: Settings, visible: Visible | None = None) -> Stamp:
    """Return the stamp with the embedding model of ``library`` and a hash of its documents that are ``visible``.

    If the library has been damaged, ``index`` stays None.
    """
    known = {"embedding_model": without_secrets(library.store.model.name, settings)}
    with suppress(SelfRAGError):  # the answer was paid for: it is kept without
        known["index"] = library.content_hash(visible)[:HASH_LENGTH]
    return stamp.model_copy(update=known)


def calibration_name(
    settings: Settings, model: BaseChatModel | None = None, critic: BaseChatModel | None = None
) -> str | None:
    """Return the name and short hash of the critic's calibration; None for a critic that has none."""
    calibration = None if model or critic else calibration_of(critic_name(settings), settings)
    return f"{EMBEDDED}-{digest(calibration.model_dump_json())[:HASH_LENGTH]}" if calibration else None


def without_secrets(name: str, settings: Settings) -> str:
    """Return a model's name without the key, credentials, or anything else that looks secret."""
    for url in (settings.openai_base_url, settings.openai_api_base, name):
        name = Secrets(settings.key, url).redacted(name)
    return name


def _model_name(name: str, settings: Settings) -> str:
    """Return a model's name; for the embedded model, ``embedded:`` and the name of its file."""
    if name != EMBEDDED:
        return name
    return f"{EMBEDDED}:{settings.selfrag_model_path.name if settings.selfrag_model_path else CHAT_MODEL.name}"
