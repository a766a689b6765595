"""The outermost layer of the server: it refuses requests before any page sees them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from validation.workbench.guard.accounts import OWNER, PERSON, READER, SESSION_S, VIEWER, Accounts, Person
from validation.workbench.guard.hosts import allowed_host, is_loopback, own_names
from validation.workbench.guard.limits import MOST_BODIES, MOST_REQUESTS, Limits, Refused
from validation.workbench.guard.tokens import Tokens

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


OPEN = ("/login", "/share/", "/feed/", "/static/")  # pages for those who are not logged in
API = "/api/"  # for scripts
STREAM = "/queue/events"


class Guard:
    """Checks host, origin, session, role and size of every request, and adds the headers of every answer.

    Args:
        app: The application.
        tokens: The tokens of the project.
        accounts: Its accounts and sessions.
        limits: Of what each person does at a time.
        may_read: Returns whether somebody with a link to a suite or a result may see an address.
        bound: The address on which the server listens.
        names: Further names by which browsers reach it, such as that of a proxy.
        body_s: Longest time for the body of a request, s.
        pause_s: Longest pause within it, s.
    """

    def __init__(
        self, app: ASGIApp, *, tokens: Tokens, accounts: Accounts, limits: Limits,
        may_read: Callable[[Person, str, str], bool], bound: str, names: tuple[str, ...] = (),
        body_s: float = BODY_S, pause_s: float = PAUSE_S,
    ):  # fmt: skip
        self._app, self._tokens, self._accounts, self._limits, self._bound = app, tokens, accounts, limits, bound
        self._may_read, self._body_s, self._pause_s = may_read, body_s, pause_s
        own = frozenset() if is_loopback(bound) else own_names()
        self._names = own | {name.lower() for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as ASGI asks."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        answering = _Answering(send, secure=scope["scheme"] == "https")
        try:
            headers = _single_headers(scope)
            self._check_host(headers)
            person, by_script = self._person(scope, headers)
            if await self._sent_elsewhere(scope, headers, person, answering):
                return
            posted = scope["method"] == "POST"
            if posted and not by_script:
                _check_origin(headers)
            elif scope["method"] not in ("GET", "HEAD", "POST"):
                raise Refused(405, "method: only GET and POST are answered. Use the pages.")
            self._check_role(scope, person)
            key = address_of(scope) if person is None else person.key
            holding = ExitStack()
            if posted:
                receive = self._limited(scope, headers, receive, key, holding)
            scope["state"] = {
                **scope.get("state", {}), "person": person, "session": person.session if person else "",
                "cookie": lambda session: answering.cookie(cookie_name(scope), session),
            }  # fmt: skip
            PERSON.set(key)
            counted = scope["path"] != STREAM  # streams are counted where they are made
            with holding:
                if counted:
                    holding.enter_context(self._limits.hold("requests", key, MOST_REQUESTS))
                await self._app(scope, receive, answering.send)
        except Refused as err:
            await answering.refuse(err)

    def _person(self, scope: Scope, headers: dict[str, str]) -> tuple[Person | None, bool]:
        """Return who sends a request, and whether a script does: it gives the token, which browsers never add."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and scope["path"].startswith(API):
            if self._tokens.may_access(given.strip()):
                return Person("", 0, "", OWNER), True
            return self._accounts.person(given.strip()), True
        return self._accounts.person(_cookies(headers.get("cookie", "")).get(cookie_name(scope), "")), False

    def _check_host(self, headers: dict[str, str]) -> None:
        if not allowed_host(headers.get("host", ""), self._bound, self._names):
            raise Refused(421, "host: this is not a name of the server. Use the address that it printed.")

    async def _sent_elsewhere(
        self, scope: Scope, headers: dict[str, str], person: Person | None, answering: _Answering
    ) -> bool:
        """Log a browser in that brings the token, or send one that is not logged in to the form; True: it is answered.

        Raises:
            Refused: A request that is not for a page comes without a session.
        """
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given, rest = dict(query).get("token"), urlencode([pair for pair in query if pair[0] != "token"])
        here = quote(scope["path"]) + (f"?{rest}" if rest else "")
        asked = scope["method"] == "GET"
        if asked and given is not None and self._tokens.may_access(given):
            if person is None or person.role == READER:
                answering.cookie(cookie_name(scope), self._accounts.begin(OWNER, address_of(scope)))
            await answering.redirect(here)
            return True
        if person is not None or scope["path"].startswith(OPEN):
            return False
        if headers.get("hx-request") == "true":  # a part of a page: the browser goes to the form
            seen = urlsplit(headers.get("hx-current-url", ""))
            form = f"/login?{urlencode({'next': seen.path + (f'?{seen.query}' if seen.query else '')})}"
            await answering.whole(401, b"", (b"hx-redirect", form.encode()))
            return True
        accepted = headers.get("accept", "*/*")
        wants_page = asked and not scope["path"].startswith(API) and ("text/html" in accepted or accepted == "*/*")
        if not wants_page:
            raise Refused(401, "session: there is none, or it has ended. Log in, or open the link of the server.")
        await answering.redirect(f"/login?{urlencode({'next': here})}")
        return True

    def _check_role(self, scope: Scope, person: Person | None) -> None:
        path, posted = scope["path"], scope["method"] == "POST"
        if person is None or path.startswith(OPEN) or path == "/logout":
            return
        if person.role == READER and (posted or not self._may_read(person, path, scope["query_string"].decode())):
            raise Refused(403, "link: it shows a suite or a result alone. Log in to see more.")
        if posted and person.role == VIEWER:
            raise Refused(403, "role: a viewer changes nothing. Ask an owner for the role editor.")

    def _limited(
        self, scope: Scope, headers: dict[str, str], receive: Receive, key: str, holding: ExitStack
    ) -> Receive:  # fmt: skip
        """Return a ``receive`` that refuses bodies that are too large, too slow or too many of a person at a time."""
        most = MOST_UPLOAD_BYTES if scope["path"] in UPLOADS else MOST_FORM_BYTES
        too_large = Refused(413, f"upload: larger than {most >> 20} MB. Send less, or copy the file into the folder.")
        told = headers.get("content-length", "0")
        if not told.isdecimal() or int(told) > most:
            raise too_large
        arriving = holding.enter_context(ExitStack())
        arriving.enter_context(self._limits.hold("forms", key, MOST_BODIES))
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
            self._limits.send(key, len(message.get("body", b"")))
            whole = not message.get("more_body", False)
            if whole:
                arriving.close()
            if seen > most:
                raise too_large
            return message

        return limited


