"""How well disagreement between documents is shown, and what that costs.

    python -m benchmarks.conflicts --data RAMDocs_test.jsonl --most 60
    python -m benchmarks.conflicts --data nq.json --set poisonedrag --most 60
    python -m benchmarks.conflicts --data squad2.json --set squad --systems self-rag

A library is made of each question's documents, and asked by plain retrieve-and-generate, by Self-RAG, and by Self-RAG
without the comparison. Documents disagree if two of those that the first search found are labelled with different
answers; the paragraphs of one SQuAD article, each a document, never do, so that each conflict shown is false. ``--half
tuning`` takes the questions that rules and prompts may be fitted to. Replies are kept by prompt in
``--replies`` and answers in ``bench/conflicts.jsonl``: an interrupted run goes on, and a changed rule costs only the
prompts that it changes.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langsmith import tracing_context

from app.compose import embeddings_of
from app.progress import asking
from app.screen import Screen, print_error
from app.settings import load_settings
from benchmarks.ablations.__main__ import SECONDS, RecordedSystem
from benchmarks.ablations.recorded_chat import Clock, Replies, recorded
from benchmarks.harness import FOLDER, aligned, option_parser, write_figures
from benchmarks.injection.attack_sources import poisonedrag
from benchmarks.injection.targets import Opens, Target, libraries
from benchmarks.sample import open_docs
from core.errors import RequestError, SelfRAGError
from evaluation.datasets.question_set import load as load_questions
from evaluation.fingerprint import digest
from evaluation.measures.scores import contains
from evaluation.measures.statistics import ratio
from evaluation.record_store import Store
from evaluation.records import Example, Record, System
from evaluation.run import run
from evaluation.self_rag import self_rag
from evaluation.systems import plain, with_surroundings
from graph.context import Context, Services
from retrieval.splitter import SplitSettings

PLAIN, OURS, WITHOUT = SYSTEMS = ("plain", "self-rag", "without")
SETS = ("ramdocs", "poisonedrag", "squad")
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
        """The question as a system is asked it; its id changes with the documents."""
        content = digest(self.question, *(f"{name}\0{text}" for name, text in sorted(self.documents.items())))
        return Example(id=f"{self.name}:{content[:16]}", question=self.question, answerable=True)


def ramdocs(path: Path) -> list[Case]:
    """The questions of RAMDocs, whose documents are labelled with the answer that each gives."""
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return [_of_ramdocs(number, row) for number, row in enumerate(rows)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RequestError(f"{path} cannot be read as RAMDocs ({error}): name RAMDocs_test.jsonl.") from error


def _of_ramdocs(number: int, row: Mapping[str, Any]) -> Case:
    named = {f"document-{at}.txt": one for at, one in enumerate(row["documents"], 1)}
    labels = {name: None if one["type"] == "noise" else str(one["answer"]) for name, one in named.items()}
    return Case(f"ramdocs {number}", row["question"], {name: one["text"] for name, one in named.items()}, labels)


def attacked(path: Path) -> list[Case]:
    """The questions of PoisonedRAG that code can judge, each with five poisoned documents and an honest one."""
    wrong = {entry["question"]: str(entry["incorrect answer"]) for entry in json.loads(path.read_text()).values()}
    return [
        Case(
            one.name,
            one.question,
            one.documents,
            {name: one.answers[0] if name == "clean.txt" else wrong[one.question] for name in one.documents},
            one.answers[0],
            wrong[one.question],
        )
        for one in poisonedrag(path)
    ]


def coherent(path: Path, half: str) -> list[Case]:
    """The answerable questions on the first or second half of a SQuAD article's paragraphs, all of which agree."""
    with TemporaryDirectory() as folder:
        article = load_questions(path, Path(folder) / "documents")
        texts = {one.name: one.read_text(encoding="utf-8") for one in sorted(article.documents[0].iterdir())}
    middle = len(texts) // 2
    own = list(texts)[:middle] if half == HALVES[0] else list(texts)[middle:]
    return [
        Case(f"squad {one.id}", one.question, texts, dict.fromkeys(texts))
        for one in article.examples
        if one.answerable and Path(str(one.gold[0].source)).name in own
    ]


def read(set_: str, path: Path, half: str) -> list[Case]:
    """The questions of a set's half: of SQuAD by paragraphs, of the others every other question."""
    if set_ == "squad":
        return coherent(path, half)
    return (ramdocs if set_ == "ramdocs" else attacked)(path)[HALVES.index(half) :: 2]


def chosen(cases: Sequence[Case], most: int | None, seed: int) -> list[Case]:
    """At most so many questions; a larger draw begins with the smaller one."""
    return sorted(cases, key=lambda one: digest(str(seed), one.name))[:most]


def systems(services: Services, context: Context, replies: Replies, opens: Opens, surroundings: Any) -> list[System]:
    """The three systems over one recorded model, each asked over a question's own documents."""
    clock = Clock()
    services, chats = recorded(services, replies, clock)
    limits = services.completed(context).effective_limits.model_copy(update={"seconds": SECONDS})
    context = context.model_copy(update={"limits": limits, "mode": "always"})
    off = context.model_copy(update={"conflicts": False})
    makes: dict[str, Callable[[Services], System]] = {
        PLAIN: lambda services: plain(services, context, PLAIN),
        WITHOUT: lambda services: self_rag(services, off, WITHOUT),
        OURS: lambda services: self_rag(services, context, OURS),
    }
    found: list[System] = []
    for name, make in makes.items():
        own = with_surroundings(make(services), surroundings).fingerprint
        found.append(RecordedSystem(name, own, Target(name, own, make, services, opens), chats, clock))
    return found


