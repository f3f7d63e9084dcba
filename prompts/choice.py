"""A choice that a critic makes among labels, and its verdict: the reflection tokens of Self-RAG."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from langchain_core.prompts import ChatPromptTemplate

from core.types import UNKNOWN, Verdict


@dataclass(frozen=True)
class Choice:
    """A question to a critic whose answer is one of a few labels.

    ``replies`` maps each word that the model may reply to its label; the first token identifies the word, so no word
    may begin with another. ``weights`` gives each label's share in the score; ``cautious`` is the label that stands in
    for an unknown verdict. A choice of two labels with a ``positive`` one is decided by its score against a threshold,
    any other by the most probable label. ``reasons`` has the default reason of a verdict, one sentence for each label;
    where several replies share a label, it has a sentence for each reply too.
    """

    name: str
    replies: Mapping[str, str]
    weights: Mapping[str, float]
    cautious: str
    messages: ChatPromptTemplate
    positive: str | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels, each once, in the order given."""
        return tuple(dict.fromkeys(self.replies.values()))

    def label_of(self, reply: str) -> str:
        """Return the label that a whole reply stands for, or ``unknown``."""
        word = self.word_of(reply)
        by_label = {label.casefold(): label for label in self.labels}
        return self.replies.get(word) or by_label.get(word) or UNKNOWN

    @staticmethod
    def word_of(reply: str) -> str:
        """Return a whole reply in lower case, without the punctuation and quotation marks around it."""
        return reply.strip().strip("\"'`.*,:;!()[]").casefold()

    def apply_threshold(self, verdict: Verdict, threshold: float) -> Verdict:
        """Return the verdict relabelled by its score; unchanged if unknown, or if no label is ``positive``."""
        if verdict["label"] == UNKNOWN or self.positive is None:
            return verdict
        negative = next(label for label in self.labels if label != self.positive)
        label = self.positive if self.score(verdict) >= threshold else negative
        return Verdict(label=label, probabilities=verdict["probabilities"], reason=verdict["reason"])

    def leaning(self, verdict: Verdict) -> str:
        """Return the verdict's label, or the cautious one if it is unknown."""
        return self.cautious if verdict["label"] == UNKNOWN else verdict["label"]

    def is_positive(self, verdict: Verdict | None) -> bool:
        """Return True if there is a verdict, and its label is the positive one."""
        return verdict is not None and verdict["label"] == self.positive

    def score(self, verdict: Verdict) -> float:
        """Return Σ weight · probability; without probabilities the label counts as 1, unknown as the cautious label."""
        if verdict["probabilities"]:
            return sum(self.weights[label] * p for label, p in verdict["probabilities"].items())
        return self.weights[self.leaning(verdict)]

    def unknown(self, reason: str | None = None) -> Verdict:
        """Return the verdict ``unknown``, for a critic that gave no label."""
        return Verdict(label=UNKNOWN, probabilities=None, reason=reason)
