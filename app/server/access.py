"""Check each request's token, host, origin and length, and set the security headers of each response."""

import asyncio
import ipaddress
import logging
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.server.errors import Refused, refusal
from app.server.names import Names, naming
from app.server.people import People
from app.server.runs import INTERNAL
from core.text import clean, shortened
from models.redaction import Secrets

log = logging.getLogger("selfrag.server")
LARGEST_BODY = 4_000_000  # bytes of JSON: a long conversation
BODY_SECONDS = 20.0  # in which a body must come, plus a second for each ``BODY_RATE`` bytes
BODY_RATE = 10_000  # bytes
PRIVATE = ("/api/", "/v1/", "/metrics", "/mcp")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@dataclass(frozen=True)
class Access:
    """Who may ask now, and the host names that are allowed besides localhost and IP addresses."""

    people: Callable[[], People] = People
    hosts: frozenset[str] = frozenset()

    def refuses(self, headers: Headers, *, private: bool) -> str | None:
        """Return why a request is refused as one that a page of another site may have sent; None if it may be served.

        Unknown host names are refused, since another site can point its name at this machine (DNS rebinding).
        """
        host = headers.get("host", "")
        name = _host_of(host)
        if name != "localhost" and name not in self.hosts and address_of(name) is None:
            told = shortened(name or host, 100) or "that it was not given"
            return (
                f"This server does not go by the name {told}: reach it by its address, or start it with --allow-host."
            )
        origin = headers.get("origin")
        if origin is not None and not self._is_own(origin, host):
            return f"A page of {shortened(origin, 100)} may not use this server: open the server's own page."
        if private and headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return "A page of another site may not use this server: open the server's own page."
        return None

    def _is_own(self, origin: str, host: str) -> bool:
        """True if a page of this server sent the request, perhaps through a proxy that has an allowed name."""
        try:
            parts = urlsplit(origin)
            return parts.scheme in ("http", "https") and (
                parts.netloc.lower() == host.lower() or parts.hostname in self.hosts
            )
        except ValueError:
            return False


@dataclass
class AccessMiddleware:
    """ASGI middleware: check access, limit bodies, add headers, show names in place of paths, keep errors private."""

    app: ASGIApp
    access: Access
    largest_upload: int
    on_answer: Callable[[int], None]
    names: Callable[[str], Names]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                # Browsers ask for the page's files again, lest an old script meets a new server.
                headers.setdefault("Cache-Control", "no-store" if scope["path"].startswith(PRIVATE) else "no-cache")
                self.on_answer(message["status"])
            await send(message)

        try:
            answer, owner = self._refusal_of(scope) or self.app, scope.get("state", {}).get("owner")
            with naming(lambda: Names() if owner is None else self.names(owner)):
                await answer(scope, self._bounded(scope, receive), send_with_headers)
        except ClientDisconnect:
            log.debug("a client went away while it sent a body")
        except Exception:  # what it says is for the log
            log.error("%s", Secrets().redacted(clean(traceback.format_exc())))
            if started:
                raise  # the server closes the connection, so that the client sees that the answer is not whole
            await refusal(INTERNAL, 500)(scope, receive, send_with_headers)

    def _refusal_of(self, scope: Scope) -> ASGIApp | None:
        headers, private = Headers(scope=scope), scope["path"].startswith(PRIVATE)
        if reason := self.access.refuses(headers, private=private):
            return refusal(reason, 403)
        owner = self.access.people().owner_of(headers.get("authorization", ""))
        if owner is None and private:
            challenge = {"WWW-Authenticate": "Bearer"}
            return refusal("The token is missing or wrong: send Authorization: Bearer TOKEN.", 401, headers=challenge)
        scope.setdefault("state", {})["owner"] = owner
        most = self._most(scope)
        if int(headers.get("content-length", "0")) > most:  # h11 has refused what is not 1 to 20 digits
            return refusal(_too_large(most), 413)
        return None

    def _most(self, scope: Scope) -> int:
        upload = scope["method"] == "PUT" and scope["path"].startswith("/api/documents/")
        return self.largest_upload if upload else LARGEST_BODY

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """Return a ``receive`` that raises `Refused` for a body that is too large or too slow."""
        began, most = time.monotonic(), self._most(scope)
        read, complete = 0, False

        async def bounded() -> Message:
            nonlocal read, complete
            if complete:
                return await receive()
            try:
                async with asyncio.timeout(began + BODY_SECONDS + read / BODY_RATE - time.monotonic()):
                    message = await receive()
            except TimeoutError:
                raise Refused(408, "The body came too slowly: send it again.") from None
            read += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if read > most:
                raise Refused(413, _too_large(most))
            return message

        return bounded


def _too_large(most: int) -> str:
    return f"The body is larger than the {most / 1e6:,.0f} MB that this address takes: send less."


def _host_of(host: str) -> str:
    """Return the name in a Host header, without the port; "" if there is none."""
    try:
        return (urlsplit(f"//{host}").hostname or "") if host and not set(host) & set("/@?#\\") else ""
    except ValueError:
        return ""


def address_of(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address that a host is given by; None for a name."""
    with suppress(ValueError):
        return ipaddress.ip_address(name)
    return None
