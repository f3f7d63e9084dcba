"""The ablations: what each leaves out of the graph, as other settings, other services, or replaced functions."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from grounding.quotes import stemmed_spans


@dataclass(frozen=True)
class Ablation:
    """One change. ``settings`` are written as those of ``--variant``, and ``fit`` is a regression that is left out.

    ``functions`` maps dotted names to what replaces them while a question is asked.
    """

    name: str
    settings: str = ""
    fit: str | None = None
    functions: Mapping[str, Any] = field(default_factory=dict)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Replace the functions, and clear the cache of spans, which depends on them."""
        with ExitStack() as stack:
            for name, function in self.functions.items():
                stack.enter_context(patch(name, function))
            stack.callback(stemmed_spans.cache_clear)
            stemmed_spans.cache_clear()
            yield


def nothing_missing(*_: Any, **__: Any) -> list[str]:
    """Find nothing missing, in place of a rule."""
    return []


def is_never(*_: Any) -> bool:
    """Answer no, in place of a rule."""
    return False


def dates_kept(text: str, _: Any) -> str:
    """Leave the dates in the text, so that their numbers are compared like other figures."""
    return text


RULES: dict[str, dict[str, Any]] = {
    "names": {"grounding.quotes.missing_names": nothing_missing},
    "figures": {"grounding.quotes.missing_figures": nothing_missing},
    "quotes": {"grounding.quotes.LEAST_COVERAGE": -1.0},
    "orders": {"grounding.quotes.is_instruction": is_never},
}
ABLATIONS = (
    Ablation("self-rag"),
    *(Ablation(f"no-{name}", functions=functions) for name, functions in RULES.items()),
    Ablation("no-dates", functions={"grounding.numbers.without_dates": dates_kept}),
    Ablation("no-rules", functions={name: one for functions in RULES.values() for name, one in functions.items()}),
    Ablation("no-repeats", functions={"nodes.hallucination_check.repeats_question": is_never}),
    Ablation("no-gate", fit="gate"),
    Ablation("no-relevance-fit", "relevant=0.5", fit="relevance"),
    Ablation("no-support-fit", "supported=0", fit="support"),
    Ablation("no-conflicts", "conflicts=false"),
    Ablation("ratings-direct", "ratings=direct"),
    Ablation("ratings-all", "ratings=all"),
    Ablation("no-pairs", functions={"nodes.grade_documents.linked_pairs": nothing_missing}),
    Ablation("no-descriptions", functions={"nodes.grade_documents.may_describe": is_never}),
    Ablation("rewriting-names", "rewriting=names"),
    Ablation("rewriting-model", "rewriting=model"),
    Ablation("rewrites-0", "rewrites=0"),
    Ablation("rewrites-1", "rewrites=1"),
    Ablation("drafts-1", "drafts=1"),
    Ablation("rewrites-0-drafts-1", "rewrites=0,drafts=1"),
)
