from pathlib import Path

import pytest
from pydantic import SecretStr

from app.results.stamp import calibration_name, stamp_of
from app.settings import Settings
from models.model_files import CHAT_MODEL
from tests.scripted import ScriptedChat

KEY = "sk-abcdefghijklmnop1234"
EMBEDDED = f"embedded:{CHAT_MODEL.name}"
CALLERS = ScriptedChat(script=[])


def models(settings: Settings, **given: ScriptedChat | None) -> tuple[str | None, str | None]:
    stamp = stamp_of(settings, **given)
    return stamp.chat_model, stamp.critic_model


def test_the_models_are_those_that_answer_and_judge() -> None:
    assert models(Settings(selfrag_model_path=None)) == (EMBEDDED, EMBEDDED)
    assert models(Settings(selfrag_model_path=Path("/a/b.gguf"))) == ("embedded:b.gguf", "embedded:b.gguf")
    address = "http://127.0.0.1:1/v1"
    named = Settings(openai_base_url=address, selfrag_critic_model="embedded", selfrag_model_path=None)
    assert models(named) == ("gpt-4o-mini", EMBEDDED)
    assert models(named, model=CALLERS) == ("ScriptedChat", "ScriptedChat")
    assert models(named, critic=CALLERS) == ("gpt-4o-mini", "ScriptedChat")


@pytest.mark.parametrize(
    "settings",
    [
        Settings(openai_api_key=SecretStr(KEY), selfrag_chat_model=KEY),
        Settings(openai_api_key=SecretStr("a password"), selfrag_critic_model="a password"),
        Settings(openai_base_url="http://me:hunter22@host/v1", selfrag_chat_model="model-of-hunter22"),
        Settings(selfrag_chat_model="http://me:hunter22@host/v1"),
        Settings(selfrag_critic_model=f"openai:{KEY}"),
    ],
)
def test_no_secret_is_in_it(settings: Settings) -> None:
    said = stamp_of(settings).model_dump_json()
    assert not any(secret in said for secret in (KEY, "hunter22", "a password"))


def test_only_the_embedded_critic_has_a_calibration() -> None:
    name = calibration_name(Settings(selfrag_model_path=None))
    assert name.startswith("embedded-")
    assert calibration_name(Settings(selfrag_model_path=Path("b.gguf"))) is None
    assert calibration_name(Settings(selfrag_chat_model="openai:x")) is None
    settings = Settings(selfrag_model_path=None)
    assert calibration_name(settings, model=CALLERS) is calibration_name(settings, critic=CALLERS) is None
