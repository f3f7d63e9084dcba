"""Bind the models and the library to the graph, as the settings say."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel

from app.settings import EMBEDDED, OF_A_QUESTION, Settings
from core.background import in_background
from core.errors import RequestError
from models.calibration import EMBEDDED as CALIBRATED
from models.calibration import MINILM, Calibration, Fits, adapter_file, adapters_are_intact
from models.chat import CONCURRENCY, Chat
from models.connect import arguments_of, openai_chat, provider_chat
from models.critic import Critic
from models.embedded import EmbeddedServer, start_embedded
from models.embeddings import NAME, MiniLM
from models.generator import Generator
from models.model_files import CHAT_MODEL, EMBEDDING_MODEL, TOKENIZER, Progress, ensure, verify_external
from models.prefix_cache import Prefixes
from prompts.answer_check import USEFULNESS
from prompts.decide import RETRIEVE
from prompts.query_table import FITS, QUERY_TABLE
from prompts.shared import FIXED, with_all_examples
from run.context import Context, Limits, RetrieverLike, Services, Thresholds, Weights

CALLERS = "the caller's own"  # the name of a model that the caller passed
REMOTE_CALL_SECONDS = 60.0
EMBEDDED_CALL_SECONDS = 300.0
EMBEDDED_CONCURRENCY = 16  # it reads one prompt at a time; the server has a thread for each connection
AT_ONCE = 8  # questions
EMBEDDED_AT_ONCE = 1
REMOTE_LIMITS = Limits()
EMBEDDED_LIMITS = Limits(seconds=600)


def services_of(
    settings: Settings,
    retriever: RetrieverLike,
    progress: Progress | None = None,
    *,
    model: BaseChatModel | None = None,
    critic: BaseChatModel | None = None,
) -> Services:
    """Bind the generator, the critic and the retriever, with the limits and thresholds that fit them.

    ``model`` and ``critic`` replace the models that the settings name; ``model`` alone replaces both.
    """
    if model:
        settings = settings.model_copy(update={"selfrag_chat_model": CALLERS, "selfrag_critic_model": None})
    if critic:
        settings = settings.model_copy(update={"selfrag_critic_model": CALLERS})
    writer = chat_over(model, settings) if model else chat_of(settings.chat_model, settings, progress)
    name = critic_name(settings)
    if critic:
        judge = chat_over(critic, settings)
    elif name == settings.chat_model:
        judge = writer
    else:
        judge = chat_of(name, settings, progress)
        judge.remedies = replace(judge.remedies, model="SELFRAG_CRITIC_MODEL")
    unbound = services_without_models(settings, retriever)
    return replace(unbound, generator=Generator(writer), critic=Critic(judge))


def services_without_models(settings: Settings, retriever: RetrieverLike) -> Services:
    """Return services without a model loaded: enough to fingerprint a system of an evaluation, not to ask."""
    nothing: Any = None
    calibration = calibration_of(critic_name(settings), settings)
    calibrated = calibration.thresholds if calibration else {}
    gate = None if settings.selfrag_embedding_model else MINILM
    named = {
        "retrieve": settings.selfrag_threshold_retrieve,
        "relevant": settings.selfrag_threshold_relevant,
        "supported": settings.selfrag_threshold_supported,
        "verified": settings.selfrag_threshold_supported,
    }
    thresholds = Thresholds(**(gate.thresholds if gate else {}) | calibrated | _given(named))
    writes_queries = calibration_of(settings.chat_model, settings) is None
    fits = calibration.fits if calibration else Fits()
    fits = fits.model_copy(update={"gate": gate.fits.gate} if gate else {"gate": None, "route": None})
    return Services(
        nothing,
        nothing,
        retriever,
        thresholds,
        limits_of(settings),
        fits,
        rewriting=settings.selfrag_rewriting or ("model" if writes_queries else "names"),
        ratings=settings.selfrag_ratings or ("direct" if calibration else "all"),
        follow_ups=settings.selfrag_follow_ups or "search",  # for every model, until rewriting is measured
    )


def critic_name(settings: Settings) -> str:
    return settings.selfrag_critic_model or settings.chat_model


def calibration_of(critic: str, settings: Settings) -> Calibration | None:
    """Return the critic's calibration; None unless the critic is the default embedded model with all its adapters."""
    own = critic == EMBEDDED and settings.selfrag_model_path is None
    return CALIBRATED if own and adapters_are_intact() else None


def limits_of(settings: Settings) -> Limits:
    """Return the limits of a run from the settings, with defaults for the rest: more seconds for the embedded model."""
    defaults = EMBEDDED_LIMITS if settings.uses_embedded else REMOTE_LIMITS
    named = {name: getattr(settings, f"selfrag_limit_{name.removeprefix('model_')}") for name in Limits.model_fields}
    return defaults.model_copy(update=_given(named))


