"""A low-rank adapter of the upper layers, active only behind its invocation: forward, backward, and the GGUF file.

What stands before the invocation is read by `base_model.Reader` once; here its keys and values are given, and only the
ending's few tokens go through the layers. llama.cpp activates an adapter one token before the invocation that it finds
(seen in xllamacpp 2026.10), so the first token of an ending stands before those named in the file.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import jax
import jax.numpy as jnp
import numpy as np

from training.base_model import EPSILON, HEAD, HEADS, HIDDEN, KV_HEADS, LAYERS, ROPE_BASE, WIDTH, Array, Weights

# By target: the tensor's name in the file, and its size of input and output.
TARGETS = {
    "q": ("attn_q", WIDTH, WIDTH),
    "k": ("attn_k", WIDTH, KV_HEADS * HEAD),
    "v": ("attn_v", WIDTH, KV_HEADS * HEAD),
    "o": ("attn_output", WIDTH, WIDTH),
}
SCALE = 2.0  # alpha over rank
NAMES = (
    "attn_norm.weight",
    *(f"attn_{one}.{part}" for one in "qkv" for part in ("weight", "bias")),
    "attn_output.weight",
    "ffn_norm.weight",
    "ffn_gate.weight",
    "ffn_up.weight",
    "ffn_down.weight",
)

Adapter = dict[str, jax.Array]  # "qA": (layers, rank, in), "qB": (layers, out, rank), and so on


@dataclass(frozen=True)
class Base:
    """The frozen weights of the layers from ``first`` on, of the last norm, and of the output for each token."""

    first: int
    layers: dict[str, jax.Array]
    norm: jax.Array
    output: jax.Array

    @classmethod
    def load(cls, weights: Weights, first: int) -> Base:
        """Read them from the model file, as float32."""
        layers = {name: jnp.stack([weights[f"blk.{one}.{name}"] for one in range(first, LAYERS)]) for name in NAMES}
        return cls(first, layers, jnp.asarray(weights["output_norm.weight"]), jnp.asarray(weights["output.weight"]))


def new_adapter(first: int, rank: int, seed: int) -> Adapter:
    """Return an adapter that changes nothing yet: A is random, B is zero."""
    key, layers = jax.random.PRNGKey(seed), LAYERS - first
    adapter: Adapter = {}
    for target, (_, size, out) in TARGETS.items():
        key, own = jax.random.split(key)
        adapter[f"{target}A"] = jax.random.normal(own, (layers, rank, size)) / np.sqrt(size)
        adapter[f"{target}B"] = jnp.zeros((layers, out, rank))
    return adapter


def final_states(
    adapter: Adapter, layers: dict[str, jax.Array], norm: jax.Array, fixed: jax.Array, batch: dict[str, Any]
) -> jax.Array:
    """Return the normed state (batch, width) of each ending's last token.

    ``fixed`` is (layers, 2, fixed tokens, KV heads, head). Of ``batch``: ``entering`` (batch, tokens, width),
    ``keys_values`` (layers, batch, 2, prefix, KV heads, head), and the prefixes' own lengths ``prefix``, (batch,).
    """
    state, past = batch["entering"], batch["keys_values"].astype(jnp.float32)
    count, tokens = state.shape[:2]
    length = fixed.shape[2]
    positions = length + batch["prefix"][:, None] + jnp.arange(tokens)[None]
    angles = positions[..., None] * ROPE_BASE ** (-jnp.arange(0, HEAD, 2) / HEAD)
    angles = jnp.concatenate([angles, angles], -1)[:, :, None]
    there = jnp.arange(past.shape[3])[None] < batch["prefix"][:, None]
    before = jnp.concatenate([jnp.ones((count, length), bool), there], 1)[:, None]
    causal = jnp.broadcast_to(jnp.tril(jnp.ones((tokens, tokens), bool)), (count, tokens, tokens))
    seen = jnp.concatenate([jnp.broadcast_to(before, (count, tokens, before.shape[2])), causal], 2)
    mask = jnp.where(seen, 0.0, HIDDEN)[:, None, None]
    step = functools.partial(_layer, angles=angles, mask=mask)
    state, _ = jax.lax.scan(step, state, (layers, adapter, fixed.astype(jnp.float32), past))
    return _normed(state[:, -1], norm)


def loss(
    adapter: Adapter, layers: Any, norm: jax.Array, output: jax.Array, fixed: jax.Array, batch: dict[str, Any]
) -> jax.Array:
    """Return the mean cross-entropy of the tokens ``wanted``, over the whole vocabulary; -1 stands for no row."""
    scores = final_states(adapter, layers, norm, fixed, batch) @ output.T
    wanted = batch["wanted"]
    chosen = jax.nn.log_softmax(scores)[jnp.arange(len(wanted)), wanted]
    return -jnp.sum(jnp.where(wanted >= 0, chosen, 0)) / jnp.maximum(1, jnp.sum(wanted >= 0))


def adamw(adapter: Adapter, moments: tuple[Adapter, Adapter], gradient: Adapter, step: int, rate: float) -> Any:
    """Return the adapter and the moments after one step of AdamW; the gradient's norm is cut at 1."""
    norm = jnp.sqrt(sum(jnp.sum(one * one) for one in gradient.values()))
    gradient = {name: one * jnp.minimum(1, 1 / norm) for name, one in gradient.items()}
    first = {name: 0.9 * moments[0][name] + 0.1 * one for name, one in gradient.items()}
    second = {name: 0.99 * moments[1][name] + 0.01 * one * one for name, one in gradient.items()}
    changed = {}
    for name, one in adapter.items():
        direction = first[name] / (1 - 0.9**step) / (jnp.sqrt(second[name] / (1 - 0.99**step)) + 1e-8)
        changed[name] = one - rate * (direction + 0.01 * one)
    return changed, (first, second)


