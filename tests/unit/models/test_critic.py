import math
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.prompts import ChatPromptTemplate

from core.errors import ModelError
from core.types import UNKNOWN
from models.chat import Chat
from models.critic import Critic, by_probability, by_reply, first_token
from models.usage import NodeBudget
from prompts.choice import Choice
from tests.integration.hasty import hasty  # noqa: F401
from tests.scripted import ScriptedChat, StatusError, reply, roomy_budget, verdict

BLUE = Choice(
    name="colour",
    replies={"yes": "blue", "no": "other"},
    weights={"blue": 1.0, "other": 0.0},
    cautious="other",
    positive="blue",
    messages=ChatPromptTemplate.from_messages([("system", "Judge."), ("human", "Is {thing} blue?")]),
)
SORT = Choice(
    name="sort",
    replies={"fact": "retrieve", "chat": "direct", "code": "direct", "full": "whole"},
    weights={"retrieve": 1.0, "direct": 0.0, "whole": 0.5},
    cautious="retrieve",
    messages=ChatPromptTemplate.from_messages([("human", "{thing}")]),
)


def critic(*script: Any, budget: NodeBudget | None = None) -> tuple[Critic, ScriptedChat]:
    model = ScriptedChat(script=list(script))
    return Critic(Chat(lambda: model, "the judge")).with_budget(budget or roomy_budget()), model


SURE = reply("yes", top=[("yes", -0.01)])
LABEL = reply('{"label": "yes"}')
ln = math.log


async def asked(script: list[Any], times: int) -> tuple[list[str], ScriptedChat]:
    """The labels of so many questions that use up a script."""
    judge, model = critic(*script)
    labels = [(await judge.choose(BLUE, thing="the sky"))["label"] for _ in range(times)]
    model.done()
    return labels, model


def by_logprobs(model: ScriptedChat) -> list[bool]:
    return ["logprobs" in bound for _, bound in model.calls]


async def test_case_and_leading_space_variants_are_summed() -> None:
    top = [("Yes", ln(0.3)), (" yes", ln(0.2)), ("YES", ln(0.1)), ("no", ln(0.2)), ("maybe", ln(0.2))]
    judge, model = critic(reply("Yes", top=top, read=9))
    found = await judge.choose(BLUE, thing="the sky")
    assert found["label"] == "blue"
    assert found["probabilities"] == pytest.approx({"blue": 0.75, "other": 0.25})
    ((_, asked),) = model.calls
    assert asked == {"max_tokens": 1, "logprobs": True, "top_logprobs": 20}


@pytest.mark.parametrize(
    ("choice", "top", "probabilities"),
    [
        (BLUE, {"y": 0.6, "n": 0.2}, {"blue": 0.75, "other": 0.25}),
        (BLUE, {"yes": 0.06, "Paris": 0.94}, {"blue": 1.0, "other": 0.0}),
        (BLUE, {"yes": 0.04, "Paris": 0.96}, None),
        (BLUE, {"Paris": 1.0}, None),
        (BLUE, {"": 1.0}, None),
        (BLUE, {" ": 0.5, "yesterday": 0.5}, None),
        (SORT, {"chat": 0.4, "code": 0.4, "fact": 0.2}, {"retrieve": 0.2, "direct": 0.8, "whole": 0.0}),
        (SORT, {"c": 0.5, "f": 0.4, "fa": 0.5}, {"retrieve": 0.5, "direct": 0.5, "whole": 0.0}),
    ],
)
def test_the_probability_of_each_label(
    choice: Choice, top: dict[str, float], probabilities: dict[str, float] | None
) -> None:
    found = by_probability(choice, {token: ln(p) for token, p in top.items()})
    if probabilities is None:
        assert found == choice.unknown("The reply was none of the labels.")
    else:
        assert found["probabilities"] == pytest.approx(probabilities)


@pytest.mark.parametrize(
    ("top", "kept"),
    [
        ([("yes", -0.1), ("no", math.nan)], {"yes": -0.1}),
        ([("yes", -0.1), ("no", 3.0)], {"yes": -0.1}),
        ([("yes", -0.1), ("no", -math.inf)], {"yes": -0.1, "no": -math.inf}),
        ([("yes", -0.1), ("yes", -5.0)], {"yes": -0.1}),
        ([("yes", 0.0), ("no", -(10**400))], {"yes": 0.0}),
        ([], None),
    ],
)
def test_log_probabilities_that_cannot_be_are_passed_over(top: list[Any], kept: dict[str, float] | None) -> None:
    assert first_token(reply("yes", top=top)) == kept


BARE, EMPTY = reply("yes"), reply("")
ODD, THOUGHT = (reply(said, top=[(said, -0.01)]) for said in ("Paris", "Okay"))
THINKS = reply("<think>", top=[("<think>", -0.01), ("yes", -5.0)])


