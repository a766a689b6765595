"""Kernels run separately by every rank, which use only its core and its memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from apps.errors import SimulationError
from apps.kernels.arguments import kernel_arguments
from apps.machines.launch import launch, printed_json
from apps.machines.machine_file import Machine
from apps.measuring.compiling import kernel_executable, layer_library
from apps.measuring.notes import FILE, VARIABLE, parse_notes
from apps.programs.kernel import kernel_names, named_kernel
from apps.programs.problem import Problem, problem, shortened
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.model.platform import Platform

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
