"""Command lines of smpirun: for a run, and for a user who repeats it by hand."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from apps.child.inputs import noted_inputs
from apps.child.run_folder import smpirun_command, write_host_file
from apps.errors import Departed, KernelError
from apps.kernels.arguments import kernel_arguments
from apps.programs.compile import kernel_program
from apps.programs.kernel import named_kernel
from apps.programs.libraries import private_libraries
from apps.programs.own_program import built_from, check_unchanged, executable
from apps.results.inputs import Inputs
from apps.smpi.memorybus.library import bus_library
from apps.spec.choices import REPLAY
from apps.spec.engine_options import check_host_names, trace_options
from apps.spec.run_spec import RunSpec
from platforms.files.commands import runs_programs
from platforms.files.scratch import is_plain
from platforms.read.content import loadable
from platforms.simgrid.child import die_with_parent
from platforms.simgrid.compiling import compile_once
from platforms.simgrid.repairs import loaded_first, repairs_library


def timer_settings(spec: RunSpec, iterations: int) -> dict[str, str]:
    """Return the recorder's settings for the program's own timer; none if it is not used, or is replayed."""
    program = spec.target.problem.program
    if program is None or program.timer is None or spec.engine == REPLAY:
        return {}
    return program.timer.settings(iterations)


def replay_settings(spec: RunSpec, iterations: int, folder: Path) -> dict[str, str]:
    """Return the recorder's settings, and write the files they name to the run's folder; none if nothing is replayed.

    Raises:
        Departed: The computation of this number of iterations cannot be derived from the timings.
    """
    if spec.compute != "measured" or spec.work is None:
        return {}
    # Imported here because it is slow to import.
    from apps.recording.work import Irregular, write_steps

    assert spec.host_speed_flops is not None  # checked with measured computation
    try:
        steps = spec.work.of(iterations)
    except Irregular:
        what = f"{iterations} iterations of {spec.target}"
        raise Departed(f"{what}: their computation cannot be derived from that of all iterations") from None
    place = folder / "steps"
    place.mkdir()
    write_steps(place, steps)
    return {"RECORDER_WORK": str(place), "RECORDER_SPEED_FLOPS": f"{spec.host_speed_flops:.17g}"}


_SOURCE = Path(__file__).with_name("thread_clock.c")


def thread_clock_library() -> Path:
    """Return the path of the library, which is compiled on first use and kept in the cache folder.

    No simulated time depends on it, so it is not part of any identity.

    Raises:
        UserError: It cannot be compiled.
    """
    return compile_once(
        "thread-clock", [_SOURCE], compiler=["gcc"], flags=["-O2", "-shared", "-fPIC"], libraries=["-ldl"]
    )


@dataclass(frozen=True)
class Launch:
    """A program with its arguments, ready to be started."""

    program: Path  # absolute
    arguments: tuple[str, ...]
    privatize: bool  # SMPI separates the ranks' global variables; kernels have none
    finds_input: bool  # the program reads files in the current folder; a kernel reads none
    iterations: int
    energy: tuple[str, ...] = ()  # parts whose energy is measured: "hosts", "links"
    private: tuple[str, ...] = ()  # shared libraries that each rank gets a copy of
    files: Mapping[str, str] = field(
        default_factory=dict
    )  # text of each file created in the folder of the run, by name


def launch(spec: RunSpec, iterations: int, *, energy: tuple[str, ...] = ()) -> Launch:
    """Return the launch of a number of iterations of the spec's problem; the program is compiled if necessary.

    Args:
        spec: The run.
        iterations: Number of iterations.
        energy: Parts whose energy is counted: "hosts", "links".

    Raises:
        UserError: The program cannot be compiled or read, or a reference result needs too much memory.
    """
    problem = spec.target.problem
    if problem.program is not None:
        program = executable(problem.program)
        return Launch(
            program=program,
            arguments=problem.program_arguments(iterations, spec.target.nranks),
            privatize=True,
            finds_input=True,
            iterations=iterations,
            energy=energy,
            private=private_libraries(program),
            files=problem.program.files_for(iterations),
        )
    more = [*([f"energy={'+'.join(energy)}"] if energy else []), *bus_arguments(spec)]
    arguments = kernel_arguments(spec, iterations, *more)
    return Launch(
        kernel_program(named_kernel(problem.name)),
        arguments,
        privatize=False,
        finds_input=False,
        iterations=iterations,
        energy=energy,
    )


def check_program(spec: RunSpec) -> None:
    """Check after a run that a user's binary, which runs in its original location, has not changed.

    Raises:
        KernelError: It has changed.
    """
    program = spec.target.problem.program
    if program is not None and not program.is_source:
        check_unchanged(program)


def run_inputs(notes: Path, folder: Path, work: Path, started: Launch) -> Inputs:
    """Return what determined a run of a user's program: the logged inputs, and the sources of the program."""
    built = built_from(started.program)
    inputs = noted_inputs(notes / "inputs", folder=folder, work=work, made=started.files, built=built or {})
    unseen = ("the files that its compiler reads could not be observed",) if built is None else ()
    return replace(inputs, unseen=(*inputs.unseen, *unseen))


