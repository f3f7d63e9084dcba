from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from core.errors import RequestError
from evaluation.judging.saved_replies import Replies, key_of


async def yes() -> str:
    return "yes"


async def test_a_reply_is_on_the_disk_at_once(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    with Replies(path) as replies:
        assert await replies.get_or_ask("a", {"kind": "test"}, yes) == "yes"
        assert path.read_text(encoding="utf-8") == '{"key": "a", "kind": "test", "reply": "yes"}\n'


async def test_a_damaged_line_in_the_middle_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text('{"key": "a", "reply": "no"}\n{"key": "b"\n[]\n{"key": "b", "reply": null}\n', encoding="utf-8")
    with Replies(path) as replies:
        assert await replies.get_or_ask("a", {}, yes) == "no"
        assert await replies.get_or_ask("b", {}, yes) == "yes"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "replies.jsonl").mkdir()
    with pytest.raises(RequestError, match=r"replies\.jsonl cannot be written"), Replies(tmp_path / "replies.jsonl"):
        pass


def test_a_key_tells_models_roles_and_words_apart() -> None:
    asked = ("a", HumanMessage("x")), ("b", HumanMessage("x")), ("a", AIMessage("x")), ("a", HumanMessage("y"))
    keys = {key_of(model, [message]) for model, message in asked}
    assert len(keys) == 4