def context_of(settings: Settings, given: Context | None = None) -> Context:
    """Return ``given`` with its unset fields from the settings. `Services` completes limits and thresholds later."""
    relevance, support, usefulness = settings.selfrag_weights
    own = Context(
        **{name: getattr(settings, f"selfrag_{name}") for name in OF_A_QUESTION},
        weights=Weights(relevance=relevance, support=support, usefulness=usefulness),
    )
    return merged(own, given)


def merged(context: Context, given: Context | None) -> Context:
    """Return ``context`` with the fields that are set in ``given``, the context of one question."""
    if given is None:
        return context
    return context.model_copy(update={name: getattr(given, name) for name in given.model_fields_set})


def chat_of(name: str, settings: Settings, progress: Progress | None = None) -> Chat:
    """Return the chat model ``name``: ``embedded``, ``provider:model``, or a model of the endpoint."""
    seconds, most = settings.selfrag_call_seconds, settings.selfrag_concurrency
    if name == EMBEDDED:
        server = embedded_server(settings, progress)
        endpoint = server.start()
        chat = openai_chat(
            EMBEDDED,
            base_url=endpoint.base_url,
            api_key=endpoint.api_key,
            call_seconds=seconds or EMBEDDED_CALL_SECONDS,
            concurrency=most or EMBEDDED_CONCURRENCY,
            name="the embedded model",
        )
        chat.on_ask, chat.prepare = server.note, with_all_examples
        chat.adapters = {path.stem: number for number, path in enumerate(server.adapters)}
        return chat
    seconds, most = seconds or REMOTE_CALL_SECONDS, most or CONCURRENCY
    url, key = settings.openai_base_url, settings.key
    if not url and ":" in name:
        provider, _, model = name.partition(":")
        if provider != "openai":
            return provider_chat(name, call_seconds=seconds, concurrency=most)
        name = model
    return openai_chat(
        name, base_url=url or settings.openai_api_base, api_key=key, call_seconds=seconds, concurrency=most
    )


def embedded_server(settings: Settings, progress: Progress | None = None) -> EmbeddedServer:
    """Start this process's server of the embedded model; the default model is served with its adapters."""
    calibration = calibration_of(EMBEDDED, settings)
    adapters = [adapter_file(choice) for choice in calibration.adapters] if calibration else []
    # The fixed parts of the prompts that a question is most often asked with; the first one needed comes last.
    prompts = (FITS.messages, QUERY_TABLE, USEFULNESS.messages, RETRIEVE.messages, FIXED)
    return start_embedded(
        chat_file(settings, progress), Prefixes(settings.models_folder / "prefixes", prompts), adapters
    )


def chat_over(model: BaseChatModel, settings: Settings) -> Chat:
    """Return a chat over the caller's own LangChain model, whose client the caller configures and closes."""
    return Chat(
        lambda: model,
        chat_model_name(model),
        call_seconds=settings.selfrag_call_seconds or REMOTE_CALL_SECONDS,
        concurrency=settings.selfrag_concurrency or CONCURRENCY,
        arguments=arguments_of(model),
        owned=False,
    )


def chat_model_name(model: BaseChatModel) -> str:
    """Return the name of a LangChain chat model, or of its class if it has none."""
    return str(getattr(model, "model_name", None) or getattr(model, "model", None) or type(model).__name__)


def chat_file(settings: Settings, progress: Progress | None = None) -> Path:
    """Return the file of the embedded chat model: the one that is named, or the default, downloaded if missing."""
    if settings.selfrag_model_path:
        return verify_external(settings.selfrag_model_path.expanduser())
    return ensure(CHAT_MODEL, settings.models_folder, progress)


def embeddings_of(settings: Settings, progress: Progress | None = None) -> tuple[Embeddings, str]:
    """Return the embedding model, and the name under which an index remembers it. Raises `RequestError`."""
    name = settings.selfrag_embedding_model
    if name and ":" not in name:
        raise RequestError(f"SELFRAG_EMBEDDING_MODEL is {name}: write it as provider:model.")
    if name:
        from models.remote_embeddings import openai_embeddings, provider_embeddings

        seconds = settings.selfrag_call_seconds or REMOTE_CALL_SECONDS
        if name.startswith("openai:"):
            url, key = settings.openai_base_url or settings.openai_api_base, settings.key
            return openai_embeddings(name, base_url=url, api_key=key, call_seconds=seconds, run=in_background), name
        return provider_embeddings(name, call_seconds=seconds, run=in_background), name
    model = ensure(EMBEDDING_MODEL, settings.models_folder, progress)
    return MiniLM(model, ensure(TOKENIZER, settings.models_folder, progress)), NAME


def usual_concurrency(settings: Settings) -> int:
    """Return how many questions, or claims, are asked at the same time by default."""
    return EMBEDDED_AT_ONCE if settings.uses_embedded else AT_ONCE


def questions_at_once(settings: Settings) -> int:
    return settings.selfrag_server_concurrency or usual_concurrency(settings)


def _given(named: Mapping[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in named.items() if value is not None}
