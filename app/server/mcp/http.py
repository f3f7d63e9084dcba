"""MCP over streamable HTTP at ``/mcp``, behind the server's own rules of access."""

from contextlib import AbstractAsyncContextManager
from typing import cast

from anyio import CancelScope
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from app.server.errors import refusal
from app.server.mcp.backends import ServedBackend
from app.server.mcp.server import new_server
from app.server.service import Service

MOST_SESSIONS = 1_000  # of clients older than the protocol of 2026-07-28, which has none
SESSION_SECONDS = 3_600.0  # without a request


class McpEndpoint:
    """The ASGI application at ``/mcp``; it answers only within `running`.

    A call is cancelled when its connection closes, even if the client's version of MCP does not ask for that: there is
    no other connection on which the result could reach the client.
    """

    def __init__(self, service: Service) -> None:
        writing = "upload_document" if service.options.mcp_allow_write else None
        self._sessions = StreamableHTTPSessionManager(
            new_server(lambda context: ServedBackend(service, cast("Request", context.request)), writing),
            session_idle_timeout=SESSION_SECONDS,
            max_sessions=MOST_SESSIONS,
        )

    def running(self) -> AbstractAsyncContextManager[None]:
        """Serve within the block; it can be entered once."""
        return self._sessions.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, whose access `AccessMiddleware` has checked before."""
        if scope["method"] in ("GET", "HEAD"):  # a stream for messages that belong to no call: there are none
            answer = refusal(
                "There is no stream of notifications: POST a message.", 405, headers={"Allow": "POST, DELETE"}
            )
            await answer(scope, receive, send)
            return
        owner, attended = scope["state"]["owner"], CancelScope()
        scope["state"]["attended"] = attended
        # A session belongs to the owner who opened it.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=[]))

        async def watched() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                attended.cancel()
            return message

        await self._sessions.handle_request(scope, watched, send)
