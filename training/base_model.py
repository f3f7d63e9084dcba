"""The embedded model in PyTorch, from its own GGUF file. Training reads prompts with it; it is fast only on a GPU."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gguf
import torch
from torch import Tensor
from torch.nn.functional import linear, pad, rms_norm, silu

LAYERS, HEADS, KV_HEADS, HEAD, WIDTH, FEED = 28, 12, 2, 128, 1536, 8960
EPSILON, ROPE_BASE = 1e-6, 1e6

KeysValues = Sequence[tuple[Tensor, Tensor]]  # of each layer, each (prompts, KV heads, tokens, head)
Adapter = Mapping[str, Tensor]  # of each target, "attn_q.A" (layers, rank, in) and "attn_q.B" (layers, out, rank)


def prepared(path: Path) -> dict[str, Any]:
    """Read what `training.prepare` wrote."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return dict(json.load(file))


class Model:
    """The weights, dequantised, in bfloat16."""

    def __init__(self, path: Path, device: str) -> None:
        tensors = {one.name: one for one in gguf.GGUFReader(str(path)).tensors}

        def dequantised(name: str) -> tuple[str, Tensor]:
            plain = torch.from_numpy(gguf.dequantize(tensors[name].data, tensors[name].tensor_type).copy())
            return name, plain.to(torch.bfloat16).to(device)

        with ThreadPoolExecutor() as threads:
            self.weights = dict(threads.map(dequantised, tensors))
        self.device = device

    def read(
        self,
        states: Tensor,
        positions: Tensor,
        seen: Tensor,
        past: KeysValues | None = None,
        adapter: Adapter | None = None,
        scale: float = 0.0,
    ) -> tuple[Tensor, KeysValues]:
        """Return the normed states (prompts, tokens, width) of what goes on from ``past``, and its keys and values.

        ``seen`` says which tokens each may look at: (prompts, 1, tokens, past tokens + tokens).
        """
        cosine, sine = _rotation(positions)
        made = []
        for layer in range(LAYERS):
            own = _of_layer(adapter, layer) if adapter else {}
            states, keys, values = self._layer(
                layer, states, (cosine, sine), seen, past[layer] if past else None, own, scale
            )
            made.append((keys, values))
        return rms_norm(states, (WIDTH,), self.weights["output_norm.weight"], EPSILON), made

    def embedded(self, tokens: Tensor) -> Tensor:
        """Return what enters the first layer."""
        return self.weights["token_embd.weight"][tokens]

    def _layer(
        self,
        layer: int,
        states: Tensor,
        rotation: tuple[Tensor, Tensor],
        seen: Tensor,
        past: tuple[Tensor, Tensor] | None,
        adapter: Adapter,
        scale: float,
    ) -> tuple[Tensor, Tensor, Tensor]:
        count, tokens, _ = states.shape

        def weight(name: str) -> Tensor | None:
            return self.weights.get(f"blk.{layer}.{name}")

        def product(one: Tensor, name: str) -> Tensor:
            plain = linear(one, self.weights[f"blk.{layer}.{name}.weight"], weight(f"{name}.bias"))
            if f"{name}.A" not in adapter:
                return plain
            low = linear(one, adapter[f"{name}.A"].to(one.dtype))
            return plain + scale * linear(low, adapter[f"{name}.B"].to(one.dtype))

        def heads(one: Tensor, number: int) -> Tensor:
            return one.view(count, tokens, number, HEAD).transpose(1, 2)

        entering = rms_norm(states, (WIDTH,), weight("attn_norm.weight"), EPSILON)
        queries = _rotated(heads(product(entering, "attn_q"), HEADS), rotation)
        keys = _rotated(heads(product(entering, "attn_k"), KV_HEADS), rotation)
        values = heads(product(entering, "attn_v"), KV_HEADS)
        all_keys, all_values = (
            (
                torch.cat([before.expand(count, -1, -1, -1), now], 2)
                for before, now in zip(past, (keys, values), strict=True)
            )
            if past
            else (keys, values)
        )
        # The queries of the heads that share keys stand one behind the other, so that no key is copied. Not PyTorch's
        # fused attention: with it gradients were NaN on an H100 once endings differed in length (cause not proved).
        shared = HEADS // KV_HEADS
        scores = queries.reshape(count, KV_HEADS, shared * tokens, HEAD) @ all_keys.transpose(2, 3) * HEAD**-0.5
        scores = scores.view(count, KV_HEADS, shared, tokens, -1).masked_fill(~seen[:, :, None], -torch.inf)
        shares = scores.softmax(-1, dtype=torch.float32).to(states.dtype).flatten(2, 3)
        mixed = (shares @ all_values).view(count, HEADS, tokens, HEAD)
        states = states + product(mixed.transpose(1, 2).reshape(count, tokens, WIDTH), "attn_output")
        entering = rms_norm(states, (WIDTH,), weight("ffn_norm.weight"), EPSILON)
        gated = silu(product(entering, "ffn_gate")) * product(entering, "ffn_up")
        return states + product(gated, "ffn_down"), keys, values


