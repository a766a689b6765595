"""The engine machine: kernels and MPI programs on a real machine, with real arithmetic, several times."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from apps.child.failure import check_recorded
from apps.child.inputs import noted_inputs
from apps.child.process import Finished
from apps.child.run_folder import WORK
from apps.errors import KernelError, SimulationError
from apps.kernels.arguments import kernel_arguments
from apps.machines.launch import Launched, alone_on, launch, printed_json, real_name
from apps.machines.machine_file import Machine
from apps.machines.machine_platform import HOST
from apps.measuring.compiling import code_hash, kernel_executable, layer_library, program_command
from apps.measuring.notes import FILE, VARIABLE, Notes, collectives, parse_notes
from apps.programs.kernel import named_kernel
from apps.programs.own_program import UserProgram, built_from, check_unchanged
from apps.recording.recorder.real.library import INPUTS, READINGS, RECORDED, SITES, THREADS, real_recorder_library
from apps.results.record import Measured, RunRecord, far_repeats, from_kernel, median_repeat
from apps.spec.run_spec import RunSpec

# Processor time of other threads of a rank that is ignored, as a share and s: MPI has some, which poll and wait.
_CAUTION = "caution: "  # prefix of a launcher's output lines that belong to the result
_BEYOND = 1 << 52  # an address outside any executable
_THREADS_REL, _THREADS_S = 0.1, 0.02


@dataclass(frozen=True)
class _Repeat:
    """One run of the program."""

    notes: Notes
    launched: Launched
    output: dict[str, Any] | None  # the record printed by a kernel; None: a program of the user


def program_hash(spec: RunSpec) -> str:
    """Return the identity of the program, the layer, the compiler and the launcher."""
    return code_hash(_machine(spec), spec.target.problem)


def run_iterations(
    spec: RunSpec,
    iterations: int,
    *,
    identity: dict[str, Any],
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
) -> RunRecord:
    """Run a number of the problem's iterations as often as the spec asks; see apps.runs.engines.Engine.

    The record is that of the repeat with the median time.  Runs on one machine take turns, also those of other
    processes of this computer.  ``time_limit_s`` applies to each repeat.

    Raises:
        SimulationError: A repeat does not succeed, or a rank was not on its host.
    """
    machine = _machine(spec)
    command = _program(spec, machine, iterations)
    layer = layer_library(machine)
    repeats: list[_Repeat] = []
    with alone_on(machine, stop):
        date = datetime.now(UTC).isoformat(timespec="seconds")
        for _ in range(spec.repeats):
            done = launch(
                machine,
                command,
                spec.target.placement,
                environment={VARIABLE: f"{{folder}}/{FILE}"},
                preload=[layer],
                collect=[FILE],
                links=spec.target.problem.program is not None,
                time_limit_s=time_limit_s,
                stop=stop,
            )
            repeats.append(_repeat(spec, machine, done))
    return _record(spec, machine, repeats, identity=identity, date=date)


def _library(program: UserProgram | None) -> tuple[Path, ...]:
    """Return the MPI library of a script: mpi4py does not load it itself if it finds functions of MPI."""
    native = None if program is None else program.native
    return () if native is None or native.interpreter is None else (native.library,)


def note_events(
    spec: RunSpec,
    iterations: int,
    notes: Path,
    *,
    what: str,
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
) -> Finished:
    """Run a number of iterations once, under the recorder; see apps.runs.engines.Engine.

    The time between two calls is computation, in flops at the speed of the rank's host in the spec's platform. The
    inputs of a program are logged only if it runs on this computer alone.
    """
    machine, nranks = _machine(spec), spec.target.nranks
    speeds = " ".join(repr(spec.target.platform.host(host).speed_flops) for host in spec.target.placement)
    program = spec.target.problem.program
    timer = {} if program is None or program.timer is None else program.timer.settings(iterations)
    with alone_on(machine, stop):
        command = _program(spec, machine, iterations)
        done = launch(
            machine,
            command,
            spec.target.placement,
            environment={"RECORDER_FOLDER": "{folder}", "RECORDER_SPEED_FLOPS": speeds, **timer},
            preload=[real_recorder_library([machine.compilers.c], machine.compiled_folder), *_library(program)],
            collect=[
                *(f"{rank}.{collector}" for rank in range(nranks) for collector in (*RECORDED, THREADS, READINGS)),
                *("communicators", SITES),  # of one rank
                INPUTS,
            ],
            links=spec.target.problem.program is not None,
            time_limit_s=time_limit_s,
            stop=stop,
        )
    finished = Finished(done.status, done.stdout, done.stderr, done.wall_s, 0, done.timed_out)
    check_recorded(finished, what)
    if not done.succeeded:
        raise SimulationError(f"{what} on machine {machine.name}: {done.why}", done.stderr)
    _check_threads(done, what)
    for name, content in done.files.items():
        other = name.endswith(SITES) and (program is None or program.is_source)
        (notes / name).write_bytes(_elsewhere(content) if other else content)
    if machine.hosts != (HOST,):  # files of other hosts cannot be inspected here
        return finished
    if spec.target.problem.program is not None:
        check_unchanged(spec.target.problem.program)
    built = built_from(Path(command[0])) or {}
    inputs = noted_inputs(notes / INPUTS, folder=done.folder, work=done.folder / WORK, built=built)
    return replace(finished, inputs=inputs)


def _elsewhere(sites: bytes) -> bytes:
    """Return addresses beyond all code: they are looked up in SimGrid's executable, whose addresses differ."""
    return b"\n".join(
        b" ".join(b"%d" % (int(address) | _BEYOND) for address in line.split()) for line in sites.splitlines()
    )


