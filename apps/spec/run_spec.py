"""One run, described completely."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from apps.programs.kernel import named_kernel
from apps.results.steady import REPETITION_RULE, RULE
from apps.spec import checks
from apps.spec.choices import COMPUTE, MACHINE, MODES, MOST_ITERATIONS, RECORDED, REPEATS, RealMachine
from apps.spec.engine_options import ENGINE_OPTIONS, check_options
from apps.spec.machine_speed import processor_model
from apps.spec.target import Target


@dataclass(frozen=True)
class RunSpec:
    """One simulation, described completely: equal specs give equal records, to the last digit.

    ``iterations`` gives the number of simulated iterations: ``full``, all; ``steady``, as many as show that they
    repeat; or a number.  The remaining iterations are extrapolated (apps/results/steady.py).
    """

    target: Target
    mode: str = "skeleton"  # or "verify": with arithmetic, whose results are checked
    # or "none": it takes no time; "measured": a user's program is timed on this computer; "recorded": that of a replay
    compute: str = "injected"
    efficiency: float = 1.0  # sustained share of a host's speed, (0, 1]
    iterations: str | int = "full"
    options: tuple[tuple[str, str], ...] = ()  # SimGrid's --cfg, in addition to the platform's
    # Speed of this computer on the platform's scale; for "measured" and for replays.
    host_speed_flops: float | None = None
    # or "s4u": for the user's program in Python, or a kernel with declared traffic; "replay": for one of another MPI
    engine: str = "smpi"
    # Bandwidth between the cores of a node and its memory, which its ranks share, byte/s; "platform": as the platform
    # gives it for each host; None: memory never limits.  Each counted operation moves bytes_per_flop over the bus;
    # None: the bytes that the kernel declares.
    memory_bus: float | str | None = None
    bytes_per_flop: float | None = None
    machine: RealMachine | None = None  # the real machine that runs it; for the engine "machine", and only for that
    repeats: int = REPEATS  # on a machine
    # Which of the measurements of a program's computation the run replays: those of the truth and of the evidence are
    # two.  ``work`` is that measurement itself (apps/runs/computation.py); None: each run is timed while it is made.
    measurement: int = 0
    work: Any = field(default=None, compare=False, repr=False)
    # Folder for what a user's program writes, which decides nothing; None: it is removed with the run.
    keep_output: Path | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        checks.check_known("mode", self.mode, MODES)
        checks.check_known("compute", self.compute, (*COMPUTE, RECORDED))
        checks.check_shares(self.target)
        checks.check_machine(self.engine, self.machine, self.target, repeats=self.repeats)
        if self.machine is not None:
            checks.check_measured(
                self.target,
                mode=self.mode,
                compute=self.compute,
                efficiency=self.efficiency,
                iterations=self.iterations,
                options=self.options,
                memory_bus=self.memory_bus,
                bytes_per_flop=self.bytes_per_flop,
            )
            return
        checks.check_efficiency(self.efficiency, "efficiency")
        checks.check_iterations(self.iterations, self.target, ends_itself=self.ends_itself)
        if self.target.problem.program is None:
            checks.check_kernel(compute=self.compute, host_speed_flops=self.host_speed_flops)
        else:
            checks.check_own_program(
                mode=self.mode,
                compute=self.compute,
                efficiency=self.efficiency,
                host_speed_flops=self.host_speed_flops,
                replayed=self.target.problem.program.native is not None,
            )
        checks.check_engine(self.engine, self.target, mode=self.mode, compute=self.compute, options=self.options)
        checks.check_memory_bus(
            self.memory_bus, self.bytes_per_flop, self.target, engine=self.engine, compute=self.compute
        )
        check_options(self.options, self.target.platform, self.engine_options)

    @property
    def moved_bytes_per_flop(self) -> float:
        """Bytes over the memory bus per operation; 0 without a bus."""
        if self.memory_bus is None:
            return 0.0
        moved = self.target.problem.bytes_per_flop if self.bytes_per_flop is None else self.bytes_per_flop
        assert moved is not None  # None for the user's own programs only, which need a number (check_memory_bus)
        return moved

    @property
    def ends_itself(self) -> bool:
        """True if the run's arithmetic determines the number of iterations."""
        return self.mode == "verify" and self.target.problem.open_ended

    @property
    def full_iterations(self) -> int:
        """Number of iterations of a full run, or the largest allowed number if the run ends itself.

        Raises:
            KernelError: The number is to be taken from a table that does not have it.
        """
        return MOST_ITERATIONS if self.ends_itself else self.target.iterations

    @property
    def engine_options(self) -> dict[str, str]:
        """SimGrid options that the engine sets."""
        if self.compute != "measured":
            return ENGINE_OPTIONS
        scale = {"smpi/host-speed": f"{self.host_speed_flops:.17g}f"}
        return {**ENGINE_OPTIONS, **scale, **({} if self.work is not None else {"smpi/simulate-computation": "yes"})}

    @property
    def flop_scale(self) -> float:
        """Flops injected per counted flop; hosts have their peak speed, of which kernels sustain a part."""
        return 0.0 if self.compute == "none" else 1 / self.efficiency

    @property
    def source(self) -> str:
        """Origin of the record's times, ``simulation`` or ``measurement``."""
        return "simulation" if self.machine is None else "measurement"

    def identity(self) -> dict[str, Any]:
        """Return every field that determines the result, as JSON values.

        The identity of a run on a real machine has the machine in place of the platform, and names its source.
        """
        if self.machine is not None:
            return self._identity_on(self.machine)
        problem, program = self.target.problem, self.target.problem.program
        if program is not None:
            settings: dict[str, Any] = {"arguments": list(program.arguments), "full_iterations": program.iterations}
            settings |= self.measured_identity()
            if program.status:
                settings["status"] = program.status
            if program.assumed:
                settings["assumed"] = sorted(program.assumed)
        elif problem.open_ended and not self.ends_itself:  # the number comes from a table, not from the parameters
            settings = {"full_iterations": self.target.iterations}
        else:
            settings = {}
        if problem.shares:
            settings["shares"] = list(problem.shares)
        if problem.iterative and self.iterations != "full":
            settings["extrapolation_rule"] = RULE
            if program is not None or not named_kernel(problem.name).uniform:
                settings["repetition_rule"] = REPETITION_RULE
        if self.memory_bus is not None:
            settings |= {"memory_bus": self.memory_bus, "bytes_per_flop": self.moved_bytes_per_flop}
        return {
            **settings,
            "app": problem.name,
            "class": problem.preset,
            "params": dict(problem.params),
            "platform_hash": self.target.platform.content_hash,
            "host": list(self.target.placement),
            "engine": self.engine,
            "mode": self.mode,
            "compute": self.compute,
            "efficiency": self.efficiency,
            "iterations": self.iterations,
            "options": dict(self.options),
        }

    def measured_identity(self) -> dict[str, Any]:
        """Return the fields that determine measured computation; none for computation that is injected."""
        if self.compute == RECORDED:
            return {"host_speed_flops": self.host_speed_flops}
        if self.compute != "measured":
            return {}
        return {
            "host_speed_flops": self.host_speed_flops,
            "measurement": self.measurement,
            "processor": processor_model(),
        }

    def _identity_on(self, machine: RealMachine) -> dict[str, Any]:
        problem, program = self.target.problem, self.target.problem.program
        settings = (
            {} if program is None else {"arguments": list(program.arguments), "full_iterations": program.iterations}
        )
        shares = {"shares": list(problem.shares)} if problem.shares else {}
        return {
            **settings,
            **shares,
            "source": self.source,
            "machine": machine.name,
            "app": problem.name,
            "class": problem.preset,
            "params": dict(problem.params),
            "platform_hash": machine.content_hash,
            "host": list(self.target.placement),
            "engine": MACHINE,
            "mode": self.mode,
            "iterations": self.iterations,
            "repeats": self.repeats,
        }
