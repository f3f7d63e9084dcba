"""One import and two lines: questions from Python, over documents or any retriever, sync and async."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from app import Context, DraftToken, Finished, NodeFinished, NodeStarted, Results, SelfRAG, Settings
from app.compose import REMOTE_LIMITS
from app.results.result import SPENT
from core.errors import IndexDamaged
from models.embeddings import NAME
from prompts.grade_documents import RELEVANCE
from tests.command_line import Program
from tests.integration.app.contract import keep_to_the_contract
from tests.integration.openai_server import OpenAIServer

RENT = "When does the tenant pay the monthly rent?"
ANSWER = "The tenant pays the monthly rent in advance."
DOGS = "Are dogs allowed in the garden?"
GARDEN = "Are cats allowed in the garden?"


class Shelf(BaseRetriever):
    """A retriever of the caller's own, which takes neither ``k`` nor a filter."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document(ANSWER, metadata={"source": "lease.md"}), *(Document(f"Salt {n}.") for n in range(9))]


@pytest.fixture
def rag(settings: Settings, docs: Path) -> Iterator[SelfRAG]:
    with SelfRAG.open(docs / "lease.md", str(docs / "rivers.csv"), settings=settings) as opened:
        yield opened


def test_the_result_is_what_the_command_line_prints(rag: SelfRAG, program: Program, docs: Path) -> None:
    asked = rag.ask(RENT).model_dump(mode="json")
    printed = json.loads(program(RENT, "--docs", str(docs), "--json").out)
    keep_to_the_contract(asked)
    assert (asked["outcome"], asked["answer"], asked["citations"][0]["quote"]) == ("grounded", ANSWER, ANSWER)
    assert asked.keys() == printed.keys()
    assert (asked["claims"], asked["citations"]) == (printed["claims"], printed["citations"])


def test_events_come_as_the_question_goes_on_and_the_result_last(rag: SelfRAG) -> None:
    events = list(rag.stream(RENT))
    (finished,) = [event for event in events if isinstance(event, Finished)]
    assert events[-1] is finished
    assert "".join(event.text for event in events if isinstance(event, DraftToken)) == finished.result.answer == ANSWER
    ended = [event for event in events if isinstance(event, NodeFinished)]
    without_costs = [{key: step[key] for key in step if key not in SPENT} for step in finished.result.path]
    assert [{"node": one.node, "seconds": one.seconds, **one.decided} for one in ended] == without_costs
    for one in ended:
        assert events.index(NodeStarted(one.node)) < events.index(one)
    assert not [event for event in rag.stream(RENT, tokens=False) if isinstance(event, DraftToken)]


def test_what_a_context_leaves_out_is_as_the_settings_say(settings: Settings, docs: Path) -> None:
    with SelfRAG.open(docs, settings=settings.model_copy(update={"selfrag_mode": "never"})) as rag:
        assert rag.ask(RENT, Context(k=1)).outcome == "direct"
        results = rag.ask_many([RENT, DOGS] * 2, Context(mode="always"), at_once=2)
        assert isinstance(results, Results)
        assert [result.answer for result in results] == [ANSWER, "Dogs are allowed in the garden."] * 2
        assert rag.ask(RENT).outcome == "direct", "a context is for its question alone"


def test_any_retriever_and_any_chat_model_will_do(server: OpenAIServer) -> None:
    model = ChatOpenAI(base_url=server.base_url, api_key=SecretStr("right"), model="gpt-4o-mini", max_retries=0)
    with SelfRAG(retriever=Shelf(), model=model, settings=Settings()) as rag:
        assert rag.services.limits == REMOTE_LIMITS, "not those of the embedded model, which is the settings' default"
        result = rag.ask(RENT, Context(k=3))
    keep_to_the_contract(result.model_dump(mode="json"))
    assert (result.outcome, result.answer, result.retrieved) == ("grounded", ANSWER, 3)
    stamp = result.stamp
    models = (stamp.chat_model, stamp.critic_model, stamp.embedding_model)
    assert (*models, stamp.index) == ("gpt-4o-mini", "gpt-4o-mini", None, None), "no index is known of it"


def test_a_result_is_stamped_with_its_models_and_documents(settings: Settings, docs: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(docs, copy)
    stamps = []
    for folder, text in ((docs, None), (copy, None), (copy, "The tenant pays the monthly rent late.")):
        if text:
            (folder / "lease.md").write_text(text)
        with SelfRAG.open(folder, settings=settings) as rag:
            result = rag.ask(RENT)
        keep_to_the_contract(result.model_dump(mode="json"))
        assert "right" not in result.stamp.model_dump_json()
        stamps.append(result.stamp)
    assert (stamps[0].chat_model, stamps[0].embedding_model) == ("gpt-4o-mini", NAME)
    assert stamps[0] == stamps[1]
    assert stamps[0].index
    assert stamps[0].index != stamps[2].index


def test_an_index_that_cannot_be_read_any_more_does_not_lose_the_answer(rag: SelfRAG) -> None:
    def damaged(visible: object) -> str:
        raise IndexDamaged("The index is damaged.")

    rag.library.content_hash = damaged  # type: ignore[method-assign]
    result = rag.ask(RENT)
    assert (result.answer, result.stamp.index) == (ANSWER, None)


async def test_a_grader_can_be_tried_alone(settings: Settings, docs: Path) -> None:
    async with SelfRAG.open(docs, settings=settings) as rag:
        choose = rag.services.critic.choose
        for text, label in ((ANSWER, "relevant"), ("Salt melts ice.", "irrelevant")):
            assert (await choose(RELEVANCE, question=RENT, passages=text, passage=text))["label"] == label
        rag.close()


async def test_every_way_of_asking_takes_a_conversation_and_a_correction(settings: Settings, docs: Path) -> None:
    async with SelfRAG.open(docs, settings=settings) as rag:
        earlier = [(await rag.aask(DOGS)).turn()]
        assert (earlier[0]["standalone"], earlier[0]["answer"]) == (DOGS, "Dogs are allowed in the garden.")
        for given, meant in ((None, f"{DOGS} And cats?"), (GARDEN, GARDEN)):
            follows: dict[str, Any] = {"conversation": earlier, "standalone": given}
            results = [rag.ask("And cats?", **follows), await rag.aask("And cats?", **follows)]
            for events in (
                list(rag.stream("And cats?", **follows)),
                [event async for event in rag.astream("And cats?", **follows)],
            ):
                assert events[0] == NodeStarted("contextualize")
                (finished,) = [event for event in events if isinstance(event, Finished)]
                results.append(finished.result)
            assert [(result.question, result.standalone) for result in results] == [("And cats?", meant)] * 4
            assert {result.answer for result in results} == {"Dogs are allowed in the garden."}
            keep_to_the_contract(results[0].model_dump(mode="json"))
        rag.close()
