"""The JSON API: questions, runs with their events, and documents."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event
from pydantic import BaseModel, Field

from app.checking.text_to_check import TextToCheck, read_text_to_check
from app.conversations.feedback import Feedback
from app.export import TYPES, exported, exported_check
from app.options import as_text
from app.results.result import Result
from app.server.errors import ConflictError, NotFoundError, answer_to, said_by
from app.server.graph_drawing import graph_drawing
from app.server.names import without_paths
from app.server.runs import Run, run_fields
from app.server.service import CHOICES, UNNAMED, AskOptions, Service
from app.server.streams import EventStream, wait_for
from core.text import as_json
from core.types import Citation, Outcome, Turn
from core.version import VERSION
from retrieval.documents.load import SUFFIXES

RAW_BODY = {
    "requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
}
LONGEST_TEXT = 2_000_000  # characters
MOST_EARLIER = 1_000  # turns that a request may have; fewer are used
Form = Annotated[Literal["markdown", "json", "html"], Query(alias="format")]
PICTURE_POLICY = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}


class EarlierTurn(BaseModel, extra="forbid"):
    """An earlier question and its answer; ``standalone`` is what the question was taken to mean, if it is known."""

    question: str
    answer: str = ""
    standalone: str | None = None
    outcome: Outcome | None = None

    def turn(self) -> Turn:
        """Return it as a turn of the graph's state."""
        question = as_text(self.question)
        standalone = as_text(self.standalone or "") or question
        return Turn(question=question, standalone=standalone, answer=as_text(self.answer), outcome=self.outcome)


class Question(AskOptions):
    """A question, the conversation before it, and how it is answered.

    ``standalone`` is what the question means by itself; it corrects what was made of the question before.
    """

    question: str
    conversation: list[EarlierTurn] = Field([], max_length=MOST_EARLIER)
    standalone: str | None = None


class GivenText(BaseModel, extra="forbid"):
    """A text to check, and what it is called."""

    text: str = Field(max_length=LONGEST_TEXT)
    name: str = Field(UNNAMED, min_length=1, max_length=200)


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a response in JSON, as the command line prints it."""
    return Response(as_json(without_paths(value)), status, headers, "application/json")


async def owner_of(request: Request) -> str:
    """Return the name of the person whose token was sent; "" if the server has no tokens."""
    return str(request.state.owner)


Owner = Annotated[str, Depends(owner_of)]


def run_json(run: Run, *, result: bool = True) -> dict[str, Any]:
    """Return a run's state as JSON; a run counts as ended only once its end is stored."""
    told = run_fields(
        run,
        state=run.state if run.ended or run.state == "queued" else "running",
        outcome=run.result.outcome if run.ended and run.result else None,
        error=said_by(run.error) if run.ended and run.error else None,
        events=len(run.events),
    )
    if result:
        ended = (run.result or run.checked) if run.ended else None
        told["result"] = ended.model_dump(mode="json") if ended else None
    return told


def finished_result(run: Run) -> Result:
    """Return the result of a run. Raises `ConflictError` if there is none."""
    if run.result is None and run.kind == "check":
        raise ConflictError("This run is a check of a text: only a question has that.")
    if run.result is None:
        raise ConflictError(f"The run is {run.state}: only a finished one has a result.")
    return run.result


def attachment(name: str, form: str, text: str) -> Response:
    """Return a file to be saved, in one of `TYPES`."""
    media_type, suffix = TYPES[form]
    headers = {"Content-Disposition": f'attachment; filename="{name}.{suffix}"'}
    return Response(text, media_type=media_type, headers=headers)


def started_response(run: Run) -> Response:
    """Return the response to a run that was started: its id and address."""
    return json_response({"id": run.id}, 202, {"X-Run-Id": run.id, "Location": f"/api/runs/{run.id}"})