@pytest.mark.parametrize(
    ("script", "labels", "manners"),
    [
        # no log-probabilities: by schema from then on
        ([BARE, LABEL, LABEL], ["blue"] * 2, [True, False, False]),
        ([StatusError(400), LABEL, LABEL], ["blue"] * 2, [True, False, False]),
        ([StatusError(422), LABEL, LABEL], ["blue"] * 2, [True, False, False]),
        # a model that thinks first
        ([THINKS, reply('<think>Hm. {"label": "no"}</think>{"label": "yes"}')], ["blue"], [True, False]),
        # thoughts without a mark: by schema from the second on
        ([THOUGHT, LABEL, THOUGHT, LABEL, LABEL], ["blue"] * 3, [True, False, True, False, False]),
        # a means that gives no label is not kept to
        ([EMPTY, EMPTY, SURE], [UNKNOWN, "blue"], [True, False, True]),
        # a model that gave probabilities is asked for them again after an odd reply
        ([SURE, ODD, ODD, SURE], ["blue", UNKNOWN, UNKNOWN, "blue"], [True, True, True, True]),
        # and may miss some; the fourth miss in a row is no accident any more
        (
            [SURE, *[BARE, LABEL] * 3, SURE, *[BARE, LABEL] * 4, LABEL],
            ["blue"] * 10,
            [True, *[True, False] * 3, True, *[True, False] * 4, False],
        ),
    ],
)
async def test_the_means_of_a_server_is_found_out_and_kept_to(
    script: list[Any], labels: list[str], manners: list[bool]
) -> None:
    found, model = await asked(script, len(labels))
    assert (found, by_logprobs(model)) == (labels, manners)


async def test_a_critic_of_another_node_knows_the_means_of_the_server() -> None:
    judge, model = critic(BARE, LABEL, reply('{"label": "no"}'))
    assert await judge.choose(BLUE, thing="the sky") == verdict("blue")
    assert await judge.with_budget(roomy_budget()).choose(BLUE, thing="grass") == verdict("other")
    schema = model.calls[1][1]["response_format"]["json_schema"]
    assert (schema["strict"], schema["schema"]["additionalProperties"]) == (True, False)
    assert schema["schema"]["properties"] == {"label": {"type": "string", "enum": ["yes", "no"]}}
    assert by_logprobs(model) == [True, False, False]


async def test_a_server_that_refuses_schemas_too_is_asked_in_words() -> None:
    labels, model = await asked([StatusError(400), StatusError(400), reply("Yes."), reply("no")], 2)
    assert labels == ["blue", "other"]
    messages, bound = model.calls[2]
    assert [message.text for message in messages] == ["Judge.", "Is the sky blue?\nReply with one word of: yes, no."]
    assert set(bound) == {"max_tokens"}


async def test_one_request_refused_in_every_form_is_unknown_and_the_next_is_asked_as_before() -> None:
    judge, model = critic(*[StatusError(400, "context too long")] * 3, SURE)
    refused = await judge.choose(BLUE, thing="the sky")
    assert refused["label"] == "unknown"
    assert "context too long" in (refused["reason"] or "")
    assert judge.budget.failure == refused["reason"]
    assert (await judge.choose(BLUE, thing="the sky"))["probabilities"]
    model.done()


@pytest.mark.parametrize(
    ("said", "label"),
    [
        ('{"label": "yes"}', "blue"),
        ('```json\n{"label": "no"}\n```', "other"),
        ('{"label": "Blue"}', "blue"),
        ('{"label": "maybe"}', UNKNOWN),
        ('{"label": null}', UNKNOWN),
        ('{"label": {"label": "yes"}}', UNKNOWN),
        ('{"verdict": "yes"}', UNKNOWN),
        ('{"label": "yes"', UNKNOWN),
        ('{"label": yes}', UNKNOWN),
        ('{"label": "yes"} {"label": "no"}', UNKNOWN),
        ('{"a":' * 4000 + "1" + "}" * 4000, UNKNOWN),
        ('{"label": ' + "9" * 5000 + "}", UNKNOWN),
        ("I think that it is yes", UNKNOWN),
    ],
)
async def test_a_written_reply_is_a_label_or_unknown(said: str, label: str) -> None:
    judge, _ = critic(reply("no log-probabilities"), reply(said))
    found = await judge.choose(BLUE, thing="the sky")
    assert found["label"] == label
    assert found["probabilities"] is None
    assert judge.budget.failure is None or "where 400 tokens were asked for" in judge.budget.failure


