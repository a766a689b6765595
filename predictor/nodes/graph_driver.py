"""A search by the program's graph: every configuration of a small space, the promising ones of a large space.

The program is recorded once for each number of ranks.  In a large space the first configurations use none, half or all
nodes of each cluster, and 1, 2, 4, ... processes on each node, up to its cores; then those near the best are examined,
and others of the best numbers of ranks, whose recordings are there, until none is better.  A configuration is left out
without a recording if the operations of the program, spread evenly over the speed of all its ranks, alone take longer
than the best time so far.  Operations are those of the number of ranks with the fewest, less a tenth, because they
differ between numbers of ranks.  Where the evaluation of all others is short, they are examined too.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from apps.options.runner import RunnerOptions
from apps.results.cautions import Cautions
from apps.spec.settings import Settings
from platforms.errors import UserError
from platforms.wording import number_of
from predictor.allocation.configuration import Configuration
from predictor.allocation.objectives import TIME, Objective
from predictor.allocation.space import ListedSpace, Space
from predictor.base import Cost
from predictor.nodes.drivers import Estimates, Gathered
from predictor.nodes.graph_groups import Group, estimates
from predictor.nodes.study import Study

MOST_EXHAUSTIVE = 400  # configurations of a space of which all are examined
MOST_RECORDINGS = 40  # and numbers of ranks
_MOST_REST = 20_000  # configurations that are examined though they are not near the best,
_REST_S = 120.0  # if that should take at most so long on one core: each configuration, and each of its messages
_EACH_S, _MESSAGE_S = 2.5e-3, 2.5e-7
_STARTS = 3  # configurations around which the search goes on
_MOST_ROUNDS = 8
_OF_RANKS = 60  # configurations of one number of ranks that are examined, at most
_MOST_LISTED = 2_000_000  # configurations of a space that is listed to find them
_BETTER = 1e-3  # relative: a smaller gain ends the search
_FEWER_FLOPS = 0.9  # operations on one number of ranks over those on another one, at least
_WAVE = 6  # numbers of ranks that are recorded before what is known prunes the others


@dataclass(frozen=True)
class _Known:
    """The estimate of a configuration."""

    time_s: float  # NaN: no answer
    energy_j: float
    flags: tuple[str, ...] = ()
    refusal: str | None = None


@dataclass(eq=False)
class GraphDriver:
    """Estimates by the graph of the program, of the configurations that a search examines."""

    study: Study
    settings: Settings
    pool: RunnerOptions
    objective: Objective = TIME
    said: Cautions = field(default_factory=Cautions)
    _known: dict[Configuration, _Known] = field(default_factory=dict)
    _bounded: set[Configuration] = field(default_factory=set)
    _flops: list[float] = field(default_factory=list)  # of the program, by number of ranks that is recorded
    _messages: dict[int, int] = field(default_factory=dict)  # of an evaluation, by number of ranks
    _cost: Cost = field(default_factory=Cost)

    def examined(self, space: Space, size: int) -> ListedSpace:
        """Search a space for problems of size N = ``size``; return the configurations that have an estimate.

        Raises:
            UserError: An option is wrong, or a process was killed.
        """
        if examines_all(space):
            self._examine(space, size, map(space.configuration, range(len(space))))
        else:
            self._examine(space, size, first_configurations(space))
            self._refine(space, size)
            if self._rest_is_quick(space):
                self._examine(space, size, map(space.configuration, range(len(space))))
        inside = [configuration for configuration in self._known if space.limits.allow(configuration)]
        return ListedSpace(space, inside)

    def estimate(self, space: Space, size: int) -> Estimates:
        """Return the estimates of a space that ``examined`` has returned."""
        known = [self._known[space.configuration(row)] for row in range(len(space))]
        energies_j = np.array([one.energy_j for one in known])
        return Estimates(
            np.array([one.time_s for one in known]),
            energies_j=None if np.isnan(energies_j).all() else energies_j,
            own_flags={row: one.flags for row, one in enumerate(known) if one.flags},
            refusals=tuple(one.refusal for one in known if one.refusal is not None),
        )

    @property
    def gathered(self) -> Gathered:
        """Cost of all recordings so far; they are made during the search, whose time contains theirs."""
        return Gathered(self._cost)

    def searched_text(self, space: Space) -> str:
        """Return how many configurations of a space were examined."""
        examined, bounded = len(self._known), len(self._bounded)
        if examined == space.count:
            return "all of them examined"
        others = f"; the operations of {bounded} others alone take longer" if bounded else ""
        near = "" if examined + bounded == space.count else "; the rest lies between these, away from the best"
        return f"{number_of(examined, 'of them', 'of them')} examined{others}{near}"

    def _refine(self, space: Space, size: int) -> None:
        """Examine configurations near the best until none is better."""
        for _ in range(_MOST_ROUNDS):
            ranked = self._ranked()
            if not ranked:
                return
            before = self._value(ranked[0])
            self._examine(space, size, (near for best in ranked[:_STARTS] for near in _near(best, space)))
            if space.count <= _MOST_LISTED:
                for ranks in list(dict.fromkeys(best.total for best in self._ranked()))[:_STARTS]:
                    self._examine(space, size, self._of_ranks(space, ranks))
            if self._value(self._ranked()[0]) >= before * (1 - _BETTER):
                return

    def _rest_is_quick(self, space: Space) -> bool:
        """Return whether the evaluation of all configurations is short, by the messages on the recorded ranks."""
        if space.count > _MOST_REST or len(space.ranks) > MOST_RECORDINGS or not self._messages:
            return False
        ranks = sorted(self._messages)
        at = np.minimum(np.searchsorted(ranks, space.total), len(ranks) - 1)  # as many ranks, or the next more
        each = np.array([self._messages[count] for count in ranks])[at]
        return bool(_EACH_S * space.count + _MESSAGE_S * each.sum() <= _REST_S)

    def _of_ranks(self, space: Space, ranks: int) -> list[Configuration]:
        """Return configurations of a number of ranks, evenly among those with the fastest slowest core."""
        speeds = np.array([cluster.speed_flops for cluster in self.study.platform.clusters])
        rows = np.flatnonzero(space.total == ranks)
        used = space.pes[rows] > 0
        slowest = np.where(used, speeds, np.inf).min(axis=1)
        order = np.lexsort((space.pes[rows].sum(axis=1), -slowest))[: 2 * _OF_RANKS]
        step = max(1.0, len(order) / _OF_RANKS)
        return [space.configuration(rows[order[int(at)]]) for at in np.arange(0, len(order), step)]

    def _ranked(self) -> list[Configuration]:
        """Return the configurations with an estimate, the best first."""
        return sorted((one for one, known in self._known.items() if not np.isnan(known.time_s)), key=self._value)

    def _value(self, configuration: Configuration) -> float:
        known = self._known[configuration]
        pes = np.array([[nodes for nodes, _ in configuration.shares]])
        values = self.objective.values(np.array([known.time_s]), pes, np.array([known.energy_j]))
        return float(values[0])

    def _examine(self, space: Space, size: int, configurations: Iterable[Configuration]) -> None:
        """Estimate configurations that are allowed and not known yet, those of promising numbers of ranks first."""
        by_ranks: dict[int, list[Configuration]] = {}
        for one in dict.fromkeys(configurations):
            if space.allowed[one.total] and one not in self._known and one not in self._bounded:
                by_ranks.setdefault(one.total, []).append(one)
        while by_ranks:
            wave: dict[int, list[Configuration]] = {}
            best_s = min((known.time_s for known in self._known.values() if known.time_s > 0), default=np.inf)
            for ranks in sorted(by_ranks, key=lambda ranks: min(map(self._bound_s, by_ranks[ranks]))):
                kept = [one for one in by_ranks[ranks] if not self._is_slower(one, best_s)]
                self._bounded.update(set(by_ranks.pop(ranks)).difference(kept))
                if kept:
                    wave[ranks] = kept
                if len(wave) == _WAVE:
                    break
            self._estimate_groups(wave, size)

    def _is_slower(self, configuration: Configuration, best_s: float) -> bool:
        return self.objective is TIME and bool(self._flops) and self._bound_s(configuration) > best_s

    def _bound_s(self, configuration: Configuration) -> float:
        """Return a time that the operations alone take; relative to others only before any recording."""
        flops = _FEWER_FLOPS * min(self._flops) if self._flops else 1.0
        clusters = self.study.platform.clusters
        speeds = (
            nodes * min(processes, cluster.cores) * cluster.speed_flops
            for cluster, (nodes, processes) in zip(clusters, configuration.shares, strict=True)
        )
        return flops / sum(speeds)

    def _estimate_groups(self, wave: dict[int, list[Configuration]], size: int) -> None:
        runs = RunnerOptions(
            jobs=1, store=self.pool.store, no_store=self.pool.no_store, wall_limit=self.pool.wall_limit
        )
        groups = [
            Group(tuple(self.study.target(one, size) for one in configurations), self.settings, runs)
            for configurations in wave.values()
        ]
        for (ranks, configurations), made in zip(wave.items(), estimates(groups, self.pool), strict=True):
            if isinstance(made, Exception):
                why = f"{made.problem}. {made.remedy}." if isinstance(made, UserError) else str(made)
                self._known |= dict.fromkeys(configurations, _Known(np.nan, np.nan, refusal=why))
                continue
            self._flops.append(made.flops)
            self._messages[ranks] = made.messages
            self._cost += Cost(made.node_s, made.wall_s)
            for recording, caution in made.cautions:
                self.said.add(recording, [caution])
            for number, one in enumerate(configurations):
                time_s, energy_j = made.times_s[number], made.energies_j[number]
                self._known[one] = _Known(
                    np.nan if time_s is None else time_s,
                    np.nan if energy_j is None else energy_j,
                    made.flags[number],
                    made.refusals[number],
                )


def examines_all(space: Space) -> bool:
    """Return whether a space is so small that all its configurations are examined."""
    return space.count <= MOST_EXHAUSTIVE and len(space.ranks) <= MOST_RECORDINGS


def first_configurations(space: Space) -> Iterable[Configuration]:
    """Yield configurations of none, half or all nodes of each cluster, with as many processes on each, up to its cores.

    Every cluster is also there alone with one node.
    """
    limits = space.limits
    levels = sorted({2**power for power in range(max(limits.processes).bit_length())} | set(limits.processes) - {0})
    nodes = [sorted({0, most, -(-most // 2)} if most and processes else {0}) for most, processes in _both(space)]
    for level in levels:
        for chosen in product(*nodes):
            yield from _made(chosen, [level] * len(chosen), space)
        for alone in range(limits.sub_clusters):
            one_node = [int(i == alone) for i in range(limits.sub_clusters)]
            yield from _made(one_node, [level] * limits.sub_clusters, space)


def _near(configuration: Configuration, space: Space) -> Iterable[Configuration]:
    """Yield configurations that differ in the nodes or the processes of one cluster."""
    pes = [nodes for nodes, _ in configuration.shares]
    processes = [each for _, each in configuration.shares]
    for i, (most, most_processes) in enumerate(_both(space)):
        step = max(1, most // 4)
        for nodes in {pes[i] - step, pes[i] - 1, pes[i] + 1, pes[i] + step, 0, most}:
            for each in {processes[i] or max(1, max(processes)), most_processes} if most_processes else ():
                changed = [*pes[:i], nodes, *pes[i + 1 :]]
                yield from _made(changed, [*processes[:i], each, *processes[i + 1 :]], space)
        for each in {processes[i] - 1, processes[i] + 1, processes[i] // 2, 2 * processes[i]} if pes[i] else ():
            yield from _made(pes, [*processes[:i], each, *processes[i + 1 :]], space)


def _made(pes: Sequence[int], processes: Sequence[int], space: Space) -> Iterable[Configuration]:
    """Yield the configuration of these nodes and processes, or as many processes as allowed; none: it is impossible."""
    shares = tuple(
        (nodes, min(each, most)) if nodes > 0 and each > 0 and most else (0, 0)
        for nodes, each, (_, most) in zip(pes, processes, _both(space), strict=True)
    )
    if any(nodes for nodes, _ in shares):
        made = Configuration(shares)
        if space.limits.allow(made) and space.allowed[made.total]:
            yield made


def _both(space: Space) -> list[tuple[int, int]]:
    return list(zip(space.limits.pes, space.limits.processes, strict=True))
