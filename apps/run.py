"""Command line: run one kernel, or a user's own program, on a platform and print its record."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from apps.errors import OptionError
from apps.options.dry_run import DryRunOption, print_plan
from apps.options.exit_status import exit_status
from apps.options.machines import MachineOptions, machine_from_request, machines_platform
from apps.options.programs import ProgramOptions, own_problem_from_request, problem_from_request
from apps.options.settings import (
    WALL_LIMIT_HELP,
    WALL_LIMIT_S,
    WallLimitOption,
    settings_from_request,
    wall_limit_from_request,
)
from apps.options.shares import SharesOption, with_asked_shares
from apps.options.timeline import TIMELINE, TimelineOption, timelines
from apps.programs.kernel import kernel_names
from apps.results.cautions import print_cautions
from apps.results.record import RunRecord, without_computation
from apps.spec.choices import MODES, RECORDED, REPLAY
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.addons import provided
from platforms.command.command import Command
from platforms.command.request import JsonOption, option
from platforms.errors import known_names
from platforms.options import PlacementOptions, placement_from_request, platform_from_request
from platforms.terminal.progress import doing
from platforms.wording import number_of

if TYPE_CHECKING:
    from apps.programs.problem import Problem

_KEEPS_NONE = "Leave it out: this command keeps no simulations"


@dataclass(frozen=True, kw_only=True)
class ProgramRequest(
    MachineOptions,
    ProgramOptions,
    PlacementOptions,
    SharesOption,
    WallLimitOption,
    TimelineOption,
    DryRunOption,
    JsonOption,
):
    """One run of a kernel or a program."""

    default_class: ClassVar[str] = "S"
    kept: ClassVar[bool] = False

    app: str | None = option(None, "NAME", lambda _: f"one of {', '.join(kernel_names())}")
    ranks: int | None = option(None, "P", "number of ranks (default: as many as fit)")
    mode: str | None = option(
        None, "MODE", f"{' or '.join(MODES)} (default: skeleton; on a machine verify)", parse=str.lower
    )
    wall_limit: float = option(WALL_LIMIT_S, "S", WALL_LIMIT_HELP, others=("--time-limit",), unit="s")
    store: str | None = option(
        None,
        "DIR",
        "with --machine: folder in which records are kept; with measured computation: in which that is kept (default: "
        "in the cache folder)",
    )
    no_store: bool = option(False, help="with --machine, and with measured computation: keep nothing")
    reuse: bool = option(False, help="with --machine: take the record of an earlier run, if any")
    keep_output: str | None = option(
        None,
        "DIR",
        "copy what a program of your own prints, and the files that it makes in its folder, to DIR",
    )


def summary(record: RunRecord) -> str:
    """Return the record as a few lines of text."""
    busiest = max(range(record.ranks), key=lambda rank: record.compute_s[rank])
    verified = {True: "passed", False: "FAILED", None: "not checked"}[record.verified]
    how, extrapolated = record.extrapolation, []
    if how is not None:
        bound = "unknown" if how.bound_rel is None else f"{how.bound_rel:.1g} relative"
        extrapolated = [f"extrapolated  from {how.simulated} of {how.iterations} iterations, error at most: {bound}"]
    return "\n".join(
        (
            *_time(record),
            *extrapolated,
            f"busiest rank  {busiest} on {record.host[busiest]}: computing {record.compute_s[busiest]:.6g} s, "
            f"in MPI {record.comm_s[busiest]:.6g} s{_in_files(record, busiest)}",
            *_traffic(record),
            *_flops(record),
            *_energy(record),
            f"verification  {verified}",
        )
    )


def _flops(record: RunRecord) -> list[str]:
    """Return the line of the operations; none of a machine that does not count them."""
    if record.timed is not None:
        speed_flops = float(record.identity["host_speed_flops"])
        return [
            f"flops         {record.flops:.6g}: {record.flops / speed_flops:.6g} s of this computer, times its "
            f"{speed_flops / 1e9:.4g} Gflop/s in a product of matrices"
        ]
    return [f"flops         {record.flops:.6g}"] if record.flops or record.measured is None else []


def _in_files(record: RunRecord, rank: int) -> str:
    """Return the part of a rank's time in MPI that files took, where a machine has measured it."""
    if record.measured is None or not any(record.measured.file_s):
        return ""
    return f", {record.measured.file_s[rank]:.6g} s of it in files"


