"""Times of the programs on candidate grids, from the program's graph and the described network (``dpgraph:known``).

One recording per program and number of ranks serves all grids, and a grid's routes come from its description.  So a
grid takes milliseconds and needs no SimGrid process.

Bounds.  The graph is a partial order of computations and messages, and its time is the longest path.  A rank takes at
least the time of its computation, and no path gets longer where computations and messages take less time.  A message is
fastest on links that are not shared, and a computation is fastest on the fastest nodes.  So no time is below

* the computation time of any rank on its own node;
* level 1: the graph's time with all ranks on the candidate's fastest nodes, in one cluster, without shared links;
* level 2: the same in two clusters, which join the candidate's clusters on either side of the cut that divides its
  ranks most evenly; all nodes are the fastest that are offered.  Hosts are no farther apart than in the candidate;
* level 3: the same with the candidate's own clusters, all of its own fastest nodes.

Many candidates share these bounds.  The times with shared links have no such order: less computation or communication
may take longer, so these times bound nothing.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from apps.errors import KernelError, SimulationError
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.grid import Grid, GridCluster, wan_ends
from platforms.read.read import materialise
from predictor.base import Cost, EvidenceRequest, OutOfRange
from predictor.dpgraph.evaluate import SETTLED_REL, estimate
from predictor.dpgraph.known import known_network
from predictor.dpgraph.predictors import iterations_to_record
from predictor.dpgraph.program import Sections
from predictor.evidence.broker import Broker
from predictor.grid.request import DesignQuestion, NetworkKind, Program
from predictor.grid.search import GridTimes, NoAnswer, Report
from predictor.grid.space import Candidate

if TYPE_CHECKING:
    from apps.runs.runner import Runner
    from platforms.model.platform import Platform
    from predictor.dpgraph.network import NetworkModel

_EXTRAPOLATED = 2 * SETTLED_REL  # relative tolerance of extrapolation, once for a time and once for its bound
_SECTIONS_KEPT = 32  # number of graphs in memory, some megabytes each


@dataclass(frozen=True)
class _Recorded:
    """A recorded program on one number of ranks, without its graph."""

    iterations: int  # number of iterations of a full run
    flops: np.ndarray  # flops of each rank in the timed section of the full run, shape (ranks,)


@dataclass(eq=False)
class GraphTimes:
    """Times and bounds of the candidates of a request."""

    request: DesignQuestion
    settings: Settings
    runner: Runner
    levels: int = 3
    _platform: Platform | None = None  # platform on whose nodes recordings are charged
    # By number of the program and number of ranks: the recorded program, or the reason why there is none.
    _recorded: dict[tuple[int, int], _Recorded | str] = field(default_factory=dict)
    _sections: OrderedDict[tuple[int, int], Sections] = field(default_factory=OrderedDict)  # most recently used graphs
    _layouts: dict[tuple[Hashable, ...], float] = field(default_factory=dict)  # times without contention, s
    _costs: dict[str, Cost] = field(default_factory=dict)  # by id of the evidence

    @property
    def cost(self) -> Cost:
        """Cost of the evidence so far."""
        return sum(self._costs.values(), Cost())

    def prepare(self, candidates: Sequence[Candidate], report: Report) -> None:
        """Record every program on every number of ranks, and compute the level 1 bounds while its graph is loaded."""
        self._platform = _charged_platform(self.request, max(candidate.ranks for candidate in candidates))
        layouts: dict[int, dict[tuple[str, float], NetworkKind]] = defaultdict(dict)
        for candidate in candidates:
            layouts[candidate.ranks][candidate.network.name, _fastest_flops(candidate)] = candidate.network
        total, done = len(layouts) * len(self.request.programs), 0
        for ranks, kinds in sorted(layouts.items()):
            for i, program in enumerate(self.request.programs):
                report(f"recorded {program.problem.on(ranks)}", done, total)
                self._record(i, ranks)
                for (_, speed_flops), network in kinds.items():
                    with suppress(NoAnswer):  # raised again when the bound is asked for
                        self._without_contention_s(i, network, (ranks,), speed_flops)
                done += 1
        report("recorded all programs", done, total)

    def bounds_s(self, candidate: Candidate, level: int) -> tuple[float, ...]:
        """Return lower bounds of the programs' times, s, for a level from 1 to ``levels``.

        Raises:
            NoAnswer: A program has no answer on this grid.
        """
        s_per_flop, layouts = _s_per_flop(candidate), self._bounding(candidate)[:level]
        bounds = []
        for i in range(len(self.request.programs)):
            compute_s = float((self._known(i, candidate.ranks).flops * s_per_flop).max())
            alone_s = [self._without_contention_s(i, candidate.network, *layout) for layout in layouts]
            bounds.append((1 - _EXTRAPOLATED) * max(compute_s, *alone_s))
        return tuple(bounds)

    def _bounding(self, candidate: Candidate) -> list[tuple[tuple[int, ...], float]]:
        """Return, by level, the ranks on each cluster and the flop/s of all nodes of the bounding grid."""
        ranks, fastest_flops = candidate.ranks, _fastest_flops(candidate)
        layouts: list[tuple[tuple[int, ...], float]] = [((ranks,), fastest_flops)]
        if len(candidate.parts) > 1:
            before = min(accumulate(candidate.cluster_ranks[:-1]), key=lambda before: abs(2 * before - ranks))
            layouts.append(((before, ranks - before), max(kind.speed_flops for kind in self.request.nodes)))
            layouts.append((candidate.cluster_ranks, fastest_flops))
        return layouts

    def times(self, candidate: Candidate) -> GridTimes:
        """Estimate the programs' times on the candidate.

        Raises:
            NoAnswer: A program has no answer on this grid.
        """
        grid = candidate.grid()
        placement, s_per_flop = candidate.placement(grid), _s_per_flop(candidate)
        times_s = []
        for i in range(len(self.request.programs)):
            recorded = self._known(i, candidate.ranks)
            sections = self._graph(i, candidate.ranks)
            network = self._network(sections, grid, placement)
            times_s.append(estimate(sections, recorded.iterations, network, placement, s_per_flop).time_s)
        return GridTimes(tuple(times_s))

    def _known(self, program: int, ranks: int) -> _Recorded:
        recorded = self._recorded[program, ranks]
        if isinstance(recorded, str):
            raise NoAnswer(recorded)
        return recorded

    def _record(self, number: int, ranks: int) -> None:
        program = self.request.programs[number]
        target = self._target(program, ranks)
        self.settings.spec(target)  # raise errors in the settings here, so that they are not blamed on the grid
        try:
            iterations = target.iterations
            flops = self._graph(number, ranks).flops(iterations)
        # Such as an unknown number of iterations on that many ranks, or a program that needs more.
        except (KernelError, SimulationError) as err:
            self._recorded[number, ranks] = str(err)
        else:
            self._recorded[number, ranks] = _Recorded(iterations, flops)

    def _graph(self, number: int, ranks: int) -> Sections:
        key = number, ranks
        if key not in self._sections:
            target = self._target(self.request.programs[number], ranks)
            request = EvidenceRequest("recording", target, iterations=iterations_to_record(target))
            (evidence,) = Broker.of(self.settings, (), self.runner).gather([request])
            self._costs.setdefault(evidence.id, evidence.cost)
            self._sections[key] = Sections(evidence.recording)
            if len(self._sections) > _SECTIONS_KEPT:
                self._sections.popitem(last=False)
        self._sections.move_to_end(key)
        return self._sections[key]

    def _target(self, program: Program, ranks: int) -> Target:
        if self._platform is None:
            raise RuntimeError("call prepare before times")
        return _recorded_target(program, self._platform, ranks)

    def _network(self, sections: Sections, grid: Grid, placement: tuple[str, ...]) -> NetworkModel:
        routes = grid.routes(sorted(sections.host_pairs(placement)))
        try:
            return known_network(routes, self._options(grid.options))
        except OutOfRange as err:
            raise NoAnswer(str(err)) from err

    def _options(self, options: Sequence[tuple[str, str]]) -> Mapping[str, str]:
        return {**dict(options), **dict(self.settings.options)}

    def _without_contention_s(
        self, program: int, network: NetworkKind, clusters: tuple[int, ...], speed_flops: float
    ) -> float:
        """Return the program's time on clusters of equal nodes with one rank each and no shared links, s."""
        key = program, network.name, clusters, speed_flops
        if key not in self._layouts:
            grid = _grid_of(network, clusters, speed_flops)
            placement = tuple(host for cluster in grid.clusters for host in cluster.host_names)
            ranks = len(placement)
            iterations = self._known(program, ranks).iterations
            sections = self._graph(program, ranks)
            ideal = self._network(sections, grid, placement).without_contention()
            self._layouts[key] = estimate(sections, iterations, ideal, placement, [1 / speed_flops] * ranks).time_s
        return self._layouts[key]


