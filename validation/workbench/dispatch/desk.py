"""The desk of a workbench, which pages ask to read platforms and suites and to queue suites."""

from __future__ import annotations

import base64
import json
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platforms.errors import UserError
from platforms.files.writing import write_whole
from platforms.wording import number_of
from validation.workbench.dispatch.dispatcher import Dispatcher
from validation.workbench.dispatch.readers import Readers
from validation.workbench.dispatch.reports import Reports
from validation.workbench.dispatch.webhooks import Webhooks
from validation.workbench.editing.drafts import KINDS as DRAFTED
from validation.workbench.editing.drafts import unsaved
from validation.workbench.guard.accounts import PERSON
from validation.workbench.project.folder import Project
from validation.workbench.project.shelf import Shelf
from validation.workbench.project.suite_files import check_files
from validation.workbench.project.uses import QUEUE, Use, names_file, uses_of
from validation.workbench.queue.states import Queue
from validation.workbench.queue.suites import RUNNING, WAITING, QueuedCase
from validation.workbench.queue.tables import Tables

_RECORDED = ("timelines", "graphs")  # folders of what is recorded of runs
_SHOWN = 16  # platforms whose descriptions and pictures are kept in memory
_LIMIT_S = 120.0  # to read a platform or a suite, or to evaluate an application
UPLOAD_S = 5.0  # to check an uploaded platform
MOST_WAITING = 100_000  # runs of a user that wait
_CHECK_S = 15.0  # to check a draft
_SHOWING_S = 900.0  # to record a timeline, or to write another table


@dataclass(frozen=True)
class Counted:
    """The size of a suite before it is queued."""

    runs: int
    predictions: int
    plan: tuple[str, ...]  # lines as --dry-run prints them, and the estimate of the time
    estimate: dict[str, Any] | None  # fields of ``work.estimating.Estimate``; None: none was asked for


