"""A job on each number of nodes: its predicted time, its interval, the time to request, and the choice among them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from platforms.errors import UserError
from platforms.files.commented_csv import checked_rows
from platforms.prices.bill import Bill
from platforms.prices.price import S_PER_HOUR
from predictor.job.request import COST, TIME

_REMEDY = "Give a row per run, with its number of nodes and its time in seconds"


@dataclass(frozen=True)
class StepTime:
    """The predicted time of one step; what is not known is None."""

    line: int
    command: str  # launcher, program and arguments
    ranks: int
    nodes: int
    times: int  # how often it runs
    time_s: float | None
    low_s: float | None = None
    high_s: float | None = None
    below_s: float | None = None  # of a share of runs
    predictor: str | None = None
    reason: str | None = None  # why a value is None
    work_s: float | None = None  # computation of all ranks together
    hosts: tuple[str, ...] = ()
    energies_j: Mapping[str, float] | None = None  # of each of them, of one run
    no_energy: str | None = None  # why there are none
    most_energy: bool = False  # they are upper bounds: the model does not say how long each host computes


@dataclass(frozen=True)
class Size:
    """A job on a number of nodes."""

    nodes: int
    steps: tuple[StepTime, ...]
    time_s: float | None  # None: of no step a time is known
    low_s: float | None
    high_s: float | None
    below_s: float | None
    complete: bool = True  # all steps have a time; otherwise it is a lower bound
    bill: Bill | None = None  # of the job; None: not asked for, or not complete

    @property
    def node_hours(self) -> float | None:
        """Node-hours of the job."""
        return None if self.time_s is None else self.nodes * self.time_s / S_PER_HOUR


def size_of(nodes: int, groups: Sequence[Sequence[StepTime]]) -> Size:
    """Return a job of groups of steps: groups follow each other, the steps of one run at the same time.

    Ends of intervals are added, as if all steps were at their worst together: the sum leaves no fewer runs below.
    """
    steps = tuple(step for group in groups for step in group)
    known = [step for step in steps if step.time_s is not None]
    return Size(
        nodes,
        steps,
        _total(groups, "time_s") if known else None,
        _total(groups, "low_s") if len(known) == len(steps) else None,
        _total(groups, "high_s") if len(known) == len(steps) else None,
        _total(groups, "below_s") if len(known) == len(steps) else None,
        complete=len(known) == len(steps),
    )


def _total(groups: Sequence[Sequence[StepTime]], name: str) -> float | None:
    """Return the sum over groups of the longest step, of known times; of other values None if one is missing."""
    total = 0.0
    for group in groups:
        values = [(getattr(step, name), step.times) for step in group]
        if name != "time_s" and any(value is None for value, _ in values):
            return None
        total += max((value * times for value, times in values if value is not None), default=0.0)
    return total


def grows(sizes: Sequence[Size]) -> bool:
    """Return whether the work of a job grows with its ranks, so that its numbers of nodes do not do the same.

    The computation of all ranks together is the same where a fixed problem is divided, and proportional to the ranks
    where each has its own; it counts as growing from the square root of the ratio of the ranks.
    """
    known = [size for size in sizes if size.complete and all(step.work_s for step in size.steps)]
    for number in range(min((len(size.steps) for size in known), default=0)):
        steps = sorted((size.steps[number] for size in known), key=lambda step: step.ranks)
        first, last = steps[0], steps[-1]
        more = last.ranks / first.ranks
        if more > 1 and (last.work_s or 0.0) > (first.work_s or 0.0) * more**0.5:
            return True
    return False


def chosen(sizes: Sequence[Size], objective: str, slack_percent: float) -> Size | None:
    """Return the size to request; None: no size has a complete time.

    With node-hours or cost it is the cheapest among those at most ``slack_percent`` slower than the fastest.  A size of
    unknown cost is none of them.
    """
    timed = [(size.time_s, size) for size in sizes if size.complete and size.time_s is not None]
    if not timed:
        return None
    fastest_s = min(time_s for time_s, _ in timed)
    if objective == TIME:
        return min((size for time_s, size in timed if time_s == fastest_s), key=lambda size: size.nodes)
    near = [size for time_s, size in timed if time_s <= fastest_s * (1 + slack_percent / 100)]
    if objective == COST:
        costs = [(size.bill.cost, size) for size in near if size.bill is not None and size.bill.cost is not None]
        return min(costs, key=lambda pair: (pair[0], pair[1].nodes))[1] if costs else None
    return min(near, key=lambda size: (size.node_hours or 0.0, size.nodes))


def read_runs(path: str) -> dict[int, list[float]]:
    """Return measured times in s by number of nodes.

    Raises:
        UserError: The file cannot be read, or has runs on fewer than two numbers of nodes.
    """
    runs: dict[int, list[float]] = defaultdict(list)
    for line, values in checked_rows(path, ("nodes", "time_s"), _REMEDY, where=f"--measured {path}"):
        where = f"{path}:{line}"
        nodes, time_s = values["nodes"], values["time_s"]
        try:
            count, seconds = int(nodes), float(time_s)
        except ValueError as err:
            raise UserError(where, f"nodes {nodes!r} and time_s {time_s!r} are no numbers", _REMEDY) from err
        if not (1 <= count <= 1_000_000 and 0 < seconds < math.inf):
            raise UserError(where, f"{count} nodes and {seconds} s", _REMEDY)
        runs[count].append(seconds)
    if len(runs) < 2:
        raise UserError(f"--measured {path}", "runs on fewer than two numbers of nodes", "Add runs on another number")
    return runs


def measured_size(runs: dict[int, list[float]], nodes: int, risk: float, factor: float) -> Size:
    """Return the job on a number of nodes, by the quantiles of what the measured runs leave possible.

    Args:
        runs: Measured times in s by number of nodes.
        nodes: The number of nodes.
        risk: Share of runs that the time to request leaves below.
        factor: By which the spread of runs raises that time.
    """
    # Imported here because NumPy is slow to import.
    import numpy as np

    from predictor.few_terms.model import QUANTILES, Small, quantiles
    from predictor.few_terms.model import Series as Runs
    from predictor.few_terms.model import Size as Count

    small = [Small(Count(count, count), median(times), len(times)) for count, times in sorted(runs.items())]
    (row,) = quantiles(Runs(small), [Count(nodes, nodes)])
    time_s, low_s, high_s, below_s = (float(np.interp(share, QUANTILES, row)) for share in (0.5, 0.05, 0.95, risk))
    step = StepTime(0, "the whole job", 0, nodes, 1, time_s, low_s, high_s, below_s * factor, "few terms")
    return Size(nodes, (step,), time_s, low_s, high_s, below_s * factor)
