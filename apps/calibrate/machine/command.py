"""Calibrate a machine, or a measurement of one, according to the options of the command."""

from __future__ import annotations

import hashlib
import math
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from apps.calibrate.machine.calibrate import CalibrationInput, MachineCalibration
from apps.calibrate.machine.calibrate import calibrated as calibrated_rows
from apps.calibrate.machine.collectives import Collectives, asked_collectives
from apps.calibrate.machine.kernels import Kept, TimedKernels, kept_of, kernels_of, memory_Bps, timed_kernels, together
from apps.calibrate.machine.page import machine_page
from apps.calibrate.machine.picture import machine_figure
from apps.calibrate.machine.rows import ALONE, BUSY, TRIAD, MachineTime, Rows, checked_rows, read_rows, written
from apps.calibrate.request import CalibrateRequest
from apps.errors import KernelError, SimulationError
from apps.machines.launch import alone_on, launch
from apps.machines.machine_file import Machine, read_machine
from apps.measuring.engine import same_host
from apps.measuring.rehearsal import solo_kernels
from apps.probes.machine.measure import machine_program
from apps.store.store import Store
from apps.stream.measure import BYTES_PER_ELEMENT
from apps.stream.on_machine import memory_of_machine
from platforms.command.request import given
from platforms.errors import UserError, known_names, printable
from platforms.files.reading import input_bytes, input_text
from platforms.files.writing import write_text
from platforms.plotting.pictures import write_picture
from platforms.wording import number_of

_PLACING = "The launcher has to place ranks by {hostfile}"
ALL, NONE = "all", "none"  # words of --kernels
_SHARE_OF_KERNELS = 1 / 3  # of the budget
_LEAST_S = 1.0  # least time for measuring, if rows of an earlier command have used up the budget
_EXTRA_S = 300.0  # in addition to the budget, for the start of the machine's job and for passes that take longer


def calibrated(request: CalibrateRequest, files: Mapping[str, str]) -> MachineCalibration:
    """Measure if a machine is given, calibrate, and write the files (platform, data, picture, page).

    Raises:
        UserError: A file or a value is wrong.
        KernelError: The measurement failed.
        SimulationError: The replay does not succeed.
    """
    if not request.machine:
        calibration = calibrated_rows(_of_file(request))
        _write(calibration, files)
        return calibration
    machine = read_machine(request.machine)
    kept = kept_of(machine)
    calibration = calibrated_rows(_of_machine(request, machine, kept))
    _write(calibration, files)
    kept.clear()
    return calibration


def _write(calibration: MachineCalibration, files: Mapping[str, str]) -> None:
    figure = machine_figure(calibration)
    write_text("--out", files["platform"], calibration.content.decode())
    write_text("--out", files["data"], written(calibration.request.rows))
    write_picture("--out", files["picture"], figure)
    write_text("--out", files["page"], machine_page(calibration, figure))


def _of_file(request: CalibrateRequest) -> CalibrationInput:
    """Return the request for a file of rows."""
    try:
        text = input_text(given(request.measured))
    except OSError as err:
        raise UserError(
            given(request.measured), f"cannot be read: {err.strerror}", "Give what the program printed"
        ) from err
    except UnicodeDecodeError:
        raise UserError(given(request.measured), "not text in UTF-8", "Give what the program printed") from None
    rows = read_rows(text, given(request.measured))
    name = given(request.cluster)
    clusters = [name if rows.clusters == 1 else f"{name}{c}" for c in range(rows.clusters)]
    hash_text = hashlib.sha256(input_bytes(given(request.measured))).hexdigest()[:16]
    return CalibrationInput(
        rows, name, clusters,
        cores=[given(request.cores)] * rows.clusters,
        core_flops=_given_speeds(request.core_gflops, rows.clusters),
        collectives=_as_asked_for(given(request.collectives)),
        hold_out=given(request.hold_out),
        provenance=[
            "Calibrated by gridval platform calibrate (docs/platforms/calibration.md).",
            f"Measured rows: {printable(os.path.basename(given(request.measured)))}, sha256 {hash_text}",
            _passes(rows),
        ],
    )  # fmt: skip


def _given_speeds(gflops: Sequence[float] | None, clusters: int) -> list[float] | None:
    """Return the speeds of the clusters' cores in flop/s, if they are given: one for each, or one for all."""
    if gflops is None:
        return None
    if len(gflops) not in (1, clusters):
        given = ",".join(f"{speed:g}" for speed in gflops)
        raise UserError(f"--core-gflops {given}", f"{clusters} clusters were measured", "Give one speed, or one each")
    return [1e9 * gflops[cluster if len(gflops) > 1 else 0] for cluster in range(clusters)]


