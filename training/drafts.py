"""Let the embedded model answer rows, so that its support adapter learns from drafts such as it will judge.

    python -m training.drafts eval/prepared/drafts.json.xz --model model.gguf

The prompts are those of `training.prepare`: each row's question as the graph puts it, with the passages that claims on
the row are read with. Each is answered as in the graph, and once more with a temperature, for more kinds of mistakes. A
draft is labelled when it is read back: see `training.layout`. Needs what `training.fit_adapter` needs.
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import gguf
import torch

from training.base_model import Model, Prompts, prepared

MOST = 64  # tokens: a draft of one statement is shorter
WARM = 0.8


def main() -> None:
    """Write the drafts as JSON lines."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("prepared", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--seconds", type=int, default=3600, help="when no further batch is begun")
    parser.add_argument("--out", type=Path, default=Path("training/rows/drafts.jsonl.xz"))
    options = parser.parse_args()
    asked = prepared(options.prepared)
    torch.manual_seed(0)
    text_of = decoder(options.model)
    prompts = Prompts(Model(options.model, options.device), asked["fixed"])
    rows, began, drafts = sorted(asked["rows"], key=lambda row: len(row["middle"])), time.monotonic(), []
    batches = [rows[at : at + options.batch] for at in range(0, len(rows), options.batch)]  # of prompts of like length
    Random(0).shuffle(batches)
    for temperature in (0.0, WARM):
        for batch in batches:
            if time.monotonic() - began > options.seconds:
                break
            middles, endings = ([row[part] for row in batch] for part in ("middle", "ending"))
            with torch.no_grad():
                written = prompts.written(middles, endings, asked["turn_end"], MOST, temperature)
            drafts += [
                {"id": row["id"], "text": text_of(tokens)}
                for row, tokens in zip(batch, written, strict=True)
                if len(tokens) < MOST
            ]
        print(f"{len(drafts)} drafts in {time.monotonic() - began:.0f} s", flush=True)
    distinct = {(one["id"], one["text"]): one for one in drafts}
    lines = (json.dumps(one, ensure_ascii=False) for _, one in sorted(distinct.items()))
    options.out.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode(), preset=9))


def decoder(path: Path) -> Callable[[Sequence[int]], str]:
    """Return a function that spells tokens out: the model's vocabulary is of bytes, each written as a letter."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [one for one in range(256) if one not in plain]
    bytes_of = {chr(one): one for one in plain} | {chr(256 + at): one for at, one in enumerate(others)}
    spelled = gguf.GGUFReader(str(path)).fields["tokenizer.ggml.tokens"].contents()
    return lambda tokens: (
        bytes(bytes_of[letter] for one in tokens for letter in spelled[one]).decode(errors="replace").strip()
    )


if __name__ == "__main__":
    main()
