"""Describe a run on a machine without starting or compiling anything."""

from __future__ import annotations

import shlex
from itertools import groupby
from pathlib import Path

from apps.kernels.arguments import kernel_arguments
from apps.machines.launch import planned_launch
from apps.machines.machine_file import Machine
from apps.measuring.compiling import compiler_of, script_interpreter
from apps.measuring.notes import FILE, VARIABLE
from apps.spec.run_spec import RunSpec
from platforms.simgrid.compiling import find_compiler
from platforms.wording import number_of

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
