"""The outermost layer of the server: it refuses requests before any page sees them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from validation.workbench.guard.hosts import allowed_host, is_loopback, own_names
from validation.workbench.guard.tokens import ACCESS, SESSION, Tokens, known_session, new_session

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_FORM_BYTES = 1 << 20
MOST_UPLOAD_BYTES = (16 << 20) + (64 << 10)  # the largest file, and the form around it
UPLOADS = ("/platforms/upload",)
PAUSE_S = 10.0  # longest pause within the body of a request
BODY_S = 60.0  # longest time for the whole body
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass
class Refused(Exception):
    """A request that gets no answer from a page."""

    status: int
    text: str


class Guard:
    """Checks host, origin, access token and size of every request, and adds the headers of every answer.

    Args:
        app: The application.
        tokens: The tokens of the project.
        bound: The address on which the server listens.
        body_s: Longest time for the body of a request, s.
        pause_s: Longest pause within it, s.
    """

    def __init__(
        self, app: ASGIApp, *, tokens: Tokens, bound: str, body_s: float = BODY_S, pause_s: float = PAUSE_S
    ):  # fmt: skip
        self._app, self._tokens, self._bound = app, tokens, bound
        self._body_s, self._pause_s = body_s, pause_s
        self._names = own_names()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as ASGI asks."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        answering = _Answering(send)
        try:
            headers = _single_headers(scope)
            self._check_host(headers)
            cookies = _cookies(headers.get("cookie", ""))
            if await self._let_in(scope, headers, cookies, answering):
                return
            if scope["method"] == "POST":
                _check_origin(headers)
                receive = self._limited(scope, headers, receive)
            elif scope["method"] not in ("GET", "HEAD"):
                raise Refused(405, "method: only GET and POST are answered. Use the pages.")
            session = known_session(cookies.get(SESSION))
            if not session:
                session = new_session()
                answering.cookie(SESSION, session)
            scope["state"] = {**scope.get("state", {}), "session": session}
            await self._app(scope, receive, answering.send)
        except Refused as err:
            await answering.refuse(err)

    def _check_host(self, headers: dict[str, str]) -> None:
        if not allowed_host(headers.get("host", ""), self._bound, self._names):
            raise Refused(421, "host: this is not a name of the server. Use the address that it printed.")

    async def _let_in(
        self, scope: Scope, headers: dict[str, str], cookies: dict[str, str], answering: _Answering
    ) -> bool:
        """Check the access token; return True if the request is answered with the cookie that has it."""
        if is_loopback(self._bound):
            return False
        if self._tokens.may_access(cookies.get(ACCESS, "")):
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["method"] != "GET" or not self._tokens.may_access(given):
            raise Refused(401, "token: it is missing or wrong. Open the address that the server printed.")
        answering.cookie(ACCESS, given)
        await answering.redirect("/")
        return True

    def _limited(self, scope: Scope, headers: dict[str, str], receive: Receive) -> Receive:
        """Return a ``receive`` that refuses bodies that are too large or too slow."""
        most = MOST_UPLOAD_BYTES if scope["path"] in UPLOADS else MOST_FORM_BYTES
        too_large = Refused(413, f"upload: larger than {most >> 20} MB. Send less, or copy the file into the folder.")
        told = headers.get("content-length", "0")
        if not told.isdecimal() or int(told) > most:
            raise too_large
        loop = asyncio.get_running_loop()
        end_s, seen, whole = loop.time() + self._body_s, 0, False

        async def limited() -> Message:
            nonlocal seen, whole
            if whole:  # what comes now is the end of the connection
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(0.01, min(self._pause_s, end_s - loop.time())))
            except TimeoutError:
                raise Refused(408, "upload: it is too slow. Send it again, or copy the file into the folder.") from None
            seen += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if seen > most:
                raise too_large
            return message

        return limited


class _Answering:
    """The answer to one request: adds headers and cookies to what the application sends."""

    def __init__(self, send: Send):
        self._send = send
        self._cookies: list[bytes] = []
        self._begun = False

    def cookie(self, name: str, value: str) -> None:
        """Set a cookie that scripts cannot read and that other sites cannot send."""
        self._cookies.append(f"{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000".encode())

    async def send(self, message: Message) -> None:
        """Send a message of the application."""
        if message["type"] == "http.response.start":
            self._begun = True
            headers = list(message.get("headers", []))
            present = {name.lower() for name, _ in headers}
            headers += [
                (name.encode(), text.encode()) for name, text in _HEADERS.items() if name.encode() not in present
            ]
            headers += [(b"set-cookie", cookie) for cookie in self._cookies]
            message = {**message, "headers": headers}
        await self._send(message)

    async def refuse(self, err: Refused) -> None:
        """Send the reason why there is no answer, unless an answer has begun."""
        if not self._begun:
            await self._whole(err.status, f"error: {err.text}\n".encode(), (b"connection", b"close"))

    async def redirect(self, place: str) -> None:
        """Send the browser to another page."""
        await self._whole(303, b"", (b"location", place.encode()))

    async def _whole(self, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
        kind = (b"content-type", b"text/plain; charset=utf-8")
        size = (b"content-length", str(len(body)).encode())
        await self.send({"type": "http.response.start", "status": status, "headers": [kind, size, *headers]})
        await self.send({"type": "http.response.body", "body": body})


def _check_origin(headers: dict[str, str]) -> None:
    """Refuse a form that a page of another site sends.  Browsers tell its origin in every POST."""
    origin = urlsplit(headers.get("origin", ""))
    if origin.scheme not in ("http", "https") or origin.netloc.lower() != headers["host"].lower():
        raise Refused(403, "origin: the form comes from another site. Use the pages of the workbench.")


def _single_headers(scope: Scope) -> dict[str, str]:
    """Return the headers by name; one that decides and is there twice is refused."""
    headers: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        if name in headers and name in ("host", "origin", "content-length"):
            raise Refused(400, f"{name}: the header is there twice. Send it once.")
        headers[name] = f"{headers[name]}; {value.decode('latin-1')}" if name in headers else value.decode("latin-1")
    return headers


def _cookies(header: str) -> dict[str, str]:
    try:
        return {name: cookie.value for name, cookie in SimpleCookie(header).items()}
    except CookieError:
        return {}