class Prompts:
    """A reader of prompts that all begin with ``fixed``, which is read once."""

    def __init__(self, model: Model, fixed: Sequence[int]) -> None:
        self.model, self.length, device = model, len(fixed), model.device
        causal = _causal(self.length, device)[None, None]
        states = model.embedded(torch.tensor([fixed], device=device))
        with torch.no_grad():
            _, self.fixed = model.read(states, torch.arange(self.length, device=device)[None], causal)

    def middles(self, middles: Sequence[Sequence[int]]) -> tuple[KeysValues, Tensor]:
        """Read what comes next, without an adapter: return the keys and values of all so far, and each one's length."""
        tokens, lengths = self._padded(middles)
        count, longest = tokens.shape
        seen = pad(_causal(longest, tokens.device), (self.length, 0), value=True).expand(count, 1, -1, -1)
        positions = self.length + torch.arange(longest, device=tokens.device)[None]
        with torch.no_grad():
            _, read = self.model.read(self.model.embedded(tokens), positions, seen, self.fixed)
        return _joined(self.fixed, read, count), self.length + lengths

    def endings(
        self,
        past: KeysValues,
        lengths: Tensor,
        endings: Sequence[Sequence[int]],
        adapter: Adapter | None = None,
        scale: float = 0.0,
    ) -> tuple[Tensor, KeysValues, Tensor]:
        """Read the rest: return the normed state (prompts, width) of each last token, keys and values, and lengths."""
        tokens, own = self._padded(endings)
        count, longest = tokens.shape
        device = tokens.device
        before = torch.arange(past[0][0].shape[2], device=device)[None] < lengths[:, None]
        causal = _causal(longest, device).expand(count, 1, -1, -1)
        seen = torch.cat([before[:, None, None].expand(-1, 1, longest, -1), causal], 3)
        positions = lengths[:, None] + torch.arange(longest, device=device)[None]
        states, read = self.model.read(self.model.embedded(tokens), positions, seen, past, adapter, scale)
        return states[torch.arange(count, device=device), own - 1], read, own

    def written(
        self,
        middles: Sequence[Sequence[int]],
        endings: Sequence[Sequence[int]],
        stop: int,
        most: int,
        temperature: float,
    ) -> list[list[int]]:
        """Return the tokens that the model writes behind each prompt, up to ``stop``; call it without gradients."""
        past, lengths = self.middles(middles)
        state, read, own = self.endings(past, lengths, endings)
        count, device = len(middles), self.model.device
        there = [torch.arange(past[0][0].shape[2], device=device)[None] < lengths[:, None]]
        there.append(torch.arange(read[0][0].shape[2], device=device)[None] < own[:, None])
        positions, found, done = lengths + own, [], torch.zeros(count, dtype=torch.bool, device=device)
        for _ in range(most):
            past = _joined(past, read, count)
            scores = linear(state, self.model.weights["output.weight"]).float()
            warm = torch.multinomial(torch.softmax(scores / temperature, 1), 1)[:, 0] if temperature else None
            token = scores.argmax(1) if warm is None else warm
            done |= token == stop
            found.append(torch.where(done, stop, token))
            if bool(done.all()):
                break
            there.append(torch.ones(count, 1, dtype=torch.bool, device=device))
            seen = torch.cat(there, 1)[:, None, None]
            states, read = self.model.read(self.model.embedded(token[:, None]), positions[:, None], seen, past)
            state, positions = states[:, -1], positions + 1
        return [row[: row.index(stop)] if stop in row else row for row in torch.stack(found, 1).tolist()]

    def _padded(self, lists: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        lengths = torch.tensor([len(one) for one in lists])
        tokens = torch.stack([pad(torch.tensor(one), (0, int(lengths.max()) - len(one))) for one in lists])
        return tokens.to(self.model.device), lengths.to(self.model.device)


def _causal(size: int, device: torch.device | str) -> Tensor:
    return torch.ones(size, size, dtype=torch.bool, device=device).tril()


def _joined(past: KeysValues, read: KeysValues, count: int) -> KeysValues:
    return [
        (
            torch.cat([keys.expand(count, -1, -1, -1), more_keys], 2),
            torch.cat([values.expand(count, -1, -1, -1), more], 2),
        )
        for (keys, values), (more_keys, more) in zip(past, read, strict=True)
    ]


def _of_layer(adapter: Adapter, layer: int) -> Adapter:
    first = LAYERS - len(next(iter(adapter.values())))
    return {name: one[layer - first] for name, one in adapter.items()} if layer >= first else {}


def _rotation(positions: Tensor) -> tuple[Tensor, Tensor]:
    """Return the cosines and sines of the rotary embedding at these positions."""
    rates = ROPE_BASE ** (-torch.arange(0, HEAD, 2, device=positions.device) / HEAD)
    angles = positions[..., None].float() * rates
    angles = torch.cat([angles, angles], -1)[:, None]
    return angles.cos(), angles.sin()


def _rotated(one: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    left, right = one.chunk(2, -1)
    cosine, sine = rotation
    return (one * cosine + torch.cat([-right, left], -1) * sine).to(one.dtype)
