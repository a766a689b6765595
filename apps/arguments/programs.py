"""Options that name a kernel with its class or size, or the user's own program."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from platforms.errors import UserError

if TYPE_CHECKING:
    from apps.programs.problem import Problem


_GOES_WITH_PROGRAM = (
    "--program-args",
    "--program-iterations",
    "--program-flags",
    "--program-build",
    "--program-status",
)


def add_problem_arguments(parser: argparse._ActionsContainer, *, default_class: str) -> None:
    """Add the options --class, --size and --param, which problem_from_arguments reads."""
    # Imported here for a quick start: it is slow to import.
    from apps.programs.kernel import sized_names

    parser.add_argument("--class", dest="preset", metavar="C", help=f"problem class (default: {default_class})")
    parser.add_argument("--size", type=int, metavar="N", help=f"instead of a class, for {', '.join(sized_names())}")
    parser.add_argument(
        "--param", action="append", default=[], metavar="KEY=VALUE",
        help="another parameter of a kernel with --size (docs/kernels/index.md); may be given several times",
    )  # fmt: skip


def problem_from_arguments(args: argparse.Namespace, kernel_name: str, *, default_class: str) -> Problem:
    """Return the kernel's problem that --class, or --size and --param, ask for.

    Raises:
        UserError: The options do not fit together or do not fit the kernel.
    """
    # Imported here for a quick start: it is slow to import.
    from apps.programs.problem import problem, sized_problem

    if args.size is None:
        if args.param:
            raise UserError(f"--param {args.param[0]}", "goes with --size", "Give the size too, or leave it out")
        return problem(kernel_name, default_class if args.preset is None else args.preset)
    if args.preset is not None:
        raise UserError(f"--class {args.preset}", "does not go with --size", "Drop one")
    return sized_problem(kernel_name, args.size, **parse_parameters(args.param))


def parse_parameters(texts: Sequence[str]) -> dict[str, str]:
    """Parse parameters given as KEY=VALUE; the last value of a key counts.

    Raises:
        UserError: A text has another form.
    """
    parameters = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise UserError(f"--param {text}", "not of the form KEY=VALUE", "Write for example --param niter=10")
        parameters[key] = value
    return parameters


def add_program_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options --program, --program-args and --program-iterations, which own_problem_from_arguments reads."""
    parser.add_argument(
        "--program", metavar="FILE",
        help="an MPI program of your own instead of a kernel: a source in C, C++ or Fortran, or an executable built by "
        "smpicc, smpicxx or smpif90 (docs/programs/own-program.md); or a program in Python (docs/programs/s4u.md)",
    )  # fmt: skip
    parser.add_argument(
        "--program-args", metavar="ARGS",
        help="arguments of the program, in one word; {iterations} in it is replaced by the number of iterations to run",
    )  # fmt: skip
    parser.add_argument("--program-iterations", type=int, metavar="N", help="number of iterations of a full run")
    parser.add_argument(
        "--program-flags", metavar="FLAGS", help="more arguments of the compiler, in one word, for a source"
    )
    parser.add_argument(
        "--program-build", metavar="COMMAND",
        help="a shell command that builds the executable first, run in its folder; {mpicc}, {mpicxx}, {mpif90} in it "
        "are replaced by the names of the compilers (docs/programs/recipes.md)",
    )  # fmt: skip
    parser.add_argument(
        "--program-status", type=int, metavar="N", help="exit status with which the program ends (default: 0)"
    )


def own_problem_from_arguments(args: argparse.Namespace) -> Problem | None:
    """Return the problem of the user's own program; None where --program is not given.

    Options that are not given must be None in ``args``, and --param an empty list.

    Raises:
        UserError: The options do not fit together, or the program cannot be read.
    """
    # Imported here for a quick start: they are slow to import.
    from apps.programs.build import build
    from apps.programs.own_program import read_program
    from apps.programs.problem import own_problem

    if args.program is None:
        for option in _GOES_WITH_PROGRAM:
            value = getattr(args, option[2:].replace("-", "_"), None)
            if value is not None:
                raise UserError(f"{option} {value}", "there is no program", "Give --program FILE too")
        return None
    for value, option in ((args.app, "--app"), (args.preset, "--class"), (args.size, "--size")):
        if value is not None:
            raise UserError(f"{option} {value}", "does not go with --program", "Drop one")
    if args.param:
        raise UserError(f"--param {args.param[0]}", "does not go with --program", "Use --program-args")
    status, machine = getattr(args, "program_status", None), getattr(args, "machine", None)
    if status is not None and not 0 <= status < 126:  # a shell has its own meanings for the others
        raise UserError(f"--program-status {status}", "not an exit status of a program", "Give one from 0 to 125")
    if status and machine is not None:
        raise UserError(f"--program-status {status}", "goes with simulations", "Leave it out with --machine")
    if getattr(args, "program_build", None) is not None:
        build(args.program, args.program_build, real_mpi=machine is not None)
    return own_problem(
        read_program(
            args.program,
            args.program_args or "",
            args.program_iterations,
            real_mpi=machine is not None,
            flags=getattr(args, "program_flags", None) or "",
            status=status or 0,
        )
    )