def _time(record: RunRecord) -> list[str]:
    """Return the lines of the time, and of how a machine was measured."""
    how = record.measured
    if how is None:
        what = "communication time" if without_computation(record) else "time"
        return [f"{what:13} {record.time_s:.6g} s simulated, {record.wall_s:.3g} s to simulate"]
    far = set(how.outliers)
    each = ", ".join(f"{time_s:.6g}{' (far)' if index in far else ''}" for index, time_s in enumerate(how.repeats_s))
    of = f"median of {len(how.repeats_s)} repeats" if len(how.repeats_s) > 1 else "one run"
    throttled = [events for events in how.throttled if events >= 0]
    heat = f"{sum(throttled)} events of throttling" if throttled else "no host reports throttling"
    return [
        f"time          {record.time_s:.6g} s measured, {of}",
        *(
            []
            if len(how.repeats_s) == 1
            else [
                f"range         {how.low_s:.6g} to {how.high_s:.6g} s, {100 * how.range_rel:.3g} % of the median",
                f"repeats       {each} s",
            ]
        ),
        f"machine       {how.machine}, {how.date}: {how.mpi.partition(', ')[0][:60]}",
        f"load          {how.load_before[0]:.2f} before, {how.load_after[-1]:.2f} after; {heat}",
    ]


def _energy(record: RunRecord) -> list[str]:
    """Return a line with the energy of the hosts in use, of all hosts and of links, if the platform gives watts."""
    parts = []
    if record.used_energy_j is not None:
        parts.append(f"{record.used_energy_j:.6g} J on {number_of(len(set(record.host)), 'host')} in use")
    if record.energy_j is not None:
        parts.append(f"{record.total_energy_j:.6g} J on all {len(record.energy_j)}")
    if record.link_energy_j is not None:
        parts.append(
            f"{math.fsum(record.link_energy_j.values()):.6g} J on {number_of(len(record.link_energy_j), 'link')}"
        )
    return [f"energy        {', '.join(parts)}"] if parts else []


def _traffic(record: RunRecord) -> list[str]:
    """Return a line for messages (left out without messages but with collectives) and one per kind of collective.

    Bytes are those of all ranks.
    """

    def line(name: str, whole: tuple[int, int], each: tuple[int, int]) -> str:
        per_iteration = "; per iteration {} with {} bytes".format(*each) if record.iteration_s[0] else ""
        return "{:13} {} with {} bytes{}".format(name, *whole, per_iteration)

    lines = []
    if any(record.messages) or not record.collectives:
        whole = sum(record.messages), sum(record.bytes)
        lines.append(line("messages", whole, (sum(record.iteration_messages), sum(record.iteration_bytes))))
    for name, used in record.collectives.items():
        each = record.iteration_collectives.get(name, {"calls": 0, "bytes": []})
        whole_and_each = [(traffic["calls"], sum(traffic["bytes"])) for traffic in (used, each)]
        lines.append(line(name, *whole_and_each))
    return lines


def _asked(request: ProgramRequest) -> Problem:
    asked = own_problem_from_request(request, real_mpi=request.machine is not None)
    if asked is not None:
        return asked
    if request.app is None:
        raise OptionError("--app", "not given", f"Name one of {', '.join(kernel_names())}, or give --program FILE")
    return problem_from_request(request, request.app)


