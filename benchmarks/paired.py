"""Compare two versions of the program on the questions that both were asked, by figures that are kept without any text.

    python -m benchmarks.paired --data squad2.json --paragraphs 25-48 --records eval/new --keep kept/new.jsonl
    python -m benchmarks.paired --old kept/old.jsonl --new kept/new.jsonl

The first writes a line for each answer of an evaluation: the question's id, whether it was right or an abstention, and
what it cost. The second prints, for the questions in both files, the measures of each version, and their paired
differences with 95 % intervals. Costs are over those of plain retrieve-and-generate in the same run, since machines
differ.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from app.options import span
from benchmarks.harness import aligned, option_parser, read_rows, shown
from evaluation.datasets.question_set import load
from evaluation.measures.joined_rows import rows_of
from evaluation.measures.statistics import difference, ratio
from evaluation.record_store import NAME, entry_of
from evaluation.records import BASELINE, OURS

Kept = Mapping[str, Any]
Answers = dict[str, dict[str, Kept]]  # by system, then by question
Terms = Callable[[Kept, Kept], tuple[float, float]]
# Numerator and denominator of each measure for one question, from our answer and from plain's.
MEASURES: dict[str, Terms] = {
    "abstention F1": lambda ours, _: (
        2.0 * (ours["abstained"] and not ours["answerable"]),
        float(ours["abstained"]) + float(not ours["answerable"]),
    ),
    "kept of what plain gets right": lambda ours, plain: (
        float(ours["right"] and plain["right"]),
        float(plain["right"]),
    ),
    "right among the answered": lambda ours, _: (float(ours["right"]), float(not ours["abstained"])),
    "uncached tokens over plain": lambda ours, plain: (ours["uncached"], plain["uncached"]),
    "seconds over plain": lambda ours, plain: (ours["seconds"], plain["seconds"]),
    "model calls": lambda ours, _: (ours["calls"], 1.0),
}


def main() -> None:
    """Keep the figures of an evaluation, or compare two files of them."""
    parser = option_parser(__doc__)
    for name in ("data", "records", "keep", "old", "new"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--paragraphs", type=span)
    options = parser.parse_args()
    if options.keep:
        rows = figures_of(options.data, options.paragraphs, options.records)
        options.keep.parent.mkdir(parents=True, exist_ok=True)
        options.keep.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        print(f"{len(rows)} answers in {options.keep}")
    else:
        print(comparison(answers_in(options.old), answers_in(options.new)))


def figures_of(data: Path, paragraphs: tuple[int, int] | None, records: Path) -> list[dict[str, Any]]:
    """Return the figures of each answer that did not fail."""
    with TemporaryDirectory() as folder:
        examples = load(data, Path(folder) / "documents", paragraphs).examples
    entries = (entry_of(line) for line in (records / NAME).read_bytes().splitlines())
    scored = rows_of(examples, [entry[1] for entry in entries if entry])
    return [
        {
            "id": id_,
            "system": system,
            "answerable": row.example.answerable,
            "abstained": bool(row.scores.abstained),
            "right": bool(row.scores.right),
            "calls": row.record["cost"]["model_calls"],
            "uncached": row.record["cost"]["input_tokens"] - row.record["cost"]["cached_input_tokens"],
            "seconds": round(row.record["cost"]["seconds"], 2),
        }
        for system, rows in scored.items()
        for id_, row in rows.items()
    ]


def answers_in(path: Path) -> Answers:
    """Return the kept figures by system and question."""
    answers: Answers = {}
    for row in read_rows(path):
        answers.setdefault(row["system"], {})[row["id"]] = row
    return answers


def comparison(old: Answers, new: Answers) -> str:
    """Return a table of the measures over the questions that both versions and plain were asked."""
    ids = [one for one in new[OURS] if all(one in side[system] for side in (old, new) for system in (OURS, BASELINE))]
    rows = [(f"{len(ids)} questions", "old", "new", "difference")]
    for name, terms in MEASURES.items():
        before, after = (_columns(side, ids, terms) for side in (old, new))
        values = [ratio(*side).value or 0.0 for side in (before, after)]
        rows.append((name, f"{values[0]:.2f}", f"{values[1]:.2f}", shown(difference(after, before))))
    return aligned(rows)


def _columns(side: Answers, ids: Sequence[str], terms: Terms) -> tuple[list[float], list[float]]:
    pairs = [terms(side[OURS][one], side[BASELINE][one]) for one in ids]
    return [above for above, _ in pairs], [below for _, below in pairs]


if __name__ == "__main__":
    main()
