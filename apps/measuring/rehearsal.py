"""Describe a run on a machine without starting or compiling anything, and time kernels on one rank alone."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import cache
from itertools import groupby
from pathlib import Path

from apps.errors import SimulationError
from apps.kernels.arguments import kernel_arguments
from apps.machines.launch import launch, planned_launch, printed_json
from apps.machines.machine_file import Machine
from apps.measuring.compiling import compiler_of, kernel_executable, layer_library, script_interpreter
from apps.measuring.notes import FILE, VARIABLE, parse_notes
from apps.programs.kernel import kernel_names, named_kernel
from apps.programs.problem import Problem, problem, shortened
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.model.platform import Platform
from platforms.simgrid.compiling import find_compiler
from platforms.wording import number_of

_PRESET = "W"
_LIMIT_S = 120.0  # of one run


def solo_kernels() -> tuple[str, ...]:
    """Return the names of the kernels that have a problem for one rank; those with classes come first."""
    known = [name for name in kernel_names() if _has_problem(name)]
    return tuple(sorted(known, key=lambda name: _PRESET not in named_kernel(name).classes))


def _has_problem(name: str) -> bool:
    kernel = named_kernel(name)
    return kernel.calibration_size is not None or _PRESET in kernel.classes


@cache
def solo_problem(name: str) -> Problem:
    """Return the problem that represents the kernel's speed: class W, or a size that takes about a second."""
    kernel = named_kernel(name)
    if kernel.solo_size is None:
        return problem(name, _PRESET)
    return shortened(kernel, kernel.solo_size, kernel.solo_iterations)


def solo_times(
    machine: Machine, platform: Platform, name: str, hosts: Sequence[str]
) -> tuple[float, tuple[float, ...]]:
    """Run a kernel separately on every rank; return the counted operations of one, and the seconds of each rank.

    The caller ensures that no other run is on the machine.

    Args:
        machine: The machine.
        platform: Its platform.
        name: The kernel.
        hosts: The host of every rank.

    Raises:
        UserError: The kernel cannot be compiled or started.
        SimulationError: The run does not succeed, or the machine reports it as disturbed.
    """
    target = Target(solo_problem(name), platform, tuple(hosts[:1]))
    spec = Settings(machine=machine).spec(target)
    iterations = min(named_kernel(name).solo_iterations or target.iterations, target.iterations)
    done = launch(
        machine,
        [str(kernel_executable(machine, named_kernel(name), solo=True)), *kernel_arguments(spec, iterations)],
        hosts,
        environment={VARIABLE: f"{{folder}}/{FILE}"},
        preload=[layer_library(machine)],
        collect=[FILE],
        time_limit_s=_LIMIT_S,
        retries=0,
    )
    printed = printed_json(done) if done.succeeded else None
    if printed is None:
        raise SimulationError(f"{name} on machine {machine.name}: {done.why}", done.stderr)
    try:
        notes = parse_notes(done.files[FILE], len(hosts))
    except (KeyError, ValueError) as err:
        raise SimulationError(f"{name} on machine {machine.name}: the layer has measured nothing", done.stderr) from err
    return float(sum(printed["flops"])), tuple(rank.compute_s for rank in notes.ranks)


_PROGRAM, _LAYER = "PROGRAM", "LAYER"  # placeholders for files that are not compiled now


def planned_run(spec: RunSpec, time_limit_s: float | None = None) -> list[str]:
    """Return lines of text: the number of runs, the hosts, the command, and its files.

    Args:
        spec: A run on a machine.
        time_limit_s: Wall time of each repeat; the machine's limit also applies.

    Raises:
        KernelError: The machine has no compiler for the program, or the placement does not fit it.
        UserError: The launcher or a compiler is missing.
    """
    machine, problem = spec.machine, spec.target.problem
    assert isinstance(machine, Machine)  # RunSpec checks that the engine and the machine go together
    iterations, program = spec.full_iterations, problem.program
    if program is None:
        words = [_PROGRAM, *kernel_arguments(spec, iterations)]
    else:
        named = [_PROGRAM] if program.is_source else [*script_interpreter(program), str(program.path)]
        words = [*named, *problem.program_arguments(iterations, spec.target.nranks)]
    planned = planned_launch(
        machine,
        words,
        spec.target.placement,
        environment={VARIABLE: f"{{folder}}/{FILE}"},
        preload=[Path(_LAYER)],
        time_limit_s=time_limit_s,
    )
    blocks = [(name, len(list(same))) for name, same in groupby(planned.hosts)]
    in_turn = ", one after the other" if spec.repeats > 1 else ""
    lines = [
        f"{spec.target}: {number_of(spec.repeats, 'run')}{in_turn}; none is made now",
        f"limit     {planned.limit_s:g} s of wall time for each",
        f"hosts     {', '.join(f'{name} x {count}' if count > 1 else name for name, count in blocks)}",
        f"command   {shlex.join(planned.command)}",
    ]
    if planned.script is not None:
        lines += ["script    FOLDER/script:", *(f"    {line}" for line in planned.script.splitlines())]
    where = "a new temporary folder" if machine.folder is None else f"a new folder in {machine.folder}"
    lines += [
        f"FOLDER    {where}, removed after each run; its file hosts has a line for each rank",
        *_compiled(spec, machine),
    ]
    return lines


def _compiled(spec: RunSpec, machine: Machine) -> list[str]:
    """Return lines about the files that would be compiled."""
    flags, program = shlex.join(machine.compilers.flags), spec.target.problem.program
    layer = f"{_LAYER}     the layer that measures ranks, compiled by {find_compiler(machine.compilers.c)}"
    if program is not None and not program.is_source:
        return [layer]
    compiler = machine.compilers.c if program is None else compiler_of(machine, program)
    source = f"the kernel {spec.target.problem.name}" if program is None else str(program.path)
    return [f"{_PROGRAM}   {source}, compiled by {find_compiler(compiler)} {flags}", layer]
