"""How smpirun is called: for a run that is wanted, and for the user who wants to repeat it by hand."""

from __future__ import annotations

import importlib
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from apps.build import kernel_program
from apps.catalog import app
from apps.energy import plugin_options
from apps.errors import KernelError
from apps.memorybus.library import bus_arguments
from apps.spec import RunSpec, check_host_names
from apps.user_program import executable
from platforms.process import die_with_parent
from platforms.repairs import loaded_first, repairs_library


@dataclass(frozen=True)
class Launch:
    """A program, ready to be started."""

    program: Path  # absolute
    arguments: tuple[str, ...]
    privatize: bool  # globals are kept apart by SMPI; kernels have none
    finds_input: bool  # in the current folder; a kernel needs none
    energy: tuple[str, ...] = ()  # what is counted of it: "hosts", "links"


def launch(spec: RunSpec, iterations: int, *, energy: tuple[str, ...] = ()) -> Launch:
    """What runs so many iterations of the spec's problem, compiled if need be, and counts this energy.

    Raises UserError.
    """
    problem = spec.target.problem
    if problem.program is not None:
        return Launch(
            program=executable(problem.program),
            arguments=problem.program.arguments_for(iterations),
            privatize=True,
            finds_input=True,
            energy=energy,
        )
    arguments = (
        f"mode={spec.mode}",
        f"flop_scale={spec.flop_scale:.17g}",
        f"iterations={iterations}",
        *([f"energy={'+'.join(energy)}"] if energy else []),
        *bus_arguments(spec),
        *(f"{key}={value}" for key, value in problem.params),
        *(f"{key}={value!r}" for key, value in _references(spec).items()),
    )
    return Launch(kernel_program(app(problem.app)), arguments, privatize=False, finds_input=False, energy=energy)


def _references(spec: RunSpec) -> dict[str, float]:
    """What a run with arithmetic compares its results with, where that is computed for the purpose."""
    kernel, problem = app(spec.target.problem.app), spec.target.problem
    if spec.mode != "verify" or kernel.reference is None:
        return {}
    module = importlib.import_module(f"apps.{kernel.name}.reference")
    try:
        found: dict[str, float] = module.references(dict(problem.params), spec.target.nranks)
        return found
    except MemoryError:
        remedy = "Leave out --mode verify, or take a smaller one"
        raise KernelError(str(problem), "no memory for what the results are compared with", remedy) from None


def prepare(spec: RunSpec, started: Launch, folder: Path, *, recorder: Path | None = None) -> list[str]:
    """Fills the run's folder and returns the command.  ``recorder``: a library to be loaded before all others.

    smpirun is a shell script that quotes only the platform, so everything else has a plain name inside the folder.
    Raises KernelError where the folder's own name is not plain.
    """
    _check_hosts(spec)
    name = str(folder)
    if not _is_plain(name):
        raise KernelError(f"folder {folder}", "smpirun cannot use a name like this", "Set TMPDIR to another one")
    (folder / "program").symlink_to(started.program)
    (folder / "hosts").write_text("".join(f"{host}\n" for host in spec.target.placement))
    # Loaded first by the program, not by smpirun itself and all that it starts.
    first = [] if recorder is None else [recorder]
    wrapper = [*die_with_parent(), *loaded_first(folder, *first, called=name)]
    return [
        "smpirun",
        *(["-wrapper", shlex.join(wrapper)] if wrapper else []),
        *_command(
            spec, started, host_file=f"{name}/hosts", program=f"{name}/program", traces=trace_options(spec, folder)
        ),
    ]


def _is_plain(name: str) -> bool:
    """Whether shells and the loader of libraries take it for one name, without quotes."""
    return not set(name) & set(" \t\n*?[]\\'\"$`:;&|<>()")


def working_folder(folder: Path) -> Path:
    """A new folder in the run's own, in which a program finds by links what is in the current one.

    So runs side by side do not write the same files, and what is made there goes with the run.
    """
    work = folder / "work"
    work.mkdir()
    here = os.getcwd()
    with os.scandir(here) as entries:
        for entry in entries:
            (work / entry.name).symlink_to(os.path.join(here, entry.name))
    return work


def trace_options(spec: RunSpec, folder: Path) -> dict[str, str]:
    """SimGrid options that keep in the run's folder what the platform's <config> has traced.  A file that the user's
    own options name is in the current folder.
    """
    asked = any(_is_of_traces(key) for key, _ in spec.target.platform.options)
    if any(_is_of_traces(key) for key, _ in spec.options):
        wanted = dict(spec.options).get("tracing/filename")
        return {} if wanted is None else {"tracing/filename": os.path.abspath(wanted)}
    if not asked:
        return {}
    return {"tracing/filename": f"{folder}/simgrid.trace"}


def _is_of_traces(key: str) -> bool:
    return key.partition("/")[0] == "tracing"


def repeatable(spec: RunSpec, started: Launch) -> tuple[str, ...]:
    """The plain command that repeats the run, given a file HOSTS with the record's hosts, one per line.

    Where SimGrid is mended and the cache folder's name has a space or the like, which neither smpirun nor the loader
    can be given, a link REPAIRS to the repairs_library is needed too.
    """
    repairs = repairs_library()
    first = repairs if repairs is None or _is_plain(str(repairs)) else "./REPAIRS"
    wrapper = [] if first is None else ["-wrapper", f"env LD_PRELOAD={first}"]
    command = _command(spec, started, host_file="HOSTS", program=str(started.program), traces={})
    return ("smpirun", *wrapper, *command)


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Our own, and temporary files in the run's folder."""
    return {**os.environ, "TMPDIR": str(folder), **more}


def _command(
    spec: RunSpec, started: Launch, *, host_file: str, program: str, traces: Mapping[str, str]
) -> Sequence[str]:
    options = {**spec.engine_options, **dict(spec.options), **traces}
    return [
        *("-np", str(spec.target.nranks), "-hostfile", host_file),
        *("-platform", str(spec.target.platform.path)),
        *([] if started.privatize else ["-no-privatize"]),
        *(f"--cfg={key}:{value}" for key, value in options.items()),
        *plugin_options(started.energy),
        program,
        *started.arguments,
    ]


def _check_hosts(spec: RunSpec) -> None:
    for host in spec.target.placement:
        spec.target.platform.host(host)  # raises with near matches
    check_host_names(spec.target.placement)