def _spec(request: ProgramRequest) -> RunSpec:
    """Return the run that the options ask for."""
    asked = _asked(request)
    if request.timeline is not None:
        timelines().check_timeline(TIMELINE, request.timeline)
    machine = machine_from_request(request)
    settings = settings_from_request(request, machine, request.repeats)
    mode = request.mode or "skeleton"
    if mode not in MODES:
        raise OptionError(f"--mode {mode}", "no such mode", known_names(mode, MODES))
    if machine is None:
        platform = platform_from_request(request)
    else:
        if request.mode is not None and asked.program is not None:
            raise OptionError(f"--mode {request.mode}", "a program of your own has no modes", "Leave it out")
        if request.mode == "skeleton":
            raise OptionError("--mode skeleton", "a machine runs programs in full", "Leave it out with --machine")
        platform = machines_platform(request, machine)
    placement = placement_from_request(request, platform, request.ranks)
    divided = with_asked_shares(request, asked, platform, placement)
    spec = settings.spec(Target(divided, platform, placement), mode=mode)
    return spec if request.keep_output is None else replace(spec, keep_output=_output_folder(request.keep_output, spec))


def _output_folder(name: str, spec: RunSpec) -> Path:
    """Return the folder of --keep-output, which goes with simulations of a program of the user."""
    where = f"--keep-output {name}"
    if not name:
        raise OptionError("--keep-output", "an empty name", "Name a folder")
    if spec.target.problem.program is None:
        raise OptionError(where, "a kernel's output is its record", "Leave it out, or give --program FILE")
    if spec.engine != "smpi":
        raise OptionError(where, f"goes with engine smpi, not with {spec.engine}", "Leave it out")
    if Path(name).exists() and not Path(name).is_dir():
        raise OptionError(where, "not a folder", "Name another")
    return Path(name).absolute()


def _check_of_machine(request: ProgramRequest) -> None:
    """Refuse options of measured runs without a machine, and those of simulations with one."""
    if request.no_store and (request.store is not None or request.reuse):
        raise OptionError("--no-store", f"does not go with {'--reuse' if request.reuse else '--store'}", "Drop one")
    if request.store == "":
        raise OptionError("--store", "an empty name", "Name a folder")
    if request.machine is not None and request.timeline is not None:
        raise OptionError(TIMELINE, "shows a simulation, and does not go with --machine", "Drop one")
    if request.machine is None and request.reuse:
        raise OptionError("--reuse", "goes with --machine", _KEEPS_NONE)


def _check_store(request: ProgramRequest, spec: RunSpec) -> None:
    """Refuse the options of a store where nothing is kept."""
    if spec.machine is not None or spec.compute in ("measured", RECORDED):
        return
    for name, given in (("--store", request.store is not None), ("--no-store", request.no_store)):
        if given:
            raise OptionError(name, "goes with --machine and with measured computation", _KEEPS_NONE)


def _simulated(request: ProgramRequest, spec: RunSpec, time_limit_s: float | None) -> Ran:
    """Return a simulation, whose measured computation or recording is kept in the store.

    A timeline of it then replays the same computation.
    """
    # Imported here because they are slow to import.
    from apps.runs.computation import with_work
    from apps.runs.simulate import simulate
    from apps.store import Store

    if request.no_store or (spec.compute != "measured" and spec.engine != REPLAY):
        return Ran(spec, simulate(spec, time_limit_s=time_limit_s))
    with Store(Path(request.store) if request.store is not None else None) as store:
        timed = with_work(spec, store=store, time_limit_s=time_limit_s)
        record = simulate(timed, time_limit_s=time_limit_s, store=store)
    replayed = record.timed is not None and record.timed.replayed
    return Ran(timed if replayed else spec, record)


