"""Checks of a run's description, by subject.  Each takes the values that it needs."""

from __future__ import annotations

from collections.abc import Sequence

from apps.errors import KernelError, OptionError
from apps.programs.kernel import named_kernel
from apps.spec.choices import (
    ENGINES,
    ITERATION_POLICIES,
    LEAST_EFFICIENCY,
    MACHINE,
    MOST_REPEATS,
    PLATFORM_MEMORY,
    REPLAY,
    RealMachine,
)
from apps.spec.engine_options import check_host_names
from apps.spec.target import Target
from platforms.addons import provided
from platforms.errors import known_names
from platforms.model.platform import Platform
from platforms.wording import number_of

_SHARED_MALLOC, _OWN_MALLOC = "smpi/auto-shared-malloc-thresh", "-USMPI_NO_OVERRIDE_MALLOC"


def check_known(name: str, value: str, known: Sequence[str]) -> None:
    """Refuse a value that is not among the ``known`` ones.

    Raises:
        OptionError: The value is unknown.
    """
    if value not in known:
        which = "mode" if name == "mode" else "choice"
        raise OptionError(f"{name} {value!r}", f"no such {which}", known_names(value, known))


def check_shares(target: Target) -> None:
    """Check that a problem in unequal shares has one for every rank.

    Raises:
        KernelError: It has not.
    """
    shares = target.problem.shares
    if shares and len(shares) != target.nranks:
        problem = f"{len(shares)} shares for {number_of(target.nranks, 'rank')}"
        raise KernelError(str(target.problem), problem, "Give one for every rank")


def check_efficiency(value: float, where: str) -> None:
    """Refuse a share of the peak speed outside of (0, 1].

    Raises:
        OptionError: The share is out of range; the error names ``where`` it was given.
    """
    if not LEAST_EFFICIENCY <= value <= 1:  # refuses NaN too
        problem = f"not in (0, 1], or below {LEAST_EFFICIENCY:g}"
        raise OptionError(where, problem, "Give a share of the peak speed")


def check_iterations(iterations: str | int, target: Target, *, ends_itself: bool) -> None:
    """Refuse a number of iterations that the target does not have, or that may not be extrapolated from.

    Args:
        iterations: Number or policy, as in RunSpec.
        target: The target of the run.
        ends_itself: The run's arithmetic decides the number of iterations.

    Raises:
        OptionError: The target does not allow them.
    """
    where, problem = f"iterations {iterations}", target.problem
    if ends_itself and iterations != "full":
        parameter = named_kernel(problem.name).iterations_parameter
        reason = f"with arithmetic {problem.name} stops by itself when it has converged"
        raise OptionError(where, reason, f"Leave it out, or give --param {parameter}=K")
    if target.changes and iterations != "full":
        reason = f"platform {target.platform.name} changes over time, so that iterations need not repeat"
        raise OptionError(where, reason, "Give full, or leave it out")
    if iterations in ITERATION_POLICIES:
        return
    if not problem.iterative:
        reason = f"{problem} has no iterations to be counted"
        raise OptionError(where, reason, f"Give {' or '.join(ITERATION_POLICIES)}")
    if problem.program is not None and problem.program.native is not None:
        raise OptionError(where, f"{problem} is recorded under its own MPI, in full", "Leave it out")
    if not isinstance(iterations, int) or not 1 <= iterations <= target.iterations:
        raise OptionError(
            "iterations",
            f"{iterations} is not between 1 and the {target.iterations} of {problem}",
            f"Give a number in that range, {' or '.join(ITERATION_POLICIES)}",
        )


def check_kernel(*, compute: str, host_speed_flops: float | None) -> None:
    """Refuse settings that only the user's own programs take.

    Raises:
        OptionError: Computation of a kernel is to be measured, or a host speed is given for it.
    """
    if compute == "measured":
        raise not_timed()
    if host_speed_flops is not None:
        problem = "goes with --compute measured, for programs of your own (--program)"
        raise OptionError("--host-speed", problem, "Leave it out")


