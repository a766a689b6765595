"""Predict runs on many nodes from those on few, and compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from predictor.few_terms.model import PRIOR, Allreduces, Prior, Series, Size, Small, quantiles
from validation.few_terms.table import Name, Run, Table

FEWEST = 2  # numbers of nodes that the evidence has to have
_ALIKE = 1.5  # largest ratio of ranks per node in a group
ENDS = (0.05, 0.5, 0.95)
_ORDERS = 7  # seed of the orders in which the parts' times are added


@dataclass(frozen=True)
class Judged:
    """A run that is no evidence, and its prediction."""

    name: Name
    nodes: int
    ranks: int
    evidence: tuple[int, ...]  # nodes
    low_s: float
    time_s: float
    high_s: float  # of the 90 % interval
    naive_s: float  # the largest run of the evidence, divided
    measured_s: float | None  # None: there is no such row

    @property
    def error(self) -> float | None:
        """Predicted less measured time, over the measured time."""
        return None if self.measured_s is None else self.time_s / self.measured_s - 1

    @property
    def naive_error(self) -> float | None:
        """The same of naive scaling."""
        return None if self.measured_s is None else self.naive_s / self.measured_s - 1

    @property
    def within(self) -> bool | None:
        """Say whether the measured time lies in the interval."""
        return None if self.measured_s is None else self.low_s <= self.measured_s <= self.high_s


@dataclass(frozen=True)
class Outcome:
    """All predictions, and the series without one."""

    judged: tuple[Judged, ...]
    refused: tuple[tuple[Name, str], ...]


def judged(table: Table, evidence: Sequence[int], further: Sequence[int], prior: Prior = PRIOR) -> Outcome:
    """Predict every run on more nodes than the evidence has.

    Args:
        table: The runs.
        evidence: Numbers of nodes that are evidence; none: of each series the smaller half, at least two.
        further: Numbers of nodes without a row, for which every series is predicted too.
        prior: What is known before.
    """
    predictions: list[Judged] = []
    refused: list[tuple[Name, str]] = []
    for name, runs in table.series.items():
        for alike in _by_fill(runs):
            small = [run for run in alike if run.nodes in evidence] if evidence else _smaller_half(alike)
            most = max((run.nodes for run in small), default=0)
            targets: list[tuple[Run, float | None]] = [(run, run.time_s) for run in alike if run.nodes > most]
            if small:
                beyond = [nodes for nodes in further if nodes > most and nodes not in {run.nodes for run in alike}]
                targets += [(_enlarged(small[-1], nodes), None) for nodes in beyond]
            if len({run.nodes for run in small}) < FEWEST:
                refused.append((name, "its evidence has runs on fewer than two numbers of nodes, as full as others"))
            elif not targets:
                refused.append((name, "no run on more nodes than its evidence"))
            else:
                predictions += _of_series(name, small, targets, table.allreduces.get(name), prior)
    return Outcome(tuple(predictions), tuple(dict.fromkeys(refused)))


def _by_fill(runs: Sequence[Run]) -> list[list[Run]]:
    """Return the runs in groups of about as many ranks per node: busy cores slow each other down."""
    groups: list[list[Run]] = []
    for run in sorted(runs, key=lambda run: run.ranks / run.nodes):
        if groups and run.ranks / run.nodes <= _ALIKE * groups[-1][0].ranks / groups[-1][0].nodes:
            groups[-1].append(run)
        else:
            groups.append([run])
    return [sorted(group, key=lambda run: (run.nodes, run.ranks)) for group in groups]


def _of_series(
    name: Name,
    chosen: Sequence[Run],
    targets: Sequence[tuple[Run, float | None]],
    allreduces: Allreduces | None,
    prior: Prior,
) -> list[Judged]:
    sizes = [_size(run) for run, _ in targets]
    parts = [part for part in chosen[0].parts_s if all(part in run.parts_s for run in chosen)]
    # The least of the repeats shows the shape best, as disturbances only add time; medians are predicted.
    typical = float(np.exp(np.mean([np.log(run.time_s / run.least_s) for run in chosen])))
    if parts:
        of_parts = [[run.parts_s[part] for run in chosen] for part in parts]
        of_parts.append([run.time_s - sum(run.parts_s[part] for part in parts) for run in chosen])
        typical = 1.0
    else:
        of_parts = [[run.least_s for run in chosen]]
    order, total = np.random.default_rng(_ORDERS), np.zeros(())
    for number, times in enumerate(of_parts):
        small = [Small(_size(run), max(time, 1e-9), run.repeats) for run, time in zip(chosen, times, strict=True)]
        known = chosen[-1].allreduces if number == len(of_parts) - 1 else 0.0
        drawn = quantiles(Series(small, allreduces, known), sizes, prior)
        total = total + (drawn if len(of_parts) == 1 else drawn[:, order.permutation(drawn.shape[1])])
    ends = np.quantile(total, ENDS, axis=1).T * typical
    last = chosen[-1]
    return [
        Judged(
            name,
            run.nodes,
            run.ranks,
            tuple(small_run.nodes for small_run in chosen),
            float(row[0]),
            float(row[1]),
            float(row[2]),
            last.time_s * (run.work / run.ranks) / (last.work / last.ranks),
            measured_s,
        )
        for (run, measured_s), row in zip(targets, ends, strict=True)
    ]


def _size(run: Run) -> Size:
    return Size(run.nodes, run.ranks, run.work)


def _smaller_half(runs: Sequence[Run]) -> list[Run]:
    nodes = sorted({run.nodes for run in runs})
    chosen = set(nodes[: max(FEWEST, len(nodes) // 2)])
    return [run for run in runs if run.nodes in chosen]


def _enlarged(last: Run, nodes: int) -> Run:
    """Return a run of the same problem on more nodes, which are as full."""
    ranks = round(last.ranks * nodes / last.nodes)
    work = last.work if last.work == 1.0 else last.work * ranks / last.ranks
    return Run(nodes, ranks, last.time_s, last.least_s, 1, work, last.allreduces)


@dataclass(frozen=True)
class Summary:
    """The errors of some rows."""

    rows: int
    median_error: float  # of the errors without sign
    largest_error: float
    naive_median_error: float
    within: int


def summary(rows: Sequence[Judged]) -> Summary | None:
    """Return the errors of the rows that were measured; None if there are none."""
    errors = [(abs(row.error), abs(row.naive_error or 0.0), bool(row.within)) for row in rows if row.error is not None]
    if not errors:
        return None
    own, naive, within = zip(*errors, strict=True)
    return Summary(len(errors), float(np.median(own)), max(own), float(np.median(naive)), sum(within))
