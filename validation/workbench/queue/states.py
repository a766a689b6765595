"""The queue: which suites there are, and the state of each of their runs.

Every change is one transaction, so that a server that is killed leaves a queue that the next one goes on with.
"""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from platforms.errors import UserError
from validation.workbench.queue.suites import (
    CANCELLED,
    DONE,
    FAILED,
    RUNNING,
    STATES,
    UNANSWERED,
    WAITING,
    Changes,
    Job,
    QueuedCase,
    Suite,
)
from validation.workbench.queue.tables import COSTS, Tables

_OF_RUN = "platform, network, app, class, ranks, mapping"
_OF_RESULT = (
    *("efficiency", "predictor", "predicted_s", "simulated_s", "error_pct", "abs_error_pct", "evidence_share"),
    *COSTS,
    "flags",
)
MOST_REASON = 2000  # characters
MOST_ENDS = 200  # of suites that are kept


class Queue:
    """The suites of all users of a project and the states of their runs."""

    def __init__(self, tables: Tables):
        self.tables = tables
        self.changes = Changes()

    def add(self, name: str, owner: str, cases: Sequence[QueuedCase]) -> int:
        """Add a suite behind all others and return its number."""
        with self.tables.changing() as connection:
            (last,) = connection.execute("SELECT coalesce(max(place), 0) FROM suites").fetchone()
            added = self.next_number()
            connection.execute(
                "INSERT INTO suites (id, name, owner, created_s, place) VALUES (?, ?, ?, ?, ?)",
                (added, name, owner, time.time(), last + 1),
            )
            first = self.tables.next_number("runs")
            connection.executemany(
                "INSERT INTO runs (id, suite, number, platform, network, app, class, ranks, mapping, efficiency,"
                " platform_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                ((run, added, *case.values) for run, case in enumerate(cases, first)),
            )
            connection.executemany(
                "INSERT INTO points (run, suite, point) VALUES (?, ?, ?)",
                ((run, added, case.point) for run, case in enumerate(cases, first) if case.point),
            )
        self.changes.add()
        return added

    def next_number(self) -> int:
        """Return the number that the next suite will have."""
        return self.tables.next_number("suites")

    def waits(self) -> bool:
        """Return whether a run waits."""
        return bool(self.tables.rows("SELECT 1 FROM runs WHERE state = ? LIMIT 1", (WAITING,)))

    def waiting_of(self, owner: str) -> int:
        """Return the number of runs that wait in all suites of a user."""
        query = "SELECT count(*) FROM runs r JOIN suites s ON s.id = r.suite WHERE r.state = ? AND s.owner = ?"
        return int(self.tables.rows(query, (WAITING, owner))[0][0])

    def suites(self) -> list[Suite]:
        """Return all suites in the order in which they are worked on."""
        return self._suites("")

    def suite(self, number: int) -> Suite:
        """Return one suite.

        Raises:
            UserError: There is none of this number.
        """
        suites = self._suites("WHERE s.id = ?", (number,))
        if not suites:
            raise UserError(f"suite {number}", "the queue has no such suite", "Choose one from the queue")
        return suites[0]

    def _suites(self, where: str, values: Sequence[int] = ()) -> list[Suite]:
        rows = self.tables.rows(
            "SELECT s.id, s.name, s.owner, s.created_s, r.state, count(r.id) AS many, sum(r.ranks) AS ranks,"
            " min(r.started_s) AS begun_s, max(r.finished_s) AS last_s FROM suites s LEFT JOIN runs r"
            f" ON r.suite = s.id {where} GROUP BY s.id, r.state ORDER BY s.place, s.id",
            values,
        )
        suites: dict[int, Suite] = {}
        for row in rows:
            counts, ranks = dict.fromkeys(STATES, 0), dict.fromkeys(STATES, 0)
            new = Suite(row["id"], row["name"], row["owner"], row["created_s"], counts, ranks)
            suite = suites.setdefault(row["id"], new)
            if row["state"] is not None:
                suite.counts[row["state"]], suite.ranks[row["state"]] = row["many"], row["ranks"]
            begun = [time_s for time_s in (suite.begun_s, row["begun_s"]) if time_s is not None]
            last = [time_s for time_s in (suite.last_s, row["last_s"]) if time_s is not None]
            suites[row["id"]] = replace(suite, begun_s=min(begun, default=None), last_s=max(last, default=None))
        return list(suites.values())

    def runs(self, suite: int, state: str = "", *, offset: int = 0, limit: int = 100) -> list[Mapping[str, Any]]:
        """Return runs of a suite in their order; ``state`` leaves out those of other states."""
        query = "SELECT * FROM runs WHERE suite = ? AND (? = '' OR state = ?) ORDER BY number LIMIT ? OFFSET ?"
        return [dict(row) for row in self.tables.rows(query, (suite, state, state, limit, offset))]

    def with_results(self, runs: Sequence[Mapping[str, Any]]) -> set[int]:
        """Return the numbers of those runs that have results."""
        query = f"SELECT DISTINCT run FROM results WHERE run IN ({', '.join('?' * len(runs))})"
        return {row["run"] for row in self.tables.rows(query, [run["id"] for run in runs])}

    def run(self, number: int) -> Mapping[str, Any]:
        """Return one run.

        Raises:
            UserError: There is none of this number.
        """
        rows = self.tables.rows("SELECT * FROM runs WHERE id = ?", (number,))
        if not rows:
            raise UserError(f"run {number}", "the queue has no such run", "Choose one from the queue")
        return dict(rows[0])

    def take(self, most: int) -> Job | None:
        """Return the next runs to make, which now count as running; None: nothing waits.

        All runs of a job belong to one suite.  The users share the places evenly: the next run is one of the user who
        has the fewest running, and the order of the list decides among suites of one user.
        """
        with self.tables.changing() as connection:
            chosen = connection.execute(
                "SELECT s.id FROM suites s WHERE EXISTS (SELECT 1 FROM runs r WHERE r.suite = s.id AND r.state = ?)"
                " ORDER BY (SELECT count(*) FROM runs w JOIN suites o ON o.id = w.suite"
                " WHERE w.state = 'running' AND o.owner = s.owner), s.place LIMIT 1",
                (WAITING,),
            ).fetchone()
            if chosen is None:
                return None
            rows = connection.execute(
                "SELECT id, number, platform_hash FROM runs WHERE suite = ? AND state = ? ORDER BY number LIMIT ?",
                (chosen["id"], WAITING, most),
            ).fetchall()
            now = time.time()
            connection.executemany(
                "UPDATE runs SET state = ?, reason = '', started_s = ?, finished_s = NULL WHERE id = ?",
                [(RUNNING, now, row["id"]) for row in rows],
            )
        self.changes.add()
        numbers = {row["number"]: row["id"] for row in rows}
        return Job(chosen["id"], numbers, {row["number"]: row["platform_hash"] for row in rows})

    def finish(self, run: int, results: Sequence[Mapping[str, Any]], reason: str = "") -> bool:
        """Keep the results of a run, or the reason why it failed; return False if it does not count as running.

        A run that was cancelled in the meantime stays so, and its results are dropped.  One whose predictors all refuse
        to answer has a state of its own, with the first refusal.
        """
        state = FAILED if reason else DONE
        if not reason and results and all(row.get("predicted_s") is None for row in results):
            state, reason = UNANSWERED, str(results[0].get("flags") or "")
        with self.tables.changing() as connection:
            done = connection.execute(
                "UPDATE runs SET state = ?, reason = ?, finished_s = ? WHERE id = ? AND state = ?",
                (state, reason[:MOST_REASON], time.time(), run, RUNNING),
            ).rowcount
            if done:
                self._keep(connection, run, results)
                self._note_end(connection, "SELECT suite FROM runs WHERE id = ?", run)
        self.changes.add()
        return bool(done)

    def _note_end(self, connection: sqlite3.Connection, query: str, value: int) -> None:
        """Note that a suite has ended, if none of its runs waits or runs; the query returns its number."""
        (suite,) = connection.execute(query, (value,)).fetchone()
        goes_on = "SELECT 1 FROM runs WHERE suite = ? AND state IN (?, ?) LIMIT 1"
        if connection.execute(goes_on, (suite, WAITING, RUNNING)).fetchone() is None:
            row = connection.execute("SELECT name, owner FROM suites WHERE id = ?", (suite,)).fetchone()
            counted = connection.execute("SELECT state, count(*) FROM runs WHERE suite = ? GROUP BY state", (suite,))
            counts = dict(counted.fetchall())
            state = next((state for state in (CANCELLED, FAILED) if counts.get(state)), DONE)
            connection.execute(
                "INSERT INTO ends (suite, name, owner, state, counts, at_s) VALUES (?, ?, ?, ?, ?, ?)",
                (suite, row["name"], row["owner"], state, json.dumps(counts), time.time()),
            )
            connection.execute("DELETE FROM ends WHERE id <= (SELECT max(id) FROM ends) - ?", (MOST_ENDS,))

    def ends(self, *, after: int = 0, limit: int = MOST_ENDS) -> list[dict[str, Any]]:
        """Return when suites ended, the latest first, with the number of runs in each state.

        Args:
            after: Only those whose number is larger.
            limit: At most this many.
        """
        query = "SELECT * FROM ends WHERE id > ? ORDER BY id DESC LIMIT ?"
        return [{**dict(row), "counts": json.loads(row["counts"])} for row in self.tables.rows(query, (after, limit))]

    def _keep(self, connection: sqlite3.Connection, run: int, results: Sequence[Mapping[str, Any]]) -> None:
        """Keep the results of a run; one that it had before it was tried again keeps its number."""
        columns, places = ", ".join(_OF_RESULT), ", ".join("?" * len(_OF_RESULT))
        known = dict(connection.execute("SELECT predictor, id FROM results WHERE run = ?", (run,)).fetchall())
        added = self.tables.next_number("results")
        for row in results:
            values = [row.get(key) for key in _OF_RESULT]
            if row["predictor"] in known:
                number = known[row["predictor"]]
                connection.execute(f"UPDATE results SET ({columns}) = ({places}) WHERE id = ?", (*values, number))
                connection.execute("UPDATE details SET fields = ? WHERE result = ?", (_json(row), number))
                continue
            connection.execute(
                f"INSERT INTO results (id, run, suite, {_OF_RUN}, {columns})"
                f" SELECT ?, id, suite, {_OF_RUN}, {places} FROM runs WHERE id = ?",
                (added, *values, run),
            )
            connection.execute("INSERT INTO details VALUES (?, ?)", (added, _json(row)))
            added += 1

    def give_back(self, runs: Sequence[int] | None = None) -> None:
        """Let runs that count as running wait again; None: all of them, as after the end of a server."""
        with self.tables.changing() as connection:
            if runs is None:
                connection.execute("UPDATE runs SET state = ?, started_s = NULL WHERE state = ?", (WAITING, RUNNING))
            else:
                connection.executemany(
                    "UPDATE runs SET state = ?, started_s = NULL WHERE id = ? AND state = ?",
                    [(WAITING, run, RUNNING) for run in runs],
                )
        self.changes.add()

    def cancel(self, suite: int) -> None:
        """Cancel the runs of a suite that wait or run; the caller ends the work on those that run."""
        if self._move(suite, (WAITING, RUNNING), CANCELLED):
            with self.tables.changing() as connection:
                self._note_end(connection, "SELECT id FROM suites WHERE id = ?", suite)
            self.changes.add()

    def resume(self, suite: int) -> None:
        """Let the cancelled runs of a suite wait again."""
        self._move(suite, (CANCELLED,), WAITING)

    def retry(self, suite: int) -> None:
        """Let the failed runs of a suite wait again."""
        self._move(suite, (FAILED,), WAITING)

    def remove(self, suite: int) -> None:
        """Remove a suite with its runs and results; the caller has ended the work on it.  Its numbers stay used."""
        self.suite(suite)
        with self.tables.changing() as connection:
            for kind in ("suites", "runs", "results"):
                connection.execute(
                    "INSERT INTO used VALUES (?, ?) ON CONFLICT (kind) DO UPDATE SET last = excluded.last",
                    (kind, self.tables.next_number(kind) - 1),
                )
            connection.execute("DELETE FROM details WHERE result IN (SELECT id FROM results WHERE suite = ?)", (suite,))
            of_suite = ("results", "points", "logs", "ends", "runs")
            for kind, column in (*((kind, "suite") for kind in of_suite), ("suites", "id")):
                connection.execute(f"DELETE FROM {kind} WHERE {column} = ?", (suite,))
        self.changes.add()

    def _move(self, suite: int, states: Sequence[str], to: str) -> int:
        """Move the runs of a suite that are in some states to another one, and return how many."""
        self.suite(suite)
        with self.tables.changing() as connection:
            moved = connection.execute(
                f"UPDATE runs SET state = ?, reason = '' WHERE suite = ? AND state IN ({', '.join('?' * len(states))})",
                (to, suite, *states),
            ).rowcount
        self.changes.add()
        return moved

    def shift(self, suite: int, *, up: bool) -> None:
        """Exchange the places of a suite and of the one before it, or after it."""
        order = [suite.id for suite in self.suites()]
        if suite not in order:
            self.suite(suite)  # raises the error
        here = order.index(suite)
        there = here - 1 if up else here + 1
        if 0 <= there < len(order):
            order[here], order[there] = order[there], order[here]
            with self.tables.changing() as connection:
                connection.executemany("UPDATE suites SET place = ? WHERE id = ?", [*enumerate(order, 1)])
        self.changes.add()


def _json(row: Mapping[str, Any]) -> str:
    """Return a row as JSON, which has no infinite numbers and no NaN."""
    return json.dumps({
        key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in row.items()
    })  # fmt: skip