def json_api(service: Service) -> APIRouter:
    """Return the routes below ``/api``."""
    router = APIRouter(prefix="/api")
    runs = service.runs

    async def start(question: Question, owner: str, *, outlives: bool) -> Run:
        return await service.start(
            as_text(question.question),
            question.context(),
            owner,
            outlives=outlives,
            conversation=[one.turn() for one in question.conversation],
            standalone=question.standalone and as_text(question.standalone),
        )

    @router.post("/ask", tags=["questions"], response_model=Result)
    async def ask(question: Question, owner: Owner, request: Request) -> Response:
        """Answer a question; the run's id is in the header X-Run-Id. A client that leaves ends the question."""
        run = await start(question, owner, outlives=False)
        with runs.attended(run):
            await wait_for(run, request)
        if run.error:
            answer = answer_to(run.error)
            answer.headers["X-Run-Id"] = run.id
            return answer
        return json_response(finished_result(run).model_dump(mode="json"), headers={"X-Run-Id": run.id})

    @router.post("/runs", tags=["questions"], status_code=202)
    async def start_run(question: Question, owner: Owner) -> Response:
        """Start a run, which outlives its client, and return its id at once."""
        return started_response(await start(question, owner, outlives=True))

    @router.post("/checks", tags=["checks"], status_code=202)
    async def check_text(given: GivenText, owner: Owner) -> Response:
        """Start a check of a text against the documents, and return its run's id at once."""
        return started_response(await service.check(TextToCheck(given.text, []), given.name, owner))

    @router.post("/checks/{name}", tags=["checks"], status_code=202, openapi_extra=RAW_BODY)
    async def check_file(name: str, owner: Owner, request: Request) -> Response:
        """Start a check of the body, a document of the kind that the suffix of its name tells."""
        given = await asyncio.to_thread(read_text_to_check, name, await request.body())
        return started_response(await service.check(given, name, owner))

    @router.get("/runs", tags=["questions"])
    async def last_runs(owner: Owner) -> Response:
        """List the last runs, the newest first, without their results."""
        if service.shared:
            return json_response({"runs": await service.shared.last(owner)})
        return json_response({"runs": [run_json(run, result=False) for run in runs.of(owner)]})

    @router.get("/runs/{id_}", tags=["questions"])
    async def get_run(id_: str, owner: Owner) -> Response:
        """Return the state of a run and, once it is finished, its result."""
        return json_response(run_json(await service.run(id_, owner)))

    @router.delete("/runs/{id_}", tags=["questions"])
    async def end_run(id_: str, owner: Owner) -> Response:
        """End a run; one that has ended stays as it is."""
        run = await service.run(id_, owner)
        run.cancel()
        await run.wait()
        return json_response(run_json(run, result=False))

    @router.get("/runs/{id_}/events", tags=["questions"], response_class=StreamingResponse)
    async def events(
        id_: str,
        owner: Owner,
        last_event_id: Annotated[int, Header(ge=0)] = 0,
        after: Annotated[int, Query(ge=0)] = 0,
    ) -> EventStream:
        """Stream the events of a run as server-sent events, those after Last-Event-ID if there is such an event."""
        run = await service.run(id_, owner)
        last = max(last_event_id, after)
        return EventStream(_encoded(run, last if last <= len(run.events) else 0))

    @router.get("/runs/{id_}/picture.svg", tags=["answers"])
    async def picture(id_: str, owner: Owner) -> Response:
        """Draw the path of a finished run through the graph."""
        drawn = without_paths(finished_result(await service.run(id_, owner))).picture()
        return Response(drawn.data(".svg"), media_type="image/svg+xml", headers=PICTURE_POLICY)

    @router.get("/runs/{id_}/export", tags=["answers"])
    async def export(id_: str, owner: Owner, form: Form = "markdown") -> Response:
        """Return an answer with its evidence as a file."""
        run = await service.run(id_, owner)
        if run.checked:
            return attachment("claims", form, exported_check(without_paths(run.checked), run.question, form))
        return attachment(
            "answer", form, await asyncio.to_thread(exported, without_paths(finished_result(run)), run.numbered, form)
        )

    @router.post("/runs/{id_}/feedback", tags=["answers"])
    async def feedback(id_: str, given: Feedback, owner: Owner) -> Response:
        """Keep what a person says of an answer, as a labelled example; the last word on a run counts."""
        if service.feedback is None:
            raise NotFoundError("This server keeps no feedback.")
        result = finished_result(await service.run(id_, owner))
        await asyncio.to_thread(service.feedback.add, owner, id_, given, result)
        return json_response({"kept": given.judgement})

    async def cited(id_: str, number: int, owner: str) -> tuple[Citation, int]:
        run = await service.run(id_, owner)
        found = (run.checked or finished_result(run)).citations
        if not 1 <= number <= len(found):
            raise NotFoundError(f"The answer has no citation {number}: it has {len(found)}.")
        if service.documents:
            service.documents.require_readable(owner, found[number - 1]["source"])
        service.accounts.record("read", owner, run=id_, documents=[found[number - 1]["source"]])
        return found[number - 1], len(found)

    @router.get("/runs/{id_}/citations/{number}", tags=["answers"])
    async def citation(id_: str, number: int, owner: Owner) -> Response:
        """Return where a quote stands: the text around it, for a PDF its rectangles, and the number of citations."""
        one, count = await cited(id_, number, owner)
        place = await service.sources.place(one, f"/api/runs/{id_}/citations/{number}/page.png")
        return json_response({**place, "citations": count})

    @router.get("/runs/{id_}/citations/{number}/page.png", tags=["answers"])
    async def page_picture(
        id_: str, number: int, owner: Owner, width: Annotated[int, Query(ge=100, le=3_000)] = 1_200
    ) -> Response:
        """Draw the page of a PDF on which a quote stands."""
        one, _ = await cited(id_, number, owner)
        return Response(await service.sources.picture(one, width), media_type="image/png")

    @router.get("/settings", tags=["server"])
    async def settings(owner: Owner) -> Response:
        """Return what a question may choose, the defaults, the models, what can be uploaded, and notes for the user."""
        context, stamp = service.rag.context, service.rag.stamp
        return json_response(
            {
                "version": VERSION,
                "owner": owner,
                "choices": CHOICES,
                "threads": service.threads is not None,
                "notes": await service.drift(),
                "defaults": {name: getattr(context, name) for name in CHOICES},
                "models": {"chat": stamp.chat_model, "critic": stamp.critic_model, "embedding": stamp.embedding_model},
                "uploads": {
                    "most_bytes": service.options.largest_upload,
                    "suffixes": sorted(SUFFIXES) if service.documents else [],
                },
            }
        )

    @router.get("/graph", tags=["server"])
    async def graph() -> Response:
        """Return the graph's nodes and edges as shapes to be drawn."""
        return json_response(graph_drawing())

    @router.get("/documents", tags=["documents"])
    async def list_documents(owner: Owner) -> Response:
        """List the documents that are asked, with the reason for each that is left out."""
        return json_response({"documents": await service.require_documents().listed(owner)})

    @router.put("/documents/{name:path}", tags=["documents"], openapi_extra=RAW_BODY)
    async def put_document(name: str, owner: Owner, request: Request) -> Response:
        """Store the body as a document and index it; the answer says what was read, or why it was left out."""
        return json_response(await service.put(owner, name, request.stream()))

    @router.delete("/documents/{name:path}", tags=["documents"], status_code=204)
    async def remove_document(name: str, owner: Owner) -> Response:
        """Remove a document that was uploaded."""
        service.accounts.record("removed", owner, document=name)
        await service.require_documents().remove(owner, name)
        return Response(status_code=204)

    return router


async def _encoded(run: Run, after: int) -> AsyncGenerator[bytes, None]:
    async for event in run.follow(after):
        yield format_sse_event(data_str=as_json(without_paths(event.data)), event=event.kind, id=str(event.number))
