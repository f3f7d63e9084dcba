"""Make rows from rows: with an order to the reader in a passage, with an earlier question, and with statements.

    python -m training.row_variants

``training/rows/orders.jsonl.xz``: a passage tells its reader what to reply. What it dictates is no answer; the answer
that stands beside it still is one. ``training/rows/follow-ups.jsonl.xz``: a question behind another on the same
passage, as a conversation joins them; the answer to the earlier one is no answer to both.
``training/rows/statements.jsonl.xz``: sentences on a passage, judged by themselves, as parts of a long answer, or as
yes and no, written by a large language model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from grounding.follow_ups import join_follow_up
from training.layout import rows_of
from training.row_sources import WRITTEN
from training.rows import ROWS, write

ORDERS, FOLLOW_UPS, STATEMENTS = "orders", "follow-ups", "statements"
SEED = 5
COUNTS = {ORDERS: 360, FOLLOW_UPS: 300}
TEMPLATES = Path(__file__).with_name("row_orders.txt").read_text(encoding="utf-8").splitlines()
WORDS = "amber falcon harbour juniper lantern meadow orchid pebble quartz saffron tundra velvet walnut zephyr".split()


def main() -> None:
    """Write the families."""
    rows = list(rows_of(ROWS, ["squad", "german"]))
    statements = on_statements(rows_of(WRITTEN, [STATEMENTS]))
    for name, made in ((ORDERS, with_orders(rows)), (FOLLOW_UPS, follow_ups(rows)), (STATEMENTS, statements)):
        found = list(islice(made, COUNTS.get(name)))
        print(f"{write(name, found)}: {len(found)} rows, {sum(len(row['claims']) for row in found)} claims")


def with_orders(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield rows of which a passage dictates a reply: that with the answer, the best, or a note before it."""
    random = Random(SEED)
    for row in random.sample(rows, len(rows)):
        if row["kind"] not in ("right", "twisted"):
            continue
        reply = dictated(random)
        order = random.choice(TEMPLATES).format(reply)
        passages = [dict(one) for one in row["passages"]]
        at = next((number for number, one in enumerate(passages) if one["label"] == 1), 0)
        if random.random() < 0.3:  # a note of its own, found because it repeats the question
            passages = [{"text": f"{row['question']}\n{order}", "label": 0}, *passages[: at + 1], *passages[at + 2 :]]
        else:
            passages[at]["text"] = within(passages[at]["text"], order, random)
        claims = [{"text": reply, "label": "none", "kind": "dictated"}]
        own = [one for one in row["claims"] if one["label"] == ("full" if row["answers"] else "none")]
        claims += random.sample(own, min(len(own), 1))
        if row["answers"]:
            both = random.sample([row["answers"][0], reply], 2)
            claims.append({"text": " ".join(both), "label": "partial", "kind": "dictated"})
        yield {**row, "id": f"{row['id']}-order", "family": ORDERS, "passages": passages[:4], "claims": claims}


def dictated(random: Random) -> str:
    """Return a reply that an order dictates: a code, words, an address, or a number."""
    one, other = random.sample(WORDS, 2)
    number = random.randint(2, 9999)
    forms = f"{one.upper()}_{number}|{one} {other}|https://{one}.example/{other}|{number}|{one.title()} {other.title()}"
    return random.choice([*forms.split("|"), f"The answer is {number} {other}s", f"{one.upper()}-{other.upper()}"])


def within(text: str, order: str, random: Random) -> str:
    """Put an order before, behind or between the sentences of a passage, on a line of its own or not."""
    gap = random.choice((" ", "\n", "\n\n"))
    cuts = [number + 1 for number in range(len(text) - 1) if text[number : number + 2] == ". "]
    cut = random.choice([0, len(text), len(text), *cuts])
    return gap.join(part for part in (text[:cut].strip(), order, text[cut:].strip()) if part)


def follow_ups(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield rows whose question stands behind another that the same passage answers."""
    random = Random(SEED)
    earlier: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["kind"] == "right":
            for one in row["passages"]:
                if one["label"] == 1:
                    earlier[one["text"]].append(row)
    for row in random.sample(rows, len(rows)):
        passage = next((one["text"] for one in row["passages"] if one["label"] == 1), row["passages"][0]["text"])
        before = [one for one in earlier[passage] if one["id"] != row["id"] and one["answers"] != row["answers"]]
        if row["kind"] in ("right", "twisted") and before:
            first = random.choice(before)
            own = random.sample(row["claims"], min(len(row["claims"]), 2))
            answered = {"text": first["answers"][0], "label": "none", "kind": "earlier"}
            question = join_follow_up(first["question"], row["question"])
            identity = {"id": f"{row['id']}-follow-up", "family": FOLLOW_UPS, "question": question}
            yield {**row, **identity, "claims": [*own, answered]}


def on_statements(passages: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a row for each question on a passage; without one, of statements that are judged by themselves."""
    for one in passages:
        for number, asked in enumerate(one["asked"]):
            others = [{"text": text, "label": 0 if asked["others_irrelevant"] else None} for text in one["others"]]
            yield {
                "id": f"{one['id']}-{number}",
                "family": STATEMENTS,
                "language": one["language"],
                "question": asked["question"],
                "answers": [],
                "kind": asked["kind"],
                "passages": [{"text": one["passage"], "label": int(asked["kind"] == "right")}, *others],
                "claims": asked["claims"],
            }


if __name__ == "__main__":
    main()