def _check_threads(done: Launched, what: str) -> None:
    """Refuse a program whose other threads compute if only the thread that calls MPI is timed."""
    for name, content in done.files.items():
        if name.endswith(f".{THREADS}"):
            all_s, own_s = map(float, content.split())
            if all_s - own_s > _THREADS_REL * own_s + _THREADS_S:
                problem = f"other threads compute for {all_s - own_s:.2g} s, which the time of a rank does not include"
                raise KernelError(what, problem, "Give it one thread for each rank: OMP_NUM_THREADS=1")


def _machine(spec: RunSpec) -> Machine:
    assert isinstance(spec.machine, Machine)  # RunSpec checks that the engine and the machine go together
    return spec.machine


def _program(spec: RunSpec, machine: Machine, iterations: int) -> tuple[str, ...]:
    problem = spec.target.problem
    if problem.program is not None:
        arguments = problem.program_arguments(iterations, spec.target.nranks)
        return *program_command(machine, problem.program), *arguments
    return str(kernel_executable(machine, named_kernel(problem.name))), *kernel_arguments(spec, iterations)


def _repeat(spec: RunSpec, machine: Machine, done: Launched) -> _Repeat:
    """Return the results of one run, after checking that it succeeded and ran on the right hosts."""
    what = f"{spec.target} on machine {machine.name}"
    output = printed_json(done) if spec.target.problem.program is None else None
    if output is not None and "refused" in output:
        raise KernelError(str(spec.target), output["refused"], "Choose other ranks, or another class or size")
    if not done.succeeded:
        raise SimulationError(f"{what}: {done.why}", done.stderr)
    if FILE not in done.files:
        reason = "the layer that measures its ranks has written nothing: gridval doctor --machine may show why"
        raise SimulationError(f"{what}: {reason}", done.stderr)
    try:
        notes = parse_notes(done.files[FILE], spec.target.nranks)
    except ValueError as err:
        raise SimulationError(f"{what}: {err}", done.stderr) from err
    for rank, (wanted, host) in enumerate(zip(spec.target.placement, notes.ranks, strict=True)):
        if not same_host(wanted, host.host):
            problem = f"rank {rank} ran on {host.host}, not on {wanted}: the launcher ignores its host file"
            raise SimulationError(f"{what}: {problem}", done.stderr)
    if spec.target.problem.program is None and output is None:
        raise SimulationError(f"{what}: ended without a record", done.stderr)
    return _Repeat(notes, done, output)


