"""Ask questions of documents in which a rule has an exception: of both, yes or no, and what neither says.

    python -m benchmarks.conditions --half report

The 90 documents of ``data/conditions.jsonl`` in three languages were written for this: 30 for the report, the others,
of which 30 have no question of yes or no, for tuning. Printed by kind of question are the shares of answers that are
right, that are wrong but grounded, that give the rule where the exception holds and do not quote that, and that quote
it, and of abstentions that show the sentence which decides the question; ``bench/conditions.json`` has them, ``--out``
the answers. An answer is right if it is grounded and says, outside the conditions that it quotes, one of the wordings
of each thing that it must say, or begins with the right one of yes and no. Where the document does not say, an
abstention is right.
"""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from app.front_door import SelfRAG
from app.libraries import SAMPLE
from app.results.result import Result
from benchmarks.harness import aligned, counted, option_parser, read_rows, share_table, write_figures, write_rows

DOCUMENTS = SAMPLE.parent / "conditions.jsonl"
KINDS = ("rule", "exception", "yesno", "none")
YES = re.compile(r"\W*(?:yes|ja|oui)\b", re.IGNORECASE)
NO = re.compile(r"\W*(?:no|nein|non)\b", re.IGNORECASE)
COLUMNS = {
    "right": "right",
    "wrong but grounded": "wrong",
    "exception ignored": "ignored",
    "exception shown": "quoted",
    "abstained, sentence shown": "nearest",
}


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
    write_rows(given.out, rows)
    lines = share_table(rows, ("kind", "language"), COLUMNS)
    print(aligned(lines))
    write_figures("conditions", {"half": given.half, "rows": lines})


async def answers(documents: Sequence[dict[str, Any]], folder: Path, kinds: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row for each question of the documents, asked of all of them."""
    rows = []
    async with SelfRAG.open(folder) as rag:
        for one, kind in counted([(one, kind) for one in documents for kind in kinds if kind in one]):
            result = await rag.aask(one[kind]["question"])
            row: dict[str, Any] = {"id": one["id"], "kind": kind, "language": one["language"]}
            row["gold"] = one[kind].get("answer")
            told = {name: getattr(result, name) for name in ("question", "answer", "outcome", "stop_reason", "usage")}
            row |= told | judged(kind, one[kind], result)
            row["quotes"] = [citation["quote"] for citation in result.citations]
            row["texts"] = [candidate.text for candidate in result.candidates]
            row["wrong"] = result.outcome == "grounded" and not row["right"]
            row["nearest"] = result.outcome == "abstained" and decides(kind, one[kind], result.answer)
            rows.append(row)
    return rows


def judged(kind: str, asked: dict[str, Any], result: Result) -> dict[str, bool]:
    """Tell whether the answer is right, whether it gives the rule instead of the exception, and quotes that."""
    said, whole = " ".join(one.text for one in result.claims).casefold(), result.answer.casefold()
    grounded, ignored, quoted = result.outcome == "grounded", False, False
    if kind == "none":
        right = result.outcome == "abstained"
    elif kind == "yesno":
        right = grounded and (YES if asked["answer"] == "yes" else NO).match(said) is not None
    else:
        right = grounded and _says(said, asked)
        quoted = any(has(whole, one) for one in asked["condition"]) if kind == "rule" else _says(whole, asked)
        ignored = kind == "exception" and grounded and not quoted and any(has(said, one) for one in asked["ignored"])
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


if __name__ == "__main__":
    main()
