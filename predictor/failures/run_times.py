"""Run times without failures by number of nodes: from a law, a table, or a predictor of this project."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from apps.errors import SimulationError
from apps.spec.target import Target
from apps.traffic import runs_on
from platforms.errors import UserError
from platforms.files.commented_csv import checked_rows
from platforms.model.placement import block
from predictor.answers.answers import predict
from predictor.evidence.broker import Broker, RefusedEvidence
from predictor.failures.expected import LONGEST_S, SHORTEST_S

if TYPE_CHECKING:
    from apps.programs.problem import Problem
    from apps.runs.runner import Runner
    from apps.spec.settings import Settings
    from platforms.model.platform import Platform
    from predictor.base import Predictor
    from predictor.evidence.given import Given

_COLUMNS = ("nodes", "time_s")
MOST_NODES = 1_000_000_000


@dataclass(frozen=True)
class RunTimes:
    """Time of a run on each number of nodes."""

    nodes: np.ndarray  # ascending
    time_s: np.ndarray
    source: str  # description of the source, for output
    cautions: tuple[str, ...] = ()

    def repeated(self, times: int) -> RunTimes:
        """Return the times of ``times`` runs in a row, as one run.

        Raises:
            UserError: The time exceeds LONGEST_S.
        """
        longest_s = times * float(self.time_s.max())
        if longest_s > LONGEST_S:
            where = "run time" if times == 1 else f"--repeat {times}"
            raise UserError(where, f"{longest_s:g} s without failures", f"Give less work: up to {LONGEST_S:g} s")
        source = self.source if times == 1 else f"{times} times {self.source}"
        return RunTimes(self.nodes, times * self.time_s, source, self.cautions)


def amdahl(work_s: float, serial: float, nodes: np.ndarray) -> RunTimes:
    """Return T(P) = T_1 (f + (1 - f)/P), where f is the serial share; T_1/P for f = 0.

    G. M. Amdahl, "Validity of the single processor approach to achieving large scale computing capabilities", AFIPS
    1967.

    Args:
        work_s: T_1, the time on one node, s.
        serial: f, from 0 to 1.
        nodes: P, numbers of nodes.

    Raises:
        UserError: A value is out of its range.
    """
    if not SHORTEST_S <= work_s <= LONGEST_S:
        remedy = f"Give the seconds that one node takes, {SHORTEST_S:g} to {LONGEST_S:g}"
        raise UserError(f"--work {work_s:g}", "not a time", remedy)
    if not 0 <= serial <= 1:
        raise UserError(f"--serial {serial:g}", "not a share", "Give 0 to 1")
    source = f"{work_s:g} s of work" + (f", {100 * serial:g} % of it serial" if serial else "")
    return RunTimes(nodes, work_s * (serial + (1 - serial) / nodes), source)


def read_times(path: str) -> RunTimes:
    """Read a CSV file with the columns nodes and time_s; lines that begin with # are comments.

    Raises:
        UserError: The file cannot be read, or a value is wrong.
    """
    rows = checked_rows(path, _COLUMNS, "Name a CSV file of run times", where=f"--times {path}")
    times_s: dict[int, float] = {}
    for number, row in rows:
        where = f"--times {path}, line {number}"
        limits = (MOST_NODES, LONGEST_S)
        count, time_s = (_number(row[name], where, name, most) for name, most in zip(_COLUMNS, limits, strict=True))
        if count != int(count):
            raise UserError(where, f"{count:g} nodes", "Give a whole number")
        if count in times_s:
            raise UserError(where, f"{count:g} nodes again", "Give each number of nodes once")
        times_s[int(count)] = time_s
    if not times_s:
        raise UserError(f"--times {path}", "no times in it", "Give at least one line after the first")
    nodes = sorted(times_s)
    return RunTimes(np.array(nodes, float), np.array([times_s[n] for n in nodes]), f"times of {Path(path).name}")


def _number(text: str | None, where: str, name: str, most: float) -> float:
    try:
        value = math.nan if text is None else float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= most:
        raise UserError(where, f"{name} is {text!r}", f"Give a number above 0, up to {most:g}")
    return value


@dataclass(frozen=True)
class FailureQuestion:
    """Runs whose times a predictor gives: equal numbers of ranks per node, nodes in even shares of clusters."""

    model: Predictor
    problem: Problem
    platform: Platform
    nodes: tuple[int, ...]
    settings: Settings
    given: Given | None = None  # a recording of the program from the user
    ranks_per_node: int = 1

    def targets(self) -> Iterator[tuple[int, Target | None]]:
        """Yield each number of nodes with its target; None: the program refuses this number of ranks."""
        for count in self.nodes:
            ranks = count * self.ranks_per_node
            placement = block(self.platform, ranks, self.ranks_per_node) if runs_on(self.problem, ranks) else None
            yield count, None if placement is None else Target(self.problem, self.platform, placement)


def predicted(asked: FailureQuestion, runner: Runner) -> RunTimes:
    """Predict run times.

    Numbers of nodes that the program refuses, or that are out of the predictor's range, are left out, with a caution.

    Raises:
        UserError: No number of nodes is in the predictor's range.
    """
    known: list[tuple[int, float]] = []
    cautions: list[str] = []
    # One at a time: a run on few nodes may be evidence for more nodes, but not for itself.
    for count, target in asked.targets():
        if target is None:
            cautions.append(f"{count} nodes: left out: {asked.problem} does not run on this number of ranks")
            continue
        try:
            (answer,) = predict(asked.model, [target], Broker.of(asked.settings, [target], runner, asked.given))
        except RefusedEvidence as err:
            cautions.append(f"{count} nodes: left out: {err.problem}")
            continue
        except SimulationError as err:  # such as a program that does not run on one rank
            cautions.append(f"{count} nodes: left out: {err}")
            continue
        if answer.prediction is None:
            cautions.append(f"{count} nodes: left out: {answer.refusal}")
            continue
        known.append((count, answer.prediction.time_s))
        cautions += [f"{count} nodes: {flag}" for flag in answer.prediction.flags]
    if not known:
        raise UserError(
            f"--predictor {asked.model.name}", f"no number of nodes is in its range: {cautions[0]}", "Try another"
        )
    each = "" if asked.ranks_per_node == 1 else f", {asked.ranks_per_node} ranks per node"
    return RunTimes(
        np.array([count for count, _ in known], float),
        np.array([time_s for _, time_s in known]),
        f"{asked.problem} on {asked.platform.name}{each}, predicted by {asked.model.name}",
        tuple(cautions),
    )
