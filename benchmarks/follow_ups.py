"""Follow-up questions of conversations: are their passages found?

    python -m benchmarks.follow_ups --data subset.json [--rewrites retrieval_tasks] [--half tuning]

``--data`` is ``mtrag-human/evaluations/reference_subset_with_human_evaluations.json`` of IBM's mt-rag-benchmark. The
passages in it are indexed, and those follow-up turns asked whose relevant passages are all among them: the question as
it was said, as the graph searches for it with ``follow_ups`` ``search`` and, where ``--rewrites`` (the benchmark's
``mtrag-human/retrieval_tasks``) has one, as a person rewrote it. It prints recall@k with paired differences, and writes
``bench/follow_ups-HALF.json``. ``--half tuning`` takes every other conversation, to which rules may be
fitted; ``reporting`` the others.
"""

import asyncio
import json
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from langgraph.runtime import Runtime

from app.compose import embeddings_of, services_without_models
from app.settings import Settings, load_settings
from benchmarks.harness import aligned, option_parser, read_rows, shown, write_figures
from benchmarks.index.texts import put_texts
from core.types import Turn
from evaluation.measures.statistics import Difference, Estimate, difference, mean
from nodes.contextualize import contextualize
from nodes.retrieve import retrieve
from retrieval.adapter import adapted
from retrieval.index.store import PassageStore
from retrieval.store import Model
from run.context import Context
from run.initial_state import initial_state
from run.state import SelfRAGState

HALVES = ("tuning", "reporting")
SAID = "as said"


@dataclass(frozen=True)
class FollowUp:
    """A question, the conversation before it, the ids of the passages that answer it, and a person's rewriting."""

    question: str
    conversation: tuple[Turn, ...]
    relevant: frozenset[str]
    rewrite: str | None = None


def main() -> None:
    """Index, search, print, write."""
    parser = option_parser(__doc__, k=5)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rewrites", type=Path)
    parser.add_argument("--half", choices=HALVES, default=HALVES[1])
    options = parser.parse_args()
    data = json.loads(options.data.read_text(encoding="utf-8"))
    asked = follow_ups(data, options.half, rewrites_in(options.rewrites) if options.rewrites else {})
    settings = load_settings()
    model, name = embeddings_of(settings)
    with tempfile.TemporaryDirectory() as folder:
        store = PassageStore(Path(folder), Model(model, name))
        documents = data["documents"]
        put_texts(store, [one["text"] for one in documents], [{"source": one["document_id"]} for one in documents])
        found = asyncio.run(searched(store, asked, options.k, settings))
        store.close()
    ways = measured(asked, found)
    print(f"{options.half}: {len(asked)} follow-ups; recall@{options.k}, less {SAID}")
    print(aligned([(way, *map(shown, one.values())) for way, one in ways.items()]))
    figures = {"k": options.k, "passages": len(documents), "embedding": name, "n": len(asked), "ways": ways}
    write_figures(f"follow_ups-{options.half}", figures)


def follow_ups(data: Mapping[str, Any], half: str, rewrites: Mapping[str, str]) -> list[FollowUp]:
    """Return the follow-ups of half of the conversations, those whose relevant passages are all in the data."""
    names = list(dict.fromkeys(conversation_of(task) for task in data["tasks"]))
    chosen = set(names[HALVES.index(half) :: len(HALVES)])
    found = []
    for task in data["tasks"]:
        places = task["annotations"].get("context_relevance", {}).get("system", [])
        relevant = frozenset(task["contexts"][place]["document_id"] for place in places)
        turns, question = turns_of(task["input"])
        complete = relevant and len(relevant) == int(task["# Relevant Passages"])
        if conversation_of(task) in chosen and turns and complete:
            found.append(FollowUp(question, tuple(turns), relevant, rewrites.get(task["task_id"])))
    return found


def conversation_of(task: Mapping[str, Any]) -> str:
    """Return the id of the conversation that a turn belongs to."""
    return str(task["task_id"]).partition("<")[0]


def turns_of(messages: Sequence[Mapping[str, str]]) -> tuple[list[Turn], str]:
    """Return the turns before the last question, and that question."""
    turns: list[Turn] = []
    for message in messages:
        if message["speaker"] == "user":
            text = message["text"].strip()
            turns.append(Turn(question=text, standalone=text, answer="", outcome=None))
        elif turns:
            turns[-1]["answer"] = message["text"]
    return turns[:-1], turns[-1]["question"]


def rewrites_in(folder: Path) -> dict[str, str]:
    """Return the rewritten questions of all collections, by the id of their turn."""
    rows = [row for path in sorted(folder.glob("*/*_rewrite.jsonl")) for row in read_rows(path)]
    return {row["_id"]: row["text"].removeprefix("|user|:").strip() for row in rows}


async def searched(
    store: PassageStore, asked: Sequence[FollowUp], k: int, settings: Settings
) -> dict[str, list[list[str]]]:
    """Return the ids found for each follow-up in each way; one without a rewriting is searched for as it was said."""
    services = services_without_models(settings, adapted(store.as_retriever()))
    context = services.completed(Context(k=k, follow_ups="search"))
    runtime = Runtime(context=context)

    async def ours(one: FollowUp) -> list[str]:
        state: Any = {"question": one.question, "conversation": list(one.conversation)}
        state |= initial_state(cast("SelfRAGState", state), context)
        state |= await contextualize(state, services, runtime)
        return [passage["source"] for passage in (await retrieve(state, services, runtime))["passages"]]

    def plain(query: str) -> list[str]:
        return [document.metadata["source"] for document in store.similarity_search(query, k)]

    return {
        SAID: [plain(one.question) for one in asked],
        "ours": [await ours(one) for one in asked],
        "a person's rewriting": [plain(one.rewrite or one.question) for one in asked],
    }


def measured(
    asked: Sequence[FollowUp], found: Mapping[str, Sequence[list[str]]]
) -> dict[str, dict[str, Estimate | Difference]]:
    """Return the recall of each way, and its paired difference from the question as said."""
    values = {
        way: [recall(ids, one.relevant) for ids, one in zip(lists, asked, strict=True)] for way, lists in found.items()
    }
    said, ones = values[SAID], [1.0] * len(asked)
    return {
        way: {"recall": mean(one), f"recall - {SAID}": difference((one, ones), (said, ones))}
        for way, one in values.items()
    }


def recall(found: Sequence[str], relevant: Collection[str]) -> float:
    """Return the share of the relevant passages that were found."""
    return len(set(found) & set(relevant)) / len(relevant)


if __name__ == "__main__":
    main()
