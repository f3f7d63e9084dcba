"""Questions in five languages: what the rules make of right and wrong answers, and how abstentions are worded.

    python -m benchmarks.languages [--languages de,zh] [--questions 20] [--rules-only]

First, without a model: each reference answer is checked by the rules against its document, then with its figure
changed, then against the documents of each other language; there a rule may miss only figures. Then the chat model that
the settings name is asked the questions of each language over its documents in ``data/languages``; what was asked
before, ``bench/languages.jsonl`` has. Exits with 1 if a rule of another language vetoed anything, or an abstention is
not in the question's language. ``bench/languages.json`` has the figures.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.front_door import SelfRAG
from benchmarks.documents import load
from benchmarks.harness import FOLDER, aligned, end, end_progress, option_parser, read_rows, show_progress
from benchmarks.sample import open_docs, questions_in
from core.types import Passage
from core.wording import WORDINGS
from evaluation.records import Example
from grounding.claims import statements
from grounding.stems import FIGURE
from nodes.check_claim import rule
from nodes.retrieve import as_passage
from retrieval.splitter import split

DATA = Path(__file__).resolve().parent.parent / "data" / "languages"
ANSWERS = FOLDER / "languages.jsonl"
LANGUAGES = tuple(WORDINGS)
MISSING = " stands in no passage."


@dataclass(frozen=True)
class Checked:
    """What the rules said of a language's reference answers: how many, and the ones on which they were wrong."""

    right: int
    vetoed: tuple[str, ...]
    changed: int
    missed: tuple[str, ...]
    elsewhere: int
    vetoed_elsewhere: tuple[str, ...]


def passages_of(language: str) -> list[Passage]:
    """The passages of a language's documents."""
    documents = split(document for path in sorted((DATA / language).iterdir()) for document in load(path))
    return [as_passage(document) for document in documents]


def check(language: str) -> Checked:
    """Check the reference answers of a language by the rules alone."""
    passages = passages_of(language)
    answered = [example for example in questions_in(DATA / f"{language}.jsonl") if example.answerable]
    wrong = [(example, text) for example in answered if (text := with_another_figure(example.references[-1], passages))]
    others = [(one, passages_of(other)) for other in LANGUAGES if other != language for one in answered]
    return Checked(
        right=len(answered),
        vetoed=tuple(told for one in answered for told in vetoes(one.references[-1], passages, one.question)),
        changed=len(wrong),
        missed=tuple(text for one, text in wrong if not list(vetoes(text, passages, one.question))),
        elsewhere=len(others),
        vetoed_elsewhere=tuple(
            told
            for one, read in others
            for told in vetoes(one.references[-1], read, one.question)
            if not of_figures(told)
        ),
    )


def with_another_figure(answer: str, passages: Sequence[Passage]) -> str | None:
    """The answer with its first figure replaced by one that the passages do not have; None without a figure."""
    figure = FIGURE.search(answer)
    if figure is None:
        return None
    text = "".join(passage["text"] for passage in passages)
    digits = re.sub(r"\D", "", figure.group())
    other = next(one for one in (str(int(digits) + by) for by in range(17, 1000)) if one not in text)
    return answer[: figure.start()] + other + answer[figure.end() :]


def vetoes(answer: str, passages: Sequence[Passage], question: str) -> Iterator[str]:
    """What the rules hold against the answer's statements."""
    for statement in statements(answer):
        said = rule(statement, list(passages), question, [])
        if isinstance(said, str):
            yield f"{statement.text} ({said})"


def of_figures(veto: str) -> bool:
    """Whether the veto names figures alone, which are read in every language."""
    missing = re.search(rf"\(([^()]*){re.escape(MISSING)}\)$", veto)
    return missing is not None and not re.search(r"[^\W\d_]", missing[1])


