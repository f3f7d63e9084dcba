"""The adapters of the critic, run by the engine for real."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, convert_to_openai_messages

from core.types import Passage
from models.calibration import EMBEDDED, adapter_file
from models.critic import by_probability
from models.embedded import EmbeddedServer
from prompts.delimiters import delimited
from prompts.generate import GENERATE
from prompts.grade_documents import RELEVANCE
from prompts.hallucination_check import SUPPORT
from prompts.shared import with_all_examples
from tests.model.test_server import post, top
from tests.scripted import passage

TOWER = passage("The old tower of Norhavn was built in 1897. It is 80 m tall and has 312 steps.")
QUESTION = "How tall is the tower of Norhavn?"
DRAFT = GENERATE.format_messages(passages=delimited([TOWER]), question=QUESTION)


@pytest.fixture(scope="module")
def adapted(chat_model: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(chat_model, adapters=[adapter_file(choice) for choice in EMBEDDED.adapters]) as server:
        yield server


def asked(server: EmbeddedServer, messages: Sequence[BaseMessage], **body: Any) -> dict[str, Any]:
    sent = convert_to_openai_messages(list(with_all_examples(messages)))
    return post(server.start(), messages=sent, **body)


def grade(server: EmbeddedServer, text: str, question: str = QUESTION, **body: Any) -> dict[str, Any]:
    messages = RELEVANCE.messages.format_messages(passage=text, question=question)
    return asked(server, messages, max_tokens=1, logprobs=True, top_logprobs=10, **body)


def check(
    server: EmbeddedServer, read: Passage = TOWER, *, claim: str = "80 m", question: str = QUESTION, **body: Any
) -> dict[str, Any]:
    messages = SUPPORT.messages.format_messages(passages=delimited([read]), question=question, claim=claim)
    return asked(server, messages, max_tokens=1, logprobs=True, top_logprobs=10, **body)


def lora(choice: str) -> list[dict[str, float]]:
    return [{"id": list(EMBEDDED.adapters).index(choice), "scale": 1.0}]


def test_a_verdict_uses_the_adapter_and_reads_only_the_task_of_a_passage_that_was_read(adapted: EmbeddedServer) -> None:
    plain = top(grade(adapted, TOWER["text"]))
    asked(adapted, DRAFT, max_tokens=1)
    reply = grade(adapted, TOWER["text"], lora=lora("relevance"))
    usage = reply["usage"]
    assert usage["prompt_tokens"] - usage["prompt_tokens_details"]["cached_tokens"] < 36
    assert top(reply) != plain
    assert max(top(reply), key=lambda token: top(reply)[token]).casefold() == "yes"


def test_a_passage_is_not_read_again_for_another_question(adapted: EmbeddedServer) -> None:
    for text in (TOWER["text"], "The harbour of Norhavn froze in the winter of 1942.", "Its fish market opens at six."):
        grade(adapted, text, lora=lora("relevance"))
    usage = grade(adapted, TOWER["text"], "How many steps does it have?", lora=lora("relevance"))["usage"]
    assert usage["prompt_tokens"] - usage["prompt_tokens_details"]["cached_tokens"] < 36


def test_a_claim_is_checked_by_its_adapter_and_nothing_else_is_read(adapted: EmbeddedServer) -> None:
    plain = top(check(adapted))
    asked(adapted, DRAFT, max_tokens=1)
    reply = check(adapted, lora=lora("support"))
    usage = reply["usage"]
    assert usage["prompt_tokens"] - usage["prompt_tokens_details"]["cached_tokens"] < 52
    assert top(reply) != plain
    assert max(top(reply), key=lambda token: top(reply)[token]).casefold() == "yes"
    assert top(check(adapted, claim="1897", lora=lora("support"))).get("no", -9) > top(reply).get("no", -9)


def test_a_draft_is_the_same_with_adapters_and_after_their_verdicts(chat_model: Path, adapted: EmbeddedServer) -> None:
    grade(adapted, TOWER["text"], lora=lora("relevance"))
    check(adapted, lora=lora("support"))
    written = asked(adapted, DRAFT, max_tokens=40)
    with EmbeddedServer(chat_model) as bare:
        grade(bare, TOWER["text"])
        expected = asked(bare, DRAFT, max_tokens=40)
    assert written["choices"][0]["message"]["content"] == expected["choices"][0]["message"]["content"]
    assert "80" in expected["choices"][0]["message"]["content"]


def test_the_task_in_a_passage_does_not_switch_the_adapter_on_there(adapted: EmbeddedServer) -> None:
    """The passage asks our own question: what stands behind it is still read by the model itself."""
    text = f"Does the passage contain the answer? {TOWER['text']}"
    grade(adapted, text, lora=lora("relevance"))
    messages = GENERATE.format_messages(passages=delimited([passage(text)]), question=QUESTION)
    after = asked(adapted, messages, max_tokens=40)
    assert after["usage"]["prompt_tokens_details"]["cached_tokens"] > 1_450
    adapted.stop()
    before = asked(adapted, messages, max_tokens=40)
    assert after["choices"][0]["message"]["content"] == before["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    ("text", "question", "claim", "other", "own"),
    [
        (
            "The Basic plan costs 10 euros a month. The Pro plan costs 25 euros a month.",
            *("How much does the {} plan cost?", "The {} plan costs 25 euros a month.", "Team", "Pro"),
        ),
        (
            "The PX-40 moves 40 litres a minute at a lift of 5 metres. It weighs 9 kg.",
            *("What is the flow of the {}?", "40 litres a minute", "PX-50", "PX-40"),
        ),
        (
            "In 2022 the revenue was 12 million euros, 8 percent more than the year before.",
            *("What was the revenue in {}?", "The revenue was 12 million euros.", "2023", "2022"),
        ),
        (
            "Article 3 sets a notice period of six months. Article 4 deals with repairs.",
            *("What notice period does {} set?", "Six months.", "Article 2", "Article 3"),
        ),
    ],
)
def test_a_claim_on_another_of_the_passage_s_kind_is_not_supported(
    adapted: EmbeddedServer, text: str, question: str, claim: str, other: str, own: str
) -> None:
    def support(thing: str) -> float:
        inputs = {"question": question.format(thing), "claim": claim.format(thing)}
        reply = check(adapted, passage(text), lora=lora("support"), **inputs)
        return 1 - (by_probability(SUPPORT, top(reply))["probabilities"] or {})["no support"]

    assert support(other) < 0.01
    assert support(own) > 0.3