def _measured(request: ProgramRequest, spec: RunSpec, time_limit_s: float | None) -> RunRecord:
    """Return the record of a run on a machine, which the store keeps."""
    # Imported here because they are slow to import.
    from apps.runs.cautions import run_cautions
    from apps.runs.engines import run_identity
    from apps.runs.simulate import simulate
    from apps.store import Store

    if request.no_store:
        return simulate(spec, time_limit_s=time_limit_s)
    with Store(Path(request.store) if request.store is not None else None) as store:
        if request.reuse:
            known = store.get_record(run_identity(spec), inexact=True)
            if known is not None:
                return replace(known, cautions=run_cautions(spec, known))
        with doing(f"running {spec.target}, {number_of(spec.repeats, 'repeat')}"):
            record = simulate(spec, time_limit_s=time_limit_s)
        store.put_record(record)
    return record


def _kept(request: ProgramRequest, spec: RunSpec) -> RunRecord | None:
    """Return the record of an earlier run on the machine; None if the store has none, or there is no store."""
    # Imported here because they are slow to import.
    from apps.runs.engines import run_identity
    from apps.store import Store
    from apps.store.database import DATABASE
    from platforms.files.caching import cache_folder

    folder = cache_folder() / "store" if request.store is None else Path(request.store)
    if not (folder / DATABASE).exists():
        return None
    with Store(folder, read_only=True) as store:
        return store.get_record(run_identity(spec), inexact=True, quiet=True)


@dataclass(frozen=True)
class Ran:
    """The record of a run, and where its timeline was written."""

    spec: RunSpec
    record: RunRecord

    def text(self) -> str:
        """Return the record as a few lines of text."""
        return summary(self.record)

    def to_json(self) -> dict[str, Any]:
        """Return the whole record as JSON values."""
        data = self.record.to_json()
        if not without_computation(self.record):
            return data
        return {f"communication_{name}" if name == "time_s" else name: value for name, value in data.items()}

    @property
    def status(self) -> int:
        """Return the exit status, 1 if the verification failed."""
        return int(self.record.verified is False)


def answer(request: ProgramRequest) -> Ran | int:
    """Run what a request asks for; with --dry-run say what would be run, and return the exit status."""
    _check_of_machine(request)
    time_limit_s = wall_limit_from_request(request)
    spec = _spec(request)
    _check_store(request, spec)
    if request.dry_run:
        return _say_plan(request, spec)
    if spec.machine is not None:
        return Ran(spec, _measured(request, spec, time_limit_s))
    with doing(f"simulating {spec.target}"):
        return _simulated(request, spec, time_limit_s)


def _after(request: ProgramRequest, ran: Ran) -> None:
    """Print the cautions, write the timeline, and say whether the verification failed."""
    # Imported here because it is slow to import.
    from apps.runs.cautions import extrapolation_caution

    record = ran.record
    shown = None if request.json else extrapolation_caution(record)  # a line of the summary
    print_cautions(caution for caution in record.cautions if caution != shown)
    if request.timeline is not None:
        written = timelines().write_timeline(
            TIMELINE, request.timeline, ran.spec, record, wall_limit_from_request(request)
        )
        print(f"timeline: {written}", file=sys.stderr)
    if record.verified is False:
        print(f"error: {ran.spec.target.problem.on(record.ranks)}: verification failed", file=sys.stderr)


def _say_plan(request: ProgramRequest, spec: RunSpec) -> int:
    """Print what would be run on a machine, or simulated: once more under the recorder for a timeline."""
    if spec.machine is not None:
        if request.reuse and _kept(request, spec) is not None:
            print("--reuse   the store has a record of this run, which would be taken: nothing would be started")
        print("\n".join(provided("apps.measuring.rehearsal:planned_run")(spec, wall_limit_from_request(request))))
        return 0
    # Imported here because they are slow to import.
    from apps.runs.plan import Plan, for_timeline

    plan = Plan(truths=(spec,), others=() if request.timeline is None else (for_timeline(spec),))
    return print_plan(request, plan)


COMMAND = Command(
    "program run",
    ProgramRequest,
    answer,
    "Run one kernel, or a program of your own, on a platform and print its record.",
    after=_after,
    status=exit_status,
)
main = COMMAND.main
