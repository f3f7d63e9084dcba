"""Write questions of families left out of training, and their passages as documents, for `python -m app eval`.

    python -m training.question_set --families nq,repliqa --most 40 --out eval/left-out

Half of a family's questions have an answer. The passages of all its rows are the files of ``FAMILY/documents``;
``FAMILY/questions.jsonl`` is the question set.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, zip_longest
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.harness import option_parser
from training.layout import rows_of
from training.rows import ROWS


def main() -> None:
    """Write a folder for each family."""
    parser = option_parser(__doc__, most=40, seed=1, out=Path("eval/left-out"))
    parser.add_argument("--families", default="nq,repliqa")
    options = parser.parse_args()
    for family in options.families.split(","):
        rows = list(rows_of(ROWS, [family]))
        folder = options.out / family
        (folder / "documents").mkdir(parents=True, exist_ok=True)
        texts = dict.fromkeys(one["text"] for row in rows for one in row["passages"])
        for number, text in enumerate(texts):
            (folder / "documents" / f"passage-{number}.txt").write_text(text, encoding="utf-8")
        Random(options.seed).shuffle(rows)
        chosen = map(question_of, islice(alternating(rows), options.most))
        path = folder / "questions.jsonl"
        path.write_text("".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in chosen), encoding="utf-8")
        print(f"{path}: {options.most} questions, {len(texts)} passages")


def question_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as one of a question set."""
    asked = {"id": row["id"], "question": row["question"], "docs": "documents"}
    if not row["answers"]:
        return asked | {"outcome": "abstained"}
    return asked | {"outcome": "grounded", "answer": row["answers"]}


def alternating(rows: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield rows with an answer and rows without in turn, as long as there are both, and then the rest."""
    with_answer = [row for row in rows if row["answers"]]
    without = [row for row in rows if not row["answers"]]
    return (row for row in chain.from_iterable(zip_longest(with_answer, without)) if row)


if __name__ == "__main__":
    main()