def recorded_targets(request: DesignQuestion, candidates: Sequence[Candidate]) -> list[Target]:
    """Return every program on every number of ranks, on a platform that serves for recordings."""
    platform = _charged_platform(request, max(candidate.ranks for candidate in candidates))
    every = sorted({candidate.ranks for candidate in candidates})
    return [_recorded_target(program, platform, ranks) for ranks in every for program in request.programs]


def _recorded_target(program: Program, platform: Platform, ranks: int) -> Target:
    return Target(program.problem, platform, tuple(host.name for host in platform.hosts[:ranks]))


def _charged_platform(request: DesignQuestion, ranks: int) -> Platform:
    """Return a cluster of the slowest nodes, one per rank: a recording takes no more node-seconds on any grid."""
    speed_flops = min(kind.speed_flops for kind in request.nodes)
    network = request.networks[0]
    cluster = GridCluster("c1", ranks, speed_flops, network.node, network.backbone)
    return materialise(Grid(f"recording{ranks}", network.named, (cluster,), "mesh", ()))


def _grid_of(network: NetworkKind, clusters: tuple[int, ...], speed_flops: float) -> Grid:
    made = tuple(
        GridCluster(f"c{i}", nodes, speed_flops, network.node, network.backbone) for i, nodes in enumerate(clusters, 1)
    )
    links = tuple(network.wan_link(*ends) for ends in wan_ends(network.wan_shape, [c.name for c in made]))
    return Grid("bound", network.named, made, network.wan_shape, links, network.options)


def _fastest_flops(candidate: Candidate) -> float:
    return max(kind.speed_flops for kind, _ in candidate.parts)


def _s_per_flop(candidate: Candidate) -> np.ndarray:
    """Return the seconds per flop of each rank's node, shape (ranks,)."""
    return np.repeat([1 / kind.speed_flops for kind, _ in candidate.parts], candidate.cluster_ranks)
