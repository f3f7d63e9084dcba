"""The random model replies to each prompt as a model would, and to nothing else."""

import json
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage

from prompts.choice import Choice
from prompts.delimiters import numbered
from prompts.generate import GENERATE, REDRAFT_UNSUPPORTED
from tests.scripted import passage
from tests.stress.faults.random_model import ODDS, completion_for

PASSAGES = numbered([passage("Air scatters light. Salt melts ice.")])


def request(messages: list[BaseMessage], **more: Any) -> dict[str, Any]:
    return {"messages": [{"content": message.text} for message in messages], **more}


def filled(prompt: Any) -> list[BaseMessage]:
    found: list[BaseMessage] = prompt.format_messages(
        **dict.fromkeys(prompt.input_variables, "x") | {"passages": PASSAGES}
    )
    return found


def said(completion: Mapping[str, Any]) -> str:
    return str(completion["choices"][0]["message"]["content"])


@pytest.mark.parametrize(("choice", "odds"), ODDS)
def test_verdicts_are_labels(choice: Choice, odds: Mapping[str, float]) -> None:
    assert set(odds) <= set(choice.replies)
    messages = filled(choice.messages)
    replies = [completion_for(request(messages, logprobs=True), Random(seed)) for seed in range(40)]
    assert {said(one) for one in replies} == set(odds)
    for one in replies:
        top = one["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        assert max(top, key=lambda entry: entry["logprob"])["token"] == said(one)
    label = json.loads(said(completion_for(request(messages, response_format={"type": "json_schema"}), Random(1))))
    assert label["label"] in odds
    in_words = [*messages[:-1], HumanMessage(f"{messages[-1].text}\nReply with one word of: {', '.join(odds)}.")]
    assert said(completion_for(request(in_words), Random(1))) in odds


@pytest.mark.parametrize("prompt", [GENERATE, REDRAFT_UNSUPPORTED])
def test_drafts_say_what_the_passages_say_or_what_is_invented(prompt: Any) -> None:
    drafts = {said(completion_for(request(filled(prompt)), Random(seed))) for seed in range(100)}
    assert {"Air scatters light.", "Salt melts ice.", "I don't know."} < drafts
    assert any("cheese" in draft for draft in drafts)
    assert not any("passage" in draft for draft in drafts)