class Desk:
    """One project with its queue, the dispatcher of its runs, and workers that read platforms and suites for pages."""

    def __init__(self, project: Project):
        self.project = project
        self.queue = Queue(Tables(project.private / "queue.sqlite"))
        self.dispatcher = Dispatcher(project, self.queue, self.text_of)
        self.reports = Reports(project, self.queue.changes)
        self.webhooks = Webhooks(project.webhooks, self.queue)
        self.shelf = Shelf(project, lambda kind, name: kind in DRAFTED and name in unsaved(project, kind))
        self._stopped, self._left = False, 0
        self.closing = False  # the server ends; pages must not wait any more
        self.readers = Readers(project)
        self._shown: OrderedDict[tuple[object, ...], dict[str, Any]] = OrderedDict()
        self._adding = threading.Lock()

    def start(self) -> None:
        """Begin with the runs that wait."""
        self.webhooks.start()
        self.dispatcher.start()
        self.readers.start()

    def stop(self) -> None:
        """End the worker processes; what they ran waits again.  Another call does nothing."""
        if not self._stopped:
            self._stopped = True
            self._left = self._count_left()
            self.webhooks.stop()
            self.readers.stop()
            self.reports.stop()
            self.dispatcher.stop()
            self.queue.tables.close()
            self.shelf.close()

    @property
    def left(self) -> int:
        """The number of runs that wait or are being made."""
        return self._left if self._stopped else self._count_left()

    def _count_left(self) -> int:
        return sum(suite.counts[WAITING] + suite.counts[RUNNING] for suite in self.queue.suites())

    def text_of(self, suite: int) -> str:
        """Return the text of a suite as it was queued.

        Raises:
            UserError: Its file is gone.
        """
        path = self._queued(suite)
        try:
            return path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as err:
            raise UserError(str(path), "the queued suite cannot be read", "Queue it again") from err

    def show(self, *, name: str = "", grid: str = "", picture: bool = False) -> dict[str, Any]:
        """Return a platform as ``validation.workbench.work.reading.show`` yields it.

        Raises:
            UserError: The platform is wrong.
        """
        place = Path(name)
        state = (place.stat().st_mtime_ns, place.stat().st_size) if place.is_file() else ()
        key = name, state, grid, picture
        if key not in self._shown:
            self._shown[key] = self._read("show", name=name, grid=grid, picture=picture)
            if len(self._shown) > _SHOWN:
                self._shown.popitem(last=False)
        return self._shown[key]

    def count(self, text: str, *, planned: bool = True) -> Counted:
        """Return the size of a suite, and its plan if it is wanted.

        Raises:
            UserError: The suite is wrong.
        """
        check_files(self.project, text)
        far = self.project.scheduler is not None
        places = (self.dispatcher.far_places or self.project.jobs) if far else self.project.jobs
        counted = self._read(
            "count", text=text, store=str(self.project.store), jobs=places, planned=planned,
            cold=not self.dispatcher.has_begun, far=far,
        )  # fmt: skip
        return Counted(counted["runs"], counted["predictions"], tuple(counted["plan"]), counted["estimate"])

    def describe(self, applications: Sequence[str], systems: Sequence[str]) -> dict[str, Any]:
        """Return the labels and variables of applications as ``validation.workbench.work.points.describe`` yields them.

        Raises:
            UserError: The worker cannot read them in time.
        """
        return self._read("describe", applications=list(applications), systems=list(systems))

    def add(self, name: str, owner: str, text: str) -> int:
        """Queue a suite as it is now, and return its number in the queue.

        Raises:
            UserError: The suite is wrong, or too many runs of the user wait.
        """
        check_files(self.project, text)
        waiting = self.queue.waiting_of(owner)
        expanded = self._read("expand", text=text)
        cases = [QueuedCase(number, *values) for number, values in enumerate(expanded["cases"])]
        if waiting + len(cases) > MOST_WAITING:
            problem = f"{waiting:,} runs of {owner} wait, and {len(cases):,} more are over {MOST_WAITING:,}"
            raise UserError("queue", problem, "Wait for some of them, or cancel a suite")
        with self._adding:  # the file has to be there before the first run is taken
            number = self.queue.next_number()
            write_whole(self._queued(number), text.encode())
            return self.queue.add(name, owner, cases)

    def check(self, task: str, **values: Any) -> dict[str, Any]:
        """Return the answer of a task of ``validation.workbench.work.checking``, which is quick.

        Raises:
            UserError: The draft cannot be checked.
        """
        return self.readers.value(f"{PERSON.get()} checks", task, _CHECK_S, **values)

    def evaluate(
        self, *, name: str, text: str, words: Sequence[str], limit_s: float = _LIMIT_S
    ) -> dict[str, Any]:  # fmt: skip
        """Return the result of an application, as ``validation.workbench.work.checking.evaluate`` yields it.

        Raises:
            UserError: The application or an option is wrong, or it takes too long.
        """
        lane = f"{PERSON.get()} evaluates"
        return self.readers.value(lane, "evaluate", limit_s, name=name, text=text, words=list(words))

    def check_upload(self, path: Path) -> None:
        """Check an uploaded platform file in a process of its own.

        Raises:
            UserError: It is not sound, or it takes too long to read.
        """
        try:
            self.readers.once("check_upload", UPLOAD_S, path=str(path))
        except UserError as err:
            if err.where != "worker":
                raise
            remedy = "Give a smaller platform, or copy the file into the folder platforms"
            raise UserError(str(path), f"it was not read: {err.problem} (limit {UPLOAD_S:g} s)", remedy) from None

    def remove(self, number: int) -> None:
        """Remove a suite from the queue, with its results; its file in the project and the store stay.

        Raises:
            UserError: There is no such suite.
        """
        self.dispatcher.cancel(number)
        self.reports.cancel(number)
        self.queue.remove(number)
        recorded = [path for what in _RECORDED for path in (self.project.private / what).glob(f"{number}-*.json")]
        for path in (self._queued(number), self.reports.path(number), *recorded):
            path.unlink(missing_ok=True)

    def uses_of(self, kind: str, name: str) -> list[Use]:
        """Return what names a file of the project: other files, and suites in the queue whose runs wait or run.

        Raises:
            UserError: There is no such file.
        """
        target = self.shelf.path(kind, name)
        uses = uses_of(self.project, kind, name)
        for suite in self.queue.suites():
            many = suite.counts[WAITING] + suite.counts[RUNNING]
            with suppress(UserError):  # its file is gone
                if many and names_file(self.text_of(suite.id), self.project.suites, target):
                    uses.append(Use(QUEUE, f"{suite.id}, {number_of(many, 'run')} of {suite.name} that will fail"))
        return uses

    def shown(self, what: str, run: int) -> dict[str, Any] | None:
        """Return what was recorded of a run; None: it is not recorded.

        Args:
            what: ``timeline`` or ``graph``; ``work.showing.timeline`` and ``work.graphs.graph`` say what they yield.
            run: Its number.
        """
        path = self._recorded(what, run)
        recorded: dict[str, Any] | None = json.loads(path.read_text("utf-8")) if path.is_file() else None
        return recorded

    def record(self, what: str, run: int) -> None:
        """Record the timeline or the graph of a run.

        Raises:
            UserError: It cannot be recorded, or takes too long.
        """
        known = self.queue.run(run)
        text = self.text_of(known["suite"])
        check_files(self.project, text)
        recorded = self._show(what, text=text, case=known["number"], known=known["platform_hash"])
        write_whole(_made(self._recorded(what, run)), json.dumps(recorded).encode())

    def write_report(self, number: int) -> None:
        """Have the report page of a suite written; ``reports`` tells how far it is.

        Raises:
            UserError: Not all of its runs are done, or it names code that this server does not run.
        """
        suite, text = self.queue.suite(number), self.text_of(number)
        if suite.done < suite.total:
            problem = f"{suite.done} of {suite.total} runs are done"
            raise UserError("report", problem, "Wait for the others, or try the failed ones again")
        check_files(self.project, text)
        self.reports.ask(number, suite.name, text)

    def as_parquet(self, lines: Iterable[str]) -> bytes:
        """Return a table in CSV as Parquet.

        Raises:
            UserError: The library for it is not installed.
        """
        reports = _made(self.project.private / "reports" / "x").parent  # where workers may write
        with tempfile.TemporaryDirectory(dir=reports) as folder:
            path, to = Path(folder) / "results.csv", Path(folder) / "results.parquet"
            with path.open("w", encoding="utf-8", newline="") as file:
                file.writelines(lines)
            self._show("parquet", path=str(path), to=str(to))
            return to.read_bytes()

    def as_file(self, picture: dict[str, Any], kind: str) -> bytes:
        """Return a figure as a file; both are as ``validation.workbench.work.pictures.drawn`` takes them."""
        return base64.b64decode(self._show("drawn", picture=picture, kind=kind)["file"])

    def _recorded(self, what: str, run: int) -> Path:
        return self.project.private / f"{what}s" / f"{self.queue.run(run)['suite']}-{run}.json"

    def _queued(self, suite: int) -> Path:
        return self.project.private / "queued" / f"{suite}.toml"

    def _read(self, task: str, **values: Any) -> dict[str, Any]:
        return self.readers.value(f"{PERSON.get()} reads", task, _LIMIT_S, **values)

    def _show(self, task: str, **values: Any) -> dict[str, Any]:
        return self.readers.value(f"{PERSON.get()} evaluates", task, _SHOWING_S, **values)


def _made(path: Path) -> Path:
    """Return a path whose folder exists."""
    path.parent.mkdir(exist_ok=True)
    return path
