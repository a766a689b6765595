"""Recorded programs and NAS kernels on the machines of the model, compared with simulations of allocations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from apps.programs.problem import Problem
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.traffic import runs_on
from platforms.errors import UserError
from platforms.model.placement import block
from platforms.terminal.prose import folded_lines
from platforms.terminal.quantities import duration, percent
from platforms.terminal.table import Cell, table_lines
from platforms.wording import number_of
from predictor.hierarchical.kernels import exchanging
from predictor.hierarchical.model import Beta
from predictor.hierarchical.multicore_cluster import MulticoreCluster
from predictor.hierarchical.recorded_plan import RecordedPlan
from predictor.hierarchical.surface import Surface
from validation.cores.communication import machine
from validation.presentation.tables import error_cell

Place = tuple[int, int]  # q, p


@dataclass(frozen=True)
class KernelStudy:
    """A kernel on some numbers of cores and nodes of a machine."""

    system: MulticoreCluster
    problem: Problem
    cores: Sequence[int]
    nodes: Sequence[int]
    inside: str  # path of messages within a node, "memory" or "network"
    beta: Beta | None = None  # None: the kernel's
    overlap: bool = False  # True: s(z) = min(1, z)

    @cached_property
    def surface(self) -> Surface:
        """The surface of ``gridval plan cores``."""
        kernel = exchanging(self.problem.name)
        return kernel.surface(dict(self.problem.params), self.system, beta=self.beta, overlap=self.overlap)

    @property
    def places(self) -> list[Place]:
        """The allocations on which the kernel runs; UserError if there is none."""
        if max(self.cores) > self.system.cores or max(self.nodes) > self.system.nodes:
            problem = f"{self.system.name} has {self.system.nodes} nodes of {self.system.cores} cores"
            raise UserError("--cores, --nodes", problem, "Give fewer")
        found = [(q, p) for q in self.cores for p in self.nodes if runs_on(self.problem, q * p)]
        if not found:
            raise UserError("--cores, --nodes", f"{self.problem} runs on none of these", "Give others")
        return found


def kernel_specs(study: KernelStudy) -> dict[Place, RunSpec]:
    """Return the run of each allocation, at the speed l_c and with the memory bus of the machine."""
    platform = machine(study.system, max(p for _, p in study.places), inside=study.inside)
    memory_Bps = study.system.memory_Bps
    params = dict(study.problem.params)
    settings = Settings(
        efficiency="1",
        memory_bus=None if memory_Bps is None else float(memory_Bps),
        bytes_per_flop=None if memory_Bps is None else exchanging(study.problem.name).bytes_per_operation(params),
    )
    return {
        (q, p): settings.spec(Target(study.problem, platform, block(platform, q * p, q))) for q, p in study.places
    }  # fmt: skip


def simulate_kernel(study: KernelStudy, runner: Runner) -> list[RecordedPoint]:
    """Return the points of all allocations, the fastest simulated one first."""
    runs = kernel_specs(study)
    runner.start(runs.values())
    operations = exchanging(study.problem.name).operations(dict(study.problem.params))
    alone_s = operations / float(study.system.core_flops)
    points = [
        RecordedPoint(q, p, alone_s / float(study.surface.speedup(q, p)), runner.record(spec).time_s)
        for (q, p), spec in runs.items()
    ]
    return sorted(points, key=lambda point: point.simulated_s)


@dataclass(frozen=True)
class RecordedPoint:
    """An allocation with its predicted and its simulated time."""

    cores_per_node: int
    nodes: int
    predicted_s: float
    simulated_s: float

    @property
    def error_pct(self) -> float:
        """Error of the prediction, % of the simulated time."""
        return 100 * (self.predicted_s / self.simulated_s - 1)


def places(plan: RecordedPlan) -> list[tuple[int, int]]:
    """Return the allocations of recorded numbers of ranks: cores of each node, and nodes."""
    system = plan.system
    return [
        (q, ranks // q)
        for ranks in sorted(plan.recordings)
        for q in range(1, system.cores + 1)
        if ranks % q == 0 and ranks // q <= system.nodes
    ]


def specs(plan: RecordedPlan, settings: Settings, *, inside: str) -> dict[tuple[int, int], RunSpec]:
    """Return the run of each allocation, on nodes whose own messages pass where ``inside`` says."""
    platform = machine(plan.system, max(p for _, p in places(plan)), inside=inside)
    bus = None if plan.system.memory_Bps is None else float(plan.system.memory_Bps)
    if plan.problem.program is None and bus is not None:
        settings = replace(settings, memory_bus=bus, bytes_per_flop=plan.bytes_per_operation)
    return {
        (q, p): settings.spec(Target(plan.problem, platform, block(platform, q * p, q))) for q, p in places(plan)
    }  # fmt: skip


def simulate_recorded(plan: RecordedPlan, settings: Settings, runner: Runner, *, inside: str) -> list[RecordedPoint]:
    """Return the points of all allocations, the fastest simulated one first."""
    runs, surface = specs(plan, settings, inside=inside), plan.surface()
    runner.start(runs.values())
    alone_s = plan.operations / float(plan.system.core_flops)
    points = [
        RecordedPoint(q, p, alone_s / float(surface.speedup(q, p)), runner.record(spec).time_s)
        for (q, p), spec in runs.items()
    ]
    return sorted(points, key=lambda point: point.simulated_s)


def advised(points: Sequence[RecordedPoint]) -> RecordedPoint:
    """Return the allocation that is predicted to be the fastest."""
    return min(points, key=lambda point: point.predicted_s)


def points_json(system: MulticoreCluster, problem: Problem, points: Sequence[RecordedPoint]) -> dict[str, Any]:
    """Return the points of a program and the advice as JSON values."""
    chosen = advised(points)
    return {
        "system": system.name,
        "app": problem.name,
        "class": problem.label,
        "points": [{**asdict(point), "error_pct": point.error_pct} for point in points],
        "advised": {**asdict(chosen), "loss_pct": 100 * (chosen.simulated_s / points[0].simulated_s - 1)},
    }


def points_text(title: str, points: Sequence[RecordedPoint], *, wide: bool) -> str:
    """Return a table of points and a sentence about the advice, below a title."""
    rows: list[list[str | Cell]] = [["cores per node", "nodes", "predicted", "simulated", "error %"]]
    for point in points:
        times = [duration(time_s) for time_s in (point.predicted_s, point.simulated_s)]
        rows.append([str(point.cores_per_node), str(point.nodes), *times, error_cell(point.error_pct)])
    chosen, fastest = advised(points), points[0]
    loss = percent(100 * (chosen.simulated_s / fastest.simulated_s - 1), signed=True)
    said = (
        f"advised, with the shortest predicted time: {number_of(chosen.cores_per_node, 'core')} of "
        f"{number_of(chosen.nodes, 'node')}, {loss} % off the fastest simulated time"
    )
    return "\n".join([title, "", *table_lines(rows, wide=wide), "", *folded_lines([said])])