def _of_machine(request: CalibrateRequest, machine: Machine, kept: Kept) -> CalibrationInput:
    """Measure a machine and return the request."""
    names = kernels_from(given(request.kernels))
    collectives = _collectives(machine, request.collectives)
    for_kernels_s = _SHARE_OF_KERNELS * given(request.budget) if names else 0.0
    kernels = timed_kernels(machine, names, _ranks(machine)[0], for_kernels_s, kept)
    triads, missing = timed_triads(machine, kernels)
    messages, notes = measured(machine, given(request.budget) - for_kernels_s, kept)
    rows = messages.renamed(machine.hosts).beside((*kernels.rows, *triads))
    return CalibrationInput(
        rows, machine.name, [cluster.name for cluster in machine.clusters],
        cores=[cluster.cores for cluster in machine.clusters],
        core_flops=_given_speeds(request.core_gflops, len(machine.clusters))
        or [cluster.speed_flops for cluster in machine.clusters],
        collectives=collectives,
        hold_out=given(request.hold_out),
        provenance=[
            "Calibrated by gridval platform calibrate (docs/platforms/calibration.md).",
            f"Machine {printable(machine.name)}, {printable(os.path.basename(given(request.machine)))}, "
            f"sha256 {hashlib.sha256(input_bytes(given(request.machine))).hexdigest()[:16]}",
            f"Launcher: {printable(shlex.join(machine.launcher.command))}; speeds of cores: nominal",
            f"Collective operations: {printable(collectives.said)}",
            _passes(rows),
        ],
        notes=[*_missing(names, kernels, given(request.budget)), *missing, *notes],
    )  # fmt: skip


def timed_triads(machine: Machine, kernels: TimedKernels) -> tuple[list[MachineTime], list[str]]:
    """Return STREAM's triads of the clusters whose kernels do not show their memory, and why others are missing."""
    hosts, speeds = _ranks(machine)[0], kernels_of(Rows((), kernels.rows))
    unknown = [
        cluster.name
        for cluster in machine.clusters
        if memory_Bps(speeds, {host: hosts.count(host) for host in cluster.hosts}) is None
    ]
    rows, at_s = [], max((row.at_s for row in kernels.rows), default=0.0)
    try:
        with Store() as store:
            found = memory_of_machine(machine, store, clusters=unknown)
    except (KernelError, SimulationError, UserError) as err:
        return [], [f"the memory of the nodes is not measured: {err}"]
    for node in found.values():
        whole = node.triads[-1]
        amount = BYTES_PER_ELEMENT * whole.elements * whole.processes
        rows.append(MachineTime(TRIAD, 0, node.host, "", amount, min(whole.times_s), at_s))
    return rows, [f"{name}: {node.caution}" for name, node in found.items() if node.caution]


def _collectives(machine: Machine, asked_for: str | None) -> Collectives:
    """Return the algorithms named by the option --collectives, or else those of the machine's library."""
    if asked_for is not None:
        return _as_asked_for(asked_for)
    program = machine_program(machine.compilers.c, machine.compilers.flags, machine.compiled_folder)
    return asked_collectives(machine, str(program), _ranks(machine)[0])


def _as_asked_for(selector: str) -> Collectives:
    return Collectives(selector, {}, f"those of smpi/coll-selector {selector}, given by --collectives")


def _missing(names: Sequence[str], kernels: TimedKernels, budget_s: float) -> list[str]:
    """Return sentences about the kernels that were not timed, and about the budget sufficient for all."""
    sentences = []
    for experiment, how in ((ALONE, "alone"), (BUSY, "with all cores busy")):
        made = {row.second for row in kernels.rows if row.experiment == experiment}
        for name in names:
            if (experiment, name) in kernels.refused:
                sentences.append(
                    f"{name} could not be timed {how} and is left out: {kernels.refused[experiment, name]}"
                )
        left = [name for name in names if name not in made and (experiment, name) not in kernels.refused]
        if left and (experiment == ALONE or any(row.experiment == BUSY for row in kernels.rows)):
            enough_s = 10 * math.ceil(budget_s * len(names) / max(len(names) - len(left), 1) / 10)
            enough = (
                f"; --budget {enough_s} may suffice for all" if experiment == ALONE and len(left) < len(names) else ""
            )
            sentences.append(f"the budget ended before these kernels were timed {how}: {', '.join(left)}{enough}")
    return sentences


