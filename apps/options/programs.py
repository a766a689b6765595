"""Options and tables of files that name a kernel with its class or size, or the user's own program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from apps.programs.kernel import named_kernel, sized_names
from apps.programs.own_program import read_program
from apps.programs.problem import Problem, own_problem, problem, sized_problem
from platforms.addons import provided
from platforms.command.request import Request, option
from platforms.errors import PlatformError, UserError, known_names
from platforms.files.checked_toml import CheckedTable

if TYPE_CHECKING:
    from apps.programs.problem import Problem


BUILD = "apps.build:build"  # of an add-on
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


OF_KERNEL = ("app", "class", "size", "params")
OF_PROGRAM = ("file", "arguments", "iterations", "flags", "build", "status", "time_from", "period", "name")
KEYS = (*OF_KERNEL, *OF_PROGRAM)
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,39}", re.ASCII)


def problem_of_table(entry: CheckedTable, folder: Path) -> Problem:
    """Return the problem of a table with the keys KEYS, which mean the same as the options of programs.

    Args:
        entry: The table: ``app`` with ``class``, or with ``size`` and ``params``; or ``file`` with the other keys.
        folder: Folder to which the name of a program's file is relative.

    Raises:
        UserError: A key is missing, wrong or does not go with the others; the error names the file and the key.
    """
    if entry.has("file") == entry.has("app"):
        remedy = 'Give one of them: app = "cg" for a kernel, file = "halo.c" for a program of your own'
        raise PlatformError(entry.where, "'app' or 'file' is needed, and one of them only", remedy)
    others = OF_PROGRAM if entry.has("app") else OF_KERNEL
    wrong = next((key for key in others if entry.has(key)), None)
    if wrong is not None:
        given = "app" if entry.has("app") else "file"
        raise PlatformError(entry.at(wrong), f"{wrong!r} does not go with {given!r}", "Drop one")
    return _kernel(entry) if entry.has("app") else _program(entry, folder)


@contextmanager
def said_of(where: str) -> Iterator[None]:
    """Add the place in the file to any error that is raised within the block."""
    try:
        yield
    except UserError as err:
        raise PlatformError(f"{where}: {err.where}", err.problem, err.remedy) from None


def _program(entry: CheckedTable, folder: Path) -> Problem:
    path = folder / entry.text("file")
    status = entry.integer("status", 0)
    if not 0 <= status < 126:
        raise PlatformError(
            entry.of("status"), f"{status} is not an exit status of a program", "Give one from 0 to 125"
        )
    with said_of(entry.where):
        if entry.has("build"):
            provided(BUILD)(str(path), entry.text("build"))
        program = read_program(
            path,
            entry.text("arguments", ""),
            entry.integer("iterations") if entry.has("iterations") else None,
            flags=entry.text("flags", ""),
            status=status,
            time_from=entry.text("time_from") if entry.has("time_from") else None,
        )
        if entry.has("period"):
            program = program.in_periods(entry.integer("period"))
    name = entry.text("name", program.name)
    if _NAME.fullmatch(name) is None:
        raise UserError(entry.of("name"), f"name {name!r}", "Give at most 40 letters, digits, dots, - or _")
    return own_problem(replace(program, name=name))


def _kernel(entry: CheckedTable) -> Problem:
    name = entry.text("app")
    with said_of(entry.where):
        kernel = named_kernel(name)
    if entry.has("class") == entry.has("size"):
        raise PlatformError(entry.where, "'class' or 'size' is needed, and one of them only", "Give one of them")
    if entry.has("class"):
        if entry.has("params"):
            raise PlatformError(entry.where, "'params' goes with 'size'", "Drop it")
        if kernel.size_parameter is not None:
            raise PlatformError(entry.where, f"'class', but {name} has no classes", "Give its 'size'")
        with said_of(entry.where):
            return problem(name, entry.text("class"))
    size, params = entry.integer("size"), _params(entry)
    with said_of(entry.where):
        asked = sized_problem(name, size, **params)
    if asked.iterative and not asked.open_ended and (iterations := asked.iterations_on(1)) < 1:
        where = entry.at("params")
        raise PlatformError(where, f"{kernel.iterations_parameter} = {iterations}", "Give at least 1, or leave it out")
    return asked


def _params(entry: CheckedTable) -> dict[str, int | float | str]:
    params = entry.value("params", {})
    if not isinstance(params, dict):
        raise PlatformError(entry.of("params"), f"params = {params!r} is not a table", "Write for example { nb = 32 }")
    for key, value in params.items():
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise PlatformError(entry.at("params"), f"{key} = {value!r}", "Give a number or a text")
    return params
