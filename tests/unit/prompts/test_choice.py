"""What a choice accepts when it is built, and how it reads replies and scores verdicts."""

from typing import Any

import pytest
from langchain_core.prompts import ChatPromptTemplate

from core.types import UNKNOWN
from prompts.answer_check import USEFULNESS
from prompts.choice import Choice
from prompts.decide import RETRIEVE
from prompts.grade_documents import RELEVANCE
from prompts.hallucination_check import SUPPORT
from tests.scripted import verdict

ASK = ChatPromptTemplate.from_messages([("human", "{question}")])


def choice(**changes: Any) -> Choice:
    settings: dict[str, Any] = {
        "name": "colour",
        "replies": {"yes": "blue", "no": "other"},
        "weights": {"blue": 1.0, "other": 0.0},
        "cautious": "other",
        "messages": ASK,
        **changes,
    }
    return Choice(**settings)


@pytest.mark.parametrize(
    "wrong",
    [
        {"replies": {"yes": "blue", "ye": "other"}},
        {"replies": {"no": "blue", "none": "other"}},
        {"replies": {"": "blue", "no": "other"}},
        {"replies": {"Yes": "blue", "no": "other"}},
        {"replies": {" yes": "blue", "no": "other"}},
        {"weights": {"blue": 1.0}},
        {"weights": {"blue": 1.0, "other": 0.0, "green": 0.0}},
        {"cautious": "green"},
        {"positive": "green"},
        {
            "replies": {"yes": "blue", "no": "other", "maybe": "green"},
            "weights": {"blue": 1.0, "other": 0.0, "green": 0.5},
            "positive": "blue",
        },
    ],
)
def test_a_choice_that_one_token_cannot_answer_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="choice colour"):
        choice(**wrong)


def test_several_replies_may_stand_for_one_label() -> None:
    made = choice(replies={"yes": "blue", "sure": "blue", "no": "other"})
    assert made.labels == ("blue", "other")
    assert [made.label_of(word) for word in ("yes", "sure", "no")] == ["blue", "blue", "other"]


@pytest.mark.parametrize(
    ("said", "label"),
    [
        ("yes", "blue"),
        (" Yes.", "blue"),
        ("**YES**", "blue"),
        ('"no"', "other"),
        ("`No`\n", "other"),
        ("Blue", "blue"),
        ("yes, it is", UNKNOWN),
        ("I cannot say", UNKNOWN),
        ("", UNKNOWN),
        ("yesterday", UNKNOWN),
        ("42", UNKNOWN),
    ],
)
def test_the_label_of_a_whole_reply(said: str, label: str) -> None:
    assert choice().label_of(said) == label


@pytest.mark.parametrize(
    ("p", "threshold", "label"),
    [(0.7, 0.7, "blue"), (0.69, 0.7, "other"), (0.9, 0.95, "other"), (0.2, 0.1, "blue"), (0.0, 0.0, "blue")],
)
def test_a_choice_of_two_is_positive_from_its_threshold_on(p: float, threshold: float, label: str) -> None:
    made = choice(positive="blue")
    likeliest = "blue" if p >= 0.5 else "other"
    asked = verdict(likeliest, {"blue": p, "other": 1 - p}, "because")
    settled = made.apply_threshold(asked, threshold)
    assert settled == verdict(label, {"blue": p, "other": 1 - p}, "because")


def test_a_label_without_probabilities_counts_as_one() -> None:
    made = choice(positive="blue")
    assert made.apply_threshold(verdict("blue"), 1.0)["label"] == "blue"
    assert made.apply_threshold(verdict("other"), 0.1)["label"] == "other"


def test_unknown_stays_unknown_and_leans_to_caution() -> None:
    made = choice(positive="blue", cautious="blue")
    assert made.apply_threshold(made.unknown("why"), 0.5) == verdict(UNKNOWN, reason="why")
    assert made.leaning(made.unknown()) == "blue"
    assert made.score(made.unknown()) == 1.0
    assert made.leaning(verdict("other")) == "other"


def test_with_more_labels_no_threshold_applies() -> None:
    rated = verdict("partially supported", {"fully supported": 0.4, "partially supported": 0.6, "no support": 0.0})
    assert SUPPORT.apply_threshold(rated, 0.99) == rated


@pytest.mark.parametrize(
    ("made", "probabilities", "score"),
    [
        (RETRIEVE, {"retrieve": 0.8, "direct": 0.2}, 0.8),
        (RELEVANCE, {"relevant": 0.3, "irrelevant": 0.7}, 0.3),
        (SUPPORT, {"fully supported": 0.5, "partially supported": 0.4, "no support": 0.1}, 0.7),
        (USEFULNESS, {"1": 0.1, "2": 0.1, "3": 0.2, "4": 0.2, "5": 0.4}, 0.35),
    ],
)
def test_the_scores_are_those_of_the_design(made: Choice, probabilities: dict[str, float], score: float) -> None:
    assert made.score(verdict(max(probabilities, key=lambda label: probabilities[label]), probabilities)) == (
        pytest.approx(score)
    )


@pytest.mark.parametrize(
    ("made", "label"),
    [(RETRIEVE, "retrieve"), (RELEVANCE, "irrelevant"), (SUPPORT, "no support"), (USEFULNESS, "3")],
)
def test_an_unknown_verdict_leans_as_the_design_says(made: Choice, label: str) -> None:
    assert made.leaning(made.unknown()) == label


def test_what_never_changes_is_formatted_when_the_choice_is_built() -> None:
    prompt = ChatPromptTemplate.from_messages(
        [("system", 'Reply {{"so": 1}}.'), ("ai", "yes"), ("human", "{question}")]
    )
    made = choice(messages=prompt).messages
    first, second = (made.format_messages(question=text) for text in ("Is {it}?", "Or not?"))
    assert [one.text for one in first] == ['Reply {"so": 1}.', "yes", "Is {it}?"]
    assert [one is other for one, other in zip(first, second, strict=True)] == [True, True, False]
    assert [one.text for one in prompt.format_messages(question="Or not?")] == [one.text for one in second]