def check_own_program(
    *, mode: str, compute: str, efficiency: float, host_speed_flops: float | None, replayed: bool
) -> None:
    """Refuse settings that only kernels take, and a host speed without measured computation or the reverse.

    Raises:
        OptionError: One of the values is not for a program of the user's own.
    """
    if compute == "measured" and host_speed_flops is None:
        raise OptionError("compute 'measured'", "the speed of this computer is missing", "Give host_speed_flops")
    if compute != "measured" and host_speed_flops is not None and not replayed:
        raise OptionError("--host-speed", "goes with --compute measured", "Give that too")
    if host_speed_flops is not None and not 0 < host_speed_flops < float("inf"):
        raise OptionError(f"--host-speed {host_speed_flops / 1e9:g}", "not a speed", "Give Gflop/s, more than 0")
    if mode != "skeleton":
        raise OptionError(f"--mode {mode}", "a program of your own has no modes", "Leave it out")
    if efficiency != 1.0:
        problem = "a program of your own itself states its computation"
        raise OptionError(f"--efficiency {efficiency:g}", problem, "Leave it out")


def check_engine(engine: str, target: Target, *, mode: str, compute: str, options: Sequence[tuple[str, str]]) -> None:
    """Refuse an engine that is unknown, or that cannot run the target as asked.

    Raises:
        OptionError: The engine does not go with the other values.
    """
    program = target.problem.program
    if program is not None and program.native is not None:
        check_host_names(target.placement)
        if engine != REPLAY:
            problem = f"{program.name} uses {program.native.family.name}, which SimGrid cannot run: its recording is"
            raise OptionError(f"--engine {engine}", problem, "Leave it out")
        return
    if program is not None and not program.simulated:
        problem = f"{program.name} was built for a real MPI library"
        raise OptionError(f"--engine {engine}", problem, "Give its source, or run it with --machine")
    if engine not in ENGINES:
        raise OptionError(f"--engine {engine}", "no such engine", known_names(engine, ENGINES))
    if engine == "s4u":
        provided("apps.spec.s4u_limits:check_limits")(target, mode=mode, compute=compute, options=options)
    elif program is not None and program.is_python:
        raise OptionError(f"--engine {engine}", f"{program.name} is a program in Python", "It needs --engine s4u")
    else:
        check_host_names(target.placement)
    shared = dict(options).get(_SHARED_MALLOC, "0")
    if program is not None and program.is_source and shared != "0" and _OWN_MALLOC not in program.flags:
        problem = f"{program.name} is compiled with the C library's malloc"
        raise OptionError(f"--cfg {_SHARED_MALLOC}:{shared}", problem, f"Give --program-flags={_OWN_MALLOC} too")


def check_machine(engine: str, machine: RealMachine | None, target: Target, *, repeats: int) -> None:
    """Refuse an engine ``machine`` without a machine, a machine with another engine, and hosts that it has not.

    Raises:
        OptionError: The values do not go together.
    """
    if (engine == MACHINE) != (machine is not None):
        remedy = "Name its file with --machine" if machine is None else "Leave it out"
        raise OptionError(f"--engine {engine}", f"goes {'with' if machine is None else 'not with'} a machine", remedy)
    if machine is None:
        return
    if not 1 <= repeats <= MOST_REPEATS:
        raise OptionError(f"--repeats {repeats}", f"not between 1 and {MOST_REPEATS}", "Give a number in that range")
    for host in target.placement:
        if host not in machine.hosts:
            remedy = "Give a platform with the machine's host names, or leave --platform out"
            raise OptionError(f"host {host!r}", f"machine {machine.name} has no such host", remedy)


