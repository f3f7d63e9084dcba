"""Self-RAG for LangChain agents: a tool that asks, a retriever that grades, and a check of an agent's answers."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Literal, NotRequired

from langchain.agents import AgentState
from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field

from app.checking.checked_text import CheckedText, NothingToCheckError
from app.checking.verification import NO_CLAIM
from app.results.events import Event, finished
from app.terminal.show import numbered_answer
from app.terminal.show_check import marked_text
from core.background import in_background
from core.errors import ModelError, SelfRAGError
from core.passages import place_of
from core.text import is_blank
from core.types import UNKNOWN, StopReason
from graph.compiled import SelfRAGGraph
from nodes.finish import sentence, wording_of
from prompts.grade_documents import RELEVANCE
from run.candidates import LEVELS, failure_of
from run.context import Context
from run.state import SelfRAGState

TOOL = (
    "Answer a question from the user's own documents. Each claim of the answer is checked against a quoted passage; "
    "if the documents do not answer the question, the tool says so. Ask one complete question at a time."
)
REDRAFT = (
    "The documents do not support these statements of your answer:\n{failed}\n\nWrite the whole answer again. Correct "
    "or leave out these statements, keep the others, and add nothing that the documents do not state."
)
CHECK = "self_rag_check"  # the name of the messages that send an answer back to the model
HOLDS = (*LEVELS, NO_CLAIM)


class ToolQuestion(BaseModel):
    """The arguments of the tool."""

    question: str = Field(description="A complete question, understood without the conversation")


def tool_of(stream: Callable[[str], AsyncGenerator[Event, None]], name: str, description: str | None) -> BaseTool:
    """Return a tool whose content is the answer with its quotes, and whose artifact is the `Result` as JSON."""

    async def ask(question: str) -> tuple[str, dict[str, Any]]:
        end = await finished(stream(question))
        quotes = [f"[{one['id']}] {place_of(one)}: “{one['quote']}”" for one in end.state["citations"]]
        return "\n".join([numbered_answer(end.state), *quotes]), end.result.model_dump(mode="json")

    return StructuredTool.from_function(
        func=lambda question: in_background(ask(question)),
        coroutine=ask,
        name=name,
        description=description or TOOL,
        args_schema=ToolQuestion,
        response_format="content_and_artifact",
    )


class GradedPassages(BaseRetriever):
    """A retriever of the passages that the first search finds and the critic judges relevant, best first.

    If a table answers the question, the retriever returns the rows that carry the answer. A document's metadata are
    the known fields of its `Passage`, and ``relevance``, the critic's probability. Raises `ModelError` if nothing is
    relevant and the model failed or a limit was reached.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    graph: SelfRAGGraph
    context: Context

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return in_background(self._graded(query))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return await self._graded(query)

    async def _graded(self, query: str) -> list[Document]:
        context = self.context.model_copy(update={"mode": "always", "length": "short"})
        start: Any = {"question": query}
        async with aclosing(self.graph.astream(start, context=context, stream_mode="values")) as states:
            async for state in states:
                node = state["path"][-1]["node"] if state.get("path") else ""
                if node == "grade_documents" or (node == "query_table" and state["relevant"]):
                    break
        found, failure = _relevant(state), failure_of(state)
        if not found and (failure or state["stops"]):
            raise ModelError(failure or sentence(query, "stopped", state["stops"][0]["reason"]))
        return found


def _relevant(state: SelfRAGState) -> list[Document]:
    found = [one for one in state["passages"] if one["id"] in state["relevant"]]
    documents = []
    for one in sorted(found, key=lambda one: -RELEVANCE.score(state["verdicts"][one["id"]])):
        known = {key: value for key, value in one.items() if key not in ("id", "text") and value is not None}
        known["relevance"] = RELEVANCE.score(state["verdicts"][one["id"]])
        documents.append(Document(one["text"], id=one["id"], metadata=known))
    return documents


class CheckedState(AgentState[Any]):
    """An agent's state. ``checked`` is the agent's last answer as a `CheckedText` in JSON; None if the check failed."""

    checked: NotRequired[dict[str, Any] | None]


class CheckedAnswers(AgentMiddleware[CheckedState, Any]):
    """Checks an agent's final answer against the documents, claim by claim, before the agent ends.

    If the documents contradict or do not support a claim, the model is told so and answers again, at most ``redrafts``
    times. Claims that then still fail, or could not be checked, are marked if ``otherwise`` is "mark"; if it is
    "refuse", a sentence that gives the reason replaces the answer. If the check fails or takes more than ``seconds``,
    the whole answer counts as not checked. A streamed answer is shown before it is checked.
    """

    state_schema = CheckedState

    def __init__(
        self,
        check: Callable[[str], Awaitable[CheckedText]],
        *,
        redrafts: int = 1,
        otherwise: Literal["mark", "refuse"] = "mark",
        seconds: float = 120,
    ) -> None:
        """Take the function that checks an answer, such as `SelfRAG.acheck`."""
        super().__init__()
        self.check, self.redrafts, self.otherwise, self.seconds = check, redrafts, otherwise, seconds

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: CheckedState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Do the same as `aafter_model`, for synchronous agents."""
        return in_background(self.aafter_model(state, runtime))

    @hook_config(can_jump_to=["model"])
    async def aafter_model(self, state: CheckedState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Check the model's message, unless it calls a tool; return the update, or None if nothing was checked."""
        message = state["messages"][-1]
        if not isinstance(message, AIMessage) or message.tool_calls or is_blank(message.text):
            return None
        try:
            async with asyncio.timeout(self.seconds):
                checked = await self.check(message.text)
        except NothingToCheckError:
            return None
        except SelfRAGError:
            return {"checked": None, **self._instead(state, None, "model_failed")}
        except TimeoutError:
            return {"checked": None, **self._instead(state, None, "limit_seconds")}
        told = {"checked": checked.model_dump(mode="json")}
        failed = [one for one in checked.claims if one.label not in HOLDS and one.label != UNKNOWN]
        if failed and sum(one.name == CHECK for one in _since_the_question(state)) < self.redrafts:
            lines = "\n".join(f"- {one.text}" for one in failed)
            back = HumanMessage(REDRAFT.format(failed=lines), name=CHECK)
            return {**told, "messages": [back], "jump_to": "model"}
        if failed or checked.count(UNKNOWN):
            return {**told, **self._instead(state, checked, "claims_unsupported" if failed else "model_failed")}
        return told

    def _instead(self, state: CheckedState, checked: CheckedText | None, reason: StopReason) -> dict[str, Any]:
        """Return the update that replaces the text of an answer which did not pass the check."""
        message, asked = state["messages"][-1], _since_the_question(state)[0].text
        if self.otherwise == "refuse":
            text = sentence(asked, "abstained", reason)
        else:
            text = marked_text(checked) if checked else message.text + wording_of(message.text).marks["unknown"]
        return {"messages": [message.model_copy(update={"content": text})]}


def _since_the_question(state: CheckedState) -> list[AnyMessage]:
    """Return the messages from the last one that a person wrote; from the first, if nobody did."""
    people = [at for at, one in enumerate(state["messages"]) if isinstance(one, HumanMessage) and one.name != CHECK]
    return state["messages"][people[-1] if people else 0 :]
