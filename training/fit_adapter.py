"""Train activated adapters for one of the critic's choices, and compare them with the prompt.

    python -m training.fit_adapter eval/prepared/relevance.json.xz --model model.gguf --trials 14:8:qkvo:5e-4

The prompts are those of `training.prepare`. A trial is the first layer, the rank, the targets (q, k, v, o, and m for
the feed-forward layer) and the rate; all trials see the same batches, whose prompts are read once, with the base
weights: an adapter works on the ending alone. A run that was stopped goes on where it was. Printed after each epoch is
the AUC of the right replies against each kind of wrong ones, on passages left out of every family and on whole families
left out. ``--out`` keeps the adapters for llama.cpp, and the scores. It needs `requirements-training.txt`; minutes on
an H100, hours on two cores.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import gguf
import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, linear

from evaluation.measures.statistics import auc
from training.base_model import FEED, HEAD, KV_HEADS, LAYERS, WIDTH, Adapter, KeysValues, Model, Prompts, prepared

# By letter: the tensors' names in the file, with their sizes of input and output.
TARGETS = {
    "q": {"attn_q": (WIDTH, WIDTH)},
    "k": {"attn_k": (WIDTH, KV_HEADS * HEAD)},
    "v": {"attn_v": (WIDTH, KV_HEADS * HEAD)},
    "o": {"attn_output": (WIDTH, WIDTH)},
    "m": {"ffn_gate": (WIDTH, FEED), "ffn_up": (WIDTH, FEED), "ffn_down": (FEED, WIDTH)},
}
SCALE = 2.0  # alpha over rank
WARM_UP = 10  # steps
SAVED = 20  # steps between two checkpoints
ALIKE = 32  # lengths in a batch differ by at most so many tokens
DRAFT = "draft"


class Trial:
    """An adapter and its optimiser."""

    def __init__(self, described: str, device: str, seed: int, begin: Adapter | None) -> None:
        first, rank, targets, rate = described.split(":")
        self.name, self.first, self.rate = described.replace(":", "-"), int(first), float(rate)
        random = torch.Generator().manual_seed(seed)
        layers = LAYERS - self.first
        self.adapter: dict[str, Tensor] = {}
        for letter in targets:
            for name, (size, out) in TARGETS[letter].items():
                start = torch.randn(layers, int(rank), size, generator=random) / math.sqrt(size)
                self.adapter |= {
                    f"{name}.A": start.to(device),
                    f"{name}.B": torch.zeros(layers, out, int(rank), device=device),
                }
        self.adapter |= {name: one.clone() for name, one in (begin or {}).items()}
        for one in self.adapter.values():
            one.requires_grad_()
        self.optimiser = torch.optim.AdamW(self.adapter.values(), lr=self.rate, betas=(0.9, 0.99), weight_decay=0.01)

    def step(self, loss: Tensor, share: float) -> None:
        """Take one optimiser step at this share of the highest rate."""
        loss.backward()
        if torch.nn.utils.clip_grad_norm_(self.adapter.values(), 1.0).isfinite():
            for group in self.optimiser.param_groups:
                group["lr"] = self.rate * share
            self.optimiser.step()
        else:
            print("skipped a step whose gradient is not finite", flush=True)
        self.optimiser.zero_grad(set_to_none=True)


class Training:
    """The rows as tokens, with the model that reads them, to train and score adapters on."""

    def __init__(self, asked: Mapping[str, Any], model: Model, batch: int) -> None:
        self.rows, self.words, self.batch = asked["rows"], asked["words"], batch
        self.prompts = Prompts(model, asked["fixed"])
        self._output = model.weights["output.weight"]
        self._columns = self._output[torch.tensor(list(self.words.values()), device=model.device)].float()

    def run(
        self, trials: Sequence[Trial], numbers: Sequence[int], epochs: int, seed: int, checkpoint: Path
    ) -> Iterator[int]:
        """Train for so many epochs; yield the number of each when it ends. ``checkpoint`` resumes a stopped run."""
        epochs_of = [self._batches(numbers, Random(f"{seed}{epoch}")) for epoch in range(epochs)]
        steps, done, began = sum(map(len, epochs_of)), 0, time.monotonic()
        before = saved = _restored(checkpoint, trials)
        for epoch, batches in enumerate(epochs_of, 1):
            for batch in batches:
                if done < before:
                    done += 1
                    continue
                share = min(1, (done + 1) / WARM_UP) * (1 + math.cos(math.pi * done / steps)) / 2
                wanted = torch.tensor(
                    [self.words[self.rows[one]["reply"]] for one in batch], device=self._output.device
                )
                read = self._read(batch)
                losses = []
                for trial in trials:
                    states, *_ = self.prompts.endings(*read, trial.adapter, SCALE)
                    loss = cross_entropy(linear(states, self._output).float(), wanted)
                    trial.step(loss, share)
                    losses.append(loss.item())
                done += 1
                if done - saved == SAVED or done == steps:
                    _save(checkpoint, trials, done)
                    saved = done
                minutes = (time.monotonic() - began) / (done - before) * (steps - done) / 60
                said = " ".join(f"{one:.3f}" for one in losses)
                print(f"\rstep {done} of {steps}, loss {said}, {minutes:.0f} minutes left ", end="", flush=True)
            print()
            yield epoch

    def scores(self, adapters: Mapping[str, Adapter | None], numbers: Sequence[int]) -> dict[str, dict[int, float]]:
        """Return the log-odds of all replies but ``no``, for each adapter and row; None is the bare prompt."""
        found: dict[str, dict[int, float]] = {name: {} for name in adapters}
        no = list(self.words).index("no")
        others = [at for at in range(len(self.words)) if at != no]
        for batch in self._batches(numbers, None):
            read = self._read(batch)
            for name, adapter in adapters.items():
                with torch.no_grad():
                    logits = self.prompts.endings(*read, adapter, SCALE)[0].float() @ self._columns.T
                odds = (logits[:, others].logsumexp(1) - logits[:, no]).tolist()
                found[name] |= dict(zip(batch, odds, strict=True))
        return found

    def _read(self, batch: Sequence[int]) -> tuple[KeysValues, Tensor, list[list[int]]]:
        middles = [tuple(self.rows[one]["middle"]) for one in batch]
        place = {middle: at for at, middle in enumerate(dict.fromkeys(middles))}
        past, lengths = self.prompts.middles(list(place))
        each = torch.tensor([place[middle] for middle in middles], device=self._output.device)
        endings = [self.rows[one]["ending"] for one in batch]
        return [(keys[each], values[each]) for keys, values in past], lengths[each], endings

    def _batches(self, numbers: Sequence[int], random: Random | None) -> list[list[int]]:
        """Group rows of like length, so that padding costs little, and those on the same middle, which is read once."""
        alike: dict[int, dict[tuple[int, ...], list[int]]] = defaultdict(lambda: defaultdict(list))
        for one in random.sample(numbers, len(numbers)) if random else numbers:
            middle = tuple(self.rows[one]["middle"])
            alike[len(middle) // ALIKE][middle].append(one)
        batches = []
        for groups in alike.values():
            some = [one for group in groups.values() for one in group]
            batches += [some[at : at + self.batch] for at in range(0, len(some), self.batch)]
        if random:
            random.shuffle(batches)
        return batches


def _save(path: Path, trials: Sequence[Trial], done: int) -> None:
    new = path.with_suffix(".new")
    torch.save({"done": done, "trials": [(one.adapter, one.optimiser.state_dict()) for one in trials]}, new)
    new.replace(path)


def _restored(path: Path, trials: Sequence[Trial]) -> int:
    """Load the checkpoint into the trials; return how many steps it has, 0 if there is none."""
    if not path.exists():
        return 0
    saved = torch.load(path, weights_only=True, map_location="cpu")
    for trial, (adapter, optimiser) in zip(trials, saved["trials"], strict=True):
        for name, one in trial.adapter.items():
            one.data.copy_(adapter[name])
        trial.optimiser.load_state_dict(optimiser)
    return int(saved["done"])


def main() -> None:
    """Train, compare and export."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("prepared", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--trials", default="14:8:qkvo:5e-4", help="divided by commas")
    parser.add_argument("--beside", type=Path, nargs="*", default=[], help="adapters to compare with")
    parser.add_argument("--begin", type=Path, help="an adapter to go on from")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, default=Path("eval/adapters"))
    for name, default in (("batch", 32), ("epochs", 2), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    asked = prepared(options.prepared)
    rows = asked["rows"]
    seen = [number for number, one in enumerate(rows) if one["seen"]]
    tested = [number for number, one in enumerate(rows) if not one["seen"]]
    print(f"{len(seen)} rows to train on, {len(tested)} to test on")
    training = Training(asked, Model(options.model, options.device), options.batch)
    begin = read_gguf(options.begin, options.device) if options.begin else None
    trials = [Trial(one, options.device, options.seed, begin) for one in options.trials.split(",") if one]
    options.out.mkdir(parents=True, exist_ok=True)

    def test(adapters: Mapping[str, Adapter | None], epoch: int) -> None:
        for name, scores in training.scores(adapters, tested).items():
            compare(f"{name}, epoch {epoch}" if epoch else name, rows, scores)
            by_id = {f"{rows[one]['id']} {one}": round(score, 4) for one, score in scores.items()}
            (options.out / f"{asked['choice']}-{name}-{epoch}.scores.json").write_text(json.dumps(by_id))

    if options.beside:
        test({"prompt": None} | {one.stem: read_gguf(one, options.device) for one in options.beside}, 0)
    settings = f"{options.trials} {options.batch} {options.epochs} {options.seed} {options.begin}"
    checkpoint = options.out / f"{crc32(options.prepared.read_bytes() + settings.encode()):08x}.pt"
    for epoch in training.run(trials, seen, options.epochs, options.seed, checkpoint):
        for one in trials:
            path = options.out / f"{asked['choice']}-{one.name}-{epoch}.gguf"
            described = {"name": f"Self-RAG {asked['choice']}", "license": "apache-2.0"}
            write_gguf(one.adapter, asked["invocation"], path, **described)
        test({one.name: one.adapter for one in trials}, epoch)


def compare(name: str, rows: Sequence[Mapping[str, Any]], scores: dict[int, float]) -> None:
    """Print the AUC of each family's right replies against each kind of wrong ones; the model's drafts are apart."""
    print(name)
    groups = defaultdict(list)
    for one in scores:
        groups[rows[one]["family"] + ("'s drafts" if rows[one]["kind"].endswith(DRAFT) else "")].append(one)
    for group, own in groups.items():
        right = [one for one in own if rows[one]["reply"] != "no"]
        kinds = dict.fromkeys(rows[one]["kind"] for one in own if rows[one]["reply"] == "no")
        figures = []
        for kind in ("all", *sorted(kinds)):
            wrong = [one for one in own if rows[one]["reply"] == "no" and kind in ("all", rows[one]["kind"])]
            labels = [True] * len(right) + [False] * len(wrong)
            figure = auc(labels, [scores[one] for one in right + wrong])
            figures.append(f"{kind} {math.nan if figure is None else figure:.3f} ({len(wrong)})")
        print(f"  {group}, {len(right)} right: {', '.join(figures)}", flush=True)


def write_gguf(adapter: Mapping[str, Tensor], invocation: Sequence[int], path: Path, **described: str) -> None:
    """Write the adapter as llama.cpp reads it, float16; the invocation's tokens must be unsigned there."""
    writer = gguf.GGUFWriter(str(path), "qwen2")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    layers, rank = next(one.shape for name, one in adapter.items() if name.endswith(".A"))[:2]
    writer.add_float32("adapter.lora.alpha", SCALE * rank)
    kind, unsigned = gguf.GGUFValueType.ARRAY, gguf.GGUFValueType.UINT32
    writer.add_key_value("adapter.alora.invocation_tokens", list(invocation), kind, unsigned)
    for name, value in described.items():
        writer.add_string(f"general.{name}", value)
    for name, both in adapter.items():
        target, part = name.split(".")
        for index, one in enumerate(both.detach().cpu().numpy().astype(np.float16)):
            writer.add_tensor(f"blk.{LAYERS - layers + index}.{target}.weight.lora_{part.lower()}", one)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read_gguf(path: Path, device: str) -> dict[str, Tensor]:
    """Read an adapter of `write_gguf`."""
    found: dict[str, dict[int, Tensor]] = defaultdict(dict)
    for one in gguf.GGUFReader(str(path)).tensors:
        _, layer, target, _, part = one.name.split(".")
        found[f"{target}.{part[-1].upper()}"][int(layer)] = torch.from_numpy(one.data.astype(np.float32))
    return {name: torch.stack([some[at] for at in sorted(some)]).to(device) for name, some in found.items()}


if __name__ == "__main__":
    main()
