"""The web application: the APIs, the page, and what a monitor asks for."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from fastapi.telemetry import TelemetryConfig
from starlette.routing import Route

from app.conversations.answering import ThreadAnswers
from app.conversations.feedback import FeedbackStore
from app.conversations.tables import ThreadTables
from app.front_door import SelfRAG
from app.server.access import AccessMiddleware
from app.server.accounts import Accounts
from app.server.asking import ServerOptions
from app.server.documents import Documents
from app.server.errors import handle_errors
from app.server.json_api import json_api, json_response
from app.server.mcp.http import McpEndpoint
from app.server.metrics import Metrics
from app.server.names import Names
from app.server.openai_api import openai_api
from app.server.runs import ClosingError, Run, Runs
from app.server.service import Service
from app.server.sources import Sources
from app.server.threads import ThreadRuns
from app.server.threads_api import threads_api
from core.version import VERSION

# FastAPI's own telemetry is on where a process or its environment configures it, and would export errors.
NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
STATIC = Path(__file__).parent / "static"


def create_app(
    rag: SelfRAG,
    options: ServerOptions | None = None,
    documents: Documents | None = None,
    sources: Sources | None = None,
    feedback: FeedbackStore | None = None,
    threads: ThreadTables | None = None,
    accounts: Accounts | None = None,
) -> FastAPI:
    """Make the application over models that are loaded; without ``documents`` it asks the retriever of ``rag``.

    ``sources`` shows a citation in its document; without ``sources``, only its passage is shown. ``feedback`` keeps
    what people say of answers, and ``threads`` conversations; without them nothing is kept. ``accounts`` limits and
    records what each person asks. If ``threads`` are in a database, other servers continue the runs of a server that
    dies; otherwise the application continues interrupted questions of threads when it starts. When it shuts down, it
    leaves these runs or questions to be continued, cancels all others, and closes what it was given.
    """
    options = options or ServerOptions()
    metrics = Metrics()
    accounts = accounts or Accounts(options.access.people)

    def ended(run: Run) -> None:
        metrics.count_run(run)
        goes_on = run.thread is not None and service.threads is not None and service.threads.answers.leaves(run.id)
        accounts.ended(run, goes_on=goes_on)

    runs = Runs(at_once=options.at_once, queue=options.queue, begin=accounts.began, on_end=ended)
    metrics.watch(runs)
    service = Service(rag, runs, options, documents, accounts, sources or Sources(), feedback, metrics)
    if threads:
        service.threads = ThreadRuns(service, ThreadAnswers(threads))
        if threads.runs:
            from app.server.shared_runs import SharedRuns

            service.shared = SharedRuns(service, threads.runs, service.threads)
    mcp = McpEndpoint(service)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None, None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(mcp.running())
            if service.shared:
                await stack.enter_async_context(service.shared.running())
            if service.threads:
                await stack.enter_async_context(service.threads.running())
            yield
        await runs.aclose()
        if threads:
            threads.close()
        await rag.aclose()
        if service.sources.pages:
            service.sources.pages.close()
        if documents:
            await documents.aclose()
        accounts.close()

    app = FastAPI(
        title="Self-RAG", version=VERSION, docs_url=None, redoc_url=None, lifespan=lifespan, telemetry=NO_TELEMETRY
    )
    app.state.service = service
    app.add_middleware(
        AccessMiddleware,
        access=options.access,
        largest_upload=options.largest_upload,
        on_answer=lambda status: metrics.requests.labels(str(status)).inc(),
        names=lambda owner: documents.names_for(owner) if documents else Names(),
    )
    handle_errors(app)
    app.include_router(json_api(service))
    app.include_router(openai_api(service))
    if service.threads:
        app.include_router(threads_api(service.threads))
    app.router.routes.append(Route("/mcp", mcp))

    @app.get("/healthz", tags=["server"])
    async def healthz() -> Response:
        """Say that the server is up, and how busy it is."""
        return json_response({"status": "ok", "running": runs.count("running"), "queued": runs.count("queued")})

    @app.get("/livez", tags=["server"])
    async def livez() -> Response:
        """Say that the server answers at all; one that does not is to be started again."""
        return json_response({"status": "ok"})

    @app.get("/readyz", tags=["server"])
    async def readyz() -> Response:
        """Say whether questions are to be sent here; 503 where the server is ending or its database is away."""
        if runs.closing:
            raise ClosingError
        if service.shared:
            await service.shared.require_reachable()
        return json_response({"status": "ok"})

    @app.get("/metrics", tags=["server"])
    async def prometheus() -> Response:
        """Return counters in Prometheus' format."""
        await service.drift()
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    @app.get("/docs", include_in_schema=False)
    async def api_page() -> FileResponse:
        return FileResponse(STATIC / "api.html")

    app.mount("/static", StaticFiles(directory=STATIC))
    return app
