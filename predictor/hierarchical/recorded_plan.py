"""Any program on the machines of the model: #op, #b and #x from recordings, one for each number of cores.

A recording has the operations of every rank and its messages.  An allocation of q cores on each of p nodes has q p
ranks, node after node; its time is that of the longest chain of the recorded computations and messages on the machine's
network, or that of the busiest node's link (predictor/hierarchical/counts/recorded.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from apps.errors import KernelError, SimulationError
from apps.programs.problem import Problem
from apps.recording.events import Elapse, Recording
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.traffic import runs_on
from platforms.errors import UserError
from platforms.grids.grid import Grid, GridCluster, Wire
from platforms.model.placement import block
from platforms.model.platform import Platform
from platforms.read.read import materialise
from predictor.base import EvidenceRequest
from predictor.dpgraph.predictors import iterations_to_record
from predictor.dpgraph.program import Sections
from predictor.evidence.broker import Broker
from predictor.hierarchical.counts.declared import of_whole, speeds
from predictor.hierarchical.counts.recorded import link_bytes, recorded_path
from predictor.hierarchical.multicore_cluster import MulticoreCluster
from predictor.hierarchical.surface import Surface

if TYPE_CHECKING:
    from apps.runs.runner import Runner
    from predictor.evidence.given import Given

SOURCE = "eq. (3) with #op, #b and #x from recordings, and a link for every node"
_NETWORK = "machine"


def machine_platform(system: MulticoreCluster, ranks: int) -> Platform:
    """Return a platform of the machine's nodes, as many as the ranks can use; recordings name its hosts."""
    latency_s = system.latency_s / 3  # of the two links of the nodes and of the switch between them
    wire = Wire(float(system.network_Bps), latency_s)
    nodes = min(system.nodes, ranks)
    cluster = GridCluster("node", nodes, float(system.core_flops), wire, wire, system.cores)
    return materialise(Grid(f"nodes-of-{nodes}", _NETWORK, (cluster,), "mesh", ()))


def recorded_targets(problem: Problem, system: MulticoreCluster, counts: Sequence[int]) -> list[Target]:
    """Return the problem on each number of ranks that it can have.

    Raises:
        UserError: A number exceeds the cores of the machine.
    """
    cores = system.cores * system.nodes
    if counts[-1] > cores:
        raise UserError(f"--ranks {counts[-1]}", f"{system.name} has {cores} cores", f"Give at most {cores}")
    platform = machine_platform(system, counts[-1])
    return [
        Target(problem, platform, block(platform, ranks, "cores")) for ranks in counts if runs_on(problem, ranks)
    ]  # fmt: skip


def gathered(
    targets: Sequence[Target], settings: Settings, runner: Runner, given: Given | None = None
) -> tuple[dict[int, Recording], list[str]]:
    """Return the recordings by number of ranks, and a caution for each number on which the program fails.

    Raises:
        UserError: The program fails on all of them; the error is that of the last.
    """
    recordings: dict[int, Recording] = {}
    cautions: list[str] = []
    failure: KernelError | SimulationError | None = None
    for target in targets:
        request = EvidenceRequest("recording", target, iterations=iterations_to_record(target))
        try:
            (evidence,) = Broker.of(settings, (), runner, given).gather([request])
        except (KernelError, SimulationError) as err:
            failure = err
            cautions.append(f"{target.problem.on(target.nranks)} is left out: {err}")
        else:
            recordings[target.nranks] = evidence.recording
    if failure is not None and not recordings:
        raise failure
    return recordings, cautions


@dataclass(frozen=True)
class Counts:
    """Operations and bytes of a program on an allocation."""

    operations: float  # #op, of all ranks, on the scale of l_c
    memory_bytes: float  # #b, between the cores and the memory of all nodes
    link_bytes: float  # #x, that the busiest node sends or receives


@dataclass(frozen=True, eq=False)
class RecordedPlan:
    """A recorded program on a machine.

    Raises:
        UserError: There are no recordings, or no rank computes in them.
    """

    problem: Problem
    system: MulticoreCluster
    recordings: Mapping[int, Recording]  # by number of ranks
    bytes_per_operation: float = 0.0  # between a core and its node's memory
    cautions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.recordings:
            raise UserError(str(self.problem), "it runs on none of these numbers of ranks", "Give others with --ranks")
        if not self.operations > 0:
            problem = "it computes nothing in its recordings, so that a speed-up has no meaning"
            raise UserError(str(self.problem), problem, "Give --compute measured, or a program that charges operations")

    @cached_property
    def platform(self) -> Platform:
        """The nodes of the machine that the recordings can use."""
        return machine_platform(self.system, max(self.recordings))

    @property
    def operations(self) -> float:
        """#op of one core, or of the fewest ranks that were recorded."""
        return self._operations(min(self.recordings))

    def counts(self, q: int, p: int) -> Counts:
        """Return #op, #b and #x on q cores of each of p nodes, whose ranks were recorded."""
        target, operations = self._target(q, p), self._operations(q * p)
        moved = link_bytes(self._sections(q * p), target.iterations, target.placement, inside=False) if p > 1 else 0.0
        return Counts(operations, self.bytes_per_operation * operations, moved)

    def surface(self, *, overlap: bool = False) -> Surface:
        """Return the surface of efficiency; it is 0 where q p ranks were not recorded."""
        on, operations = speeds(self.system), self.operations

        @cache
        def terms(q: int, p: int) -> tuple[float, float]:
            if q * p not in self.recordings or p > len(self.platform.hosts):
                return 0.0, float("inf")
            ideal_s = operations / (q * p * on.core_flops)
            times = recorded_path(self.recordings[q * p], self._target(q, p), on)
            memory_s = self.bytes_per_operation * self._operations(q * p) / p / on.memory_Bps
            return memory_s / ideal_s, (times.chain_s + times.bytes_s) / ideal_s - 1

        return Surface(of_whole(lambda q, p: terms(q, p)[0]), of_whole(lambda q, p: terms(q, p)[1]), overlap, SOURCE)

    def _target(self, q: int, p: int) -> Target:
        placement = tuple(host.name for host in self.platform.hosts[:p] for _ in range(q))
        return Target(self.problem, self.platform, placement)

    @lru_cache(maxsize=64)  # noqa: B019 - plans are few, and live as long as the command
    def _sections(self, ranks: int) -> Sections:
        return Sections(self.recordings[ranks])

    @lru_cache(maxsize=64)  # noqa: B019
    def _operations(self, ranks: int) -> float:
        sections, iterations = self._sections(ranks), self.problem.iterations_on(ranks)
        timed_s = np.sum(sections.elapsed_s(iterations, Elapse.ON_CORE))
        return float(np.sum(sections.flops(iterations)) + timed_s * float(self.system.core_flops))
