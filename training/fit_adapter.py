"""Train an activated adapter for one of the critic's choices, and compare it with the prompt and with a linear readout.

    python -m training.fit_adapter relevance --families squad,tables,german --held-out clapnq --most 2000

What stands before the adapter's place is read once, with the base weights, and kept in ``--out``; a second run goes on
with the pack, and then with the step, where the first stopped. Printed after each epoch is the AUC of the right replies
against each kind of wrong ones, on passages left out of every family and on whole families left out (``--held-out``).
``--export`` writes the adapter for llama.cpp. Needs `requirements-training.txt`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import jax
import jax.numpy as jnp
import numpy as np
from langchain_core.messages import convert_to_openai_messages
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from app.compose import chat_file
from app.settings import load_settings
from benchmarks.harness import end_progress, option_parser, show_progress
from evaluation.measures.statistics import auc
from models.embedded import EmbeddedServer
from models.prefix_cache import prompt_tokens
from prompts.shared import with_all_examples
from training import adapter as lora
from training.base_model import WIDTH, Array, Reader, Weights
from training.layout import (
    CHOICES,
    DRAFT,
    Layout,
    PrefixGroup,
    TrainingExample,
    laid_out,
    packs,
    prefix_groups,
    rows_of,
    with_drafts,
)
from training.rows import ROWS

FAMILIES_LEFT_OUT = 6  # one row of theirs is tested on for so many rows of the other families
HELD_OUT = 15  # of 100 passages of each family, which no step sees
COMPONENTS = 40  # of the final state, in the linear readout
ROUND = 48  # a batch's prefixes are padded to a multiple of so many tokens
WARM_UP = 10  # steps
SAVED = 20  # steps between two checkpoints


class Rows:
    """What is asked, as tokens, and what was read of each prompt; kept in ``folder``."""

    def __init__(self, asked: Sequence[TrainingExample], layout: Layout, folder: Path, first: int) -> None:
        self.asked, self.layout, self.folder, self.first = asked, layout, folder, first
        self.groups = prefix_groups(layout)
        self.packs = packs([len(layout.group(one)) for one in self.groups])
        self.place = {
            number: (index, at, branch)
            for index, pack in enumerate(self.packs)
            for at, group in enumerate(pack)
            for branch, number in enumerate(self.groups[group])
        }

    def read(self, weights: Weights) -> None:
        """Read what no earlier run has read."""
        self.folder.mkdir(parents=True, exist_ok=True)
        left = [index for index in range(len(self.packs)) if not self._path(index).exists()]
        if not left:
            return
        reader = Reader(weights, self.first, self.fixed(weights))
        began = time.monotonic()
        for done, index in enumerate(left, 1):
            prompts = [self.layout.group(self.groups[one]) for one in self.packs[index]]
            kept: dict[str, Any] = {}
            for at, one in enumerate(reader.read(prompts)):
                kept |= {f"past{at}": one.keys_values, f"entering{at}": one.entering, f"final{at}": one.final}
                kept |= {f"rest{at}-{branch}": rest for branch, rest in enumerate(one.rests)}
            new = self._path(index).with_suffix(".new.npz")
            np.savez(new, **kept)
            new.replace(self._path(index))
            minutes = (time.monotonic() - began) / done * (len(left) - done) / 60
            show_progress(f"{done} of {len(left)} packs read, {minutes:.0f} minutes left")
        end_progress()

    def fixed(self, weights: Weights) -> Array:
        """Return the keys and values of what all prompts begin with, of all layers."""
        path = self.folder / "fixed.npy"
        if not path.exists():
            (whole,) = Reader(weights, 0, size=len(self.layout.fixed)).read([PrefixGroup(self.layout.fixed)])
            np.save(path, whole.keys_values)
        kept: Array = np.load(path)
        return kept

    def kept(self, number: int, name: str) -> Array:
        """Return what was read of a prompt: ``past``, ``entering`` or ``final``."""
        index, at, branch = self.place[number]
        with np.load(self._path(index)) as pack:
            one: Array = pack[f"{name}{at}"]
            if name != "past":
                return np.asarray(one[branch])
            rest = pack[f"rest{at}-{branch}"]
        cut = len(self.layout.middles[number]) - rest.shape[2]
        return np.concatenate([one[:, :, :cut], rest], axis=2)

    def batch(self, numbers: Sequence[int], size: int, words: dict[str, int]) -> dict[str, Any]:
        """Return the rows as one padded batch of ``size``."""
        pasts = [self.kept(one, "past") for one in numbers]
        longest = -(-max(one.shape[2] for one in pasts) // ROUND) * ROUND
        keys_values = np.zeros((pasts[0].shape[0], size, 2, longest, *pasts[0].shape[3:]), np.float16)
        entering = np.zeros((size, len(self.layout.ending), WIDTH), np.float32)
        prefix, wanted = np.ones(size, np.int32), np.full(size, -1, np.int32)
        for at, (number, past) in enumerate(zip(numbers, pasts, strict=True)):
            keys_values[:, at, :, : past.shape[2]] = past
            entering[at], prefix[at] = self.kept(number, "entering"), past.shape[2]
            wanted[at] = words[self.asked[number].reply]
        return {"keys_values": keys_values, "entering": entering, "prefix": prefix, "wanted": wanted}

    def _path(self, index: int) -> Path:
        return self.folder / f"pack-{index:05}.npz"


class Training:
    """The adapter, its optimiser's moments, and the steps done; saved now and then."""

    def __init__(self, rows: Rows, weights: Weights, words: dict[str, int], options: argparse.Namespace) -> None:
        self.rows, self.words, self.options = rows, words, options
        self.base = lora.Base.load(weights, rows.first)
        self.fixed = jnp.asarray(rows.fixed(weights)[rows.first :])
        self.adapter = lora.new_adapter(rows.first, options.rank, options.seed)
        self.moments = ({k: jnp.zeros_like(v) for k, v in self.adapter.items()},) * 2
        self.step = 0
        schedule = f"{options.rank}-{options.batch}-{options.epochs}-{options.rate}-{options.seed}-{options.families}"
        self._path = rows.folder / f"adapter-{schedule}.npz"
        if self._path.exists():
            saved = np.load(self._path)
            self.step = int(saved["step"])
            self.adapter, *moments = ({k: jnp.asarray(saved[p + k]) for k in self.adapter} for p in ("", "m", "v"))
            self.moments = (moments[0], moments[1])

    def run(self, numbers: Sequence[int], epochs: int) -> Iterator[int]:
        """Go over the rows so many times; yield after each. Steps that an earlier run did are not done again.

        Where it did all, yield once.
        """
        batches = [
            one for epoch in range(epochs) for one in self._batches(numbers, Random(f"{self.options.seed}{epoch}"))
        ]
        each = len(batches) // epochs
        began, before = time.monotonic(), self.step
        if before == len(batches):
            yield epochs
        for number in range(self.step, len(batches)):
            rate = self.options.rate * min(1, (number + 1) / WARM_UP) * (1 + np.cos(np.pi * number / len(batches))) / 2
            batch = self.rows.batch(batches[number], self.options.batch, self.words)
            value, gradient = _gradient(
                self.adapter, self.base.layers, self.base.norm, self.base.output, self.fixed, batch
            )
            self.step = number + 1
            self.adapter, self.moments = _adamw(self.adapter, self.moments, gradient, self.step, rate)
            minutes = (time.monotonic() - began) / (self.step - before) * (len(batches) - self.step) / 60
            show_progress(f"step {self.step} of {len(batches)}, loss {value:.3f}, {minutes:.0f} minutes left")
            if self.step % SAVED == 0 or self.step % each == 0:
                self.save()
            if self.step % each == 0:
                end_progress()
                yield self.step // each

    def scores(self, numbers: Sequence[int]) -> dict[int, float]:
        """Return the log-odds of all replies but ``no``, for each row."""
        columns = jnp.asarray([self.words[word] for word in self.words])
        found: dict[int, float] = {}
        for batch in self._batches(numbers, None):
            inputs = self.rows.batch(batch, self.options.batch, self.words)
            states = _states(self.adapter, self.base.layers, self.base.norm, self.fixed, inputs)
            logits = np.asarray(states @ self.base.output[columns].T)
            found |= {number: log_odds(logits[at], list(self.words)) for at, number in enumerate(batch)}
        return found

    def save(self) -> None:
        """Replace the checkpoint."""
        arrays: dict[str, Any] = {
            p + k: np.asarray(v)
            for p, one in zip(("", "m", "v"), (self.adapter, *self.moments), strict=True)
            for k, v in one.items()
        }
        new = self._path.with_suffix(".new.npz")
        np.savez(new, step=np.asarray(self.step), **arrays)
        new.replace(self._path)

    def _batches(self, numbers: Sequence[int], random: Random | None) -> list[list[int]]:
        """Group rows of like length, so that padding costs little."""
        size, alike = self.options.batch, defaultdict(list)
        numbers = list(numbers)
        if random:
            random.shuffle(numbers)
        for one in numbers:
            alike[len(self.rows.layout.middles[one]) // ROUND].append(one)
        batches = [some[at : at + size] for some in alike.values() for at in range(0, len(some), size)]
        if random:
            random.shuffle(batches)
        return batches


_gradient = jax.jit(jax.value_and_grad(lora.loss))
_states = jax.jit(lora.final_states)
_adamw = jax.jit(lora.adamw)


def main() -> None:
    """Read, train, compare, and export if asked."""
    parser = option_parser(
        __doc__, most=2000, first=14, rank=8, batch=32, epochs=2, rate=5e-4, seed=0, out=Path("eval/adapter")
    )
    parser.add_argument("choice", choices=sorted(CHOICES))
    parser.add_argument("--families", default="squad")
    parser.add_argument("--held-out", default="")
    parser.add_argument("--export", type=Path)
    options = parser.parse_args()
    choice, ask = CHOICES[options.choice]
    trained, whole = options.families.split(","), [one for one in options.held_out.split(",") if one]
    random = Random(options.seed)
    asked: list[TrainingExample] = []
    for families in (trained, whole):
        drawn = list(with_drafts(rows_of(ROWS, families), ROWS))
        random.shuffle(drawn)
        drawn.sort(key=lambda row: all(one["kind"] != DRAFT for one in row["claims"]))  # of what is rare all is used
        found = [one for row in drawn for one in ask(row)]
        asked += found[: options.most if families is trained else options.most // FAMILIES_LEFT_OUT]
    path = chat_file(load_settings())
    with EmbeddedServer(path) as server:
        words = {word: tokens_of(word, server)[0] for word in choice.replies}
        (turn_end,) = tokens_of("<|im_end|>", server)
        written = (with_all_examples(choice.messages.format_messages(**one.inputs)) for one in asked)
        messages = map(convert_to_openai_messages, written)
        layout = laid_out([prompt_tokens(one, server.request) for one in messages])
    digest = crc32(json.dumps([layout.fixed, layout.middles, layout.ending]).encode())
    rows = Rows(asked, layout, options.out / f"{options.choice}-{options.first}-{digest:08x}", options.first)
    weights = Weights(path)
    rows.read(weights)
    training = Training(rows, weights, words, options)
    seen = [one for one in rows.place if asked[one].family in trained and not left_out(asked[one])]
    tested = [one for one in rows.place if one not in set(seen)]
    print(f"{len(seen)} rows to train on, {len(tested)} to test on; fixed {len(layout.fixed)} tokens")
    finals = {one: rows.kept(one, "final") for one in rows.place}
    columns = np.asarray(training.base.output)[list(words.values())]
    compare("prompt", asked, {one: log_odds(columns @ finals[one], list(words)) for one in tested})
    compare("readout", asked, readout(asked, finals, seen, tested))
    for epoch in training.run(seen, options.epochs):
        scores = training.scores(tested)
        compare(f"adapter, epoch {epoch}", asked, scores)
    if options.export:
        described = {"name": f"Self-RAG {options.choice}", "license": "apache-2.0"}
        # All of the words that ask but the first, on which the engine switches the adapter on already.
        invocation = layout.ending[1 : layout.ending.index(turn_end)]
        lora.write_gguf(training.adapter, options.first, invocation, options.export, **described)


def tokens_of(text: str, server: EmbeddedServer) -> list[int]:
    """Return the tokens of a text in which control tokens count."""
    return list(json.loads(server.request("/tokenize", {"content": text, "parse_special": True}))["tokens"])


def left_out(one: TrainingExample) -> bool:
    """Return True for the passages that no step sees, whatever is asked of them."""
    return crc32(one.group.encode()) % 100 < HELD_OUT


def log_odds(logits: Array, words: Sequence[str]) -> float:
    """Return the log-odds of all replies but ``no``."""
    others = [value for value, word in zip(logits, words, strict=True) if word != "no"]
    return float(np.logaddexp.reduce(others) - logits[list(words).index("no")])


def readout(
    asked: Sequence[TrainingExample], finals: dict[int, Array], seen: Sequence[int], tested: Sequence[int]
) -> dict[int, float]:
    """Score by a logistic regression on the principal components of the final state."""
    pipeline = make_pipeline(
        StandardScaler(),
        PCA(min(COMPONENTS, len(seen) // 4), random_state=0),
        StandardScaler(),
        LogisticRegression(C=0.1, max_iter=2000),
    )
    pipeline.fit(np.stack([finals[one] for one in seen]), [asked[one].reply != "no" for one in seen])
    scores = pipeline.decision_function(np.stack([finals[one] for one in tested]))
    return dict(zip(tested, map(float, scores), strict=True))


def compare(name: str, asked: Sequence[TrainingExample], scores: dict[int, float]) -> None:
    """Print the AUC of each family's right replies against each kind of wrong ones; the model's drafts are apart."""
    print(name)
    groups = defaultdict(list)
    for one in scores:
        groups[asked[one].family + ("'s drafts" if asked[one].kind.endswith(DRAFT) else "")].append(one)
    for group, own in groups.items():
        right = [one for one in own if asked[one].reply != "no"]
        kinds = dict.fromkeys(asked[one].kind for one in own if asked[one].reply == "no")
        figures = []
        for kind in ("all", *sorted(kinds)):
            wrong = [one for one in own if asked[one].reply == "no" and kind in ("all", asked[one].kind)]
            labels = [True] * len(right) + [False] * len(wrong)
            figures.append(
                f"{kind} {auc(labels, [scores[one] for one in right + wrong]) or float('nan'):.3f} ({len(wrong)})"
            )
        print(f"  {group}, {len(right)} right: {', '.join(figures)}", flush=True)


if __name__ == "__main__":
    main()