def same_host(asked: str, reported: str) -> bool:
    """Return whether a host's name in the machine's file matches the name the host reports.

    One of the two names may have a domain.
    """
    first, second = real_name(asked), reported
    return first == second or first.partition(".")[0] == second or first == second.partition(".")[0]


def _record(
    spec: RunSpec, machine: Machine, repeats: Sequence[_Repeat], *, identity: dict[str, Any], date: str
) -> RunRecord:
    times_s = tuple(repeat.notes.time_s for repeat in repeats)
    middle = median_repeat(times_s)
    chosen = repeats[middle]
    measured = Measured(
        machine=machine.name,
        repeats_s=times_s,
        outliers=far_repeats(times_s),
        representative=middle,
        load_before=tuple(max(rank.load_before for rank in repeat.notes.ranks) for repeat in repeats),
        load_after=tuple(max(rank.load_after for rank in repeat.notes.ranks) for repeat in repeats),
        throttled=tuple(repeat.notes.throttled for repeat in repeats),
        file_s=tuple(rank.file_s for rank in chosen.notes.ranks),
        calls_seen=min(rank.mpi_calls for rank in chosen.notes.ranks),
        mpi=chosen.notes.mpi,
        launcher=(*machine.launcher.command, *machine.launcher.options),
        date=date,
        said=_cautions(repeats) or None,
    )
    wall_s = sum(repeat.launched.wall_s for repeat in repeats)
    record = _of_repeat(spec, chosen, identity=identity)
    verdicts = {repeat.output["verified"] for repeat in repeats if repeat.output is not None}
    verified = None if verdicts <= {None} else verdicts == {True}
    return replace(record, measured=measured, wall_s=wall_s, verified=verified)


def _cautions(repeats: Sequence[_Repeat]) -> tuple[str, ...]:
    """Return the cautions printed by the launcher, such as those of an emulated grid, each once."""
    lines = (line for repeat in repeats for line in repeat.launched.stderr.splitlines())
    said = (line.removeprefix(_CAUTION).rstrip(".") for line in lines if line.startswith(_CAUTION))
    return tuple(dict.fromkeys(said))


def _of_repeat(spec: RunSpec, repeat: _Repeat, *, identity: dict[str, Any]) -> RunRecord:
    """Return the record of one run: kernels count their messages themselves, the layer does so for other programs."""
    ranks = repeat.notes.ranks
    timed: dict[str, Any] = {
        "time_s": repeat.notes.time_s,
        "simulated_s": repeat.notes.time_s,
        "compute_s": tuple(rank.compute_s for rank in ranks),
        "comm_s": tuple(rank.mpi_s for rank in ranks),
        "host": spec.target.placement,
        "iteration_s": tuple(rank.iteration_end_s for rank in ranks),
        "iteration_compute_s": tuple(rank.iteration_compute_s for rank in ranks),
        "timed_wall_s": ranks[0].elapsed_s,
        "source": spec.source,
    }
    if repeat.output is not None:
        printed = from_kernel(
            repeat.output,
            spec.target.platform,
            identity=identity,
            wall_s=0.0,
            peak_memory_bytes=0,
            command=repeat.launched.command,
        )
        return replace(printed, **timed)
    sections, iterations = [rank.section for rank in ranks], [rank.iteration for rank in ranks]
    counted: dict[str, Any] = {}
    for name in ("messages", "bytes", "self_messages", "self_bytes"):
        counted[name] = tuple(getattr(counts, name) for counts in sections)
        counted[f"iteration_{name}"] = tuple(getattr(counts, name) for counts in iterations)
    return RunRecord(
        identity=identity,
        flops=0.0,
        rank_flops=(0.0,) * len(ranks),
        collectives=collectives(sections),
        iteration_collectives=collectives(iterations),
        iteration_flops=(0.0,) * len(ranks),
        verified=None,
        checks={},
        wall_s=0.0,
        peak_memory_bytes=0,
        command=repeat.launched.command,
        **counted,
        **timed,
    )
