"""Questions whose subject stands in a heading alone: are their passages found, and are they answered?

    python -m benchmarks.headings --data cpp-docs/docs/error-messages/compiler-errors-1

The Markdown files in ``--data`` are indexed, in the folder ``--home`` if given. From pages whose first heading ends
with a code such as C2001 come ``--questions`` questions, evenly over the folder: up to half ask for the remarks, of a
section of 600 characters or more that never has the code; the others ask what the code means, which a quoted line
below the heading says. A passage counts when it is of that page and has a line of what answers; one of remarks must
lack the code. It prints recall@k by words, by vectors and by both, and writes ``bench/headings.json``. With
``--answer`` the questions are answered as well: right is an answer whose citation is of that page, from a passage
that counts.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.compose import embeddings_of
from app.settings import load_settings
from benchmarks.harness import end_progress, option_parser, show_progress, write_figures
from benchmarks.index.recall import WAYS
from benchmarks.sample import open_docs
from evaluation.measures.statistics import mean
from retrieval.library.library import Library
from retrieval.searching_store import Store

TITLE = re.compile(r"^# (.*?\b([A-Z]+\d{3,}))\s*$", re.M)
MESSAGE = re.compile(r"^> *(\S.{9,})$", re.M)
REMARKS = re.compile(r"^## Remarks\s*$(.*?)(?=^#|\Z)", re.M | re.S)
LONG = 600  # characters of a section, so that not all of it is in the passage with the heading
LINE = 40  # characters of a line that tells where a passage is from


@dataclass(frozen=True)
class Question:
    """A question, the page that answers it, the lines that do, and the code that a passage must lack, if any."""

    question: str
    page: str
    lines: tuple[str, ...]
    without: str = ""

    def counts(self, source: str, text: str) -> bool:
        """Whether a passage is one that answers."""
        if Path(source).name != self.page or (self.without and self.without in text):
            return False
        return any(line[:LINE] in text or line[-LINE:] in text for line in self.lines)


def main() -> None:
    """Index, search, answer if asked to, print, write."""
    parser = option_parser(__doc__, questions=40, k=4, answer=False)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--home", type=Path)
    options = parser.parse_args()
    asked = evenly(remarks(options.data), options.questions // 2)
    asked += evenly(meanings(options.data), options.questions - len(asked))
    figures: dict[str, Any] = {"questions": len(asked), "k": options.k}
    with tempfile.TemporaryDirectory() as scratch:
        model, name = embeddings_of(load_settings())
        with Library.open(options.home or Path(scratch), model, embedding_name=name) as library:
            library.add([options.data])
            figures["passages"] = library.sync().passages
            figures["recall"] = {kind: recall(library.store, part, options.k) for kind, part in kinds(asked).items()}
    for kind, ways in figures["recall"].items():
        print(f"{kind:10}" + "".join(f"  {way} {one['value']:.3f}" for way, one in ways.items()))
    if options.answer:
        figures["answers"] = asyncio.run(answers(options.data, asked))
        right = sum(one["right"] for one in figures["answers"])
        print(f"answered right: {right} of {len(asked)}")
    write_figures("headings", figures)


def pages(folder: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield the name, title, code and text of each page that is about a code."""
    for path in sorted(folder.rglob("*.md")):
        text = path.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
        if title := TITLE.search(text):
            yield path.name, title[1], title[2], text


def meanings(folder: Path) -> list[Question]:
    """Ask what a code means, where a quoted line says it."""
    return [
        Question(f"What does {lowered(title)} mean?", name, (message[1],))
        for name, title, _, text in pages(folder)
        if (message := MESSAGE.search(text))
    ]


def remarks(folder: Path) -> list[Question]:
    """Ask for the remarks on a code, where they are long and never name it."""
    return [
        Question(f"What are the remarks on {lowered(title)}?", name, lines, code)
        for name, title, code, text in pages(folder)
        if (section := REMARKS.search(text)) and len(section[1]) >= LONG and code not in section[1]
        if (lines := tuple(line for line in section[1].split("\n") if len(line) >= LINE and "|" not in line))
    ]


def lowered(title: str) -> str:
    """Return a title as it stands in a sentence: 'compiler error C2001'."""
    return " ".join(word if any(map(str.isdigit, word)) else word.lower() for word in title.split())


def evenly(questions: Sequence[Question], most: int) -> list[Question]:
    """Return so many of them, evenly over the whole."""
    step = max(1.0, len(questions) / max(most, 1))
    return [questions[int(number * step)] for number in range(min(most, len(questions)))]


def kinds(asked: Sequence[Question]) -> dict[str, list[Question]]:
    """Return the questions by kind, and all."""
    return {
        "meaning": [one for one in asked if not one.without],
        "remarks": [one for one in asked if one.without],
        "all": list(asked),
    }


def recall(store: Store, asked: Sequence[Question], k: int) -> dict[str, Any]:
    """Return in each way the share of the questions for which a passage that counts is among the first ``k``."""
    found = {way: [hit(store, one, k, way) for one in asked] for way in WAYS}
    return {way: asdict(mean(values)) for way, values in found.items()}


def hit(store: Store, one: Question, k: int, way: Any) -> float:
    """Whether a search finds a passage that counts, as 0 or 1."""
    found = store.similarity_search(one.question, k, search=way)
    return float(any(one.counts(passage.metadata["source"], passage.page_content) for passage in found))


async def answers(folder: Path, asked: Sequence[Question]) -> list[dict[str, Any]]:
    """Answer each question by the graph, and judge it by what is cited."""
    rows = []
    async with open_docs([folder]) as rag:
        for number, one in enumerate(asked, 1):
            show_progress(f"{number} of {len(asked)}")
            result = await rag.aask(one.question)
            right = result.used_retrieval and any(
                one.counts(cited["source"], cited["passage"]) for cited in result.citations
            )
            rows.append({"question": one.question, "answer": result.answer, "outcome": result.outcome, "right": right})
    end_progress()
    return rows


if __name__ == "__main__":
    main()
