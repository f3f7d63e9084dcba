"""Embedding models behind a server, called within the same limits as chat models: OpenAI's or ``provider:model``."""

import asyncio
import json
from base64 import b64decode
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from core.errors import ModelError, RequestError
from models.chat import RETRIES
from models.connect import guard_provider, openai_http, remedies_of
from models.failures import Remedies, TransientModelError, classify, redacted_message
from models.http_limits import ExchangeLimits
from models.redaction import Secrets

BATCH = 64  # texts per call
BATCH_CHARACTERS = 100_000  # per call; OpenAI accepts 300,000 tokens, and no language needs three per character
MAX_PARTS = BATCH * 8200  # per reply: vectors of at most so many numbers
MAX_BYTES = MAX_PARTS * 24  # each number written out in full
Run = Callable[[Coroutine[Any, Any, list[list[float]]]], list[list[float]]]
EMBEDDING_REMEDIES = {
    "model": "SELFRAG_EMBEDDING_MODEL",
    "reply": "embedding",
    "request": " (a text too long for it? lower SELFRAG_CHUNK_SIZE)",
}


@dataclass(eq=False, repr=False)
class RemoteEmbeddings(Embeddings):
    """Vectors from a server. ``run`` runs a coroutine on the event loop that owns the client's connections.

    Raises `ModelError` if a call fails after its retries, or returns anything but one vector per text.
    """

    embed: Callable[[list[str]], Awaitable[Any]]
    name: str
    _: KW_ONLY
    call_seconds: float
    run: Run
    secrets: Secrets = field(default_factory=Secrets)
    remedies: Remedies = field(default_factory=lambda: Remedies(**EMBEDDING_REMEDIES))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        return [vector for batch in text_batches(clean) for vector in self.run(self._embed(batch))]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        for attempt in range(RETRIES + 1):
            try:
                async with asyncio.timeout(self.call_seconds):
                    return _validated(await self.embed(texts), len(texts), self.name)
            except Exception as error:  # noqa: BLE001 - each client library raises its own; all are classified
                failure, wait = classify(error, self.name, attempt, self.secrets, self.remedies)
                hung = "Timeout" in type(error).__name__  # a search is waiting: no time to retry
            if not isinstance(failure, TransientModelError) or hung or attempt == RETRIES or wait > self.call_seconds:
                raise failure
            await asyncio.sleep(wait)
        raise AssertionError("unreachable: the last attempt returns or raises")


def openai_embeddings(
    spec: str, *, base_url: str | None, api_key: str | None, call_seconds: float, run: Run
) -> RemoteEmbeddings:
    """Return the model ``openai:model`` behind the OpenAI protocol; ``base_url`` None means OpenAI itself.

    LangChain's own class is not used: it downloads a table to count tokens, and shows the server's words in warnings.
    """
    from openai import AsyncOpenAI

    if not api_key and not base_url:
        raise RequestError(f"The embedding model {spec} cannot be used without a key: set OPENAI_API_KEY.")
    client = AsyncOpenAI(
        base_url=base_url,
        api_key=api_key or "none",
        max_retries=0,
        http_client=openai_http(base_url, ExchangeLimits(call_seconds, MAX_BYTES, MAX_PARTS)),
    )

    async def embed(texts: list[str]) -> list[Any]:
        reply = await client.embeddings.with_raw_response.create(
            model=spec.removeprefix("openai:"), input=texts, encoding_format="base64"
        )
        # Parsing a batch of vectors written as numbers would block the event loop for seconds in the client.
        return [_decoded(one["embedding"]) for one in json.loads(reply.content)["data"]]

    return RemoteEmbeddings(embed, spec, call_seconds=call_seconds, run=run, secrets=Secrets(api_key, base_url))


def provider_embeddings(spec: str, *, call_seconds: float, run: Run) -> RemoteEmbeddings:
    """Return an embedding model by LangChain's ``provider:model``, configured by the provider's own variables."""
    from langchain.embeddings import init_embeddings

    try:
        model = init_embeddings(spec, **_settings_of(spec.partition(":")[0]))
    except Exception as error:  # noqa: BLE001 - each provider's package raises its own
        message = redacted_message(error, Secrets())
        raise RequestError(f"The embedding model {spec} cannot be used ({message}).") from None
    remedies = remedies_of(spec, **EMBEDDING_REMEDIES)
    guard_provider(model, spec, ExchangeLimits(call_seconds, MAX_BYTES, MAX_PARTS, remedies.address))
    return RemoteEmbeddings(model.aembed_documents, spec, call_seconds=call_seconds, run=run, remedies=remedies)


def _settings_of(provider: str) -> dict[str, Any]:
    """Return arguments that turn off the provider's own retries, and downloads of tokenizers to count tokens."""
    if provider == "azure_openai":
        return {"max_retries": 0, "check_embedding_ctx_length": False}
    if provider == "cohere":
        return {"max_retries": 1}
    if provider == "mistralai":
        from tokenizers import Regex, Tokenizer, models, pre_tokenizers

        characters = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))  # noqa: S106 - no password
        characters.pre_tokenizer = pre_tokenizers.Split(Regex("(?m)."), "isolated")
        return {"max_retries": None, "tokenizer": characters}
    return {}


def text_batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Split the texts into as few calls as `BATCH` and `BATCH_CHARACTERS` allow."""
    batch: list[str] = []
    for text in texts:
        if batch and (len(batch) == BATCH or sum(map(len, batch)) + len(text) > BATCH_CHARACTERS):
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch


def _decoded(encoded: Any) -> Any:
    """Decode a vector, which a server may send as base64."""
    return np.frombuffer(b64decode(encoded), "<f4") if isinstance(encoded, str) else encoded


def _validated(raw: Any, count: int, name: str) -> list[list[float]]:
    """Return the vectors; raise `ModelError` unless there is one per text, of one length and of finite numbers."""
    vectors: Any = np.empty(0)
    try:
        with np.errstate(over="ignore"):
            vectors = np.asarray(raw, dtype=np.float32)
    except (ValueError, TypeError, OverflowError):  # lists of different lengths, or not of numbers
        pass
    if vectors.ndim != 2 or len(vectors) != count or not vectors.size or not np.isfinite(vectors).all():
        raise ModelError(f"{name} did not give one vector of finite numbers for each text: name another model.")
    rows: list[list[float]] = vectors.tolist()
    return rows
