"""The Python interface: ask questions of documents, as the command line does."""

from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from contextlib import aclosing
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from app import compose
from app.calibrations import UNBOUNDED, LibraryCalibration, fit, fitted_for, kept_for, labelled_questions
from app.checking.checked_text import Check, CheckedText, check_text
from app.checking.verification import VerifiedClaim, require_claim, verify_sentence
from app.libraries import library_to_ask
from app.results.events import DraftToken, Event, Finished, NodeStarted, ResumedNodes, draft_text, finished_node
from app.results.result import Result, Results, result_of
from app.results.stamp import Stamp, calibration_name, stamp_of, with_library
from app.settings import Settings, load_settings
from app.terminal.screen import Screen
from core.background import in_background, stream_in_background
from core.errors import RequestError
from core.types import Turn
from evaluation.calibrating import Calibrated, Trial
from evaluation.records import Example
from graph.builder import build_graph
from graph.compiled import SelfRAGGraph
from grounding.checkable import Checkable, why_no_claim
from grounding.claims import Statement
from models.telemetry import export_spans, recorded_span
from nodes.concurrency import gather_bounded
from retrieval.adapter import adapted
from retrieval.filters import Visible
from retrieval.library.library import Library
from run.context import Context, RetrieverLike, Services
from run.initial_state import require_conversation, require_question, require_standalone
from run.state import SelfRAGState

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool

    from app.agents import CheckedAnswers


