import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.compose import EMBEDDED_LIMITS, chat_of, context_of, embeddings_of, limits_of, services_of
from app.settings import EMBEDDED, LARGEST_ENV, Settings, load_settings
from core.errors import RequestError
from run.context import Limits, Weights
from tests.scripted import ScriptedRetriever


@pytest.mark.parametrize(
    ("environment", "model"),
    [
        ({}, EMBEDDED),
        ({"OPENAI_API_KEY": ""}, EMBEDDED),
        ({"OPENAI_API_KEY": "x"}, "gpt-4o-mini"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, "gpt-4o-mini"),
        ({"OPENAI_API_KEY": "x", "SELFRAG_CHAT_MODEL": "big"}, "big"),
        ({"SELFRAG_CHAT_MODEL": "anthropic:claude"}, "anthropic:claude"),
        ({"OPENAI_API_KEY": "x", "SELFRAG_CHAT_MODEL": "embedded"}, EMBEDDED),
    ],
)
def test_the_chat_model(environment: dict[str, str], model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert load_settings().chat_model == model


@pytest.mark.parametrize(
    ("name", "values", "wrong"),
    [
        ("OPENAI_BASE_URL", ("localhost:11434/v1", "http://", "http://host:port/v1", "ftp://host"), "it is no address"),
        ("OPENAI_BASE_URL", ("http://ho\nst/v1", "http://ho\u200bst/v1", "http://host\\@other/v1"), "it is no address"),
        (
            "SELFRAG_WEIGHTS",
            ("1", "1,1", "1,1,1,1", "a,b,c", "1,1,-1", "nan,1,1", "1,1,inf"),
            r"it is no list of three numbers like 1,1,0\.5",
        ),
        ("SELFRAG_HOME", ("~nosuchuser/x",), "there is no such user"),
        ("SELFRAG_HOME", ("x" * 300, "x/" * 5000), "as long"),
        ("SELFRAG_MODEL_PATH", ("~nosuchuser/x",), "there is no such user"),
        ("SELFRAG_MODEL_PATH", ("x" * 300, "x/" * 5000), "as long"),
        ("SELFRAG_SHARED_FOLDERS", ("~nosuchuser/x", os.pathsep.join(["/a", "~nosuchuser"])), "there is no such user"),
        ("SELFRAG_K", ("51",), "less than or equal to 50"),
    ],
)
def test_a_wrong_setting_is_named_at_once(
    name: str, values: tuple[str, ...], wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in values:
        monkeypatch.setenv(name, value)
        with pytest.raises(RequestError, match=rf"{name} is wrong: .*{wrong}"):
            load_settings()


@pytest.mark.parametrize(
    ("given", "key"), [("sk-123\n", "sk-123"), ("\t sk-123\r\n", "sk-123"), (" \n", None), ("pass word", "pass word")]
)
def test_a_key_and_an_address_are_taken_without_the_blanks_around_them(
    given: str, key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", given)
    monkeypatch.setenv("OPENAI_BASE_URL", " http://127.0.0.1:9/v1\n")
    assert (load_settings().key, load_settings().openai_base_url) == (key, "http://127.0.0.1:9/v1")


@pytest.mark.parametrize("key", ["sk-1\n23", "sk-ключ", "sk-1\x7f", "sk-1\u200b23"])
def test_a_key_that_no_request_can_carry_is_refused_and_not_shown(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(RequestError, match=r"OPENAI_API_KEY is wrong: it holds a character that no key has") as error:
        load_settings()
    assert "sk-" not in str(error.value)


def test_a_key_is_not_shown() -> None:
    settings = Settings(openai_api_key="sk-secret")
    assert "sk-secret" not in repr(settings) + str(settings)


def test_limits_named_replace_the_models_own() -> None:
    assert limits_of(Settings(selfrag_chat_model="big")) == Limits()
    assert limits_of(Settings()) == EMBEDDED_LIMITS
    assert limits_of(Settings(selfrag_chat_model="big", selfrag_critic_model=EMBEDDED)) == EMBEDDED_LIMITS
    named = limits_of(Settings(selfrag_limit_calls=3, selfrag_limit_seconds=7))
    assert (named.model_calls, named.seconds, named.tokens) == (3, 7, EMBEDDED_LIMITS.tokens)


def test_thresholds_named_replace_the_calibrated_ones() -> None:
    remote = {"openai_api_key": "x", "openai_base_url": "http://127.0.0.1:9/v1"}
    made = services_of(Settings(**remote), ScriptedRetriever())  # type: ignore[arg-type]
    assert (made.thresholds.retrieve, made.thresholds.relevant) == (0.5, 0.5)
    named = Settings(**remote, selfrag_threshold_relevant=0.0)  # type: ignore[arg-type]
    assert services_of(named, ScriptedRetriever()).thresholds.relevant == 0.0


def test_weights_and_constraints_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SELFRAG_WEIGHTS", "0, 2,.5")
    monkeypatch.setenv("SELFRAG_CONSTRAINTS", "hard")
    context = context_of(load_settings())
    assert (context.weights, context.constraints) == (Weights(relevance=0, support=2, usefulness=0.5), "hard")


def test_a_name_with_a_colon_is_a_provider_unless_an_endpoint_is_given() -> None:
    assert chat_of("ollama:small", Settings()).name == "ollama:small"
    endpoint = Settings(openai_base_url="http://127.0.0.1:9/v1")
    assert chat_of("llama3:8b", endpoint).name == "llama3:8b at http://127.0.0.1:9/v1"


@pytest.mark.parametrize("name", ["minilm", "nowhere:model"])
def test_a_wrong_embedding_model_is_named(name: str) -> None:
    with pytest.raises(RequestError, match=name):
        embeddings_of(Settings(selfrag_embedding_model=name))


@pytest.fixture
def env_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where ``.env`` is looked for, in a working folder that is empty."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("PYTHON_DOTENV_DISABLED")
    before = dict(os.environ)
    yield folder / ".env"
    for name in os.environ.keys() - before.keys():
        del os.environ[name]


def test_an_env_file_is_read_and_the_environment_beats_it(env_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SELFRAG_K", "7")
    env_file.write_bytes(
        b"\xef\xbb\xbfSELFRAG_MODE=always\r\nSELFRAG_K=3\r\nNAME=big\r\nSELFRAG_CHAT_MODEL=${NAME}\r\n"
    )
    settings = load_settings()
    assert (settings.selfrag_mode, settings.selfrag_k, settings.chat_model) == ("always", 7, "big")


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("make", "part"),
    [
        (os.mkfifo, "it is not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "it is not a regular file"),
        (lambda path: path.write_bytes(b"A=" + b"x" * LARGEST_ENV), "it is larger than"),
        (lambda path: path.write_bytes(b"SELFRAG_CHAT_MODEL=\0x"), "null byte"),
        (lambda path: path.symlink_to(".env"), "symbolic links"),
        (lambda path: path.write_bytes(b"OPENAI_API_KEY=\xff\xfe"), ""),
    ],
    ids=["fifo", "device", "huge", "nul", "loop", "no text"],
)
def test_an_env_file_that_is_none_is_named(env_file: Path, make: Callable[[Path], object], part: str) -> None:
    make(env_file)
    with pytest.raises(RequestError, match=rf"The file \.env cannot be read \(.*{part}.*\): write it anew"):
        load_settings()


def test_a_virtual_environment_of_that_name_is_no_env_file(env_file: Path) -> None:
    env_file.mkdir()
    assert load_settings().selfrag_k == 4


def test_an_env_file_is_not_even_opened_where_it_is_disabled(env_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_DOTENV_DISABLED", "1")
    os.mkfifo(env_file)
    assert load_settings().selfrag_k == 4


def test_a_home_below_the_users_own_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SELFRAG_HOME", "~/kept")
    assert load_settings().libraries_folder == tmp_path / "kept" / "libraries"


def test_a_user_without_a_home_is_asked_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise KeyError

    for name in ("HOME", "SELFRAG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    settings = load_settings()
    for folder in ("models_folder", "libraries_folder"):
        with pytest.raises(RequestError, match="home folder is not known: set SELFRAG_HOME"):
            getattr(settings, folder)
