"""Passages with vectors by the million: real ones from files, or drawn from topics."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from langchain_core.embeddings import Embeddings

from retrieval.unit_vectors import Vectors

DIMENSION = 384
BLOCK = 10_000  # passages in one file
_TOPICS = 4_000
_WORDS = 200_000
_OWN_WORDS = 200  # of a topic
_LENGTH = 60  # words of a passage
_SPREAD = 0.6  # of a passage's vector about its topic's
# Vectors of texts fill few of their dimensions.
_WEIGHTS = np.asarray(1 / np.sqrt(1 + np.arange(DIMENSION) / 20), dtype=np.float32)


@dataclass(frozen=True)
class Corpus:
    """The paths of passages (a JSON string a line), their vectors (.npy files in order) and questions (JSON)."""

    texts: Path
    vectors: Path
    questions: Path

    def blocks(self, most: int) -> Iterator[tuple[list[str], Vectors]]:
        """Yield the passages with their vectors, ``BLOCK`` at a time."""
        with self.texts.open(encoding="utf-8") as lines:
            for path in sorted(self.vectors.glob("*.npy")):
                vectors = np.load(path, allow_pickle=False)[: max(0, most)]
                if not len(vectors):
                    return
                yield [json.loads(next(lines)) for _ in vectors], np.asarray(vectors, dtype=np.float32)
                most -= len(vectors)

    def asked(self) -> tuple[list[str], Vectors]:
        """Return the questions and their vectors."""
        kept = json.loads(self.questions.read_text(encoding="utf-8"))
        return kept["questions"], np.asarray(kept["vectors"], dtype=np.float32)


class Known(Embeddings):
    """Embeddings that are looked up; a text without one gets a constant vector and is counted as missed."""

    def __init__(self) -> None:
        self.vectors: dict[str, Vectors] = {}
        self.missed = 0

    def know(self, texts: list[str], vectors: Vectors) -> None:
        """Add the vectors of more texts."""
        self.vectors.update(zip(texts, vectors, strict=True))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        if text not in self.vectors:
            self.missed += 1
            return [1.0] + [0.0] * (DIMENSION - 1)
        found: list[float] = self.vectors[text].tolist()
        return found


def drawn(folder: Path, passages: int, questions: int) -> Corpus:
    """Draw passages from topics once, and keep them in ``folder``."""
    corpus = Corpus(folder / "texts.jsonl", folder / "vectors", folder / "questions.json")
    if corpus.questions.exists():
        return corpus
    corpus.vectors.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(7)
    centres = units(chance.standard_normal((_TOPICS, DIMENSION)) * _WEIGHTS)
    with corpus.texts.open("w", encoding="utf-8") as lines:
        for start in range(0, passages, BLOCK):
            count = min(BLOCK, passages - start)
            topics = chance.integers(0, _TOPICS, count)
            vectors = _near(centres[topics], chance)
            np.save(corpus.vectors / f"{start:08d}.npy", vectors)
            for number, topic in enumerate(topics):
                lines.write(json.dumps(_text(int(topic), chance) + f" n{start + number}.") + "\n")
    topics = chance.integers(0, _TOPICS, questions)
    asked = [" ".join(_text(int(topic), chance).split()[:10]) + "?" for topic in topics]
    kept = {"questions": asked, "vectors": _near(centres[topics], chance).tolist()}
    corpus.questions.write_text(json.dumps(kept), encoding="utf-8")
    return corpus


def _near(centres: Vectors, chance: np.random.Generator) -> Vectors:
    noise = units(chance.standard_normal(centres.shape) * _WEIGHTS)
    return units(centres + _SPREAD * noise)


def units(vectors: npt.NDArray[np.floating[Any]]) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def _text(topic: int, chance: np.random.Generator) -> str:
    common = np.minimum(chance.zipf(1.2, _LENGTH), _WORDS)
    own = topic * 37 + np.minimum(chance.zipf(1.3, _LENGTH), _OWN_WORDS)
    words = np.where(chance.random(_LENGTH) < 0.7, common, own)
    return " ".join(f"w{word}" for word in words)
