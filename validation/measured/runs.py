"""Measured runs of a cluster: read them, choose those that are evidence, and place their ranks."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.programs.kernel import kernel_names
from apps.programs.problem import Problem, problem
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.files.commented_csv import checked_rows
from platforms.model.platform import Platform
from platforms.wording import number_of
from predictor.base import OutOfRange
from predictor.contention.predictor import busy_cores, ranks_beside

COLUMNS = ("app", "class", "ranks", "nodes", "time_s")
_CHOICE = re.compile(r"(?:([a-z][\w.-]*):)?(?:(\d{1,9})@)?(\d{1,9})", re.IGNORECASE)


@dataclass(frozen=True)
class Run:
    """A measured run."""

    app: str
    preset: str  # the class
    ranks: int
    nodes: int
    time_s: float  # median, where the file has several

    def __str__(self) -> str:
        ranks, nodes = number_of(self.ranks, "rank"), number_of(self.nodes, "node")
        return f"{self.app} {self.preset}, {ranks} on {nodes}"


@dataclass(frozen=True)
class RunSelector:
    """A choice of runs: all on a number of nodes, or only those of a number of ranks there, or of one program."""

    nodes: int
    ranks: int | None = None
    app: str | None = None

    def has(self, run: Run) -> bool:
        """Return whether a run is chosen."""
        return run.nodes == self.nodes and self.ranks in (None, run.ranks) and self.app in (None, run.app)


def choices(option: str, text: str) -> tuple[RunSelector, ...]:
    """Return the choices of a list such as ``1,2,8@8,ft:64@16``: nodes, or ranks @ nodes, of all programs or one.

    Raises:
        UserError: The text is something else.
    """
    selectors = []
    for part in filter(None, text.split(",")):
        match = _CHOICE.fullmatch(part.strip())
        if match is None:
            raise UserError(f"{option} {text}", f"{part!r} is no choice", "Write for example 1,2,8@8: ranks @ nodes")
        app, ranks, nodes = match.groups()
        selectors.append(RunSelector(int(nodes), None if ranks is None else int(ranks), app and app.lower()))
    return tuple(selectors)


def read_runs(path: str) -> list[Run]:
    """Return the runs of a CSV file with the columns of COLUMNS; others are left out.

    Raises:
        UserError: The file cannot be read or a line is wrong; the error names the line.
    """
    rows = checked_rows(path, COLUMNS, "Name a CSV file of measured runs")
    times: dict[tuple[str, str, int, int], list[float]] = {}
    for line, row in rows:
        where = f"{path}:{line}"
        key = (_word(where, "app", row), _word(where, "class", row), *(_count(where, n, row) for n in COLUMNS[2:4]))
        times.setdefault(key, []).append(_seconds(where, row))  # type: ignore[arg-type]
    if not times:
        raise UserError(path, "no runs", "Give at least one row")
    return [Run(*key, statistics.median(same)) for key, same in times.items()]


def target_of(run: Run, platform: Platform, own: Problem | None = None, filled: int | None = None) -> Target:
    """Return a run as a target: as many ranks on each of the first nodes, or one more on some of them.

    Args:
        run: The run.
        platform: The cluster.
        own: The user's own program, which the runs with its name are of; None: there is none.
        filled: Number of its nodes, the last ones, that its ranks fill; None: it uses all.

    Raises:
        UserError: The program or its class is not known, or its ranks do not fit.
        OutOfRange: The predictor does not describe it.
    """
    where = str(run)
    is_own = own is not None and run.app == own.name.lower()
    if not is_own and run.app not in kernel_names():
        raise UserError(where, "no such kernel here", f"Known: {', '.join(kernel_names())}; or give --program")
    if run.nodes > len(platform.hosts):
        raise UserError(where, f"{platform.name} has {len(platform.hosts)} nodes", "Leave it out")
    if run.ranks < run.nodes:
        raise UserError(where, "it has fewer ranks than nodes", "Leave it out")
    hosts = [host.name for host in platform.hosts[: run.nodes]]
    if filled is None:
        each, more = divmod(run.ranks, run.nodes)
        placement = tuple(host for place, host in enumerate(hosts) for _ in range(each + (place < more)))
    else:
        cores = platform.hosts[0].cores
        placement = tuple(host for host in hosts[-filled:] for _ in range(cores))[: run.ranks]
    if own is not None and is_own:
        target = Target(own, platform, placement)
        ranks_beside(target)
        return target
    target = Target(problem(run.app, run.preset), platform, placement)
    busy_cores(target)
    return target


def targets_of(
    runs: Sequence[Run], platform: Platform, filled: Mapping[Run, int], own: Problem | None = None
) -> tuple[dict[Run, Target], dict[Run, str]]:
    """Return the targets, and for the other runs the reason why they are none; ``filled``: as ``target_of``."""
    targets: dict[Run, Target] = {}
    refused: dict[Run, str] = {}
    for run in runs:
        try:
            targets[run] = target_of(run, platform, own, filled.get(run))
        except (UserError, OutOfRange) as err:
            refused[run] = err.problem
    return targets, refused


def _word(where: str, name: str, row: dict[str, str]) -> str:
    text = (row[name] or "").strip()
    if not text:
        raise UserError(where, f"no {name}", "Fill in every column")
    return text.lower() if name == "app" else text.upper()


def _count(where: str, name: str, row: dict[str, str]) -> int:
    text = (row[name] or "").strip()
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:9]) <= 1_000_000 or len(text) > 7:
        raise UserError(where, f"{name} is {text!r}", "Give a whole number from 1 to 1000000")
    return int(text)


def _seconds(where: str, row: dict[str, str]) -> float:
    try:
        value = float(row["time_s"] or "")
    except ValueError:
        value = -1.0
    if not 0 < value < 1e12:
        raise UserError(where, f"time_s is {row['time_s']!r}", "Give a positive number of seconds")
    return value


_EQUAL = 0.15  # of ln(time): runs whose median differs by less take as long
_SPREAD = 0.75  # times its time on the fewest nodes: a program that gets as fast on more nodes shows the placement


# The times show it: a program that slows down on busy cores takes as long on 16 nodes as on 8 if both times its ranks
# fill the same number of nodes.  A run's own program is not asked about it, so that no prediction depends on the time
# of its target.
def filled_nodes(runs: Sequence[Run], cores: int) -> dict[Run, int]:
    """Return the number of nodes that a run really used, for those that fill fewer than they had.

    Args:
        runs: All measured runs.
        cores: Of a node.
    """
    filled = {}
    for run in runs:
        used = math.ceil(run.ranks / cores)
        if used < run.nodes and _takes_as_long(run, runs):
            filled[run] = used
    return filled


def _takes_as_long(run: Run, runs: Sequence[Run]) -> bool:
    """Say whether programs that show it take as long on this run's nodes as on another number of nodes.

    A run on the fewest nodes of its ranks is filled if those on more nodes take as long.
    """
    counts = sorted({other.nodes for other in runs if other.ranks == run.ranks})
    fewest = counts[0]
    compared = [nodes for nodes in counts if nodes > fewest] if run.nodes == fewest else [run.nodes]
    return any(_equal(run, runs, fewest, nodes) for nodes in compared)


def _equal(run: Run, runs: Sequence[Run], fewest: int, nodes: int) -> bool:
    times = {(other.app, other.preset, other.nodes): other.time_s for other in runs if other.ranks == run.ranks}
    logs = [
        math.log(times[app, preset, nodes] / time_s)
        for (app, preset, where), time_s in times.items()
        if where == fewest and app != run.app and (app, preset, nodes) in times and _tells(app, preset, runs)
    ]
    return bool(logs) and abs(statistics.median(logs)) < _EQUAL


def _tells(app: str, preset: str, runs: Sequence[Run]) -> bool:
    """Say whether a program gets notably faster on more nodes with any number of ranks."""
    by_ranks: dict[int, dict[int, float]] = {}
    for run in runs:
        if (run.app, run.preset) == (app, preset):
            by_ranks.setdefault(run.ranks, {})[run.nodes] = run.time_s
    return any(times[max(times)] < _SPREAD * times[min(times)] for times in by_ranks.values())
