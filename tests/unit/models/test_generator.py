import math

import pytest
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate

from core.errors import ModelError
from models.chat import Chat
from models.generator import Generator
from tests.scripted import ScriptedChat, StatusError, reply, roomy_budget

ASK = ChatPromptTemplate.from_messages([("human", "Why is {thing} blue?")])


def generator(*script: object) -> tuple[Generator, ScriptedChat]:
    model = ScriptedChat(script=list(script))
    return Generator(Chat(lambda: model, "the writer", retries=0)).with_budget(roomy_budget()), model


async def test_it_writes_the_reply_without_thoughts() -> None:
    writer, model = generator(reply("<think>Hm.</think>\nAir scatters."))
    assert await writer.write(ASK, max_tokens=9, thing="{sky}") == "Air scatters."
    ((messages, bound),) = model.calls
    assert [message.text for message in messages] == ["Why is {sky} blue?"]
    assert bound == {"max_tokens": 9}


@pytest.mark.parametrize("said", ["", "  \n", "\u200b\u2060", "<think>It never ends", "<think></think>"])
async def test_an_empty_reply_is_an_error(said: str) -> None:
    writer, _ = generator(reply(said))
    with pytest.raises(ModelError, match="the writer gave an empty answer"):
        await writer.write(ASK, max_tokens=9, thing="the sky")


async def test_a_scored_text_has_the_geometric_mean_of_its_tokens_probabilities() -> None:
    tokens = [{"token": "Air", "logprob": math.log(0.9)}, {"token": ".", "logprob": math.log(0.4)}]
    writer, model = generator(AIMessage("Air.", response_metadata={"logprobs": {"content": tokens}}))
    assert await writer.write_scored(ASK, max_tokens=9, thing="the sky") == ("Air.", pytest.approx(0.6))
    assert model.calls[0][1] == {"max_tokens": 9, "logprobs": True}


async def test_a_server_that_gives_or_takes_no_log_probabilities_still_writes() -> None:
    for script in ([reply("Air.")], [StatusError(400), reply("Air.")]):
        writer, _ = generator(*script)
        assert await writer.write_scored(ASK, max_tokens=9, thing="the sky") == ("Air.", None)
