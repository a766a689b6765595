"""Options for the settings of runs: computation, efficiency, iterations, engine, memory bus and time limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.spec.checks import not_timed
from apps.spec.choices import AUTO, COMPUTE, ENGINES, REPEATS
from apps.spec.engine_options import parse_options
from apps.spec.settings import Settings, parse_iterations, parse_memory_bus
from apps.traffic import declared_names
from platforms.command.request import Request, option
from platforms.errors import UserError

if TYPE_CHECKING:
    from apps.spec.choices import RealMachine

WALL_LIMIT_S = 4 * 3600.0  # the longest single runs of class D take a tenth of it
WALL_LIMIT_HELP = (
    "stop a simulation that takes more than S seconds of wall time, such as an endless loop "
    f"(default: {WALL_LIMIT_S:g}, four hours; 0: no limit)"
)


@dataclass(frozen=True, kw_only=True)
class ComputeOptions(Request):
    """The source of the time that computation takes in runs."""

    compute: str = option(
        AUTO,
        "HOW",
        f"{AUTO}, {', '.join(COMPUTE[:-1])} or {COMPUTE[-1]}: injected, a kernel or program itself states how much it "
        "computes; measured, a program of your own is timed on this machine; none: it takes no simulated time; "
        f"{AUTO} (default): injected for kernels and for programs that call smpi_execute or SMPI_SAMPLE, measured for "
        "all others",
        others=("--computation",),
        parse=str.lower,
        choices=(AUTO, *COMPUTE),
    )
    host_speed: float | None = option(
        None,
        "GFLOPS",
        "speed of one core of this machine on the scale of the platform's hosts, for measured computation (default: "
        "its speed in a product of matrices, measured once)",
        unit="Gflop/s",
    )


@dataclass(frozen=True, kw_only=True)
class SettingsOptions(ComputeOptions):
    """Computation, efficiency, iterations, engine, memory bus and SimGrid options of runs."""

    efficiency: str = option(
        "reference",
        "E",
        "share of a host's speed that a kernel sustains: a number in (0, 1], reference (default: the fractions of one "
        "real core), measured (on this machine, by gridval program speed), or platform (that of the kernel on a "
        "platform calibrated from a machine)",
        parse=str.lower,
    )
    iterations: str | None = option(
        None,
        "steady|full|K",
        "iterations to simulate: steady, until they repeat (default); full, all (default with arithmetic); or K; the "
        "rest is extrapolated, with a stated bound that assumes continued repetition",
    )
    engine: str | None = option(
        None,
        "NAME",
        lambda _: (
            f"{' or '.join(ENGINES)}: s4u runs the kernels {', '.join(declared_names())} as skeletons (default: smpi; "
            "s4u for a program in Python)"
        ),
        parse=str.lower,
    )
    memory_bus: str | None = option(
        None,
        "GB/S|platform",
        "bandwidth between a node's cores and its memory, which its ranks share: each computation is followed by "
        "moving the bytes that the kernel declares, or --bytes-per-flop gives; platform: the bandwidth that the "
        "platform gives for each host (default: memory never limits)",
    )
    bytes_per_flop: float | None = option(
        None,
        "B",
        "with --memory-bus: bytes per operation instead of those that the kernel declares; a program of your own needs "
        "it",
        unit="byte/flop",
    )
    cfg: tuple[str, ...] = option((), "KEY:VALUE", "a SimGrid option; may be given several times")


def check_timed(request: ComputeOptions) -> None:
    """Refuse to time a kernel, before this machine's speed is measured.

    Raises:
        OptionError: There is no program to be timed.
    """
    if request.compute == "measured" and getattr(request, "program", None) is None:
        raise not_timed()


def settings_from_request(
    request: SettingsOptions, machine: RealMachine | None = None, repeats: int | None = None
) -> Settings:
    """Return the settings that a request asks for.

    Args:
        request: The settings.
        machine: The real machine on which runs are made; None: they are simulated.
        repeats: How often each is made there; None: REPEATS.

    Raises:
        UserError: The options do not fit together, or one is out of range.
    """
    check_timed(request)
    return Settings(
        compute=request.compute,
        efficiency=request.efficiency,
        iterations=None if request.iterations is None else parse_iterations(request.iterations),
        options=parse_options(request.cfg),
        host_speed_flops=None if request.host_speed is None else request.host_speed * 1e9,
        engine=request.engine,
        memory_bus=None if request.memory_bus is None else parse_memory_bus(request.memory_bus),
        bytes_per_flop=request.bytes_per_flop,
        machine=machine,
        repeats=REPEATS if repeats is None else repeats,
    )


@dataclass(frozen=True, kw_only=True)
class WallLimitOption(Request):
    """The wall time that one simulation may take."""

    wall_limit: float = option(WALL_LIMIT_S, "S", WALL_LIMIT_HELP, unit="s")


def wall_limit_from_request(request: WallLimitOption) -> float | None:
    """Return the wall time that one simulation may take, s; None: any.

    Raises:
        UserError: The value is negative or infinite.
    """
    limit_s = request.wall_limit
    if not 0 <= limit_s < float("inf"):
        raise UserError(f"--wall-limit {limit_s:g}", "not a time", "Give seconds of wall time, or 0 for no limit")
    return limit_s or None
