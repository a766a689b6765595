"""Settings of a command, which apply to its runs of all targets."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from apps.errors import OptionError
from apps.programs.kernel import named_kernel
from apps.programs.libraries import private_libraries, referred_names
from apps.programs.own_program import UserProgram, executable
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
    RealMachine,
)
from apps.spec.machine_speed import host_speed_flops, measured_efficiency
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.model.platform import Host

_EXECUTES, _SAMPLES = "smpi_execute", "smpi_sample"  # SMPI_SAMPLE_LOCAL and its like call the second


def resolved_compute(compute: str, problem: Problem) -> str:
    """Return ``injected``, ``measured`` or ``none``: the choice itself, or what AUTO means for the problem.

    A program that a simulation runs and that never refers to SimGrid's functions for computation is measured.

    Raises:
        UserError: The program cannot be compiled or read.
    """
    if compute != AUTO:
        return compute
    program = problem.program
    if program is None or program.is_python or program.recorded or not program.simulated:
        return "injected"
    return "injected" if injects(program) else "measured"


def injects(program: UserProgram) -> bool:
    """Return whether a program or one of its own libraries refers to SimGrid's functions that inject computation.

    Raises:
        UserError: The program cannot be compiled or read.
    """
    return any(name.startswith((_EXECUTES, _SAMPLES)) for name in _referred(program))


def samples(program: UserProgram) -> bool:
    """Return whether a program times blocks of itself, by SMPI_SAMPLE.

    Raises:
        UserError: The program cannot be compiled or read.
    """
    return any(name.startswith(_SAMPLES) for name in _referred(program))


@lru_cache(maxsize=256)
def _referred(program: UserProgram) -> frozenset[str]:
    """Return the names of SMPI's own functions to which a program or its own libraries refer."""
    binary = executable(program)
    files = (str(binary), *private_libraries(binary))
    return frozenset(name for file in files for name in referred_names(file) if name.startswith("smpi_"))


_WHERE = f"--efficiency {PLATFORM_EFFICIENCY}"


def platform_efficiency(
    target: Target, *, memory_bus: float | str | None = None, bytes_per_flop: float | None = None
) -> float:
    """Return the share of its hosts' speed that the target's kernel sustains with as many ranks on each of them.

    The time of an operation grows evenly from that of one rank to that of all cores.  All hosts of a run have the same
    share, with which equal work on every rank takes the same total time.

    Args:
        target: The target.
        memory_bus: As in RunSpec.  With a bus the share is that of one rank, less the time of its bytes on the bus:
            the bus itself slows down several ranks.
        bytes_per_flop: As in RunSpec.

    Raises:
        OptionError: The platform does not give it, or the program is the user's own.
    """
    problem = target.problem
    if problem.program is not None:
        raise OptionError(_WHERE, "it is the efficiency of a kernel", "Leave it out")
    moved = problem.bytes_per_flop if bytes_per_flop is None else bytes_per_flop
    counts = Counter(target.placement)
    nominal_s = took_s = 0.0
    for name, ranks in counts.items():
        host = target.platform.host(name)
        nominal_s += ranks / host.speed_flops
        if memory_bus is None:
            took_s += ranks * _operation_s(host, problem.name, target, ranks)
        else:
            bus_Bps = host.memory_Bps if isinstance(memory_bus, str) else memory_bus
            alone_s = _operation_s(host, problem.name, target, 1)
            left_s = alone_s - (moved or 0.0) / bus_Bps if bus_Bps else alone_s
            if left_s < 1 / host.speed_flops:
                text = f"on {name} {problem.name} leaves no time for its bytes on the memory bus"
                raise OptionError(_WHERE, text, "Leave out --memory-bus: both shares include the memory")
            took_s += ranks * left_s
    return min(1.0, nominal_s / took_s)


def _operation_s(host: Host, kernel: str, target: Target, ranks: int) -> float:
    """Return the time of an operation on a host when this number of ranks compute, s."""
    known_efficiency = next((efficiency for efficiency in host.efficiencies if efficiency.kernel == kernel), None)
    if known_efficiency is None:
        problem = f"platform {target.platform.name} gives no efficiency of {kernel} on host {host.name}"
        raise OptionError(_WHERE, problem, "Calibrate it from a machine with --kernels, or give a number or reference")
    alone_s, busy_s = (1 / (share * host.speed_flops) for share in (known_efficiency.alone, known_efficiency.busy))
    busy = 0.0 if host.cores == 1 else min(1.0, (ranks - 1) / (host.cores - 1))
    return alone_s + busy * (busy_s - alone_s)


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
