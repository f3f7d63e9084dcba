from pathlib import Path
from typing import Any

from app.settings import Settings
from benchmarks.follow_ups import follow_ups, measured, recall, searched
from benchmarks.index.texts import put_texts
from nodes.found_passages import as_passage
from nodes.retrieve import JOINED_WEIGHT, fused
from retrieval.index.store import PassageStore
from retrieval.store import Model
from tests.unit.retrieval.fakes import BagOfWords

SKY, NIGHT = "Why is the sky blue?", "And at night?"


def task(name: str, texts: list[str], relevant: list[str], others: int = 0) -> dict[str, Any]:
    """A turn whose messages are in turns of the user and the agent."""
    speakers = ["user" if place % 2 == 0 else "agent" for place in range(len(texts))]
    return {
        "task_id": name,
        "input": [{"speaker": speaker, "text": text} for speaker, text in zip(speakers, texts, strict=True)],
        "contexts": [{"document_id": one} for one in ["other", *relevant]],
        "annotations": {"context_relevance": {"system": list(range(1, len(relevant) + 1))}},
        "# Relevant Passages": str(len(relevant) + others),
    }


DATA = {
    "tasks": [
        task("a<::>1", [SKY], ["1"]),
        task("a<::>2", [SKY, "Air.", f" {NIGHT} "], ["1", "2"]),
        task("a<::>3", [SKY, "Air.", NIGHT, "Stars.", "Why?"], ["1"], others=1),
        task("b<::>2", [SKY, "Air.", "Who wrote Hamlet?"], ["3"]),
        task("c<::>2", [SKY, "Air.", "Thanks!"], []),
    ]
}


def test_those_follow_ups_are_asked_whose_passages_are_all_there_in_halves_by_conversation() -> None:
    (tuning,) = follow_ups(DATA, "tuning", {"a<::>2": "Why is the sky black at night?"})
    assert (tuning.question, tuning.relevant) == (NIGHT, frozenset("12"))
    assert tuning.rewrite == "Why is the sky black at night?"
    assert [(turn["question"], turn["answer"]) for turn in tuning.conversation] == [(SKY, "Air.")]
    assert [one.question for one in follow_ups(DATA, "reporting", {})] == ["Who wrote Hamlet?"]


async def test_ours_is_what_the_graph_finds(tmp_path: Path) -> None:
    store = PassageStore(tmp_path, Model(BagOfWords(), "bow"))
    texts = {"1": "Air scatters blue light, so the sky is blue.", "2": "The sky at night is black.", "3": "Hamlet."}
    put_texts(store, list(texts.values()), [{"source": key} for key in texts])
    asked = [*follow_ups(DATA, "tuning", {}), *follow_ups(DATA, "reporting", {})]
    found = await searched(store, asked, 2, Settings())
    both = [list(map(as_passage, store.similarity_search(query, 8))) for query in (NIGHT, f"{SKY} {NIGHT}")]
    store.close()
    assert found["ours"][0] == [one["source"] for one in fused(both, (1, JOINED_WEIGHT))][:2]
    assert found["ours"][1] == found["as said"][1] == found["a person's rewriting"][1], "it leans on nothing"
    figures = measured(asked, found)
    assert recall(["x", "1"], {"1", "2"}) == 0.5
    assert figures["as said"]["recall - as said"].value == 0
    assert figures["ours"]["recall"].n == 2
