"""Wall times of the steps of runs that were made on this computer, from which times of others are estimated."""

from __future__ import annotations

import math
import platform
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from apps.programs.kernel import named_kernel
from apps.programs.problem import Problem
from apps.spec.run_spec import RunSpec
from apps.store.database import DATABASE
from platforms.errors import UserError

RUN, RECORDING, MEASUREMENT, ANSWER, EVALUATION, CASE, START = KINDS = (
    "run", "recording", "measurement", "answer", "evaluation", "case", "start"
)  # fmt: skip
PROGRAM = "program "  # before the kind of a step of a program that is no kernel
FILE = "durations.sqlite"  # in the folder of the store
MOST_KEPT = 20_000  # steps
MOST_READ = 400  # the latest of each kind and name
_USUAL_MESSAGES = 100  # of a rank in an iteration of a program that does not say how many it sends
_STEADY = 5  # iterations that a steady run takes at least
_BUSY_S = 5.0
_SCHEMA = """CREATE TABLE IF NOT EXISTS steps (
    id INTEGER PRIMARY KEY, host TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, size TEXT NOT NULL,
    ranks INTEGER NOT NULL, amount REAL NOT NULL, wall_s REAL NOT NULL
)"""


@dataclass(frozen=True)
class Step:
    """A part of a run that takes time: a simulation, a recording, measurements, the answer of a predictor."""

    kind: str  # one of KINDS, of a program that is no kernel with PROGRAM before it
    name: str  # the kernel or program; of answers the predictor; of cases their predictors
    size: str = ""  # what steps of one name differ in beside numbers, such as the class
    ranks: int = 1
    amount: float = 1.0  # of work: messages, experiments, ranks


@dataclass
class Durations:
    """Wall times of the steps that are known."""

    known: dict[tuple[str, str], list[tuple[Step, float]]] = field(default_factory=dict)  # the latest come first

    def add(self, step: Step, wall_s: float) -> None:
        """Add a step behind all others of its name, as an older one."""
        self.known.setdefault((step.kind, step.name), []).append((step, wall_s))

    def of_kind(self, kind: str) -> list[tuple[Step, float]]:
        """Return the steps of a kind, whatever their name."""
        return [known for (of, _), steps in self.known.items() if of == kind for known in steps]


def run_step(spec: RunSpec, kind: str = RUN, iterations: int | None = None) -> Step:
    """Return the step that a simulation or a recording is; ``iterations`` of a recording, None: as the spec says."""
    target = spec.target
    if iterations is None:
        policies = {"full": target.iterations, "steady": min(_STEADY, target.iterations)}
        iterations = spec.iterations if isinstance(spec.iterations, int) else policies[spec.iterations]
    messages = iterations * target.nranks * _messages(target.problem, target.nranks)
    kind = kind if target.problem.program is None else f"{PROGRAM}{kind}"
    return Step(kind, target.problem.name, target.problem.label or "", target.nranks, max(1.0, messages))


def _messages(problem: Problem, ranks: int) -> float:
    """Return the rough number of messages of a rank in an iteration."""
    counted = None if problem.program is not None else named_kernel(problem.name).optional("exchanges", "rank_messages")
    return _USUAL_MESSAGES if counted is None else float(counted(dict(problem.params), ranks))


def keep(store: Path, steps: Iterable[tuple[Step, float]]) -> None:
    """Write down how long steps took; what cannot be written is not kept, because only estimates need it."""
    rows = [
        (platform.node(), step.kind, step.name, step.size, step.ranks, step.amount, wall_s) for step, wall_s in steps
    ]
    with suppress(sqlite3.Error), closing(_opened(store)) as connection, connection:
        connection.execute(_SCHEMA)
        connection.executemany(
            "INSERT INTO steps (host, kind, name, size, ranks, amount, wall_s) VALUES (?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        connection.execute("DELETE FROM steps WHERE id <= (SELECT max(id) FROM steps) - ?", (MOST_KEPT,))


def known_steps(store: Path) -> Durations:
    """Return the steps that were made on this computer, and the runs of the store, which are taken to be of it."""
    made = Durations()
    if (store / FILE).is_file():
        query = (
            "SELECT kind, name, size, ranks, amount, wall_s FROM (SELECT *, row_number() OVER (PARTITION BY kind, name"
            " ORDER BY id DESC) AS place FROM steps WHERE host = ?) WHERE place <= ? ORDER BY place"
        )
        with suppress(sqlite3.Error), closing(_opened(store)) as connection:
            for *values, wall_s in connection.execute(query, (platform.node(), MOST_READ)):
                made.add(Step(*values), wall_s)
    for step, wall_s in _of_store(store):
        if len(made.known.get((step.kind, step.name), ())) < MOST_READ:
            made.add(step, wall_s)
    return made


def _opened(store: Path) -> sqlite3.Connection:
    return sqlite3.connect(store / FILE, timeout=_BUSY_S)


def _of_store(store: Path) -> Iterable[tuple[Step, float]]:
    """Yield the simulated runs of kernels in a store with their wall times, the latest first."""
    query = (
        "SELECT json_extract(identity, '$.app') AS app, json_extract(identity, '$.class') AS class,"
        " json_extract(identity, '$.params') AS params, json_array_length(identity, '$.host') AS ranks,"
        " json_extract(identity, '$.iterations') AS iterations, json_extract(identity, '$.full_iterations') AS whole,"
        " json_extract(payload, '$.wall_s') AS wall_s FROM entries WHERE kind = 'record' AND payload IS NOT NULL"
        " AND json_extract(identity, '$.arguments') IS NULL AND json_extract(identity, '$.engine') = 'smpi'"
        " ORDER BY created_s DESC LIMIT ?"
    )
    rows: list[Mapping[str, Any]] = []
    if (store / DATABASE).is_file():
        with suppress(sqlite3.Error):
            uri = f"{(store / DATABASE).absolute().as_uri()}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_S)) as connection:
                connection.row_factory = sqlite3.Row
                rows = connection.execute(query, (MOST_KEPT,)).fetchall()
    for row in rows:
        with suppress(UserError, ValueError, TypeError, KeyError, ZeroDivisionError):
            yield _of_record(row)


def _of_record(row: Mapping[str, Any]) -> tuple[Step, float]:
    # Imported here for a quick start: pages that only list things do not need it.
    import json

    whole = int(row["whole"] or 1)
    iterations = {"steady": min(_STEADY, whole), "full": whole}.get(row["iterations"]) or int(row["iterations"])
    counted = named_kernel(row["app"]).optional("exchanges", "rank_messages")
    each = _USUAL_MESSAGES if counted is None else float(counted(dict(json.loads(row["params"])), row["ranks"]))
    wall_s = float(row["wall_s"])
    if not math.isfinite(wall_s):
        raise ValueError("no time")
    return Step(RUN, row["app"], row["class"] or "", row["ranks"], max(1.0, iterations * row["ranks"] * each)), wall_s
