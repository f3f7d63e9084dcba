from typing import Any

import pytest
from langchain_core.prompts import ChatPromptTemplate

from core.types import UNKNOWN
from evaluation.judging.judge_prompts import USEFUL
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


@pytest.mark.parametrize("made", [RETRIEVE, RELEVANCE, SUPPORT, USEFULNESS, USEFUL], ids=lambda made: made.name)
def test_one_token_answers_a_choice_and_its_labels_agree(made: Choice) -> None:
    assert all(word and word == word.strip().casefold() for word in made.replies)
    assert not any(word != other and word.startswith(other) for word in made.replies for other in made.replies)
    assert set(made.weights) == set(made.labels) > {made.cautious}
    assert made.positive is None or (len(made.labels) == 2 and made.positive in made.labels)


def test_several_replies_may_stand_for_one_label() -> None:
    made = choice(replies={"yes": "blue", "sure": "blue", "no": "other"})
    assert made.labels == ("blue", "other")
    assert [made.label_of(word) for word in ("yes", "sure", "no")] == ["blue", "blue", "other"]


@pytest.mark.parametrize(
    ("said", "label"),
    [
        (" Yes.", "blue"),
        ("**YES**", "blue"),
        ('"no"', "other"),
        ("`No`\n", "other"),
        ("Blue", "blue"),
        ("yes, it is", UNKNOWN),
        ("", UNKNOWN),
        ("yesterday", UNKNOWN),
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
    ("made", "probabilities", "score", "leaning"),
    [
        (RETRIEVE, {"retrieve": 0.8, "direct": 0.2}, 0.8, "retrieve"),
        (RELEVANCE, {"relevant": 0.3, "irrelevant": 0.7}, 0.3, "irrelevant"),
        (SUPPORT, {"fully supported": 0.5, "partially supported": 0.4, "no support": 0.1}, 0.7, "no support"),
        (USEFULNESS, {"1": 0.1, "2": 0.1, "3": 0.2, "4": 0.2, "5": 0.4}, 0.35, "3"),
    ],
)
def test_a_verdict_scores_and_an_unknown_one_leans_as_the_design_says(
    made: Choice, probabilities: dict[str, float], score: float, leaning: str
) -> None:
    likeliest = max(probabilities, key=lambda label: probabilities[label])
    assert made.score(verdict(likeliest, probabilities)) == pytest.approx(score)
    assert made.leaning(made.unknown()) == leaning
