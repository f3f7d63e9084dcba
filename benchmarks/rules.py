"""The rules for names, figures and quotes: how often they are wrong on sentences that hold, and what they miss.

    python -m benchmarks.rules --data squad2.json --data clapnq_dev_answerable.jsonl

Each sentence of SQuAD's paragraphs 1 to 24, and of clapnq's passages, is a claim against its own paragraph: whatever a
rule holds against it is a false alarm. Then a name, figure, number word or date of another paragraph is planted in it,
drawn by a seed, which should be caught. The same command in another checkout measures the rules there.
``bench/rules.json`` has the figures.
"""

import json
import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import aligned, counted, option_parser, write_figures
from core.types import Passage
from grounding.quotes import find_quote, missing_facts
from grounding.sentences import sentences

TUNING = 24  # paragraphs of a SQuAD article
NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,}\b")
FIGURE = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w-])")
WORDS = "two three four five six seven eight nine ten eleven twelve".split()
WORD = re.compile(rf"(?<!-)(?<!- )\b(?:{'|'.join(WORDS)})\b")
MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
DATE = re.compile(rf"\b(?:\d{{1,2}} (?:{MONTH}),?|(?:{MONTH}) \d{{1,2}},?) \d{{4}}\b")
FORMS = {"name": NAME, "figure": FIGURE, "word": WORD, "date": DATE}


@dataclass(frozen=True)
class Paragraph:
    """A paragraph, its sentences, and one question of it."""

    text: str
    sentences: tuple[str, ...]
    question: str


@dataclass(frozen=True)
class Case:
    """A claim against its paragraph; of ``kind`` held, or the name of what was planted."""

    kind: str
    claim: str
    paragraph: Paragraph


def read(path: Path) -> list[Paragraph]:
    """The paragraphs of a SQuAD article's first part, or of clapnq's JSON lines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        found = json.loads(text)["data"][0]["paragraphs"][:TUNING]
        return [_paragraph(one["context"], None, one["qas"][0]["question"]) for one in found]
    rows = map(json.loads, text.splitlines())
    return [_paragraph(one["text"], one["sentences"], row["input"]) for row in rows for one in row["passages"]]


def _paragraph(text: str, parts: Sequence[str] | None, question: str) -> Paragraph:
    found = parts or [text[start:end] for start, end in sentences(text)]
    return Paragraph(text, tuple(one.strip() for one in found if one.strip()), question)


def cases_of(paragraphs: Sequence[Paragraph], seed: int) -> Iterator[Case]:
    """Every sentence as it is, and with each kind of fact planted that it has."""
    dice = random.Random(seed)
    pools = {
        kind: sorted(
            {(match.group(), number) for number, one in enumerate(paragraphs) for match in form.finditer(one.text)}
        )
        for kind, form in FORMS.items()
    }
    for number, paragraph in enumerate(paragraphs):
        for sentence in paragraph.sentences:
            yield Case("held", sentence, paragraph)
            for kind, form in FORMS.items():
                matches = list(form.finditer(sentence))
                if not matches:
                    continue
                match = dice.choice(matches)
                planted = dice.choice(pools[kind])
                if planted[1] == number or stands_in(planted[0], kind, paragraph):
                    continue
                claim = sentence[: match.start()] + planted[0] + sentence[match.end() :]
                yield Case(kind, claim, paragraph)


def stands_in(planted: str, kind: str, paragraph: Paragraph) -> bool:
    """Whether the paragraph has the planted fact, or most of it, after all."""
    if kind == "name":
        return planted[:4].lower() in paragraph.text.lower()
    text = f"{paragraph.text} {paragraph.question}".lower()
    if kind == "word":
        return planted in text or str(WORDS.index(planted) + 2) in text
    return any(part.lower() in text for part in re.findall(r"\w[\w.,]*", planted) if len(part) < 5 or kind == "figure")


def alarms(case: Case) -> str | None:
    """What the rules hold against the case's claim; of a planted fact, only that it is missing."""
    passage = Passage(id="1", text=case.paragraph.text, source="-", page=None, row=None, similarity=None)
    if missing := missing_facts(case.claim, [passage], case.paragraph.question):
        return ", ".join(missing)
    if case.kind in FORMS or find_quote(case.claim, [passage], case.paragraph.question):
        return None
    return "no quote"


def measure(name: str, cases: Sequence[Case]) -> dict[str, Any]:
    """Alarms by kind, and the milliseconds of processor time that a case takes."""
    alarms(Case("held", "Zorro has 77,123.", cases[0].paragraph))  # loads what a first veto needs
    began = time.process_time()
    said = [alarms(case) for case in counted(cases, name)]
    figures: dict[str, Any] = {"ms": round(1000 * (time.process_time() - began) / len(cases), 2)}
    for kind in ("held", *FORMS):
        told = [one for case, one in zip(cases, said, strict=True) if case.kind == kind]
        figures[kind] = f"{sum(one is not None for one in told)} of {len(told)}"
    return figures


def main() -> None:
    """Measure, print, write."""
    parser = option_parser(__doc__, seed=1, most=0)
    parser.add_argument("--data", type=Path, action="append", required=True, help="a file; repeat it for more")
    options = parser.parse_args()
    figures = {}
    for path in options.data:
        paragraphs = read(path)[: options.most or None]
        figures[path.name] = measure(path.name, list(cases_of(paragraphs, options.seed)))
        print(f"{path.name}: {len(paragraphs)} paragraphs")
        print(aligned([(name, str(value)) for name, value in figures[path.name].items()]))
    write_figures("rules", figures)


if __name__ == "__main__":
    main()
