"""A workbench that runs elsewhere, for scripts and notebooks: ``gridval.connect``."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from platforms.errors import UserError
from validation.comparison.compare import COLUMNS
from validation.interactive.results import Results, results

_LIMIT_S = 120.0  # of a request
_POLL_S = 1.0


def connect(link: str, token: str = "", *, name: str = "script") -> Workbench:
    """Return a workbench by the link that its server prints.

    Args:
        link: The link, such as ``http://127.0.0.1:8765/?token=...``.
        token: The token, where the link has none.
        name: The name that the queue shows for suites of this script.

    Raises:
        UserError: No workbench answers there, or it does not take the token.
    """
    parts = urlsplit(link)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UserError(f"connect {link!r}", "no link", "Give one such as http://127.0.0.1:8765/?token=...")
    given = token or parse_qs(parts.query).get("token", [""])[0]
    made = Workbench(f"{parts.scheme}://{parts.netloc}/api/v1", given, name)
    made.platforms()  # raises an error where it does not answer
    return made


@dataclass(frozen=True)
class Workbench:
    """A workbench, which is asked by its programming interface (docs/workbench.md)."""

    address: str
    token: str
    name: str

    def platforms(self) -> list[str]:
        """Return the names of the platforms."""
        return [platform["name"] for platform in self.ask("/platforms")["platforms"]]

    def suites(self) -> list[Suite]:
        """Return the suites of the queue."""
        return [Suite(self, suite["number"], suite["name"]) for suite in self.ask("/suites")["suites"]]

    def plan(self, text: str) -> list[str]:
        """Return what a suite costs and which predictions are refused, in lines as --dry-run prints them.

        Args:
            text: The text of a campaign file, whose names of files are relative to the folder of the suites.
        """
        counted = self.ask("/suites/count", {"text": text})
        return [f"{counted['runs']} runs, {counted['predictions']} predictions", *counted["plan"]]

    def queue(self, name: str, text: str, *, replace: bool = False) -> Suite:
        """Save and queue a suite.

        Args:
            name: Its name.
            text: The text of a campaign file.
            replace: Another suite of this name is replaced.

        Raises:
            UserError: The suite is wrong, or there is another one of this name.
        """
        body = {"name": name, "text": text, "user": self.name, "replace": replace}
        made = self.ask("/suites", body)
        return Suite(self, made["number"], made["name"])

    def ask(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request to a path below ``/api/v1`` and return the answer; with a body it is a POST.

        Raises:
            UserError: The workbench refuses it, or does not answer.
        """
        data = None if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        request = urllib.request.Request(self.address + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=_LIMIT_S) as answer:
                made: dict[str, Any] = json.load(answer)
                return made
        except urllib.error.HTTPError as err:
            raise _refused(path, err) from None
        except (OSError, ValueError) as err:
            reason = getattr(err, "reason", err)
            raise UserError(self.address, f"no workbench answers: {reason}", "Start it, or correct the link") from None


@dataclass(frozen=True)
class Suite:
    """A suite in the queue of a workbench."""

    workbench: Workbench
    number: int
    name: str

    @property
    def state(self) -> str:
        """The state of the suite as a whole."""
        return str(self.workbench.ask(f"/suites/{self.number}")["state"])

    def wait(self, limit_s: float | None = None) -> Suite:
        """Wait until no run waits or is made any more, and return the suite.

        Raises:
            UserError: It takes longer than the limit.
        """
        end_s = None if limit_s is None else time.monotonic() + limit_s
        while self.state in ("waiting", "running"):
            if end_s is not None and time.monotonic() >= end_s:
                raise UserError(f"suite {self.name}", f"it has not ended within {limit_s:g} s", "Wait for longer")
            time.sleep(_POLL_S)
        return self

    def results(self, **filters: object) -> Results:
        """Return the results so far, the same object as that of ``gridval.run``.

        Args:
            filters: Columns with the values that they have to have, such as ``app="cg"``.
        """
        query = urlencode({"suite": self.number, **{key: str(value) for key, value in filters.items()}})
        answer = self.workbench.ask(f"/results?{query}")
        return results(answer["rows"], tuple(answer["columns"]) or COLUMNS, [])

    def cancel(self) -> None:
        """Cancel the runs that wait or are being made."""
        self._act("cancel")

    def remove(self) -> None:
        """Remove the suite from the queue, with its results."""
        self._act("remove")

    def _act(self, action: str) -> None:
        self.workbench.ask(f"/suites/{self.number}/{quote(action)}", {})


def _refused(path: str, err: urllib.error.HTTPError) -> UserError:
    text = err.read().decode("utf-8", "replace")
    try:
        error = json.loads(text)["error"]
        return UserError(error["where"], error["problem"], error["remedy"])
    except (ValueError, KeyError, TypeError):
        return UserError(path, f"{err.code} {text.strip()[:200]}", "Give the token of the server's link")
