import pytest

from core.errors import RequestError
from evaluation.variants import variant
from run.context import Context, Limits, Thresholds
from tests.scripted import services

SERVICES = services(thresholds=Thresholds(retrieve=0.28, relevant=0.7), limits=Limits(seconds=600))


def test_what_is_named_differs_and_all_else_is_as_it_was() -> None:
    words = "wide:k=8, relevant=0.25,mode=always,strategy=per-passage,drafts=1,rewrites=0,support=2,explain=true"
    name, context = variant(words, Context(fallback="direct"), SERVICES)
    assert name == "wide"
    assert (context.k, context.mode, context.strategy, context.fallback) == (8, "always", "per-passage", "direct")
    assert context.explain is True
    assert (context.effective_thresholds.relevant, context.effective_thresholds.retrieve) == (0.25, 0.28)
    limits = context.effective_limits
    assert (limits.drafts, limits.rewrites, limits.seconds) == (1, 0, 600)
    assert (context.weights.support, context.weights.relevance) == (2, 1)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("", "has no name of at most 60 letters: write it as NAME:k=8"),
        ("a b:k=8", "has no name"),
        (f"{'x' * 61}:k=8", "has no name of at most 60"),
        ("wide:k", "'k' without a value"),
        ("wide:k=", "'k=' without a value"),
        ("wide:verbosity=1", "wide sets verbosity: the settings are mode, "),
        ("wide:thresholds=1", "wide sets thresholds"),
        ("wide:k=many", "wide has a wrong k: "),
        ("wide:relevant=2", "wide has a wrong relevant: "),
    ],
)
def test_a_wrong_variant(words: str, part: str) -> None:
    with pytest.raises(RequestError) as raised:
        variant(words, Context(), SERVICES)
    assert part in str(raised.value)
