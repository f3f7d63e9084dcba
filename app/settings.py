"""Read settings from the environment and ``.env``. An option beats the environment, which beats ``.env``."""

import errno
import io
import os
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import platformdirs
from dotenv import load_dotenv
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.options import weights
from core.errors import RequestError
from core.files import read_regular
from core.types import Fallback, FollowUps, Length, Ratings, Rewriting
from models.redaction import without_password

DEFAULT_CHAT_MODEL = "gpt-4o-mini"
EMBEDDED = "embedded"
# The settings that are also fields of a question's `Context`; each has an option.
OF_A_QUESTION = tuple(
    "length beam mode strategy k temperature answer_tokens fallback scoring constraints caution".split()
)
LARGEST_ENV = 64_000  # bytes: what is longer could not be handed to a child process as its environment


class Settings(BaseSettings):
    """Every setting; ``.env.example`` explains each. A setting with an empty value counts as not set."""

    model_config = SettingsConfigDict(env_ignore_empty=True, extra="ignore", frozen=True)

    openai_api_key: SecretStr | None = None
    openai_base_url: str | None = None
    openai_api_base: str | None = None
    selfrag_chat_model: str | None = None
    selfrag_critic_model: str | None = None
    selfrag_embedding_model: str | None = None
    selfrag_model_path: Path | None = None
    selfrag_home: Path | None = None
    selfrag_store: str = Field("sqlite://", repr=False)  # may hold a password
    selfrag_machine: str | None = Field(None, max_length=200)
    selfrag_shared_folders: str | None = None
    selfrag_search: Literal["hybrid", "vectors", "bm25"] = "hybrid"
    selfrag_tracing: Literal["off", "langsmith", "otel"] = "off"
    selfrag_tokens_file: Path | None = None
    selfrag_audit_file: Path | None = None
    selfrag_server_concurrency: int | None = Field(None, ge=1, le=1000)
    selfrag_server_queue: int = Field(32, ge=0, le=10_000)
    selfrag_server_sources: Literal["on", "off"] = "on"
    selfrag_upload_mb: int = Field(50, ge=1, le=200)
    selfrag_keep_days: int | None = Field(None, ge=1, le=100_000)

    selfrag_mode: Literal["adaptive", "always", "never"] = "adaptive"
    selfrag_strategy: Literal["combined", "per-passage"] = "combined"
    selfrag_length: Length | None = None
    selfrag_beam: int = Field(2, ge=1, le=20)
    selfrag_fallback: Fallback = "abstain"
    selfrag_rewriting: Rewriting | None = None
    selfrag_ratings: Ratings | None = None
    selfrag_follow_ups: FollowUps | None = None
    selfrag_constraints: Literal["soft", "hard"] = "soft"
    selfrag_scoring: Literal["paper", "support-first"] = "paper"
    selfrag_weights: Annotated[tuple[float, float, float], NoDecode] = (1.0, 1.0, 0.5)
    selfrag_k: int = Field(4, ge=1, le=50)
    selfrag_temperature: float | None = Field(None, ge=0, le=2)
    selfrag_answer_tokens: int | None = Field(None, ge=20, le=4_000)
    selfrag_chunk_size: int = Field(500, ge=50, le=20_000)
    selfrag_chunk_overlap: int = Field(50, ge=0, le=10_000)
    selfrag_threshold_retrieve: float | None = Field(None, ge=0, le=1)
    selfrag_threshold_relevant: float | None = Field(None, ge=0, le=1)
    selfrag_threshold_supported: float | None = Field(None, ge=0, le=1)
    selfrag_caution: float | None = Field(None, ge=0, le=1)
    selfrag_limit_rewrites: int | None = Field(None, ge=0, le=20)
    selfrag_limit_drafts: int | None = Field(None, ge=1, le=20)
    selfrag_limit_segments: int | None = Field(None, ge=1, le=50)
    selfrag_limit_calls: int | None = Field(None, ge=1)
    selfrag_limit_tokens: int | None = Field(None, ge=1)
    selfrag_limit_seconds: float | None = Field(None, gt=0)
    selfrag_call_seconds: float | None = Field(None, gt=0)
    selfrag_concurrency: int | None = Field(None, ge=1, le=1000)

    @field_validator("openai_api_key", "openai_base_url", "openai_api_base", mode="before")
    @classmethod
    def _is_trimmed(cls, given: object) -> object:
        """Strip white space: a pasted value may end in a line break, or be blank."""
        return (given.strip() or None) if isinstance(given, str) else given

    @field_validator("openai_api_key")
    @classmethod
    def _is_a_key(cls, key: SecretStr | None) -> SecretStr | None:
        said = key.get_secret_value() if key else ""
        if said and not (said.isascii() and said.isprintable()):
            raise PydanticCustomError("key", "it holds a character that no key has, so copy it again")
        return key

    @field_validator("openai_base_url", "openai_api_base")
    @classmethod
    def _is_an_address(cls, url: str | None) -> str | None:
        if url is None:
            return None
        import httpx2

        try:
            parts = urlsplit(url)
            named = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and httpx2.URL(url)
            right = named and "\\" not in url  # which some take for a slash: readers would differ on what is the host
        except (ValueError, httpx2.InvalidURL):  # a port that is no number, half an IPv6 address, a line break
            right = False
        if not right:
            raise PydanticCustomError("url", "it is no address like http://127.0.0.1:11434/v1")
        return url

    @field_validator("selfrag_weights", mode="before")
    @classmethod
    def _are_weights(cls, given: object) -> object:
        try:
            return weights(given) if isinstance(given, str) else given
        except ValueError:
            raise PydanticCustomError("weights", "it is no list of three numbers like 1,1,0.5") from None

    @field_validator("selfrag_home", "selfrag_model_path", "selfrag_tokens_file", "selfrag_audit_file")
    @classmethod
    def _is_a_path(cls, path: Path | None) -> Path | None:
        """Check that a path's ``~`` can be expanded; return the path as given, because fingerprints contain it."""
        try:
            if path:
                os.lstat(path.expanduser())
        except RuntimeError:
            raise PydanticCustomError("path", "there is no such user, write the folder's whole path") from None
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise PydanticCustomError("path", "no path can be as long") from None
        return path

    @field_validator("selfrag_shared_folders")
    @classmethod
    def _are_paths(cls, paths: str | None) -> str | None:
        for path in (paths or "").split(os.pathsep):
            cls._is_a_path(Path(path))
        return paths

    @property
    def key(self) -> str | None:
        """The API key of the endpoint, which must not be shown."""
        return self.openai_api_key.get_secret_value() if self.openai_api_key else None

    @property
    def server(self) -> str | None:
        """The endpoint's address without credentials; None for OpenAI's own."""
        address = self.openai_base_url or self.openai_api_base
        return without_password(address).rstrip("/") if address else None

    @property
    def chat_model(self) -> str:
        """The chat model's name: as named, the endpoint's default, or ``embedded``."""
        if self.selfrag_chat_model:
            return self.selfrag_chat_model
        return DEFAULT_CHAT_MODEL if self.openai_api_key or self.openai_base_url else EMBEDDED

    @property
    def uses_embedded(self) -> bool:
        return EMBEDDED in (self.chat_model, self.selfrag_critic_model)

    @property
    def models_folder(self) -> Path:
        """The folder of downloaded models. Raises `RequestError`, like other folders, if no home folder is known."""
        return self._home("cache") / "models"

    @property
    def libraries_folder(self) -> Path:
        """The folder of indexes."""
        return self._home("data") / "libraries"

    @property
    def uploads_folders(self) -> tuple[Path, Path]:
        """The folders of uploads: that of a server without tokens, and that of one with tokens."""
        home = self._home("data")
        return home / "uploads", home / "uploads-of-tokens"

    def owned_folder(self, name: Literal["uploads", "feedback", "threads"]) -> Path:
        """Return the folder of uploads, feedback or threads outside a database; a server with tokens has its own."""
        return self._home("data") / (f"{name}-of-tokens" if self.selfrag_tokens_file else name)

    def _home(self, kind: Literal["cache", "data"]) -> Path:
        if self.selfrag_home:
            return self.selfrag_home.expanduser()
        default = platformdirs.user_cache_path if kind == "cache" else platformdirs.user_data_path
        try:
            return default("selfrag", appauthor=False)
        except RuntimeError as error:
            raise RequestError("This user's home folder is not known: set SELFRAG_HOME to a whole path.") from error


class _EnvFile(io.StringIO):
    """``.env`` of the working folder; it is opened when python-dotenv reads it, not with PYTHON_DOTENV_DISABLED."""

    def read(self, size: int | None = -1) -> str:
        """Return the whole file; "" if there is none, or if ``.env`` is a folder, such as a virtual environment."""
        try:
            data = read_regular(Path(".env"), LARGEST_ENV)
        except (FileNotFoundError, IsADirectoryError):
            return ""
        return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8").read()


def load_settings() -> Settings:
    """Read ``.env`` of the working folder, and the environment, whose values override those of ``.env``.

    Raises `RequestError` naming the first setting that is wrong.
    """
    try:
        load_dotenv(stream=_EnvFile(), override=False)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RequestError(f"The file .env cannot be read ({reason}): write it anew after .env.example.") from error
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        raise RequestError(f"{str(first['loc'][0]).upper()} is wrong: {first['msg']}; see .env.example.") from None
