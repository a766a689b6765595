"""NAS kernels on the machines of the model: their declared counts compared with simulations of allocations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from apps.programs.problem import Problem
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.traffic import runs_on
from platforms.errors import UserError
from platforms.model.placement import block
from predictor.hierarchical.kernels import exchanging
from predictor.hierarchical.model import Beta
from predictor.hierarchical.multicore_cluster import MulticoreCluster
from predictor.hierarchical.surface import Surface
from validation.cores.machine import machine
from validation.cores.recorded import RecordedPoint

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