def check_measured(
    target: Target,
    *,
    mode: str,
    compute: str,
    efficiency: float,
    iterations: str | int,
    options: Sequence[tuple[str, str]],
    memory_bus: float | str | None,
    bytes_per_flop: float | None,
) -> None:
    """Refuse settings of simulations for a run on a real machine, which computes and sends as it does.

    Raises:
        OptionError: One is given.
    """
    leave_out, program = "Leave it out with --machine", target.problem.program
    if program is not None and program.is_python:
        raise OptionError("--machine", f"{program.name} is a program in Python for SimGrid", "Take another program")
    if mode != ("verify" if program is None else "skeleton"):
        problem = "a program of your own has no modes" if program is not None else "a machine runs kernels in full"
        raise OptionError(f"--mode {mode}", problem, leave_out)
    if compute != "injected":
        raise OptionError(f"--compute {compute}", "a machine computes in its own time", leave_out)
    if efficiency != 1:
        raise OptionError(f"--efficiency {efficiency:g}", "a machine has its own", leave_out)
    if iterations != "full":
        raise OptionError(f"--iterations {iterations}", "a machine runs all", leave_out)
    if options:
        raise OptionError(
            f"--cfg {options[0][0]}:{options[0][1]}", "a machine has none of SimGrid's options", leave_out
        )
    if memory_bus is not None or bytes_per_flop is not None:
        option = "--memory-bus" if memory_bus is not None else "--bytes-per-flop"
        raise OptionError(option, "a machine has its own", leave_out)


def check_memory_bus(
    memory_bus: float | str | None, bytes_per_flop: float | None, target: Target, *, engine: str, compute: str
) -> None:
    """Refuse a memory bus that does not go with the run.

    Args:
        memory_bus: Bandwidth of every node, byte/s, or ``platform``, or None for no bus.
        bytes_per_flop: Bytes per operation instead of those that the kernel declares, or None.
        target: The target of the run.
        engine: The engine of the run.
        compute: How the run computes.

    Raises:
        OptionError: A value is out of range, or does not go with the others.
    """
    if memory_bus is None:
        if bytes_per_flop is not None:
            problem, remedy = "goes with --memory-bus", "Give that too, or leave it out"
            raise OptionError(f"--bytes-per-flop {bytes_per_flop:g}", problem, remedy)
        return
    if bytes_per_flop is not None and not 0 <= bytes_per_flop < float("inf"):
        raise OptionError(f"--bytes-per-flop {bytes_per_flop:g}", "not a number from 0 on", "Give bytes")
    where = "--memory-bus"
    if target.problem.program is not None and bytes_per_flop is None:
        problem = "a program of your own does not say how many bytes it moves"
        raise OptionError(where, problem, "Give --bytes-per-flop (docs/kernels/index.md), or leave it out")
    if engine not in ("smpi", REPLAY):
        raise OptionError(where, f"engine {engine} has no memory bus", "Take engine smpi")
    if compute == "none":
        raise OptionError(where, "with --compute none computation is free, and so is its memory", "Drop one")
    if isinstance(memory_bus, str):
        _check_memory_of_platform(memory_bus, target.platform, target.placement)
    elif not 0 < memory_bus < float("inf"):
        raise OptionError(f"{where} {memory_bus / 1e9:g}", "not a bandwidth", "Give GB/s, more than 0")


def _check_memory_of_platform(word: str, platform: Platform, hosts: Sequence[str]) -> None:
    """Refuse any other word than ``platform``, and a platform without the memory bandwidth of every host in use."""
    if word != PLATFORM_MEMORY:
        remedy = f"Give GB/s of a node, or {PLATFORM_MEMORY}"
        raise OptionError(f"--memory-bus {word}", "neither a number nor a known word", remedy)
    for host in dict.fromkeys(hosts):
        if platform.host(host).memory_Bps is None:
            problem = f"platform {platform.name} gives no memory bandwidth of host {host}"
            remedy = "Give GB/s of a node, or memory_gbyte_s in a scenario file, property memory_bandwidth in XML"
            raise OptionError(f"--memory-bus {PLATFORM_MEMORY}", problem, remedy)


def not_timed() -> OptionError:
    """Return the error for a kernel whose computation is to be measured."""
    problem = "kernels inject their computation, and a skeleton does none"
    return OptionError("--compute measured", problem, "It is for programs of your own (--program)")