def expected_status(spec: RunSpec) -> int:
    """Return the exit status of a run that succeeds."""
    program = spec.target.problem.program
    return 0 if program is None else program.status


def prepare(spec: RunSpec, started: Launch, folder: Path, *, recorder: Path | None = None) -> list[str]:
    """Fill the run's folder and return the command.

    smpirun is a shell script that quotes only the platform, so all other names inside the folder are plain.

    Args:
        spec: The run.
        started: The program and its arguments.
        folder: Folder of the run.
        recorder: A library to be loaded before all others, or None.

    Raises:
        KernelError: The folder's own name is not plain, its file system runs no programs, or a host cannot be used.
    """
    _check_hosts(spec)
    name = str(folder)
    if not is_plain(name):
        raise KernelError(f"folder {folder}", "smpirun cannot use such a name", "Set TMPDIR to another folder")
    if started.privatize and not runs_programs(folder):  # each rank has a copy of the program in it
        raise KernelError(f"folder {folder}", "programs in it cannot run (noexec)", "Set TMPDIR to another folder")
    (folder / "program").symlink_to(started.program)
    write_host_file(folder / "hosts", spec.target.placement)
    # Only the program itself loads these libraries, not smpirun or other commands that it starts.
    first = [] if recorder is None else [recorder]
    if spec.target.problem.program is None:
        first.append(thread_clock_library())
    wrapper = [*die_with_parent(), *loaded_first(folder, *first, called=name)]
    traces = trace_options(spec.options, spec.target.platform.options, folder)
    return _command(
        spec,
        started,
        host_file=f"{name}/hosts",
        program=f"{name}/program",
        wrapper=shlex.join(wrapper),
        traces=traces,
        platform=loadable(spec.target.platform),
    )


def repeatable(spec: RunSpec, started: Launch) -> tuple[str, ...]:
    """Return the plain command that repeats the run, given a file HOSTS with the record's hosts, one per line.

    smpirun and the loader accept no spaces or similar characters in a file name.  If SimGrid is repaired and the name
    of the cache folder has such characters, a link REPAIRS to the repairs_library is needed too.
    """
    repairs = repairs_library()
    first = repairs if repairs is None or is_plain(str(repairs)) else "./REPAIRS"
    wrapper = "" if first is None else f"env LD_PRELOAD={first}"
    return tuple(
        _command(
            spec,
            started,
            host_file="HOSTS",
            program=str(started.program),
            wrapper=wrapper,
            traces={},
            platform=spec.target.platform.path,
        )
    )


def _command(
    spec: RunSpec,
    started: Launch,
    *,
    host_file: str,
    program: str,
    wrapper: str,
    traces: Mapping[str, str],
    platform: Path,
) -> list[str]:
    """Return the command that starts the run."""
    private = {"smpi/privatize-libs": ";".join(started.private)} if started.private else {}
    return smpirun_command(
        program,
        started.arguments,
        nranks=spec.target.nranks,
        host_file=host_file,
        platform=platform,
        options={**private, **spec.engine_options, **dict(spec.options), **traces},
        energy=started.energy,
        privatize=started.privatize,
        wrapper=wrapper,
    )


def _check_hosts(spec: RunSpec) -> None:
    for host in spec.target.placement:
        spec.target.platform.host(host)  # raises with near matches
    check_host_names(spec.target.placement)


def bus_settings(spec: RunSpec) -> dict[str, str]:
    """Return the recorder's settings for the memory bus of a program (recorder/timing/bus.c); none without a bus.

    Raises:
        KernelError: The program's computation is timed during the simulation, so its bytes are unknown.
    """
    if spec.memory_bus is None:
        return {}
    if spec.compute == "measured" and spec.work is None:
        problem = "its computation is timed in each run (SMPI_SAMPLE, or another course each time), without a bus"
        raise KernelError(f"--memory-bus, {spec.target.problem}", problem, "Leave it out")
    library, bandwidth, moved = (word.partition("=")[2] for word in bus_arguments(spec))
    alone = "no" if spec.compute == "injected" else "yes"
    names = ("RECORDER_BUS", "RECORDER_BUS_BANDWIDTH", "RECORDER_BUS_BYTES", "RECORDER_BUS_ALONE")
    return dict(zip(names, (library, bandwidth, moved, alone), strict=True))


def bus_arguments(spec: RunSpec) -> tuple[str, ...]:
    """Return the kernel arguments for the memory bus (apps/kernels/harness/memory.h); none without a bus."""
    if spec.memory_bus is None:
        return ()
    bandwidth = spec.memory_bus if isinstance(spec.memory_bus, str) else f"{spec.memory_bus:.17g}"
    return (
        f"memory_library={bus_library()}",
        f"memory_bandwidth={bandwidth}",
        f"bytes_per_flop={spec.moved_bytes_per_flop:.17g}",
    )
