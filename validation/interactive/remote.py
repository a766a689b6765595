"""A workbench that runs elsewhere, for scripts and notebooks: ``gridval.connect``."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pandas as pd

from platforms.errors import UserError
from platforms.files.writing import write_whole
from validation.comparison.compare import COLUMNS
from validation.interactive.results import results

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

    def results(self, *, columns: Sequence[str] = (), search: str = "", **filters: object) -> pd.DataFrame:
        """Return results of all suites, or by filters.

        With all columns, those of kernels and programs are the same object as that of ``gridval.run``.

        Args:
            columns: Columns of the page of results, or fields of results.csv; none: all of results.csv.
            search: Words that each result has in its names or cautions.
            filters: Columns with the values that they have to have, such as ``app="cg"`` or ``ranks=[2, 4]``.
        """
        answer = self.ask(f"/results?{_query({'column': list(columns), 'q': search, **filters})}")
        return _table(answer)

    def figure(self, show: str = "time", over: str = "", **filters: object) -> Drawn:
        """Return a figure of a quantity over a parameter, as the page of figures draws it.

        Args:
            show: The quantity: time, speedup, efficiency, energy, error or success.
            over: The parameter, such as ranks; empty: the first one that differs.
            filters: As of ``results``; ``x`` and ``y`` are scales of axes, log or linear.
        """
        return Drawn.of(self, f"/figures/figure?{_query({'show': show, 'over': over, **filters})}")

    def front(self, **filters: object) -> Drawn:
        """Return the front of time and energy of each workload; the filters are those of ``results``."""
        return Drawn.of(self, f"/figures/front?{_query(filters)}")

    def views(self) -> list[View]:
        """Return the saved views."""
        return [View.of(self, view) for view in self.ask("/views")["views"]]

    def save_view(self, name: str, *, columns: Sequence[str] = (), search: str = "", **filters: object) -> View:
        """Save the table of some results under a name, and return the view.

        Raises:
            UserError: The name is taken, or a filter is not known.
        """
        query = _query({"column": list(columns), "q": search, **filters})
        return View.of(self, self.ask("/views", {"name": name, "query": query, "user": self.name}))

    def fetch(self, path: str) -> bytes:
        """Return a file of a path below ``/api/v1``.

        Raises:
            UserError: The workbench refuses it, or does not answer.
        """
        return self._sent(path, None)

    def ask(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request to a path below ``/api/v1`` and return the answer; with a body it is a POST.

        Raises:
            UserError: The workbench refuses it, or does not answer.
        """
        sent = self._sent(path, None if body is None else json.dumps(body).encode())
        try:
            answer: dict[str, Any] = json.loads(sent)
        except ValueError as err:
            raise UserError(self.address, f"no workbench answers: {err}", "Start it, or correct the link") from None
        return answer

    def _sent(self, path: str, data: bytes | None) -> bytes:
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        request = urllib.request.Request(self.address + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=_LIMIT_S) as answer:
                sent: bytes = answer.read()
                return sent
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

    def results(self, **filters: object) -> pd.DataFrame:
        """Return the results so far: of kernels and programs, the same object as that of ``gridval.run``.

        Args:
            filters: Columns with the values that they have to have, such as ``app="cg"`` or ``ranks=[2, 4]``.
        """
        answer = self.workbench.ask(f"/results?{_query({'suite': self.number, **filters})}")
        return _table(answer)

    def cancel(self) -> None:
        """Cancel the runs that wait or are being made."""
        self._act("cancel")

    def remove(self) -> None:
        """Remove the suite from the queue, with its results."""
        self._act("remove")

    def _act(self, action: str) -> None:
        self.workbench.ask(f"/suites/{self.number}/{quote(action)}", {})


@dataclass(frozen=True)
class View:
    """A saved view of a workbench."""

    workbench: Workbench
    number: int
    name: str
    place: str  # the page that it shows
    query: str

    @staticmethod
    def of(workbench: Workbench, answer: Mapping[str, Any]) -> View:
        """Return the view of an answer."""
        return View(workbench, answer["number"], answer["name"], answer["place"], answer["query"])

    @property
    def link(self) -> str:
        """The address that stays."""
        return f"{self.workbench.address.removesuffix('/api/v1')}/views/{self.number}"

    def results(self) -> pd.DataFrame:
        """Return the results that it shows, with its columns."""
        answer = self.workbench.ask(f"/results?{self.query}")
        return pd.DataFrame(answer["rows"], columns=answer["columns"])

    def remove(self) -> None:
        """Remove the view; its results stay."""
        self.workbench.ask(f"/views/{self.number}/remove", {})


@dataclass(frozen=True)
class Drawn:
    """A figure that a workbench has drawn; a notebook shows it."""

    workbench: Workbench
    path: str
    title: str
    link: str  # the address that stays
    commit: str  # of the software that drew it
    sha256: str  # of its rows as CSV
    rows: pd.DataFrame
    svg: str

    @staticmethod
    def of(workbench: Workbench, path: str) -> Drawn:
        """Return the figure of a path."""
        answer = workbench.ask(path)
        rows = pd.DataFrame(answer["rows"], columns=answer["columns"])
        return Drawn(
            workbench, path, title=answer["title"], link=answer["link"], commit=answer["commit"],
            sha256=answer["sha256"], rows=rows, svg=answer["svg"],
        )  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure to a file; the ending of its name, .svg, .png or .csv, decides the format.

        Raises:
            UserError: It is another ending, there is nothing to draw, or the file cannot be written.
        """
        kind = os.fspath(path).rpartition(".")[2].lower()
        if kind not in ("svg", "png", "csv"):
            raise UserError(f"save {os.fspath(path)}", "no kind of figure", "End the name with .svg, .png or .csv")
        name, _, query = self.path.partition("?")
        made = self.workbench.fetch(f"{name}.{kind}?{query}")
        try:
            write_whole(Path(path), made)
        except OSError as err:
            problem = f"it cannot be written: {err.strerror}"
            raise UserError(os.fspath(path), problem, "Give a file in a folder that may be written") from None

    def _repr_svg_(self) -> str:
        return self.svg


def _table(answer: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of an answer; with all columns of results.csv, as the object that draws itself."""
    columns = tuple(answer["columns"]) or COLUMNS
    if set(columns) >= set(COLUMNS):
        return results(answer["rows"], columns, [])
    return pd.DataFrame(answer["rows"], columns=list(columns))


def _query(values: Mapping[str, object]) -> str:
    """Return values as the query of an address; each of a list stands for itself, and what is empty is left out."""
    texts: dict[str, list[str]] = {}
    for key, value in values.items():
        every = value if isinstance(value, list | tuple) else [value]
        texts[key] = [str(one) for one in every if one not in (None, "")]
    return urlencode(texts, doseq=True)


def _refused(path: str, err: urllib.error.HTTPError) -> UserError:
    text = err.read().decode("utf-8", "replace")
    try:
        error = json.loads(text)["error"]
        return UserError(error["where"], error["problem"], error["remedy"])
    except (ValueError, KeyError, TypeError):
        return UserError(path, f"{err.code} {text.strip()[:200]}", "Give the token of the server's link")