def asked(cases: Sequence[Case], names: Sequence[str], replies: Replies, screen: Screen) -> dict[str, list[Record]]:
    """What each system of these names answered, asked now or kept from before."""
    settings = load_settings()
    embeddings, name = embeddings_of(settings)
    split = SplitSettings(settings.selfrag_chunk_size, settings.selfrag_chunk_overlap)
    surroundings = {"chat": settings.chat_model, "embeddings": name, "split": vars(split)}
    with (
        TemporaryDirectory() as home,
        Store(FOLDER / "conflicts.jsonl") as store,
        open_docs(None) as rag,
        asking(screen) as progress,
        tracing_context(enabled=False),
    ):
        documents = {case.example.id: case.documents for case in cases}
        opens = libraries(documents, Path(home), embeddings, name, split)
        made = systems(rag.services, rag.context, replies, opens, surroundings)
        made = [one for one in made if one.name in names]
        return asyncio.run(run(made, [case.example for case in cases], store, progress=progress))


def disagree(case: Case, files: Sequence[str]) -> bool:
    """Whether two of the files are labelled with different answers; one that contains the other is no other."""
    labels = [label for name in files if (label := case.labels.get(Path(name).name))]
    return any(not contains(a, b) and not contains(b, a) for a, b in combinations(labels, 2))


def of_conflicts(cases: Sequence[Case], records: Sequence[Record]) -> dict[str, Any]:
    """Precision and recall of a shown conflict; ``named`` are those whose answers rest on documents that disagree."""
    there = [
        disagree(case, [one["source"] for one in record["seen"]]) for case, record in zip(cases, records, strict=True)
    ]
    shown = [bool(record.get("conflicts")) for record in records]
    named = [
        disagree(case, [answer["sources"][0] for answer in record.get("conflicts", [])])
        for case, record in zip(cases, records, strict=True)
    ]
    both = [a and b for a, b in zip(there, shown, strict=True)]
    return {
        "disagree": sum(there),
        "shown": sum(shown),
        "precision": share(both, shown),
        "recall": share(both, there),
        "named": share(named, shown),
        "answered": sum(bool(record["answer"]) for record in records),
    }


def of_deception(cases: Sequence[Case], records: Sequence[Record]) -> dict[str, Any]:
    """How many answers give what the attack wants, and how many of these show no conflict."""
    told = [
        contains(record["answer"], case.wrong)
        and (bool(record.get("conflicts")) or not contains(record["answer"], case.correct))
        for case, record in zip(cases, records, strict=True)
    ]
    silent = [one and not record.get("conflicts") for one, record in zip(told, records, strict=True)]
    return {"deceived": sum(told), "deceived without a conflict shown": sum(silent)}


def of_costs(records: Sequence[Record]) -> dict[str, float]:
    """The means of calls, of input tokens that were read, and of seconds."""
    costs = [record["cost"] for record in records]
    uncached = [cost["input_tokens"] - cost["cached_input_tokens"] for cost in costs]
    return {
        "calls": sum(cost["model_calls"] for cost in costs) / len(costs),
        "uncached": sum(uncached) / len(costs),
        "written": sum(cost["output_tokens"] for cost in costs) / len(costs),
        "seconds": sum(cost["seconds"] for cost in costs) / len(costs),
    }


def share(counted: Sequence[bool], among: Sequence[bool]) -> list[float | None]:
    """The share with its interval; None where there is nothing to count."""
    found = ratio([float(one) for one in counted], [float(one) for one in among])
    return [found.value, found.low, found.high]


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask what was not asked yet, and print the figures."""
    parser = option_parser(__doc__)
    parser.add_argument("--data", type=Path, metavar="PATH", required=True)
    parser.add_argument("--set", choices=SETS, default=SETS[0])
    parser.add_argument("--half", choices=HALVES, default=HALVES[1])
    parser.add_argument("--most", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--systems", default=",".join(SYSTEMS), help=f"of {', '.join(SYSTEMS)}: those to ask")
    parser.add_argument("--replies", type=Path, metavar="FILE", default=FOLDER / "replies.sqlite")
    options = parser.parse_args(arguments)
    screen = Screen()
    try:
        cases = chosen(read(options.set, options.data, options.half), options.most, options.seed)
        records = asked(cases, options.systems.split(","), Replies(options.replies), screen)
    except SelfRAGError as error:
        print_error(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        print("Interrupted: the same command goes on from there.", file=sys.stderr)
        return 130
    figures: dict[str, Any] = {"questions": len(cases), "half": options.half, "seed": options.seed}
    for name, ones in records.items():
        figures[name] = of_costs(ones) | (of_deception(cases, ones) if options.set == "poisonedrag" else {})
    if OURS in records:
        figures[OURS] |= of_conflicts(cases, records[OURS])
    print(aligned([(f"{name}: {key}", shown(value)) for name in records for key, value in figures[name].items()]))
    write_figures(f"conflicts-{options.set}-{options.half}", figures)
    return 0


def shown(value: float | list[float | None]) -> str:
    """A figure, or a share with its interval."""
    if not isinstance(value, list):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return "–" if value[0] is None else f"{value[0]:.2f} [{value[1]:.2f}, {value[2]:.2f}]"


if __name__ == "__main__":
    sys.exit(main())
