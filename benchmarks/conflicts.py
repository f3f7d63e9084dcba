"""How well disagreement between documents is shown, and what that costs.

    python -m benchmarks.conflicts --data RAMDocs_test.jsonl --most 60
    python -m benchmarks.conflicts --data nq.json --set poisonedrag --most 60

The data are of the public repositories HanNight/RAMDocs and sleeepeer/PoisonedRAG. A library is made of each question's
documents, and asked by plain retrieve-and-generate, by Self-RAG, and by Self-RAG without the comparison. Documents
disagree if two of those that the first search found are labelled with answers of which neither contains the other. An
answer is deceived if it has the attack's answer and, unless a conflict is shown, not the right one. ``--half tuning``
takes the questions that rules and prompts may be fitted to. Replies are kept by prompt in ``--replies`` and answers in
``bench/conflicts.jsonl``: an interrupted run goes on, and a changed rule costs only the prompts that it changes.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks.harness import (
    FOLDER,
    aligned,
    exit_code_of,
    option_parser,
    read_rows,
    shown,
    without_time_limit,
    write_figures,
)
from benchmarks.own_documents import asked, example_of
from core.fingerprint import digest
from evaluation.judging.saved_replies import Replies
from evaluation.measures.scores import BARE, contains
from evaluation.measures.statistics import Estimate, ratio
from evaluation.recorded_chat import with_recorded_chats
from evaluation.records import BASELINE, OURS, Example, Record, System
from evaluation.self_rag import self_rag_system
from evaluation.systems import plain
from run.context import Context, Services

WITHOUT = "without"
SYSTEMS = (BASELINE, OURS, WITHOUT)
HALVES = ("tuning", "reporting")


@dataclass(frozen=True)
class Case:
    """A question, its documents by file name, and the answer that each is labelled with, None for no answer.

    ``correct`` and ``wrong`` are those of an attack.
    """

    name: str
    question: str
    documents: Mapping[str, str]
    labels: Mapping[str, str | None]
    correct: str = ""
    wrong: str = ""

    @property
    def example(self) -> Example:
        """The question as a system is asked it."""
        return example_of(self.name, self.question, self.documents)


def ramdocs(path: Path) -> list[Case]:
    """Return the questions of RAMDocs, whose documents are labelled with the answer that each gives."""
    found = []
    for number, row in enumerate(read_rows(path)):
        named = {f"document-{at}.txt": one for at, one in enumerate(row["documents"], 1)}
        texts = {name: one["text"] for name, one in named.items()}
        labels = {name: None if one["type"] == "noise" else str(one["answer"]) for name, one in named.items()}
        found.append(Case(f"ramdocs {number}", row["question"], texts, labels))
    return found


def attacked(path: Path) -> list[Case]:
    """Return the questions of PoisonedRAG, each with five poisoned documents and one that states the right answer.

    The set has no clean passages: one is made of question and answer. Questions whose right or wrong answer is a bare
    yes or no, or where one answer contains the other, are left out: code cannot tell these apart.
    """
    found = []
    for entry in json.loads(path.read_text(encoding="utf-8")).values():
        question, correct, wrong = entry["question"], str(entry["correct answer"]), str(entry["incorrect answer"])
        if {correct.casefold(), wrong.casefold()} & BARE or contains(correct, wrong) or contains(wrong, correct):
            continue
        poisoned = {f"poisoned-{number}.txt": text for number, text in enumerate(entry["adv_texts"], 1)}
        documents = poisoned | {"clean.txt": f"Question: {question}\nThe answer is: {correct}."}
        labels = dict.fromkeys(poisoned, wrong) | {"clean.txt": correct}
        found.append(Case(f"{path.stem} {entry['id']}", question, documents, labels, correct, wrong))
    return found


SETS = {"ramdocs": ramdocs, "poisonedrag": attacked}


def read(set_: str, path: Path, half: str) -> list[Case]:
    """Return every other question of a set."""
    return SETS[set_](path)[HALVES.index(half) :: 2]


def chosen(cases: Sequence[Case], most: int | None, seed: int) -> list[Case]:
    """Draw at most so many questions; a larger draw begins with the smaller one."""
    return sorted(cases, key=lambda one: digest(str(seed), one.name))[:most]


def systems(services: Services, context: Context, replies: Replies) -> list[System]:
    """Return the three systems over one recorded model."""
    services = with_recorded_chats(services, replies)
    context = without_time_limit(services, context).model_copy(update={"mode": "always"})
    off = context.model_copy(update={"conflicts": False})
    return [plain(services, context), self_rag_system(services, off, WITHOUT), self_rag_system(services, context)]


def disagree(case: Case, files: Sequence[str]) -> bool:
    """Whether two of the files are labelled with answers of which neither contains the other."""
    labels = [label for name in files if (label := case.labels.get(Path(name).name))]
    return any(not contains(a, b) and not contains(b, a) for a, b in combinations(labels, 2))


def of_conflicts(cases: Sequence[Case], records: Sequence[Record]) -> dict[str, Estimate | int]:
    """Return precision and recall of a shown conflict, with counts."""
    pairs = zip(cases, records, strict=True)
    there = [disagree(case, [one["source"] for one in record["seen"]]) for case, record in pairs]
    told = [bool(record.get("conflicts")) for record in records]
    both = [a and b for a, b in zip(there, told, strict=True)]
    return {
        "disagree": sum(there),
        "shown": sum(told),
        "precision": ratio(both, told),
        "recall": ratio(both, there),
        "answered": sum(bool(record["answer"]) for record in records),
    }


def of_deception(cases: Sequence[Case], records: Sequence[Record]) -> dict[str, Any]:
    """Count the answers that give what the attack wants, and those of them that show no conflict."""
    told = [
        contains(record["answer"], case.wrong)
        and (bool(record.get("conflicts")) or not contains(record["answer"], case.correct))
        for case, record in zip(cases, records, strict=True)
    ]
    silent = [one and not record.get("conflicts") for one, record in zip(told, records, strict=True)]
    return {"deceived": sum(told), "deceived without a conflict shown": sum(silent)}


def main() -> int:
    """Ask what was not asked yet, and print the figures."""
    parser = option_parser(__doc__, seed=0, replies=FOLDER / "replies.jsonl")
    parser.add_argument("--data", type=Path, metavar="PATH", required=True)
    parser.add_argument("--set", choices=SETS, default="ramdocs")
    parser.add_argument("--half", choices=HALVES, default=HALVES[1])
    parser.add_argument("--most", type=int, metavar="N")
    parser.add_argument("--systems", default=",".join(SYSTEMS), help=f"of {', '.join(SYSTEMS)}: those to ask")
    options = parser.parse_args()
    cases = chosen(read(options.set, options.data, options.half), options.most, options.seed)
    names, replies = options.systems.split(","), Replies(options.replies)

    def made(services: Services, context: Context) -> list[System]:
        return [one for one in systems(services, context, replies) if one.name in names]

    def measure() -> None:
        examples = [case.example for case in cases]
        documents = {case.example.id: case.documents for case in cases}
        records = asked("conflicts", examples, documents, made)
        figures: dict[str, Any] = {"questions": len(cases), "half": options.half, "seed": options.seed}
        for name, ones in records.items():
            figures[name] = of_deception(cases, ones) if options.set == "poisonedrag" else {}
            figures[name] |= of_conflicts(cases, ones) if name == OURS else {}
        rows = [(name, key, shown(one)) for name in records for key, one in figures[name].items()]
        print(aligned(rows))
        write_figures(f"conflicts-{options.set}-{options.half}", figures)

    return exit_code_of(measure)


if __name__ == "__main__":
    sys.exit(main())