class _Answering:
    """The answer to one request: adds headers and cookies to what the application sends."""

    def __init__(self, send: Send, *, secure: bool):
        self._send, self._secure = send, secure
        self._cookies: list[bytes] = []
        self._begun = False

    def cookie(self, name: str, session: str) -> None:
        """Set the cookie of a session, which scripts cannot read and other sites cannot send; empty: remove it."""
        lasts = f"Max-Age={SESSION_S if session else 0:.0f}{'; Secure' if self._secure else ''}"
        self._cookies.append(f"{name}={session}; Path=/; HttpOnly; SameSite=Lax; {lasts}".encode())

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
            await self.whole(err.status, f"error: {err.text}\n".encode(), (b"connection", b"close"))

    async def redirect(self, place: str) -> None:
        """Send the browser to another page."""
        await self.whole(303, b"", (b"location", place.encode()))

    async def whole(self, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
        """Send an answer that is not of the application."""
        kind = (b"content-type", b"text/plain; charset=utf-8")
        size = (b"content-length", str(len(body)).encode())
        await self.send({"type": "http.response.start", "status": status, "headers": [kind, size, *headers]})
        await self.send({"type": "http.response.body", "body": body})


def cookie_name(scope: Scope) -> str:
    """Return the name of the cookie: that of another server on this host is another one, because it has the port."""
    return f"workbench_{(scope.get('server') or ('', 0))[1]}"


def address_of(scope: Scope) -> str:
    """Return the address from which a request comes."""
    return str((scope.get("client") or ("unknown", 0))[0])


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
