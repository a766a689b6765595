"""What the command lines that run programs have in common."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from apps.errors import SimulationError
from apps.failure import telling_line
from apps.spec import (
    COMPUTE,
    ENGINES,
    KERNEL_COMPUTE,
    Settings,
    not_timed,
    parse_iterations,
    parse_memory_bus,
    parse_options,
)
from apps.verdict import readable
from platforms.command import exit_status as command_status
from platforms.errors import UserError

if TYPE_CHECKING:
    from apps.catalog import Problem
    from apps.runner import Runner

WALL_LIMIT_S = 4 * 3600.0  # the longest single runs of class D take a tenth of this
_LOG_LINES = 12


def add_problem_arguments(parser: argparse._ActionsContainer, *, default_class: str) -> None:
    """--class, --size and --param, as problem_from_arguments reads them."""
    from apps.catalog import sized_names

    parser.add_argument("--class", dest="preset", metavar="C", help=f"problem class (default: {default_class})")
    parser.add_argument("--size", type=int, metavar="N", help=f"instead of a class, for {', '.join(sized_names())}")
    parser.add_argument(
        "--param", action="append", default=[], metavar="KEY=VALUE",
        help="another parameter of a program with --size (docs/kernels/index.md); may be given several times",
    )  # fmt: skip


def problem_from_arguments(args: argparse.Namespace, app_name: str, *, default_class: str) -> Problem:
    """The problem of a kernel that --class, or --size and --param, ask for.  Raises KernelError."""
    from apps.catalog import problem, sized_problem

    if args.size is None:
        if args.param:
            raise UserError(f"--param {args.param[0]}", "goes with --size", "Give the size too, or leave it out")
        return problem(app_name, default_class if args.preset is None else args.preset)
    if args.preset is not None:
        raise UserError(f"--class {args.preset}", "does not go with --size", "Drop one")
    return sized_problem(app_name, args.size, **parse_parameters(args.param))


def parse_parameters(texts: Sequence[str]) -> dict[str, str]:
    """Parameters given as KEY=VALUE; the last value of a key counts."""
    parameters = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise UserError(f"--param {text}", "not of the form KEY=VALUE", "Write for example --param niter=10")
        parameters[key] = value
    return parameters


def add_program_arguments(parser: argparse.ArgumentParser) -> None:
    """--program, --program-args and --program-iterations, as own_problem_from_arguments reads them."""
    parser.add_argument(
        "--program", metavar="FILE",
        help="an MPI program of your own instead of a kernel: a source in C, C++ or Fortran, or what smpicc, smpicxx "
        "or smpif90 made of it (docs/programs/own-program.md); or one in Python (docs/programs/s4u.md)",
    )  # fmt: skip
    parser.add_argument(
        "--program-args", metavar="ARGS",
        help="its arguments, in one word; {iterations} stands for the number of iterations, if it is told that",
    )  # fmt: skip
    parser.add_argument("--program-iterations", type=int, metavar="N", help="what {iterations} is in a full run")


def own_problem_from_arguments(args: argparse.Namespace) -> Problem | None:
    """The problem of the user's own program; None where --program is not given.

    Raises UserError for what does not fit; options that are not given are None, --param an empty list.
    """
    from apps.catalog import own_problem
    from apps.user_program import read_program

    if args.program is None:
        for value, option in ((args.program_args, "--program-args"), (args.program_iterations, "--program-iterations")):
            if value is not None:
                raise UserError(f"{option} {value}", "there is no program", "Give --program FILE too")
        return None
    for value, option in ((args.app, "--app"), (args.preset, "--class"), (args.size, "--size")):
        if value is not None:
            raise UserError(f"{option} {value}", "does not go with --program", "Drop one")
    if args.param:
        raise UserError(f"--param {args.param[0]}", "does not go with --program", "Use --program-args")
    return own_problem(read_program(args.program, args.program_args or "", args.program_iterations))


def add_settings_arguments(parser: argparse._ActionsContainer, *, programs: bool = True) -> None:
    """--efficiency, --compute, --host-speed, --iterations, --engine, --memory-bus, --bytes-per-flop and --cfg, as
    settings_from_arguments reads them; ``programs``: the command takes --program too, whose computation can be timed.
    """
    parser.add_argument(
        "--efficiency", default="reference", metavar="E",
        help="share of a host's speed that a kernel sustains: a number in (0, 1], reference (default: the fractions "
        "of one real core), or measured (on this machine, by python -m apps.calibrate)",
    )  # fmt: skip
    computations = COMPUTE if programs else KERNEL_COMPUTE
    timed = "; measured times what a program of your own computes on this machine, so that results vary from run to run"
    parser.add_argument(
        "--compute", "--computation", dest="compute", default="injected", metavar="HOW", choices=computations,
        help=f"{' or '.join(computations)}: none makes computation free{timed if programs else ''}",
    )  # fmt: skip
    if programs:
        parser.add_argument(
            "--host-speed", type=float, metavar="GFLOPS",
            help="of one core of this machine, on the scale of the platform's hosts, for --compute measured (default: "
            "its speed in a product of matrices, measured once)",
        )  # fmt: skip
    else:
        parser.set_defaults(host_speed=None)
    parser.add_argument(
        "--iterations",
        metavar="steady|full|K",
        help="how many iterations to simulate: steady, until they repeat, the rest extrapolated with a stated bound "
        "(default; arithmetic is always run in full), full, or K; the bound assumes that what repeats goes on",
    )
    parser.add_argument(
        "--engine", metavar="NAME",
        help=f"{' or '.join(ENGINES)}: s4u takes the kernels written in Python, cg and ep (default: smpi; s4u for a "
        "program in Python)",
    )  # fmt: skip
    parser.add_argument(
        "--memory-bus", metavar="GB/S|platform",
        help="bandwidth between the cores of a node and its memory, which its ranks share: computing is followed by "
        "moving the bytes that the kernel declares; platform: what that says of its hosts (default: it never limits)",
    )  # fmt: skip
    parser.add_argument(
        "--bytes-per-flop", type=float, metavar="B",
        help="with --memory-bus: bytes per operation, in place of what the kernel declares",
    )  # fmt: skip
    parser.add_argument(
        "--cfg", action="append", default=[], metavar="KEY:VALUE", help="a SimGrid option; may be given several times"
    )


def settings_from_arguments(args: argparse.Namespace) -> Settings:
    """Raises KernelError for what does not fit."""
    if args.compute == "measured" and args.program is None:  # before this machine's speed is measured for it
        raise not_timed()
    return Settings(
        compute=args.compute,
        efficiency=args.efficiency,
        iterations=None if args.iterations is None else parse_iterations(args.iterations),
        options=parse_options(args.cfg),
        host_speed_flops=None if args.host_speed is None else args.host_speed * 1e9,
        engine=args.engine,
        memory_bus=None if args.memory_bus is None else parse_memory_bus(args.memory_bus),
        bytes_per_flop=args.bytes_per_flop,
    )


def cautions(settings: Settings, *, stored: bool = True) -> list[str]:
    """What a reader of results under these settings must know; ``stored``: the command has a store."""
    if settings.compute != "measured":
        return []
    varying = "computation is timed on this machine: results vary from run to run"
    return [f"{varying}, and none is taken from the store" if stored else varying]


def add_runner_arguments(parser: argparse._ActionsContainer) -> None:
    """--jobs, --store, --no-store and --wall-limit, as runner_from_arguments reads them."""
    parser.add_argument("--jobs", type=int, metavar="N", help="simulations at a time (default: the number of cores)")
    parser.add_argument(
        "--store", metavar="DIR", help="keep records there, and take them from there (default: in the cache folder)"
    )
    parser.add_argument("--no-store", action="store_true", help="simulate everything anew and keep nothing")
    add_wall_limit_argument(parser, "--wall-limit")


def add_wall_limit_argument(parser: argparse._ActionsContainer, *names: str) -> None:
    """The option of these names, as wall_limit_from_arguments reads it."""
    parser.add_argument(
        *names, dest="wall_limit", type=float, default=WALL_LIMIT_S, metavar="S",
        help="give up a simulation that takes more than S seconds of wall time, as one that loops for ever does "
        f"(default: {WALL_LIMIT_S:g}, four hours; 0: no limit)",
    )  # fmt: skip


def wall_limit_from_arguments(args: argparse.Namespace) -> float | None:
    """Seconds of wall time that one simulation may take; None: any.  Raises UserError."""
    limit_s: float = args.wall_limit
    if not 0 <= limit_s < float("inf"):
        raise UserError(f"--wall-limit {limit_s:g}", "not a time", "Give seconds of wall time, or 0 for no limit")
    return limit_s or None


@contextmanager
def runner_from_arguments(args: argparse.Namespace, *, scheduler: str | None = None) -> Iterator[Runner]:
    """A Runner that reports its progress; ``scheduler``: address of a Dask scheduler whose workers simulate.

    Raises UserError for what does not fit.
    """
    from apps.engine import simulate
    from apps.progress import Progress
    from apps.runner import Runner
    from apps.store import Store

    limit_s = wall_limit_from_arguments(args)
    jobs = (os.cpu_count() or 1) if args.jobs is None else args.jobs
    if jobs < 1:
        raise UserError(f"--jobs {jobs}", "not positive", "Give at least 1")
    if args.no_store and args.store is not None:
        raise UserError("--no-store", "does not go with --store", "Drop one")
    progress = Progress()
    with ExitStack() as stack:
        stack.callback(progress.close)
        store = None
        if args.store == "":
            raise UserError("--store", "an empty name", "Name a folder")
        if not args.no_store:
            store = stack.enter_context(Store(Path(args.store) if args.store is not None else None))
        if scheduler is None:
            bounded = partial(simulate, time_limit_s=limit_s)
        else:
            from apps.cluster import Cluster

            cluster = stack.enter_context(Cluster(scheduler))
            jobs = 2 * cluster.places  # so that no place waits for the next run
            bounded = partial(cluster.simulate, time_limit_s=limit_s)
        yield stack.enter_context(
            Runner(jobs=jobs, store=store, simulate=bounded, progress=progress, time_limit_s=limit_s)
        )


def exit_status(command: Callable[[], int]) -> int:
    """As platforms.command.exit_status; a simulation that did not succeed gives 1, and the end of its log."""

    def simulating() -> int:
        try:
            return command()
        except SimulationError as err:
            print_failure(err)
            return 1

    return command_status(simulating)


def print_failure(err: SimulationError) -> None:
    """One line, and the end of the log that does not repeat it, on standard error."""
    print(f"error: {err}", file=sys.stderr)
    for line in [line for line in readable(err.log) if telling_line(err.log) not in line][-_LOG_LINES:]:
        print(f"  {line}", file=sys.stderr)
