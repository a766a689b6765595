"""What is asked of the engine: a problem on a platform, and how to run it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from apps.catalog import Problem, app
from apps.errors import KernelError
from apps.s4u.limits import check_limits
from apps.steady import RULE
from platforms.platform import Change, Platform

MODES = ("skeleton", "verify")
ENGINES = ("smpi", "s4u")
KERNEL_COMPUTE = ("injected", "none")
COMPUTE = ("injected", "measured", "none")  # "measured": programs of the user's own alone
ITERATION_POLICIES = ("steady", "full")
PLATFORM_MEMORY = "platform"  # the memory bus of each host is what the platform says
# Of a method that iterates until it is done; one that is not done then has failed.
MOST_ITERATIONS = 20_000
LEAST_EFFICIENCY = 1e-9  # of the peak speed; less is no computer, and overflows
# What the engine sets itself; a user's value would make records incomparable or break them.
ENGINE_OPTIONS = {"smpi/simulate-computation": "no", "network/model": "SMPI"}
_RESERVED_OPTIONS = {*ENGINE_OPTIONS, "smpi/privatization", "smpi/np", "smpi/hostfile", "smpi/tmpdir"}


@dataclass(frozen=True)
class Target:
    """A problem, the platform it runs on and the host of every rank."""

    problem: Problem
    platform: Platform
    placement: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.placement:
            raise KernelError("placement", "no ranks", "Place at least one rank")

    @property
    def nranks(self) -> int:
        return len(self.placement)

    @property
    def nodes(self) -> int:
        """Hosts in use."""
        return len(set(self.placement))

    @property
    def changes(self) -> tuple[Change, ...]:
        """What the platform's profiles may do to it in the course of a run."""
        return self.platform.changes_for(self.placement)

    @property
    def iterations(self) -> int:
        """Of a full run; see Problem.iterations_on."""
        return self.problem.iterations_on(self.nranks)


