"""Read prompts with the embedded model's own weights, and keep what the layers above would read again.

The weights are those of the GGUF file, dequantised. OpenVINO computes with 8-bit products, as llama.cpp does: on two
cores 244 tokens a second were read, where llama.cpp reads 54 to 60; the log-probabilities of one prompt's first token
differed from llama.cpp's by up to 0.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt

from training.layout import PACK, PrefixGroup

Array = npt.NDArray[Any]

LAYERS, HEADS, KV_HEADS, HEAD, WIDTH = 28, 12, 2, 128, 1536
EPSILON, ROPE_BASE = 1e-6, 1e6
GROUP = 128  # values that share a scale of 8 bits
HIDDEN = -1e9


@dataclass(frozen=True)
class Read:
    """What is kept of a prompt, from the reader's first kept layer on.

    ``keys_values``: float16, (layers, 2, tokens, KV heads, head), of the prefix; ``rests``: the same of what follows it
    in each branch. Of each branch's ending ``entering``, float32 (branches, tokens, width), is what enters the first
    kept layer, and ``final``, (branches, width), the normed state of its last token.
    """

    keys_values: Array
    rests: Sequence[Array]
    entering: Array
    final: Array


class Weights:
    """The tensors of a GGUF file of this architecture, dequantised one at a time, since all take 6 GB."""

    def __init__(self, path: Path) -> None:
        self._tensors = {one.name: one for one in gguf.GGUFReader(str(path)).tensors}

    def __getitem__(self, name: str) -> Array:
        tensor = self._tensors[name]
        return np.ascontiguousarray(gguf.dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)


class Reader:
    """Reads packs of prompts that all follow one fixed part, whose keys and values are ``fixed``.

    ``fixed`` has the shape of `Read.keys_values` for all layers; None is for reading the fixed part itself.
    """

    def __init__(self, weights: Weights, first: int, fixed: Array | None = None, size: int = PACK) -> None:
        import openvino

        self.size, self._first = size, first
        self._length = 0 if fixed is None else fixed.shape[2]
        self._embedding = weights["token_embd.weight"]
        model = _network(weights, first, fixed, size)
        settings = {"INFERENCE_PRECISION_HINT": "bf16", "DYNAMIC_QUANTIZATION_GROUP_SIZE": GROUP}
        self._request = openvino.Core().compile_model(model, "CPU", settings).create_infer_request()

    def read(self, groups: Sequence[PrefixGroup]) -> list[Read]:
        """Read groups of prompts, of at most ``size`` tokens together; none sees another."""
        tokens: list[int] = []
        positions: list[int] = []
        spans = []
        mask = np.full((self.size, self._length + self.size), HIDDEN, np.float32)
        mask[:, : self._length] = 0
        own = mask[:, self._length :]
        for group in groups:
            begin, length = len(tokens), len(group.prefix)
            tokens += group.prefix
            positions += range(self._length, self._length + length)
            own[begin : begin + length, begin : begin + length] = _causal(length)
            places = []
            for cut, rest in group.branches:
                at, after = len(tokens), len(tokens) + len(rest)
                tokens += [*rest, *group.ending]
                stop = len(tokens)
                positions += range(self._length + cut, self._length + cut + stop - at)
                own[at:stop, begin : begin + cut] = 0
                own[at:stop, at:stop] = _causal(stop - at)
                places.append((at, after, stop))
            spans.append((begin, begin + length, places))
        if len(tokens) > self.size:
            raise ValueError(f"{len(tokens)} tokens do not fit into a pass of {self.size}.")
        padding = np.arange(len(tokens), self.size)
        own[padding, padding] = 0
        left = [0] * len(padding)
        cosine, sine = rotation(np.array([*positions, *left]))
        embedded = self._embedding[np.array([*tokens, *left])]
        out = self._request.infer([embedded, cosine[:, None], sine[:, None], mask[None, None]])
        entering, *kept, final = (out[index] for index in range(len(out)))
        shape = (LAYERS - self._first, 2, self.size, KV_HEADS, HEAD)
        keys_values = np.stack(kept).reshape(shape).astype(np.float16)
        return [
            Read(
                keys_values[:, :, begin:end],
                [keys_values[:, :, at:after] for at, after, _ in places],
                np.stack([entering[after:stop] for _, after, stop in places]),
                np.stack([final[stop - 1] for _, _, stop in places]),
            )
            for begin, end, places in spans
        ]


def rotation(positions: Array) -> tuple[Array, Array]:
    """Return the cosines and sines of the rotary embedding at these positions, each (positions, head)."""
    angles = np.outer(positions, ROPE_BASE ** (-np.arange(0, HEAD, 2) / HEAD))
    both = np.concatenate([angles, angles], 1)
    return np.cos(both).astype(np.float32), np.sin(both).astype(np.float32)


def _causal(length: int) -> Array:
    return np.where(np.tril(np.ones((length, length), bool)), 0, HIDDEN).astype(np.float32)


def _network(weights: Weights, first: int, fixed: Array | None, size: int) -> Any:
    """Return the forward pass: what enters layer ``first``, keys and values from there on, and the final states."""
    import openvino
    from openvino import opset13 as op

    def array(*values: int) -> Any:
        return op.constant(np.array(values, np.int64))

    def shaped(one: Any, *shape: int) -> Any:
        return op.reshape(one, array(*shape), False)

    def normed(one: Any, name: str) -> Any:
        squares = op.reduce_mean(op.multiply(one, one), array(1), True)
        scale = op.divide(op.constant(np.float32(1)), op.sqrt(op.add(squares, op.constant(np.float32(EPSILON)))))
        return op.multiply(op.multiply(one, scale), op.constant(weights[name]))

    def linear(one: Any, name: str, bias: bool = False) -> Any:
        dense = weights[f"{name}.weight"]
        scale = np.maximum(np.abs(dense).max(1, keepdims=True), 1e-9) / 127
        whole = op.convert(op.constant(np.round(dense / scale).astype(np.int8)), np.float32)
        product = op.matmul(one, op.multiply(whole, op.constant(scale)), False, True)
        return op.add(product, op.constant(weights[f"{name}.bias"])) if bias else product

    def half(one: Any, start: int) -> Any:
        return op.slice(one, array(start), array(start + HEAD // 2), array(1), array(2))

    def rotated(one: Any) -> Any:
        turned = op.concat([op.multiply(half(one, HEAD // 2), op.constant(np.float32(-1))), half(one, 0)], 2)
        return op.add(op.multiply(one, cosine), op.multiply(turned, sine))

    length = 0 if fixed is None else fixed.shape[2]
    state = op.parameter([size, WIDTH], np.float32)
    cosine, sine = (op.parameter([size, 1, HEAD], np.float32) for _ in range(2))
    mask = op.parameter([1, 1, size, length + size], np.float32)
    inputs, outputs = [state, cosine, sine, mask], []
    grouped = HEADS // KV_HEADS
    for layer in range(LAYERS):
        name = f"blk.{layer}"
        if layer == first:
            outputs.append(state)
        entering = normed(state, f"{name}.attn_norm.weight")
        queries = rotated(shaped(linear(entering, f"{name}.attn_q", bias=True), size, HEADS, HEAD))
        keys = rotated(shaped(linear(entering, f"{name}.attn_k", bias=True), size, KV_HEADS, HEAD))
        values = shaped(linear(entering, f"{name}.attn_v", bias=True), size, KV_HEADS, HEAD)
        if layer >= first:
            outputs += [keys, values]
        if fixed is not None:
            keys = op.concat([op.constant(fixed[layer, 0].astype(np.float32)), keys], 0)
            values = op.concat([op.constant(fixed[layer, 1].astype(np.float32)), values], 0)
        queries = shaped(op.transpose(queries, array(1, 0, 2)), KV_HEADS, grouped * size, HEAD)
        scores = op.multiply(
            op.matmul(queries, op.transpose(keys, array(1, 2, 0)), False, False), op.constant(np.float32(HEAD**-0.5))
        )
        attended = op.softmax(op.add(shaped(scores, KV_HEADS, grouped, size, length + size), mask), 3)
        attended = shaped(attended, KV_HEADS, grouped * size, length + size)
        mixed = shaped(op.matmul(attended, op.transpose(values, array(1, 0, 2)), False, False), HEADS, size, HEAD)
        mixed = shaped(op.transpose(mixed, array(1, 0, 2)), size, WIDTH)
        state = op.add(state, linear(mixed, f"{name}.attn_output"))
        entering = normed(state, f"{name}.ffn_norm.weight")
        gated = op.multiply(op.swish(linear(entering, f"{name}.ffn_gate")), linear(entering, f"{name}.ffn_up"))
        state = op.add(state, linear(gated, f"{name}.ffn_down"))
    return openvino.Model([*outputs, normed(state, "output_norm.weight")], inputs)
