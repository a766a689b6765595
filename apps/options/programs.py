"""Options that name a kernel with its class or size, or the user's own program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from apps.programs.kernel import sized_names
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem, sized_problem
from platforms.addons import provided
from platforms.command.request import Request, option
from platforms.errors import UserError, known_names

if TYPE_CHECKING:
    from apps.programs.problem import Problem


BUILD = "apps.programs.compilers.build:build"  # of an add-on
_GOES_WITH_PROGRAM = (
    "--program-args",
    "--program-iterations",
    "--program-flags",
    "--program-build",
    "--program-status",
    "--assume-repeatable",
    "--program-file",
    "--time-from",
    "--program-period",
)


@dataclass(frozen=True, kw_only=True)
class ProblemOptions(Request):
    """A kernel with its class or size."""

    default_class: ClassVar[str] = "B"

    app: str | None = option(None, "A1,A2,...", lambda _: f"of {', '.join(_kernels())} (default: cg,mg,lu)")
    problem_class: str | None = option(
        None, "C", lambda request: f"problem class (default: {request.default_class})", name="--class"
    )
    size: int | None = option(None, "N", lambda _: f"instead of a class, for {', '.join(_sized())}")
    param: tuple[str, ...] = option(
        (), "KEY=VALUE", "another parameter of a kernel with --size (docs/kernels/index.md); may be given several times"
    )


def _kernels() -> Sequence[str]:
    # Imported here because it is slow to import.
    from apps.programs.kernel import kernel_names

    return kernel_names()


def _sized() -> Sequence[str]:
    return sized_names()


@dataclass(frozen=True, kw_only=True)
class ProgramOptions(ProblemOptions):
    """A kernel, or the user's own program."""

    program: str | None = option(
        None,
        "FILE",
        "an MPI program of your own instead of a kernel: a source in C, C++ or Fortran, or an executable built by "
        "smpicc, smpicxx or smpif90 (docs/programs/own-program.md); an executable of this computer's own MPI, or a "
        "script with mpi4py, which is recorded under mpirun (docs/programs/native.md); or a program in Python "
        "(docs/programs/native.md)",
    )
    program_args: str | None = option(
        None,
        "ARGS",
        "arguments of the program, in one word; {iterations} in it is replaced by the number of iterations to run, and "
        "{shares} by the parts of the data of all ranks, such as 0.25,0.75 (docs/planning/cores.md)",
    )
    program_iterations: int | None = option(None, "N", "number of iterations of a full run")
    program_period: int | None = option(
        None,
        "K",
        "iterations after which the program's calls repeat, where one iteration is not like the next: K of them then "
        "count as one (default: 1)",
    )
    program_flags: str | None = option(None, "FLAGS", "more arguments of the compiler, in one word, for a source")
    program_build: str | None = option(
        None,
        "COMMAND",
        "a shell command that builds the executable first, run in its folder; mpicc, mpicxx and mpif90 in it are "
        "SimGrid's compilers, or with --machine the machine's (docs/programs/own-program.md)",
    )
    program_status: int | None = option(None, "N", "exit status with which the program ends (default: 0)")
    program_file: tuple[str, ...] = option(
        (),
        "[NAME=]TEMPLATE",
        "an input file NAME of the program that is made for each run of TEMPLATE, in which {iterations} is replaced; "
        "may be given several times",
    )
    time_from: str | None = option(
        None,
        "TEXT",
        "the time is the one that the program prints itself: TEXT of its output with {time} in the place of the "
        "number, such as 'Time in seconds = {time}' ({time:ms}, {time:us}: in other units)",
    )
    assume_repeatable: str | None = option(
        None,
        "F1,F2,...",
        "functions whose answers vary from run to run, such as time or getpid, on which the program's course does not "
        "depend (docs/programs/own-program.md)",
    )


def problem_from_request(request: ProblemOptions, kernel_name: str) -> Problem:
    """Return the kernel's problem that --class, or --size and --param, ask for.

    Raises:
        UserError: The options do not fit together or do not fit the kernel.
    """
    if request.size is None:
        if request.param:
            raise UserError(f"--param {request.param[0]}", "goes with --size", "Give the size too, or leave it out")
        return problem(kernel_name, request.default_class if request.problem_class is None else request.problem_class)
    if request.problem_class is not None:
        raise UserError(f"--class {request.problem_class}", "does not go with --size", "Drop one")
    return sized_problem(kernel_name, request.size, **parse_parameters(request.param))


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


def own_problem_from_request(request: ProgramOptions, *, real_mpi: bool = False) -> Problem | None:
    """Return the problem of the user's own program; None where --program is not given.

    ``real_mpi`` says that the program runs on a real machine, and is built by its MPI.

    Raises:
        UserError: The options do not fit together, or the program cannot be read.
    """
    if request.program is None:
        for name in _GOES_WITH_PROGRAM:
            value = getattr(request, name[2:].replace("-", "_"))
            if value:
                shown = value[0] if isinstance(value, tuple) else value
                raise UserError(f"{name} {shown}", "there is no program", "Give --program FILE too")
        return None
    for value, name in ((request.app, "--app"), (request.problem_class, "--class"), (request.size, "--size")):
        if value is not None:
            raise UserError(f"{name} {value}", "does not go with --program", "Drop one")
    if request.param:
        raise UserError(f"--param {request.param[0]}", "does not go with --program", "Use --program-args")
    status = request.program_status
    if status is not None and not 0 <= status < 126:  # a shell has its own meanings for the others
        raise UserError(f"--program-status {status}", "not an exit status of a program", "Give one from 0 to 125")
    if status and real_mpi:
        raise UserError(f"--program-status {status}", "goes with simulations", "Leave it out with --machine")
    if request.program_build is not None:
        provided(BUILD)(request.program, request.program_build, real_mpi=real_mpi)
    program = read_program(
        request.program,
        request.program_args or "",
        request.program_iterations,
        real_mpi=real_mpi,
        flags=request.program_flags or "",
        status=status or 0,
        assumed=_assumed(request.assume_repeatable),
        files=request.program_file,
        time_from=request.time_from,
    )
    period = request.program_period
    return own_problem(program if period in (None, 1) else program.in_periods(period))


def _assumed(text: str | None) -> tuple[str, ...]:
    """Return the functions of --assume-repeatable.

    Raises:
        UserError: One of them is unknown.
    """
    if text is None:
        return ()
    # Imported here because it is slow to import.
    from apps.smpi.engine import PARTS

    known = [name for names in PARTS.values() for name in names]
    names = tuple(word.strip() for word in text.split(","))
    for name in names:
        if name not in known:
            raise UserError(f"--assume-repeatable {text}", f"no such function: {name!r}", known_names(name, known))
    return names
