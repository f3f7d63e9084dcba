"""The wording of every prompt, so that a change of it shows in review.

Rewrite the files with ``SNAPSHOTS=write python -m pytest tests/unit/prompts``.
"""

import os
from pathlib import Path

import pytest
from langchain_core.prompts import ChatPromptTemplate

from tests.unit.prompts.all_prompts import PROMPTS

FOLDER = Path(__file__).parent / "snapshots"


def rendered(prompt: ChatPromptTemplate) -> str:
    """The messages as they are sent, each input standing for itself."""
    messages = prompt.format_messages(**{name: f"«{name}»" for name in prompt.input_variables})
    return "".join(f"--- {message.type}\n{message.text}\n" for message in messages)


@pytest.mark.parametrize("name", PROMPTS)
def test_the_wording_is_the_one_reviewed(name: str) -> None:
    text = rendered(PROMPTS[name])
    path = FOLDER / f"{name}.txt"
    if os.environ.get("SNAPSHOTS") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_there_is_a_prompt_for_every_snapshot() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(PROMPTS)


@pytest.mark.parametrize("name", PROMPTS)
def test_the_fixed_part_comes_first(name: str) -> None:
    """A server's prefix cache then serves it from call to call; a few fixed words may follow."""
    messages = PROMPTS[name].messages
    assert not getattr(messages[0], "input_variables", [])
    changing = [index for index, message in enumerate(messages) if getattr(message, "input_variables", [])]
    fixed = [one for index, one in enumerate(messages) if index > changing[0] and index not in changing]
    assert sum(len(message.text) for message in ChatPromptTemplate(fixed).format_messages()) < 400
