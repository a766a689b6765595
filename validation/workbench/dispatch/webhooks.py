"""Messages to addresses that the owner of the server has set, when a suite ends."""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import socket
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from platforms.errors import UserError
from validation.workbench.queue.states import Queue

MOST_WEBHOOKS = 8
_TIMEOUT_S = 10.0  # of a try as a whole
_WAITS_S = (2.0, 15.0)  # before the second and the third try, which is the last one
_MOST_WAITING = 100  # messages to an address; further ones are dropped
_STEP_S = 2.0  # interval between two looks for ends where nothing changes
_AGAIN = (408, 425, 429)  # statuses that are tried again, as those from 500 on are


@dataclass(frozen=True)
class Sent:
    """The latest message to an address."""

    host: str  # without the path, which may be a secret
    at_s: float | None = None  # seconds since 1970; None: there was none
    problem: str = ""  # why it did not arrive; empty: it did


def checked_webhook(text: str) -> SplitResult:
    """Return the parts of an address for messages.

    Raises:
        UserError: It is not plain HTTP or HTTPS, or has a name and a password.
    """
    remedy = "Give one such as https://chat.example.org/hooks/1"
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise UserError("--webhook", "not an address", remedy) from None
    plain = text.isascii() and text.isprintable() and " " not in text and len(text) <= 2000
    if parts.scheme not in ("http", "https") or not parts.hostname or not plain or parts.fragment:
        raise UserError("--webhook", "not an address of http or https", remedy)
    if parts.username is not None or parts.password is not None:
        raise UserError("--webhook", "it has a name or a password before the host", remedy)
    return parts


class Webhooks:
    """Sends a message to each address when a suite ends; each address has a thread, and waits for no other one.

    Args:
        addresses: The addresses.
        suites: The queue.
    """

    def __init__(self, addresses: Sequence[str], suites: Queue):
        self._queue = suites
        self._stopped = threading.Event()
        self._hooks = [_Hook(checked_webhook(text), self._stopped) for text in addresses]
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Send messages about suites that end from now on."""
        if not self._hooks:
            return
        seen = max((end["id"] for end in self._queue.ends(limit=1)), default=0)
        self._threads = [threading.Thread(target=self._watch, args=(seen,), daemon=True)]
        self._threads += [threading.Thread(target=hook.work, daemon=True) for hook in self._hooks]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Send no further message; one that is being sent is not waited for."""
        self._stopped.set()
        self._queue.changes.add()  # wakes the thread that looks for ends, which uses the queue
        for thread in self._threads[:1]:
            thread.join()

    def latest(self) -> list[Sent]:
        """Return the latest message to each address."""
        return [hook.latest for hook in self._hooks]

    def _watch(self, seen: int) -> None:
        changes = self._queue.changes
        while not self._stopped.is_set():
            count = changes.count
            with contextlib.suppress(sqlite3.OperationalError):  # busy: the next look has them
                for end in reversed(self._queue.ends(after=seen)):
                    seen = end["id"]
                    for hook in self._hooks:
                        hook.add(message_of(end))
            changes.wait(count, _STEP_S)


class _Hook:
    """One address with the messages that wait for it."""

    def __init__(self, address: SplitResult, stopped: threading.Event):
        self._address, self._stopped = address, stopped
        self._waiting: queue.Queue[bytes] = queue.Queue(_MOST_WAITING)
        self.latest = Sent(address.hostname or "")

    def add(self, message: Mapping[str, Any]) -> None:
        """Send a message as soon as those before it are sent, unless too many wait."""
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(json.dumps(message).encode())

    def work(self) -> None:
        """Send messages until the server ends."""
        while not self._stopped.is_set():
            with contextlib.suppress(queue.Empty):
                problem = self._deliver(self._waiting.get(timeout=_STEP_S))
                self.latest = Sent(self.latest.host, time.time(), problem)

    def _deliver(self, body: bytes) -> str:
        """Send a message, trying again a few times, and return why it did not arrive, or nothing."""
        problem = ""
        for wait_s in (0.0, *_WAITS_S):
            if self._stopped.wait(wait_s):
                break
            problem, again = self._try(body)
            if not again:
                break
        return problem

    def _try(self, body: bytes) -> tuple[str, bool]:
        """Send a message once; return what went wrong, and whether another try may help."""
        address = self._address
        kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        connection = kind(address.hostname or "", address.port, timeout=_TIMEOUT_S)
        end = threading.Timer(_TIMEOUT_S, _close, (connection,))  # an answer may come byte by byte
        end.daemon = True
        end.start()
        try:
            path = (address.path or "/") + (f"?{address.query}" if address.query else "")
            connection.request("POST", path, body, {"content-type": "application/json", "user-agent": "gridval"})
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException, ValueError) as err:
            return f"{(getattr(err, 'strerror', None) or type(err).__name__)}", True
        finally:
            end.cancel()
            connection.close()
        if 200 <= status < 300:
            return "", False
        moved = ", which is not followed" if 300 <= status < 400 else ""
        return f"status {status}{moved}", status in _AGAIN or status >= 500


def message_of(end: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message about a suite that has ended, as JSON values."""
    return {
        "event": "suite ended", "number": end["suite"], "name": end["name"], "owner": end["owner"],
        "state": end["state"], "counts": end["counts"], "ended": utc(end["at_s"]), "page": f"/queue/{end['suite']}",
    }  # fmt: skip


def utc(at_s: float) -> str:
    """Return a date of seconds since 1970 as RFC 3339 writes it.

    >>> utc(0)
    '1970-01-01T00:00:00Z'
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_s))


def _close(connection: http.client.HTTPConnection) -> None:
    with contextlib.suppress(OSError):
        if connection.sock is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)
