"""Render rows as prompts, in tokens: all that `training.fit_adapter` and `training.drafts` read, as one file.

    python -m training.prepare relevance --families squad,tables,german --held-out nq

The file can be carried to a machine with a GPU, which needs nothing of the product.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from pathlib import Path
from random import Random
from zlib import crc32

from langchain_core.messages import convert_to_openai_messages

from app.compose import chat_file
from app.settings import load_settings
from benchmarks.harness import counted, option_parser
from models.embedded import EmbeddedServer
from models.prefix_cache import common_prefix
from prompts.generate import GENERATE
from prompts.shared import with_all_examples
from training.layout import CHOICES, DRAFT, DRAFTS, TrainingExample, draft_examples, rows_of, with_drafts
from training.rows import ROWS

HELD_OUT = 15  # of 100 passages of each family, which no step sees
TESTED = 2000  # examples of the families left out
# An adapter works from one token before these, which no other task has there: "Does" and "Do".
INVOCATIONS = {
    "relevance": " the passage contain the answer",
    "support": " the passages state that this is the answer",
    DRAFTS: "Write the answer.",
}
TURN = "<|im_start|>user"  # the examples end before the last of these; no token spans it


def main() -> None:
    """Write ``<choice>.json.xz``."""
    parser = option_parser(__doc__, most=0, seed=0, out=Path("eval/prepared"))
    parser.add_argument("choice", choices=[*CHOICES, DRAFTS])
    parser.add_argument("--families", default="squad")
    parser.add_argument("--held-out", default="")
    options = parser.parse_args()
    choice, ask = CHOICES.get(options.choice, (None, draft_examples))
    template = choice.messages if choice else GENERATE
    trained, whole = options.families.split(","), [one for one in options.held_out.split(",") if one]
    random = Random(options.seed)
    asked: list[TrainingExample] = []
    for families, most in ((trained, options.most), (whole, TESTED)):
        drawn = list(with_drafts(rows_of(ROWS, families), ROWS))
        random.shuffle(drawn)
        drawn.sort(key=lambda row: all(one["kind"] != DRAFT for one in row["claims"]))  # drafts are rare: all are used
        asked += [one for row in drawn for one in ask(row)][: most or None]
    with EmbeddedServer(chat_file(load_settings())) as server:
        prompts, examples = [], dict[str, list[int]]()
        for one in counted(asked, "prompts"):
            written = with_all_examples(template.format_messages(**one.inputs))
            body = {"messages": convert_to_openai_messages(written)}
            shown, turn, last = json.loads(server.request("/apply-template", body))["prompt"].rpartition(TURN)
            if shown not in examples:
                examples[shown] = tokens_of(shown, server)
            prompts.append(examples[shown] + tokens_of(turn + last, server))
        words = {word: tokens_of(word, server)[0] for word in (choice.replies if choice else ())}
        (turn_end,) = tokens_of("<|im_end|>", server)
        invocation = tokens_of(INVOCATIONS[options.choice], server)
    fixed = common_prefix(prompts)
    rows = []
    for one, prompt in zip(asked, prompts, strict=True):
        cut = invoked_at(prompt, invocation)
        rows.append(
            {
                "id": one.id,
                "family": one.family,
                "kind": one.kind,
                "reply": one.reply,
                "seen": one.family in trained and not left_out(one),
                "middle": prompt[len(fixed) : cut],
                "ending": prompt[cut:],
            }
        )
    made = {"choice": options.choice, "fixed": fixed, "invocation": invocation, "turn_end": turn_end, "words": words}
    path = options.out / f"{options.choice}.json.xz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(json.dumps({**made, "rows": rows}).encode(), preset=3))
    print(f"{path}: {len(rows)} prompts of {sum(map(len, prompts)) // len(rows)} tokens, {len(fixed)} the same")


def invoked_at(prompt: Sequence[int], invocation: Sequence[int]) -> int:
    """Return where an adapter begins to work: one token before the last invocation, as seen in xllamacpp 2026.10."""
    size = len(invocation)
    return next(at for at in range(len(prompt) - size, 0, -1) if list(prompt[at : at + size]) == list(invocation)) - 1


def left_out(one: TrainingExample) -> bool:
    """Return True for the passages that no step sees, whatever is asked of them."""
    return crc32(one.group.encode()) % 100 < HELD_OUT


def tokens_of(text: str, server: EmbeddedServer) -> list[int]:
    """Return the tokens of a text in which control tokens count."""
    return list(json.loads(server.request("/tokenize", {"content": text, "parse_special": True}))["tokens"])


if __name__ == "__main__":
    main()