def test_a_null_label_is_not_the_word_none() -> None:
    none = Choice(
        name="support",
        replies={"full": "full", "none": "none"},
        weights={"full": 1.0, "none": 0.0},
        cautious="none",
        messages=BLUE.messages,
    )
    assert by_reply(none, '{"label": null}')["label"] == UNKNOWN
    assert by_reply(none, '{"label": "none"}')["label"] == "none"


async def test_the_end_of_the_budget_is_unknown_and_recorded() -> None:
    budget = roomy_budget(calls=1)
    judge, model = critic(reply("yes", top=[("yes", -0.1)]), budget=budget)
    assert (await judge.choose(BLUE, thing="the sky"))["label"] == "blue"
    assert (await judge.choose(BLUE, thing="grass")) == BLUE.unknown("Not asked: limit_calls.")
    assert (budget.limit, budget.failure) == ("limit_calls", None)
    model.done()


async def test_a_reason_is_asked_for_in_a_second_short_call() -> None:
    judge, model = critic(reply("no", top=[("no", -0.1)]), reply("<think>Hm.</think> Grass\nis green. "))
    found = await judge.explain(BLUE, await judge.choose(BLUE, thing="grass"), thing="grass")
    assert (found["label"], found["reason"]) == ("other", "Grass is green.")
    messages, bound = model.calls[1]
    assert [message.text for message in messages[:-1]] == ["Judge.", "Is grass blue?", "no"]
    assert messages[-1].text == "The verdict is: other. Say in one short sentence why."
    assert bound["max_tokens"] < 100


@pytest.mark.parametrize("said", [["because " * 1000], [StatusError(500)] * 3])
async def test_a_reason_that_cannot_be_had_or_is_far_too_long_leaves_the_verdict(said: list[Any]) -> None:
    judge, model = critic(reply("no", top=[("no", -0.1)]), *said)
    found = await judge.explain(BLUE, await judge.choose(BLUE, thing="grass"), thing="grass")
    assert (found["label"], found["reason"]) == ("other", None)
    model.done()


async def test_the_critic_is_told_the_final_label_and_what_it_means() -> None:
    judge, model = critic("It is the sky.")
    choice = replace(BLUE, reasons={"blue": "It is blue.", "other": "It is not."})
    found = await judge.explain(choice, verdict("blue", {"blue": 0.4, "other": 0.6}), thing="the sky")
    assert found == verdict("blue", {"blue": 0.4, "other": 0.6}, "It is the sky.")
    ((messages, _),) = model.calls
    assert [message.text for message in messages[2:]] == [
        "yes",
        "The verdict is: blue. It is blue. Say in one short sentence why.",
    ]


@pytest.mark.parametrize(
    ("top", "word"),
    [
        ({"chat": 0.3, "code": 0.4, "fact": 0.3}, "code"),
        ({"fact": 0.4, "chat": 0.35, "code": 0.25}, "chat"),  # the label is direct, the likeliest reply another
        ({"c": 0.9, "fact": 0.1}, None),  # of either word
        ({"fact": 0.9, "code": 0.1}, None),  # no other word means its label
    ],
)
def test_the_reply_is_kept_where_several_mean_the_label(top: dict[str, float], word: str | None) -> None:
    assert by_probability(SORT, {token: ln(p) for token, p in top.items()}).get("reply") == word


@pytest.mark.parametrize(("text", "word"), [("Code.", "code"), ('{"label": "chat"}', "chat"), ("direct", None)])
def test_a_written_reply_is_kept_too(text: str, word: str | None) -> None:
    found = by_reply(SORT, text)
    assert (found["label"], found.get("reply")) == ("direct", word)


async def test_an_unknown_verdict_is_not_explained() -> None:
    judge, model = critic(reply("Paris", top=[("Paris", -0.1)]), reply("Paris"))
    found = await judge.explain(BLUE, await judge.choose(BLUE, thing="grass"), thing="grass")
    assert found["label"] == UNKNOWN
    model.done()


async def test_a_choice_that_has_an_adapter_names_it_and_no_other_call_does() -> None:
    top = [("yes", ln(0.9)), ("no", ln(0.1))]
    judge, model = critic(reply("yes", top=top), reply("Because."), reply("fact", top=[("fact", ln(0.9))]))
    judge.chat.adapters = {"support": 0, "colour": 1}
    await judge.explain(BLUE, await judge.choose(BLUE, thing="the sky"), thing="the sky")
    await judge.choose(SORT, thing="the sky")
    bodies = [asked.get("extra_body") for _, asked in model.calls]
    assert bodies == [{"lora": [{"id": 1, "scale": 1.0}]}, None, None]


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_what_no_retry_mends_is_raised(status: int) -> None:
    judge, _ = critic(StatusError(status))
    with pytest.raises(ModelError):
        await judge.choose(BLUE, thing="the sky")
