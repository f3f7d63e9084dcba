"""The JSON API of threads: conversations that are kept, and their questions."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from app.export import exported_thread
from app.options import as_text
from app.server.json_api import Form, Owner, attachment, json_response, started_response
from app.server.names import without_paths
from app.server.service import AskOptions
from app.server.threads import ThreadRuns

Title = Annotated[str, Field(max_length=1_000)]


class NewThread(BaseModel, extra="forbid"):
    """A thread to begin; one without a title gets its first question for a title."""

    title: Title | None = None


class Renamed(BaseModel, extra="forbid"):
    """The body of a request to rename a thread."""

    title: Title


class ThreadQuestion(AskOptions):
    """A question of a thread, and how it is answered.

    ``standalone`` is what the question means by itself, and ``replaces`` the run of the last question, which it then
    corrects.
    """

    question: str
    standalone: str | None = None
    replaces: str | None = None


def threads_api(runs: ThreadRuns) -> APIRouter:
    """Return the routes below ``/api/threads``."""
    router = APIRouter(prefix="/api/threads", tags=["threads"])
    threads = runs.threads

    @router.post("", status_code=201)
    async def create(given: NewThread, owner: Owner) -> Response:
        """Begin a thread."""
        thread = await asyncio.to_thread(threads.create, owner, given.title)
        return json_response(thread.model_dump(mode="json"), 201, {"Location": f"/api/threads/{thread.id}"})

    @router.get("")
    async def list_threads(owner: Owner) -> Response:
        """List the threads, the last changed first."""
        found = await asyncio.to_thread(threads.list, owner)
        return json_response({"threads": [one.model_dump(mode="json") for one in found]})

    @router.get("/{id_}")
    async def get(id_: str, owner: Owner) -> Response:
        """Return a thread with its turns; the whole result of a turn is that of its run, under /api/runs."""
        thread = await asyncio.to_thread(threads.get, id_, owner)
        turns = await asyncio.to_thread(runs.described_turns, id_, owner)
        return json_response(thread.model_dump(mode="json") | {"turns": turns})

    @router.patch("/{id_}")
    async def rename(id_: str, given: Renamed, owner: Owner) -> Response:
        """Give a thread another title."""
        thread = await asyncio.to_thread(threads.rename, id_, given.title, owner)
        return json_response(thread.model_dump(mode="json"))

    @router.delete("/{id_}", status_code=204)
    async def delete(id_: str, owner: Owner) -> Response:
        """Delete a thread for good; a question of it that is running is cancelled first."""
        await runs.delete(id_, owner)
        return Response(status_code=204)

    @router.post("/{id_}/runs", status_code=202)
    async def ask(id_: str, asked: ThreadQuestion, owner: Owner) -> Response:
        """Ask the next question of a thread as a run, which outlives its client, and return its id at once."""
        run = await runs.start(
            id_,
            as_text(asked.question),
            asked.context(),
            owner,
            standalone=asked.standalone and as_text(asked.standalone),
            replaces=asked.replaces,
        )
        return started_response(run)

    @router.get("/{id_}/export")
    async def export(id_: str, owner: Owner, form: Form = "markdown") -> Response:
        """Return a thread with the evidence of every answer as a file."""

        def written() -> str:
            return exported_thread(threads.get(id_, owner), list(map(without_paths, threads.turns(id_, owner))), form)

        return attachment("thread", form, await asyncio.to_thread(written))

    return router
