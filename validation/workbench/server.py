"""The server of a workbench: its socket, its start and its end."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import ClassVar, TypeVar

import h11
import uvicorn
from filelock import FileLock, Timeout
from uvicorn.protocols.http.h11_impl import H11Protocol

from platforms.errors import UserError
from validation.workbench.application import application
from validation.workbench.dispatch.desk import Desk
from validation.workbench.guard.hosts import is_loopback
from validation.workbench.guard.tokens import Tokens
from validation.workbench.project.folder import Project

_Made = TypeVar("_Made")
MOST_WAITING = 1000  # connections on which no whole request has arrived; further ones end those that wait longest
_MOST_FILES = (
    1 << 14
)  # that are open at a time, connections included, where the system lets the process raise its limit
HEADERS_S = 10.0  # time for the headers of a request
_END_S = 3  # time that open requests get at the end


class _Protocol(H11Protocol):
    """A connection that is closed if a request does not begin, or its headers do not end, for some time.

    There is no limit on connections, which half requests and streams of events could take up so that pages get no
    answer: what persons do is limited by the guard, and of connections that wait for a request those that have waited
    longest end when there are too many.
    """

    _waiting: ClassVar[dict[_Protocol, None]] = {}  # in the order in which they began to wait

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._waits_since_s: float | None = None
        self._timer = self.loop.call_later(HEADERS_S / 4, self._look)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._timer.cancel()
        self._waiting.pop(self, None)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Take what has arrived; a request that is whole does not wait any more."""
        super().handle_events()
        if self.conn.their_state is not h11.IDLE:
            self._waiting.pop(self, None)

    def on_response_complete(self) -> None:
        """Wait for another request from now on."""
        self._waits_since_s = None  # requests between two looks are not seen by them
        super().on_response_complete()
        if not self.transport.is_closing():
            self._wait()

    def _wait(self) -> None:
        self._waiting.pop(self, None)
        self._waiting[self] = None
        if len(self._waiting) > MOST_WAITING:
            longest = next(iter(self._waiting))
            del self._waiting[longest]
            longest.transport.close()

    def _look(self) -> None:
        now_s = self.loop.time()
        if self.conn.their_state is not h11.IDLE:  # a request is being read or answered
            self._waits_since_s = None
        elif self._waits_since_s is None:
            self._waits_since_s = now_s
        elif now_s - self._waits_since_s >= HEADERS_S:
            self.transport.close()
        self._timer = self.loop.call_later(HEADERS_S / 4, self._look)


class _Server(uvicorn.Server):
    """A server that ends the streams of events at once when it is told to end."""

    def __init__(self, config: uvicorn.Config, desk: Desk):
        super().__init__(config)
        self._desk = desk

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end, on a signal."""
        self._desk.closing = True
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # requests that are cut now are no errors
        super().handle_exit(sig, frame)


def serve(project: Project, *, address: str, port: int, names: tuple[str, ...] = ()) -> int:
    """Serve a project until the process is interrupted.

    Args:
        project: The project.
        address: The address to listen on.
        port: The port; 0: any that is free.
        names: Names of a proxy by which browsers reach the server.

    Raises:
        UserError: The address cannot be listened on, or another server has the project open.
        KeyboardInterrupt: Always at the end, with the number of runs that wait, if any do.
    """
    with _alone(project), _listening(address, port) as listening:
        desk, tokens = _written(project, lambda: Desk(project)), Tokens(_written(project, project.secret))
        _print_address(project, tokens, listening, address)
        _raise_limit()
        config = uvicorn.Config(
            application(desk, tokens, bound=address, names=names), log_level="warning", access_log=False,
            server_header=False, http=_Protocol, proxy_headers=bool(names),
            timeout_keep_alive=5, timeout_graceful_shutdown=_END_S, ws="none",
        )  # fmt: skip
        try:
            with suppress(KeyboardInterrupt):  # raised again below, with what it means for the queue
                _Server(config, desk).run(sockets=[listening])
        finally:
            desk.stop()
    if desk.left:
        raise KeyboardInterrupt(f"{desk.left} {'run waits' if desk.left == 1 else 'runs wait'} in the queue")
    raise KeyboardInterrupt


def _raise_limit() -> None:
    """Let the process have as many connections as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


def _written(project: Project, make: Callable[[], _Made]) -> _Made:
    """Return what a function makes in the private folder of a project.

    Raises:
        UserError: The folder cannot be written, or its queue is damaged.
    """
    try:
        return make()
    except (OSError, sqlite3.Error) as err:
        raise _unwritable(project, err) from err


def _unwritable(project: Project, err: OSError | sqlite3.Error) -> UserError:
    why = err.strerror if isinstance(err, OSError) else err
    return UserError(str(project.private), f"{why}", "Make room, or mend or remove it")


@contextmanager
def _alone(project: Project) -> Iterator[None]:
    """Hold the lock of a project.  It is free again when the process has ended, whatever the reason."""
    lock = FileLock(project.private / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        remedy = "Use that one, or name another folder"
        raise UserError(str(project.folder), "another workbench has this folder open", remedy) from None
    except OSError as err:
        raise _unwritable(project, err) from err
    try:
        yield
    finally:
        lock.release()


def _listening(address: str, port: int) -> socket.socket:
    """Return a socket that listens."""
    try:
        family, kind, _, _, place = socket.getaddrinfo(
            address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]  # fmt: skip
    except (socket.gaierror, UnicodeError):
        raise UserError(f"--address {address}", "no such address", "Give one of this computer") from None
    made = socket.socket(family, kind)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(place)
        made.listen()
    except OSError as err:
        made.close()
        raise UserError(f"{address}, port {port}", f"{err.strerror}", "Give another --port or --address") from None
    return made


def _print_address(project: Project, tokens: Tokens, listening: socket.socket, address: str) -> None:
    port = listening.getsockname()[1]
    host = f"[{address}]" if ":" in address else address
    if address in ("0.0.0.0", "::"):
        host = socket.gethostname()
    print(f"workbench of {project.folder}: http://{host}:{port}/?token={tokens.access} (Ctrl-C ends it)", flush=True)
    print("Whoever has this link can start runs on this computer.", flush=True)
    if not is_loopback(address):
        print("The connection is not encrypted: put a proxy with TLS before it (docs/workbench.md).", flush=True)
