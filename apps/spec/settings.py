"""Settings of a command, which apply to its runs of all targets."""

from __future__ import annotations

from dataclasses import dataclass

from apps.errors import OptionError
from apps.programs.kernel import named_kernel
from apps.programs.problem import Problem
from apps.spec.checks import check_efficiency
from apps.spec.choices import (
    AUTO,
    ITERATION_POLICIES,
    MACHINE,
    PLATFORM_EFFICIENCY,
    PLATFORM_MEMORY,
    RECORDED,
    REPEATS,
    REPLAY,
)
from apps.spec.computation import resolved_compute
from apps.spec.machine_speed import host_speed_flops, measured_efficiency
from apps.spec.platform_efficiency import platform_efficiency
from apps.spec.real_machine import RealMachine
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target


@dataclass(frozen=True)
class Settings:
    """Settings of runs of any target; they are the same for the truth and for the evidence."""

    compute: str = AUTO  # or as in RunSpec
    efficiency: str = "reference"  # a number, "reference", "measured" or "platform"; the words depend on the kernel
    iterations: str | int | None = None  # as in RunSpec; None: steady where it is allowed, else full
    options: tuple[tuple[str, str], ...] = ()
    host_speed_flops: float | None = None  # of this computer, for "measured"; None: the kept measurement
    engine: str | None = None  # None: s4u for a program in Python, smpi for all others
    memory_bus: float | str | None = None  # as in RunSpec
    bytes_per_flop: float | None = None
    machine: RealMachine | None = None  # the real machine on which runs are made; None: they are simulated
    repeats: int = REPEATS  # of a run on a machine
    measurement: int = 0  # as in RunSpec

    def spec(self, target: Target, mode: str = "skeleton") -> RunSpec:
        """Return the run of a target under these settings."""
        if self.machine is not None:
            return self._on_machine(target, self.machine)
        if default_engine(target.problem) == REPLAY:
            return self._replayed(target, mode)
        compute = resolved_compute(self.compute, target.problem)
        default = "full" if mode == "verify" or target.changes else "steady"
        return RunSpec(
            target=target,
            mode=mode,
            compute=compute,
            efficiency=self._efficiency(target),
            iterations=default if self.iterations is None else self.iterations,
            options=self.options,
            host_speed_flops=self._host_speed_flops(compute),
            engine=self.engine or default_engine(target.problem),
            memory_bus=self.memory_bus,
            bytes_per_flop=self.bytes_per_flop,
            measurement=self.measurement if compute == "measured" else 0,
        )

    def _on_machine(self, target: Target, machine: RealMachine) -> RunSpec:
        """Return the run on the machine, in full and with arithmetic; the efficiency is one of simulations."""
        return RunSpec(
            target=target,
            mode="verify" if target.problem.program is None else "skeleton",
            compute="injected" if self.compute == AUTO else self.compute,
            iterations="full" if self.iterations is None else self.iterations,
            options=self.options,
            engine=MACHINE,
            memory_bus=self.memory_bus,
            bytes_per_flop=self.bytes_per_flop,
            machine=machine,
            repeats=self.repeats,
        )

    def _replayed(self, target: Target, mode: str) -> RunSpec:
        """Return the replay of a program that SimGrid cannot run: of all iterations, with the recorded computation."""
        return RunSpec(
            target=target,
            mode=mode,
            compute="none" if self.compute == "none" else RECORDED,
            efficiency=self._efficiency(target),
            iterations="full" if self.iterations in (None, "steady") else self.iterations,
            options=self.options,
            host_speed_flops=self.host_speed_flops or host_speed_flops(),
            engine=self.engine or REPLAY,
            memory_bus=self.memory_bus,
            bytes_per_flop=self.bytes_per_flop,
        )

    def _efficiency(self, target: Target) -> float:
        if self.efficiency != PLATFORM_EFFICIENCY:
            return resolve_efficiency(self.efficiency, target.problem)
        return platform_efficiency(target, memory_bus=self.memory_bus, bytes_per_flop=self.bytes_per_flop)

    def _host_speed_flops(self, compute: str) -> float | None:
        if compute != "measured" or self.host_speed_flops is not None:
            return self.host_speed_flops
        return host_speed_flops()


def default_engine(problem: Problem) -> str:
    """Return the engine of a problem for which none is given."""
    if problem.program is not None and problem.program.native is not None:
        return REPLAY
    return "s4u" if problem.program is not None and problem.program.is_python else "smpi"


def parse_iterations(text: str) -> str | int:
    """Parse ``steady``, ``full`` or a number of iterations."""
    if text in ITERATION_POLICIES:
        return text
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise OptionError(f"iterations {text!r}", "neither steady nor full nor a number", "Write for example 5")
    return int(text)


def parse_memory_bus(text: str) -> float | str:
    """Parse a bandwidth in GB/s, which is returned in byte/s, or the word ``platform``."""
    if text == PLATFORM_MEMORY:
        return text
    try:
        return float(text) * 1e9
    except ValueError:
        where, problem = f"--memory-bus {text}", "neither a number nor a known word"
        raise OptionError(where, problem, f"Give GB/s of a node, or {PLATFORM_MEMORY}") from None


def resolve_efficiency(text: str, problem: Problem) -> float:
    """Return the efficiency that ``reference``, ``measured`` or a number stands for, a share of the peak speed.

    The reference of the user's own program is 1, because its injected flops are taken as they are.
    """
    if text == "reference":
        return named_kernel(problem.name).reference_efficiency if problem.program is None else 1.0
    if text == "measured" and problem.program is None:
        return measured_efficiency(problem.name)
    if text == "measured":
        remedy = "Leave it out, or give --compute measured"
        raise OptionError("--efficiency measured", "it is the efficiency of a kernel", remedy)
    try:
        value = float(text)
    except ValueError:
        raise OptionError(
            f"--efficiency {text}", "neither a number nor a known word", "Give a share in (0, 1], reference or measured"
        ) from None
    check_efficiency(value, f"--efficiency {text}")
    return value
