"""Write questions of families left out of training, and their passages as documents, for `python -m app eval`.

    python -m training.question_set --families nq,repliqa --most 40 --out eval/left-out

Half of a family's questions have an answer. The passages of all its rows are the files of ``FAMILY/documents``;
``FAMILY/questions.jsonl`` is the question set.

    python -m training.question_set --musique report --mirror ~/mirror --out eval

writes questions of MuSiQue that no adapter was trained on, from one half of its test rows: 80 with an answer, which
takes two to four paragraphs, and 40 without one, over the paragraphs of 300 questions.

    python -m training.question_set --tables report --most 100 --mirror ~/mirror --out eval

writes questions of WikiTableQuestions with one answer, each of another table, which alone is its document.

    python -m training.question_set --clapnq report --mirror ~/mirror --out eval

writes questions of CLAP-NQ's development set, half of which have no answer, over all of its 600 passages, each with the
sentences that annotators marked.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, zip_longest
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.harness import option_parser
from training.layout import rows_of
from training.row_sources import PARAGRAPH, Sources, prompted
from training.rows import MIRROR, ROWS

READ = 180  # tables of the test set whose answers were read: a rule may have been made for them


def main() -> None:
    """Write a folder for each family."""
    parser = option_parser(__doc__, most=40, seed=1, out=Path("eval/left-out"))
    parser.add_argument("--families", default="nq,repliqa")
    parser.add_argument("--musique", choices=("tuning", "report"))
    parser.add_argument("--tables", choices=("tuning", "report"))
    parser.add_argument("--clapnq", choices=("tuning", "report"))
    parser.add_argument("--mirror", type=Path, default=MIRROR)
    options = parser.parse_args()
    sources = Sources(options.mirror)
    if options.musique:
        written(options.out / "musique", *untrained(sources, options.musique))
        return
    if options.tables:
        written(options.out / "tables", *of_tables(sources, options.tables, options.most))
        return
    if options.clapnq:
        written(options.out / "clapnq", *of_long_answers(sources, options.clapnq))
        return
    for family in options.families.split(","):
        rows = list(rows_of(ROWS, [family]))
        texts = list(dict.fromkeys(one["text"] for row in rows for one in row["passages"]))
        Random(options.seed).shuffle(rows)
        written(options.out / family, files_of(texts), list(map(question_of, islice(alternating(rows), options.most))))


def written(folder: Path, files: Mapping[str, str], questions: Sequence[Mapping[str, Any]]) -> None:
    """Write the documents and the question set."""
    (folder / "documents").mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / "documents" / name).write_text(text, encoding="utf-8")
    path = folder / "questions.jsonl"
    path.write_text("".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in questions), encoding="utf-8")
    print(f"{path}: {len(questions)} questions, {len(files)} documents")


def files_of(texts: Iterable[str]) -> dict[str, str]:
    """Return a file name for each text."""
    return {f"passage-{number}.txt": text for number, text in enumerate(texts)}


def untrained(sources: Sources, half: str) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return the paragraphs of 300 questions of MuSiQue's test rows, half of which are for tuning, and 120 of these."""
    trained = {row[2] for row in prompted(sources, "musique", ("train", "val", "val2"))}
    rows = [row for row in prompted(sources, "musique", ("test",)) if row[2] not in trained]
    shuffled, known, drawn = Random(7), set[str](), list[list[Any]]()
    for side in ([row for row in rows if row[3]], [row for row in rows if not row[3]]):
        shuffled.shuffle(side)
        drawn.append([row for row in side if row[2] not in known])
        known |= {row[2] for row in side}
    sides = [one[len(one) // 2 :] if half == "report" else one[: len(one) // 2] for one in drawn]
    asked, others = [one for side, most in zip(sides, (80, 40), strict=True) for one in side[:most]], []
    for side, (first, last) in zip(sides, ((80, 200), (40, 100)), strict=True):
        others += side[first:last]
    texts = dict.fromkeys(part.strip() for row in asked + others for part in PARAGRAPH.split(row[1])[1:])
    Random(1).shuffle(asked)
    return files_of(texts), [question_of({"id": i, "question": q, "answers": [a] if a else []}) for i, _, q, a in asked]


def of_tables(sources: Sources, half: str, most: int) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return tables as CSV by name, and a question of each: from the test set for the report, else the training set."""
    public = "ppasupat+WikiTableQuestions"
    name = {"report": "pristine-unseen-tables", "tuning": "training"}[half]
    rows = [line.split("\t") for line in sources.stored(public, f"data/{name}.tsv").split("\n")[1:-1]]
    Random(1).shuffle(rows)
    first = {table: (key, asked, answer) for key, asked, table, answer in rows if "|" not in answer}
    files, questions = {}, []
    begin = READ if half == "report" else 0
    for table, (key, asked, answer) in islice(first.items(), begin, begin + most):
        title = json.loads(sources.stored(public, table.replace("csv", "page", 2).replace(".csv", ".json")))["title"]
        named = "-".join([*re.findall(r"\w+", title), f"{key}.csv"])
        text = io.StringIO()
        lines = sources.stored(public, table.removesuffix("csv") + "tsv").strip("\n").split("\n")
        cells = (line.split("\t") for line in lines)
        csv.writer(text).writerows([cell.replace("\\n", "\n").replace("\\p", "|") for cell in row] for row in cells)
        files[named] = text.getvalue()
        questions.append(
            question_of({"id": key, "question": asked, "answers": [answer]}) | {"docs": f"documents/{named}"}
        )
    return files, questions


def of_long_answers(sources: Sources, half: str) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return the passages of all questions, and the last 150 questions of each kind for the report, else the others."""
    files, questions = {}, []
    for kind in ("answerable", "unanswerable"):
        lines = sources.stored("primeqa+clapnq", f"annotated_data/dev/clapnq_dev_{kind}.jsonl").splitlines()
        for number, row in enumerate(map(json.loads, lines)):
            (passage,) = row["passages"]
            files[f"{kind}-{number}.md"] = f"# {passage['title']}\n\n{passage['text']}\n"
            if (number >= len(lines) // 2) is not (half == "report"):
                continue
            asked = row["input"].strip().rstrip("?")
            marked = [one["selected_sentences"] for one in row["output"] if one.get("selected_sentences")]
            answers = [one["answer"] for one in row["output"]] if marked else []
            question = question_of({"id": row["id"], "question": f"{asked[0].upper()}{asked[1:]}?", "answers": answers})
            questions.append(question | {"marked": marked})
    return files, questions


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