@dataclass(frozen=True)
class RunSpec:
    """One simulation, completely: equal specs give equal records, to the last digit.

    ``iterations`` says how many of the problem's iterations are simulated: ``full``; ``steady``, as many as it takes
    to see that they repeat, the rest extrapolated; or a number, the rest extrapolated (apps/steady.py).
    """

    target: Target
    mode: str = "skeleton"  # or "verify": with arithmetic, checked
    compute: str = "injected"  # or "none": it takes no simulated time; "measured": a user's program, timed as it runs
    efficiency: float = 1.0  # sustained share of a host's speed, (0, 1]
    iterations: str | int = "full"
    options: tuple[tuple[str, str], ...] = ()  # SimGrid's --cfg, besides those of the platform
    host_speed_flops: float | None = None  # of this computer on the platform's scale; needed for "measured" alone
    engine: str = "smpi"  # "s4u" for programs in Python: a user's own, CG and EP
    # byte/s between the cores of a node and its memory, which its ranks share; "platform": what that says of each host;
    # None: memory never limits.  What moves over it are bytes_per_flop of all operations that are counted; None: as
    # many as the kernel declares.
    memory_bus: float | str | None = None
    bytes_per_flop: float | None = None

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise KernelError(f"mode {self.mode!r}", "no such mode", f"Known: {', '.join(MODES)}")
        if self.compute not in COMPUTE:
            raise KernelError(f"compute {self.compute!r}", "no such choice", f"Known: {', '.join(COMPUTE)}")
        _check_efficiency(self.efficiency, "efficiency")
        self._check_iterations()
        self._check_program()
        self._check_engine()
        self._check_memory_bus()
        check_options(self.options, self.target.platform, self.engine_options)

    def _check_iterations(self) -> None:
        if self.ends_itself and self.iterations != "full":
            problem = f"with arithmetic {self.target.problem.app} itself sees when it is done"
            parameter = app(self.target.problem.app).iterations_parameter
            raise KernelError(f"iterations {self.iterations}", problem, f"Leave it out, or give --param {parameter}=K")
        if self.target.changes and self.iterations != "full":
            problem = f"platform {self.target.platform.name} changes over time, so that iterations need not repeat"
            raise KernelError(f"iterations {self.iterations}", problem, "Give full, or leave it out")
        if self.iterations in ITERATION_POLICIES:
            return
        if not self.target.problem.iterative:
            problem = f"{self.target.problem} has no iterations to be counted"
            raise KernelError(f"iterations {self.iterations}", problem, f"Give {' or '.join(ITERATION_POLICIES)}")
        official = self.target.iterations
        if not isinstance(self.iterations, int) or not 1 <= self.iterations <= official:
            raise KernelError(
                "iterations",
                f"{self.iterations} is not between 1 and the {official} of {self.target.problem}",
                f"Give a number in that range, {' or '.join(ITERATION_POLICIES)}",
            )

    def _check_program(self) -> None:
        """What goes with a kernel only, or with a user's program only."""
        if self.target.problem.program is None:
            if self.compute == "measured":
                raise not_timed()
            if self.host_speed_flops is not None:
                problem = "goes with --compute measured, for programs of your own (--program)"
                raise KernelError("--host-speed", problem, "Leave it out")
            return
        if self.compute == "measured" and self.host_speed_flops is None:
            raise KernelError("compute 'measured'", "the speed of this computer is missing", "Give host_speed_flops")
        if self.compute != "measured" and self.host_speed_flops is not None:
            raise KernelError("--host-speed", "goes with --compute measured", "Give that too")
        if self.host_speed_flops is not None and not 0 < self.host_speed_flops < float("inf"):
            where = f"--host-speed {self.host_speed_flops / 1e9:g}"
            raise KernelError(where, "not a speed", "Give Gflop/s, more than 0")
        if self.mode != "skeleton":
            raise KernelError(f"--mode {self.mode}", "a program of your own has no modes", "Leave it out")
        if self.efficiency != 1.0:
            problem = "a program of your own says itself what it computes"
            raise KernelError(f"--efficiency {self.efficiency:g}", problem, "Leave it out")

    def _check_engine(self) -> None:
        if self.engine not in ENGINES:
            raise KernelError(f"--engine {self.engine}", "no such engine", f"Known: {', '.join(ENGINES)}")
        program = self.target.problem.program
        if self.engine == "s4u":
            check_limits(self)
        elif program is not None and program.is_python:
            problem = f"{program.name} is a program in Python"
            raise KernelError(f"--engine {self.engine}", problem, "It needs --engine s4u")
        else:
            check_host_names(self.target.placement)

    def _check_memory_bus(self) -> None:
        if self.memory_bus is None:
            if self.bytes_per_flop is not None:
                problem, remedy = "goes with --memory-bus", "Give that too, or leave it out"
                raise KernelError(f"--bytes-per-flop {self.bytes_per_flop:g}", problem, remedy)
            return
        if self.bytes_per_flop is not None and not 0 <= self.bytes_per_flop < float("inf"):
            raise KernelError(f"--bytes-per-flop {self.bytes_per_flop:g}", "not a number from 0 on", "Give bytes")
        where, leave_out = "--memory-bus", "Leave it out"
        if self.target.problem.program is not None:
            raise KernelError(where, "a program of your own does not say how many bytes it moves", leave_out)
        if self.engine != "smpi":
            raise KernelError(where, f"engine {self.engine} has no memory bus", "Take engine smpi")
        if self.compute == "none":
            raise KernelError(where, "with --compute none computation is free, and so is its memory", "Drop one")
        if isinstance(self.memory_bus, str):
            self._check_memory_of_platform()
        elif not 0 < self.memory_bus < float("inf"):
            raise KernelError(f"{where} {self.memory_bus / 1e9:g}", "not a bandwidth", "Give GB/s, more than 0")

    def _check_memory_of_platform(self) -> None:
        platform = self.target.platform
        if self.memory_bus != PLATFORM_MEMORY:
            where = f"--memory-bus {self.memory_bus}"
            raise KernelError(where, "neither a number nor a known word", f"Give GB/s of a node, or {PLATFORM_MEMORY}")
        for host in dict.fromkeys(self.target.placement):
            if platform.host(host).memory_Bps is None:
                problem = f"platform {platform.name} does not say it of host {host}"
                remedy = "Give GB/s of a node, or memory_gbyte_s in a scenario file, property memory_bandwidth in XML"
                raise KernelError(f"--memory-bus {PLATFORM_MEMORY}", problem, remedy)

    @property
    def moved_bytes_per_flop(self) -> float:
        """Bytes over the memory bus per operation; 0 without one."""
        if self.memory_bus is None:
            return 0.0
        moved = self.target.problem.bytes_per_flop if self.bytes_per_flop is None else self.bytes_per_flop
        assert moved is not None  # of a program of the user's own, which may have no memory bus
        return moved

    @property
    def ends_itself(self) -> bool:
        """Whether it is the run's arithmetic that tells how many iterations it takes."""
        return self.mode == "verify" and self.target.problem.open_ended

    @property
    def full_iterations(self) -> int:
        """What the program is told in a full run: the number of its iterations, or the most it may take.

        Raises KernelError where that is to be taken from a table that does not have it.
        """
        return MOST_ITERATIONS if self.ends_itself else self.target.iterations

    @property
    def engine_options(self) -> dict[str, str]:
        """The SimGrid options that the engine sets itself."""
        if self.compute != "measured":
            return ENGINE_OPTIONS
        measured = {"smpi/simulate-computation": "yes", "smpi/host-speed": f"{self.host_speed_flops:.17g}f"}
        return {**ENGINE_OPTIONS, **measured}

    @property
    def flop_scale(self) -> float:
        """Flops injected per flop counted: hosts are described by their peak speed, kernels sustain a part of it."""
        return 0.0 if self.compute == "none" else 1 / self.efficiency

    def identity(self) -> dict[str, Any]:
        """Every field that decides the result, as JSON values."""
        problem, program = self.target.problem, self.target.problem.program
        if program is not None:
            own: dict[str, Any] = {"arguments": list(program.arguments), "full_iterations": program.iterations}
            if self.compute == "measured":
                own["host_speed_flops"] = self.host_speed_flops
        elif problem.open_ended and not self.ends_itself:  # from a table, which is no part of the parameters
            own = {"full_iterations": self.target.iterations}
        else:
            own = {}
        if problem.iterative and self.iterations != "full":
            own["extrapolation_rule"] = RULE
        if self.memory_bus is not None:
            own |= {"memory_bus": self.memory_bus, "bytes_per_flop": self.moved_bytes_per_flop}
        return {
            **own,
            "app": problem.app,
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


@dataclass(frozen=True)
class Settings:
    """How runs are made, whatever the target: the same for the truth and for the evidence."""

    compute: str = "injected"
    efficiency: str = "reference"  # a number, "reference" or "measured"; the last two depend on the app
    iterations: str | int | None = None  # as in RunSpec; None: steady, but full where it may not be
    options: tuple[tuple[str, str], ...] = ()
    host_speed_flops: float | None = None  # of this computer, for "measured"; None: as calibrated
    engine: str | None = None  # None: s4u for a program in Python, smpi for all others
    memory_bus: float | str | None = None  # as in RunSpec
    bytes_per_flop: float | None = None

    def spec(self, target: Target, mode: str = "skeleton") -> RunSpec:
        """The run of a target under these settings."""
        default = "full" if mode == "verify" or target.changes else "steady"
        return RunSpec(
            target=target,
            mode=mode,
            compute=self.compute,
            efficiency=resolve_efficiency(self.efficiency, target.problem),
            iterations=default if self.iterations is None else self.iterations,
            options=self.options,
            host_speed_flops=self._host_speed_flops(),
            engine=self.engine or default_engine(target.problem),
            memory_bus=self.memory_bus,
            bytes_per_flop=self.bytes_per_flop,
        )

    def _host_speed_flops(self) -> float | None:
        if self.compute != "measured" or self.host_speed_flops is not None:
            return self.host_speed_flops
        from apps.calibrate import host_speed_flops

        return host_speed_flops()


def default_engine(problem: Problem) -> str:
    """What runs this problem where nothing is said."""
    return "s4u" if problem.program is not None and problem.program.is_python else "smpi"


def parse_iterations(text: str) -> str | int:
    """``steady``, ``full`` or a number."""
    if text in ITERATION_POLICIES:
        return text
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise KernelError(f"iterations {text!r}", "neither steady nor full nor a number", "Write for example 5")
    return int(text)


def parse_memory_bus(text: str) -> float | str:
    """GB/s of a node as byte/s, or ``platform``."""
    if text == PLATFORM_MEMORY:
        return text
    try:
        return float(text) * 1e9
    except ValueError:
        where, problem = f"--memory-bus {text}", "neither a number nor a known word"
        raise KernelError(where, problem, f"Give GB/s of a node, or {PLATFORM_MEMORY}") from None


def not_timed() -> KernelError:
    """The error for a kernel whose computation is to be measured."""
    problem = "kernels inject their computation, and a skeleton does none"
    return KernelError("--compute measured", problem, "It is for programs of your own (--program)")


def check_host_names(names: Iterable[str]) -> None:
    """Raises KernelError for hosts that SMPI's own host file cannot name."""
    for host in names:
        if any(character.isspace() for character in host) or ":" in host:
            raise KernelError(f"host {host!r}", "smpirun's host file cannot name it", "Rename the host in the platform")


def check_options(options: Sequence[tuple[str, str]], platform: Platform, engine_options: dict[str, str]) -> None:
    """Raises KernelError for SimGrid options, or a platform's own, that do not go with those of the engine."""
    for key, value in platform.options:
        if engine_options.get(key, value) != value:
            where = f"platform {platform.name}"
            problem = f"its <config> sets {key} to {value}, but runs need {engine_options[key]}"
            raise KernelError(where, problem, "Take it out")
    for key, value in options:
        if key in _RESERVED_OPTIONS or key in engine_options:
            raise KernelError(f"--cfg {key}:{value}", "set by the engine itself", "Leave it out")
        if set(key + value) & set(" \t\n*?[]\\'\"$`"):  # smpirun would take them apart
            raise KernelError(f"--cfg {key}:{value}", "smpirun cannot pass such characters", "Leave them out")


def parse_options(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """SimGrid options given as KEY:VALUE; the last value of a key counts."""
    options = {}
    for text in texts:
        key, colon, value = text.partition(":")
        if not key or not colon:
            raise KernelError(f"--cfg {text}", "not of the form KEY:VALUE", "Write for example --cfg smpi/os:0:1e-6:0")
        options[key] = value
    return tuple(sorted(options.items()))


def resolve_efficiency(text: str, problem: Problem) -> float:
    """``reference``, ``measured`` or a number, as a share of the peak speed for that problem's program.

    The reference of a program of the user's own is 1: what it injects is what it means.
    """
    if text == "reference":
        return app(problem.app).reference_efficiency if problem.program is None else 1.0
    if text == "measured" and problem.program is None:
        from apps.calibrate import measured_efficiency

        return measured_efficiency(problem.app)
    if text == "measured":
        remedy = "Leave it out, or give --compute measured"
        raise KernelError("--efficiency measured", "it is the efficiency of a kernel", remedy)
    try:
        value = float(text)
    except ValueError:
        raise KernelError(
            f"--efficiency {text}", "neither a number nor a known word", "Give a share in (0, 1], reference or measured"
        ) from None
    _check_efficiency(value, f"--efficiency {text}")
    return value


def _check_efficiency(value: float, where: str) -> None:
    if not LEAST_EFFICIENCY <= value <= 1:  # refuses NaN too
        problem = f"not in (0, 1], or below {LEAST_EFFICIENCY:g}"
        raise KernelError(where, problem, "Give a share of the peak speed")