async def ask(language: str, most: int, known: Mapping[str, Mapping[str, Any]]) -> None:
    """Ask the first answerable and unanswerable questions of a language in turns, and append what was answered."""
    examples = questions_in(DATA / f"{language}.jsonl")
    yes, no = ([one for one in examples if one.answerable is answerable] for answerable in (True, False))
    wanted = [one for pair in zip(yes, no, strict=True) for one in pair][:most]
    left = [one for one in wanted if one.id not in known]
    if not left:
        return
    async with open_docs([DATA / language]) as rag:
        for number, example in enumerate(left, 1):
            show_progress(f"{language}: {number} of {len(left)}")
            row = await answer(rag, language, example)
            with ANSWERS.open("a", encoding="utf-8") as kept:
                kept.write(json.dumps(row, ensure_ascii=False) + "\n")
    end_progress()


async def answer(rag: SelfRAG, language: str, example: Example) -> dict[str, Any]:
    """One question's outcome, answer, and the claims that a rule rejected."""
    began = time.monotonic()
    result = await rag.aask(example.question)
    claims = [claim for candidate in result.candidates for claim in candidate.claims]
    return {
        "id": example.id,
        "language": language,
        "answerable": example.answerable,
        "outcome": result.outcome,
        "answer": result.answer,
        "seconds": round(time.monotonic() - began, 1),
        "vetoes": [f"{one.text} ({one.reason})" for one in claims if one.probabilities is None and one.reason],
    }


def is_worded_in(language: str, text: str) -> bool:
    """Whether a sentence in place of an answer is one of the language's."""
    wording = WORDINGS[language]
    forms = (re.escape(form).replace(r"\{asked\}", ".*") for form in (wording.unanswered, wording.no_answer))
    return any(re.fullmatch(form.replace(r"\{why\}", ".*"), text, re.DOTALL) for form in forms)


def figures_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Abstention precision, recall and F1, how many abstentions are worded in the question's language, and vetoes."""
    said_no = [row for row in rows if row["outcome"] in ("abstained", "stopped")]
    rightly = sum(not row["answerable"] for row in said_no)
    unanswerable = sum(not row["answerable"] for row in rows)
    foreign = [one for row in rows if row["language"] != "en" for one in row["vetoes"] if is_of_names(one)]
    return {
        "questions": len(rows),
        "abstained": len(said_no),
        "abstained_rightly": rightly,
        "unanswerable": unanswerable,
        "abstention_f1": 2 * rightly / (len(said_no) + unanswerable) if said_no or unanswerable else None,
        "worded": sum(is_worded_in(row["language"], row["answer"]) for row in said_no),
        "vetoes": sum(len(row["vetoes"]) for row in rows),
        "foreign_vetoes": foreign,
    }


def is_of_names(veto: str) -> bool:
    """Whether the veto names a word, which only the English rule for names does."""
    return veto.endswith(f"{MISSING})") and not of_figures(veto)


def main() -> None:
    """Check, ask, print."""
    parser = option_parser(__doc__, questions=20, rules_only=False)
    parser.add_argument("--languages", type=lambda text: text.split(","), default=list(LANGUAGES))
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    violated: list[str] = []
    for language in options.languages:
        checked = check(language)
        figures[language] = {
            "references": checked.right,
            "references_vetoed": list(checked.vetoed),
            "changed": checked.changed,
            "changed_missed": list(checked.missed),
            "against_other_languages": checked.elsewhere,
            "vetoed_against_other_languages": list(checked.vetoed_elsewhere),
        }
        violated += [*checked.vetoed, *checked.missed, *checked.vetoed_elsewhere]
        print(
            f"{language}: {len(checked.vetoed)} of {checked.right} reference answers vetoed, "
            f"{checked.changed - len(checked.missed)} of {checked.changed} changed figures caught, "
            f"{len(checked.vetoed_elsewhere)} of {checked.elsewhere} vetoed over documents in another language"
        )
    if not options.rules_only:
        FOLDER.mkdir(exist_ok=True)
        for language in options.languages:
            asyncio.run(ask(language, options.questions, {row["id"]: row for row in read_rows(ANSWERS)}))
        rows = read_rows(ANSWERS)
        for language in options.languages:
            found = figures_of([row for row in rows if row["language"] == language])
            figures[language] |= found
            violated += found["foreign_vetoes"]
            violated += ["an abstention in another language"] * (found["abstained"] - found["worded"])
            print(f"\n{language}\n{aligned([(name, str(value)) for name, value in found.items()])}")
    end("languages", figures, violated)


if __name__ == "__main__":
    main()