class SelfRAG:
    """Self-RAG over a library of documents, or over a retriever.

    Use it as a context manager, or `close` it. A `Context` given to a method holds for that call; the settings decide
    what it leaves out. The synchronous methods may be called from any thread, also while an event loop runs, as in a
    notebook.
    """

    def __init__(
        self,
        *,
        retriever: RetrieverLike,
        model: BaseChatModel | None = None,
        critic: BaseChatModel | None = None,
        settings: Settings | None = None,
        screen: Screen | None = None,
    ) -> None:
        """Bind the models to ``retriever``, any LangChain retriever.

        ``model`` writes and judges, unless ``critic`` judges. Without them the models are those of ``settings``, which
        are read from the environment and ``.env`` if not given. ``screen`` shows downloads. Raises `RequestError` for a
        wrong setting, and `ModelError` if no model can be loaded.
        """
        settings = settings or load_settings()
        with (screen or Screen(quiet=True)).downloads() as progress:
            self.services = compose.services_of(settings, retriever, progress, model=model, critic=critic)
        self.context = compose.context_of(settings)
        self._stamp = stamp_of(settings, model, critic)
        self._uncalibrated = self.services
        self._base_calibration = self._calibration = calibration_name(settings, model, critic)
        self._settings = settings
        self._visible: Visible | None = None
        self._telemetry = settings.selfrag_tracing == "otel"
        if self._telemetry:
            export_spans()
        self.graph: SelfRAGGraph = self._graph_over(self.services)
        self.library: Library | None = None
        self.library_calibration: LibraryCalibration | None = None

    @classmethod
    def open(
        cls,
        *paths: str | Path,
        model: BaseChatModel | None = None,
        critic: BaseChatModel | None = None,
        settings: Settings | None = None,
        context: Context | None = None,
        screen: Screen | None = None,
    ) -> Self:
        """Open files and folders, indexed as ``--docs`` does; without a path, open the user's own library.

        ``context`` holds for every question; its filter is checked against the documents. Raises `RequestError` if
        there is nothing to ask.
        """
        settings, screen = settings or load_settings(), screen or Screen(quiet=True)
        within = context.filter if context else None
        library = library_to_ask([Path(path) for path in paths] or None, settings, screen, within)
        try:
            opened = cls(
                retriever=library.store.as_retriever(), model=model, critic=critic, settings=settings, screen=screen
            )
        except BaseException:
            library.close()
            raise
        opened.ask_of(library, screen)
        opened.context = compose.merged(opened.context, context)
        return opened

    def over(self, library: Library, retriever: RetrieverLike, visible: Visible | None = None) -> Self:
        """Return a copy over another library, searched by ``retriever``. Both share the models: close only one.

        If ``visible`` is given, the stamp of the copy's answers covers only the documents for which it is true.
        """
        other = copy(self)
        other._visible = visible
        other.services = replace(self.services, retriever=retriever)
        if library is self.library:
            other.graph = self._graph_over(other.services)
        else:
            other.ask_of(library, Screen(quiet=True))
        return other

    def ask_of(self, library: Library, screen: Screen) -> None:
        """Ask ``library`` from now on, with its calibration; ``screen`` shows why a calibration cannot be used."""
        self.library = library
        kept = kept_for(library, self._stamp, self._base_calibration, self._settings, screen)
        self.library_calibration = kept
        bare = self._without_calibration()
        self.services = kept.over(bare, self._settings) if kept else bare
        self._calibration = kept.name if kept else self._base_calibration
        self.graph = self._graph_over(self.services)

    def close(self) -> None:
        """Close the library that `open` opened, and the connections of the synchronous methods."""
        in_background(self.aclose())

    async def aclose(self) -> None:
        """Close the library that `open` opened, and the connections of the running event loop."""
        await self.services.aclose()
        if self.library:
            self.library.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def ask(
        self,
        question: str,
        context: Context | None = None,
        *,
        conversation: Sequence[Turn] = (),
        standalone: str | None = None,
    ) -> Result:
        """Answer one question.

        ``conversation`` are the turns before it, oldest first, as `Result.turn` returns them; the last 20 count.
        ``standalone`` is the meaning of the question by itself, if an earlier result got it wrong. Raises
        `RequestError` for a question that cannot be asked. If the model fails, the outcome is ``stopped``.
        """
        return in_background(self.aask(question, context, conversation=conversation, standalone=standalone))

    async def aask(
        self,
        question: str,
        context: Context | None = None,
        *,
        conversation: Sequence[Turn] = (),
        standalone: str | None = None,
    ) -> Result:
        """Answer one question, as `ask` does."""
        asked = question_after(question, conversation, standalone)
        state = await self.graph.ainvoke(asked, context=compose.merged(self.context, context))
        return self._result(cast("SelfRAGState", state))

    def ask_many(self, questions: Iterable[str], context: Context | None = None, *, at_once: int = 4) -> Results:
        """Answer several questions, at most ``at_once`` at a time; the results are in the order of the questions."""
        return in_background(self.aask_many(questions, context, at_once=at_once))

    async def aask_many(self, questions: Iterable[str], context: Context | None = None, *, at_once: int = 4) -> Results:
        """Answer several questions, as `ask_many` does. The first error cancels what is running, and is raised."""
        asks = (partial(self.aask, question, context) for question in questions)
        return Results(await gather_bounded(asks, at_once))

    def verify(self, claim: str, context: Context | None = None, *, question: str | None = None) -> VerifiedClaim:
        """Check one sentence against the documents; with a ``question``, check it as `ask` checks a claim of an answer.

        Raises `RequestError` for a sentence that is empty or too long, and `ModelError`.
        """
        return in_background(self.averify(claim, context, question=question))

    async def averify(
        self, claim: str, context: Context | None = None, *, question: str | None = None
    ) -> VerifiedClaim:
        """Check one sentence, as `verify` does."""
        text = require_claim(claim)
        asked = None if question is None else require_question(question).strip()
        # To a question "in Paris" is an answer; by itself it states nothing.
        one = Checkable(Statement(text, "", 0), subject="", no_claim="" if asked else why_no_claim(text))
        with recorded_span("verify claim", self._telemetry):
            verified, _ = await verify_sentence(
                one, self.services_to_check(), compose.merged(self.context, context), asked
            )
        return verified

    def check(self, text: str, context: Context | None = None, *, at_once: int = 4) -> CheckedText:
        """Check each claim of a text against the documents, at most ``at_once`` at a time.

        Raises `RequestError` for a text without a sentence, and `ModelError`.
        """
        return in_background(self.acheck(text, context, at_once=at_once))

    async def acheck(
        self,
        text: str,
        context: Context | None = None,
        *,
        at_once: int = 4,
        headings: Sequence[tuple[int, int]] = (),
        progress: Callable[[int, int], None] | None = None,
        cached: Check | None = None,
    ) -> CheckedText:
        """Check a text, as `check` does; ``headings``, ``progress`` and ``cached`` are those of `check_text`."""
        services, context = self.services_to_check(), compose.merged(self.context, context)
        with recorded_span("check text", self._telemetry):
            return await check_text(
                text, services, context, headings=headings, at_once=at_once, progress=progress, cached=cached
            )

    # These import langchain.agents when they are called: it takes 0.1 s, which only agents need.

    def as_tool(
        self, name: str = "ask_documents", *, description: str | None = None, context: Context | None = None
    ) -> "BaseTool":
        """Return a tool for a LangChain agent: the answer with its quotes; its artifact is the `Result` as JSON."""
        from app.agents import tool_of

        return tool_of(partial(self.astream, context=context, tokens=False), name, description)

    def as_retriever(self, context: Context | None = None) -> "BaseRetriever":
        """Return a LangChain retriever that finds what the critic judges relevant, best first."""
        from app.agents import GradedPassages

        return GradedPassages(graph=self.graph, context=compose.merged(self.context, context))

    def as_middleware(
        self,
        *,
        redrafts: int = 1,
        otherwise: Literal["mark", "refuse"] = "mark",
        seconds: float = 120,
        context: Context | None = None,
    ) -> "CheckedAnswers":
        """Return a middleware that checks the answers of a LangChain agent: see `app.agents.CheckedAnswers`."""
        from app.agents import CheckedAnswers

        check = partial(self.acheck, context=context)
        return CheckedAnswers(check, redrafts=redrafts, otherwise=otherwise, seconds=seconds)

    def calibrate(
        self,
        labels: str | Path | Sequence[Example] | None = None,
        *,
        risk: float | None = None,
        budget: int = UNBOUNDED,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Calibrated:
        """Fit the confidence to the library, the models and labelled questions, and use the fit if it is better.

        ``labels`` are labelled questions, or their file; without them the model writes some, and the figures are only
        estimates. With ``risk`` at most that share of the answers is wrong, with 90 % confidence. ``budget`` limits the
        model calls. Raises `RequestError` if nothing can be fitted, and `ModelError`; replies are kept in any case.
        """
        return in_background(self.acalibrate(labels, risk=risk, budget=budget, progress=progress))[0]

    async def acalibrate(
        self,
        labels: str | Path | Sequence[Example] | None = None,
        *,
        risk: float | None = None,
        budget: int = UNBOUNDED,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> tuple[Calibrated, list[Trial]]:
        """Calibrate, as `calibrate` does; return also the trial of each question."""
        if self.library is None:
            raise RequestError("A calibration is kept for a library: open one with SelfRAG.open.")
        examples = (
            labelled_questions(Path(labels), self._settings).examples if isinstance(labels, (str, Path)) else labels
        )
        made_for = fitted_for(self._stamp, self._base_calibration, self.library, self._settings)
        fitted = await fit(
            self._without_calibration(),
            self.context,
            examples,
            self.library,
            self._settings,
            made_for=made_for,
            risk=risk,
            budget=budget,
            progress=progress,
        )
        self.ask_of(self.library, Screen(quiet=True))
        return fitted

    def _without_calibration(self) -> Services:
        """Return the services as they are without a library's calibration."""
        return replace(self.services, thresholds=self._uncalibrated.thresholds, fits=self._uncalibrated.fits)

    def services_to_check(self) -> Services:
        """Return the services; a LangChain retriever gets a wrapper that takes the arguments which `verify` passes."""
        return replace(self.services, retriever=adapted(self.services.retriever))

    def stream(
        self,
        question: str,
        context: Context | None = None,
        *,
        tokens: bool = True,
        conversation: Sequence[Turn] = (),
        standalone: str | None = None,
    ) -> Generator[Event, None, None]:
        """Answer one question, as `ask` does, event by event, `Finished` last. Closing the iterator cancels it."""
        asked = self.astream(question, context, tokens=tokens, conversation=conversation, standalone=standalone)
        return stream_in_background(asked)

    def astream(
        self,
        question: str,
        context: Context | None = None,
        *,
        tokens: bool = True,
        conversation: Sequence[Turn] = (),
        standalone: str | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Answer one question, as `stream` does. With ``tokens`` the model is asked to stream its drafts."""
        return self.astream_state(question_after(question, conversation, standalone), context, tokens=tokens)

    async def astream_state(
        self,
        asked: SelfRAGState | None,
        context: Context | None = None,
        config: RunnableConfig | None = None,
        *,
        tokens: bool = True,
    ) -> AsyncGenerator[Event, None]:
        """Answer as `astream`, given the graph's input; if that is None, continue from ``config``'s last checkpoint.

        When it continues, it first yields the events of the nodes that had finished before, once more.
        """
        resumed = ResumedNodes()
        if asked is None and config:
            resumed = ResumedNodes.of(await self.graph.aget_state(config))
        for event in resumed.events():
            yield event
        modes = ["tasks", "updates", "values", *(["messages"] if tokens else [])]
        final: SelfRAGState
        durability = {"durability": "sync"} if config else {}
        context = compose.merged(self.context, context)
        stream = self.graph.astream(asked, config, context=context, stream_mode=modes, **durability)
        async with aclosing(stream) as chunks:
            async for mode, chunk in chunks:
                if mode == "values":
                    final = chunk
                elif mode == "tasks" and "input" in chunk and not resumed.take_finished(chunk["name"]):
                    yield NodeStarted(chunk["name"])
                elif mode == "updates" and "__metadata__" not in chunk:  # which marks what comes from a checkpoint
                    for update in chunk.values():
                        yield finished_node(update["path"][-1])
                elif mode == "messages" and (text := draft_text(*chunk)):
                    yield DraftToken(text)
        yield Finished(self._result(final), final)

    def with_checkpointer(self, checkpointer: BaseCheckpointSaver[Any]) -> Self:
        """Return a copy whose graph keeps checkpoints. It shares the models and the library: do not close the copy."""
        other = copy(self)
        other.graph = self._graph_over(self.services, checkpointer)
        return other

    @property
    def calibration(self) -> str | None:
        """The name of the calibration in use, with a hash; None if neither the library nor the critic has one."""
        return self._calibration

    @property
    def stamp(self) -> Stamp:
        """What an answer is made with: the version, the models, the prompts and the index."""
        return with_library(self._stamp, self.library, self._settings, self._visible) if self.library else self._stamp

    def _graph_over(self, services: Services, checkpointer: BaseCheckpointSaver[Any] | None = None) -> SelfRAGGraph:
        tracing = self._settings.selfrag_tracing == "langsmith"
        return build_graph(services, checkpointer, tracing=tracing, telemetry=self._telemetry)

    def _result(self, state: SelfRAGState) -> Result:
        return result_of(state, self.stamp, self._calibration)


def question_after(question: str, conversation: Sequence[Turn] = (), standalone: str | None = None) -> SelfRAGState:
    """Return the graph's input. Raises `RequestError` for an invalid question, conversation or ``standalone``."""
    asked: SelfRAGState = {"question": require_question(question)}
    if turns := require_conversation(conversation):
        asked["conversation"] = turns
    if (given := require_standalone(standalone)) is not None:
        asked["given_standalone"] = given
    return asked
