"""Ask questions of documents in which a rule has an exception: of both, yes or no, and what neither says.

    python -m benchmarks.conditions --half report

The 60 documents of ``data/conditions.jsonl`` in three languages were written for this; those of one half are for
tuning, the others for the report. Printed are the shares of right answers by kind of question, of wrong ones that are
called grounded, of grounded ones that give the rule where the exception holds without quoting it, of those that quote
it, and of abstentions that show the sentence which decides the question; ``bench/conditions.json`` has them, ``--out``
the answers. An answer is right if it is grounded and says one of the wordings of each thing that it must say, not
counting what it quotes of conditions, or begins with the right one of yes and no; where the document does not say, if
there is none.
"""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from app.front_door import SelfRAG
from app.libraries import SAMPLE
from app.results.result import Result
from benchmarks.harness import aligned, counted, option_parser, read_rows, shown, write_figures
from evaluation.measures.statistics import exact_share

DOCUMENTS = SAMPLE.parent / "conditions.jsonl"
KINDS = ("rule", "exception", "yesno", "none")
YES = re.compile(r"\W*(?:yes|ja|oui)\b", re.IGNORECASE)
NO = re.compile(r"\W*(?:no|nein|non)\b", re.IGNORECASE)


def main() -> None:
    """Ask the questions of one half, print the shares, and keep them."""
    parser = option_parser(__doc__, documents=DOCUMENTS, out=Path("bench/conditions.jsonl"))
    parser.add_argument("--half", choices=("tune", "report"), default="tune")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    given = parser.parse_args()
    documents = [one for one in read_rows(given.documents) if one["half"] == given.half]
    with TemporaryDirectory() as folder:
        for one in documents:
            Path(folder, f"{one['id']}.md").write_text(one["text"], encoding="utf-8")
        rows = asyncio.run(answers(documents, Path(folder), given.kinds))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    print(aligned(list(summary(rows))))
    write_figures("conditions", {"half": given.half, "rows": list(summary(rows))})


async def answers(documents: Sequence[dict[str, Any]], folder: Path, kinds: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row for each question of the documents, asked of all of them."""
    rows = []
    async with SelfRAG.open(folder) as rag:
        for one, kind in counted([(one, kind) for one in documents for kind in kinds]):
            result = await rag.aask(one[kind]["question"])
            row = {"id": one["id"], "kind": kind, "language": one["language"], "gold": one[kind].get("answer")}
            told = {name: getattr(result, name) for name in ("question", "answer", "outcome", "stop_reason", "usage")}
            quotes = {"quotes": [citation["quote"] for citation in result.citations]}
            texts = {"texts": [candidate.text for candidate in result.candidates]}
            nearest = {"nearest": result.outcome == "abstained" and decides(kind, one[kind], result.answer)}
            rows.append(row | told | quotes | texts | judged(kind, one[kind], result) | nearest)
    return rows


def judged(kind: str, asked: dict[str, Any], result: Result) -> dict[str, bool]:
    """Tell whether the answer is right, whether it gives the rule instead of the exception, and quotes that."""
    said, whole = " ".join(one.text for one in result.claims).casefold(), result.answer.casefold()
    grounded = result.outcome == "grounded"
    if kind == "none":
        return {"right": result.outcome == "abstained", "ignored": False, "quoted": False}
    if kind == "yesno":
        right = grounded and (YES if asked["answer"] == "yes" else NO).match(said) is not None
        return {"right": right, "ignored": False, "quoted": False}
    if kind == "rule":
        quoted = any(has(whole, one) for one in asked["condition"])
        return {"right": grounded and _says(said, asked), "ignored": False, "quoted": quoted}
    right, quoted = grounded and _says(said, asked), _says(whole, asked)
    ignored = grounded and not quoted and any(has(said, one) for one in asked["ignored"])
    return {"right": right, "ignored": ignored, "quoted": quoted}


def decides(kind: str, asked: dict[str, Any], answer: str) -> bool:
    """Tell whether the text of an abstention has the sentence that decides the question."""
    if kind == "yesno":
        return " ".join(asked["because"].split()).casefold() in " ".join(answer.split()).casefold()
    return kind != "none" and _says(answer.casefold(), asked)


def _says(text: str, asked: dict[str, Any]) -> bool:
    return all(any(has(text, one) for one in ways) for ways in asked["accept"])


def has(text: str, words: str) -> bool:
    """Whether the words stand in the text, and not as a part of a longer word or figure."""
    return re.search(rf"(?<![\w.,]){re.escape(words.casefold())}(?!\w)", text) is not None


def summary(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Yield a line for each kind of question and each language, and for all."""
    yield (
        "",
        "right",
        "wrong but grounded",
        "exception ignored",
        "exception shown",
        "abstained, sentence shown",
        "n",
    )
    for kind in [*dict.fromkeys(row["kind"] for row in rows), *sorted({row["language"] for row in rows}), "all"]:
        own = [row for row in rows if kind in (row["kind"], row["language"], "all")]
        wrong = [row["outcome"] == "grounded" and not row["right"] for row in own]
        lists = (
            [row["right"] for row in own],
            wrong,
            *([row[name] for row in own] for name in ("ignored", "quoted", "nearest")),
        )
        yield (kind, *(shown(exact_share(sum(one), len(own))) for one in lists), str(len(own)))


if __name__ == "__main__":
    main()