def write_gguf(adapter: Adapter, first: int, invocation: Sequence[int], path: Path, **described: str) -> None:
    """Write the adapter as llama.cpp reads it, float16; the invocation's tokens must be unsigned there."""
    writer = gguf.GGUFWriter(str(path), "qwen2")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    rank = adapter["qA"].shape[1]
    writer.add_float32("adapter.lora.alpha", SCALE * rank)
    kind, unsigned = gguf.GGUFValueType.ARRAY, gguf.GGUFValueType.UINT32
    writer.add_key_value("adapter.alora.invocation_tokens", list(invocation), kind, unsigned)
    for name, value in described.items():
        writer.add_string(f"general.{name}", value)
    for target, (tensor, _, _) in TARGETS.items():
        for index in range(LAYERS - first):
            for part in "AB":
                data: Array = np.asarray(adapter[target + part][index], np.float16)
                writer.add_tensor(f"blk.{first + index}.{tensor}.weight.lora_{part.lower()}", data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _layer(state: jax.Array, of_layer: Any, *, angles: jax.Array, mask: jax.Array) -> tuple[jax.Array, None]:
    weights, adapter, fixed, past = of_layer
    count, tokens, _ = state.shape
    length = fixed.shape[1]

    def linear(one: jax.Array, target: str, name: str) -> jax.Array:
        product: jax.Array = one @ weights[f"{name}.weight"].T + weights.get(f"{name}.bias", 0.0)
        product += SCALE * ((one @ adapter[f"{target}A"].T) @ adapter[f"{target}B"].T)
        return product

    def rotated(one: jax.Array) -> jax.Array:
        left, right = jnp.split(one, 2, -1)
        return one * jnp.cos(angles) + jnp.concatenate([-right, left], -1) * jnp.sin(angles)

    entering = _normed(state, weights["attn_norm.weight"])
    queries = rotated(linear(entering, "q", "attn_q").reshape(count, tokens, HEADS, HEAD))
    queries = queries.reshape(count, tokens, KV_HEADS, HEADS // KV_HEADS, HEAD)
    keys = rotated(linear(entering, "k", "attn_k").reshape(count, tokens, KV_HEADS, HEAD))
    values = linear(entering, "v", "attn_v").reshape(count, tokens, KV_HEADS, HEAD)
    keys = jnp.concatenate([past[:, 0], keys], 1)
    values = jnp.concatenate([past[:, 1], values], 1)
    # The fixed part is the same for all rows: it is not copied for each.
    parts = [jnp.einsum("btkgd,skd->bkgts", queries, fixed[0]), jnp.einsum("btkgd,bskd->bkgts", queries, keys)]
    share = jax.nn.softmax(jnp.concatenate(parts, -1) * HEAD**-0.5 + mask)
    mixed = jnp.einsum("bkgts,skd->btkgd", share[..., :length], fixed[1])
    mixed += jnp.einsum("bkgts,bskd->btkgd", share[..., length:], values)
    state = state + linear(mixed.reshape(count, tokens, WIDTH), "o", "attn_output")
    entering = _normed(state, weights["ffn_norm.weight"])
    gated = jax.nn.silu(entering @ weights["ffn_gate.weight"].T) * (entering @ weights["ffn_up.weight"].T)
    return state + gated @ weights["ffn_down.weight"].T, None


def _normed(state: jax.Array, scale: jax.Array) -> jax.Array:
    return state * jax.lax.rsqrt(jnp.mean(state * state, -1, keepdims=True) + EPSILON) * scale