def kernels_from(text: str) -> tuple[str, ...]:
    """Return the kernels named by the option --kernels.

    Raises:
        UserError: A kernel is not known, or has no problem for one rank.
    """
    known = solo_kernels()
    if text in (ALL, NONE):
        return known if text == ALL else ()
    names = tuple(dict.fromkeys(word.strip().lower() for word in text.split(",")))
    for name in names:
        if name not in known:
            raise UserError(f"--kernels {text}", f"no kernel {name!r} to time", known_names(name, (*known, ALL, NONE)))
    return names


def _passes(rows: Rows) -> str:
    return f"Measured in {rows.rows[-1].at_s:.0f} s, {number_of(rows.passes, 'pass', 'passes')}, {len(rows.rows)} rows"


def measured(machine: Machine, budget_s: float, kept: Kept) -> tuple[Rows, list[str]]:
    """Run the measuring program on all hosts of a machine, with a rank on each core within its limits.

    Rows of an interrupted command are reused, and shorten the measurement.  A measurement that ends early is used as
    far as it got; the returned sentences say so.

    Raises:
        UserError: The program cannot be compiled or started.
        KernelError: It failed before it had measured enough for a platform.
    """
    where = f"machine {machine.name}"
    earlier = kept.begin()
    if earlier and earlier[-1].experiment == "end":
        return _placed(machine, checked_rows(earlier, where)), [f"{len(earlier)} rows of an earlier command were used"]
    program = machine_program(machine.compilers.c, machine.compilers.flags, machine.compiled_folder)
    hosts, clusters = _ranks(machine)
    left_s = max(budget_s - max((row.at_s for row in earlier), default=0.0), _LEAST_S)
    words = [str(program), f"budget={left_s:g}", f"clusters={','.join(map(str, clusters))}", f"rows={kept.running}"]
    with alone_on(machine):
        done = launch(machine, words, hosts, time_limit_s=left_s + _EXTRA_S, retries=0)
    notes = [f"{len(earlier)} rows of an earlier command were used too"] if earlier else []
    if done.succeeded:
        rows = read_rows(done.stdout, where)
    else:
        why = "its time limit ended it" if done.timed_out else _last_words(done.stderr) or f"status {done.status}"
        try:
            rows = checked_rows(kept.written_now(), where)
        except UserError:
            raise KernelError(
                where, f"measuring failed: {why}", "Try gridval doctor --machine with this file"
            ) from None
        notes.append(f"measuring was disturbed or ended early, and its {len(rows.rows)} rows are used: {why}")
    return _placed(machine, together(earlier, rows)), notes


def _placed(machine: Machine, rows: Rows) -> Rows:
    """Return the rows; raise KernelError unless they belong to the machine's hosts in order."""
    if len(rows.nodes) != len(machine.hosts):
        problem = f"{len(machine.hosts)} hosts, but the ranks ran on {len(rows.nodes)}"
        raise KernelError(f"machine {machine.name}", problem, _PLACING)
    _check_places(machine, rows)
    return rows


def _check_places(machine: Machine, rows: Rows) -> None:
    """Refuse rows whose nodes are hosts of the machine in another order: their names would be mixed up.

    Unknown names are accepted: an MPI library may use other names for its processors.
    """
    for asked, node in zip(machine.hosts, rows.nodes, strict=True):
        if not same_host(asked, node.name) and any(same_host(host, node.name) for host in machine.hosts):
            problem = f"ranks for {asked} ran on {node.name}: the launcher ignores its host file"
            raise KernelError(f"machine {machine.name}", problem, _PLACING)


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("error: ")[:300] if lines else ""


def _ranks(machine: Machine) -> tuple[list[str], list[int]]:
    """Return the host and the cluster of every rank: one per core, up to the machine's limit."""
    most = machine.limits.ranks // len(machine.hosts)
    if most < 1:
        problem = f"{len(machine.hosts)} hosts, but its limit is {machine.limits.ranks} ranks"
        raise KernelError(f"machine {machine.name}", problem, f"Change limits in {Path(machine.path).name}")
    hosts: list[str] = []
    clusters: list[int] = []
    for number, cluster in enumerate(machine.clusters):
        for host in cluster.hosts:
            ranks = min(cluster.cores, most)
            hosts += [host] * ranks
            clusters += [number] * ranks
    return hosts, clusters
