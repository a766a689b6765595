"""Command line: run one kernel, or a user's own program, on a platform and print its record."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from apps.arguments.dry_run import add_dry_run_argument, print_plan
from apps.arguments.exit_status import exit_status
from apps.arguments.machines import add_machine_arguments, machine_from_arguments, machines_platform
from apps.arguments.programs import (
    add_problem_arguments,
    add_program_arguments,
    own_problem_from_arguments,
    problem_from_arguments,
)
from apps.arguments.settings import (
    add_settings_arguments,
    add_wall_limit_argument,
    settings_from_arguments,
    wall_limit_from_arguments,
)
from apps.arguments.shares import add_shares_argument, with_asked_shares
from apps.errors import OptionError
from apps.programs.kernel import kernel_names
from apps.results.cautions import print_cautions
from apps.results.record import RunRecord
from apps.spec.choices import MODES
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.timelines.files import TIMELINE, add_timeline_argument, check_timeline, write_timeline
from platforms.arguments import (
    add_placement_arguments,
    add_platform_arguments,
    placement_from_arguments,
    platform_from_arguments,
)
from platforms.command import EXIT_STATUSES, CommandParser
from platforms.errors import known_names
from platforms.terminal.progress import doing
from platforms.wording import number_of

if TYPE_CHECKING:
    from apps.programs.problem import Problem


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of ``python -m apps.run``."""
    parser = CommandParser(
        prog="python -m apps.run",
        description="Run one kernel, or a program of your own, on a platform and print its record.",
        epilog=EXIT_STATUSES,
    )
    parser.add_argument("--app", metavar="NAME", help=f"one of {', '.join(kernel_names())}")
    add_problem_arguments(parser, default_class="S")
    add_program_arguments(parser)
    parser.add_argument("--ranks", type=int, metavar="P", help="number of ranks (default: as many as fit)")
    parser.add_argument(
        "--mode", metavar="MODE", type=str.lower,
        help=f"{' or '.join(MODES)} (default: skeleton; on a machine verify)",
    )  # fmt: skip
    add_platform_arguments(parser)
    add_placement_arguments(parser)
    _add_machine_arguments(parser)
    add_shares_argument(parser)
    add_settings_arguments(parser)
    add_wall_limit_argument(parser, "--wall-limit", "--time-limit")
    add_timeline_argument(parser)
    parser.add_argument(
        "--keep-output", metavar="DIR",
        help="copy what a program of your own prints, and the files that it makes in its folder, to DIR",
    )  # fmt: skip
    add_dry_run_argument(parser, kept=False)
    parser.add_argument("--json", action="store_true", help="print the whole record as one JSON object")
    return parser


def _add_machine_arguments(parser: argparse.ArgumentParser) -> None:
    add_machine_arguments(parser)
    parser.add_argument(
        "--store", metavar="DIR", help="with --machine: folder in which records are kept (default: in the cache folder)"
    )
    parser.add_argument("--no-store", action="store_true", help="with --machine: keep no record")
    parser.add_argument(
        "--reuse", action="store_true", help="with --machine: take the record of an earlier run, if any"
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
            *([f"flops         {record.flops:.6g}"] if record.flops or record.measured is None else []),
            *_energy(record),
            f"verification  {verified}",
        )
    )


def _in_files(record: RunRecord, rank: int) -> str:
    """Return the part of a rank's time in MPI that files took, where a machine has measured it."""
    if record.measured is None or not any(record.measured.file_s):
        return ""
    return f", {record.measured.file_s[rank]:.6g} s of it in files"


def _time(record: RunRecord) -> list[str]:
    """Return the lines of the time, and of how a machine was measured."""
    how = record.measured
    if how is None:
        return [f"time          {record.time_s:.6g} s simulated, {record.wall_s:.3g} s to simulate"]
    far = set(how.outliers)
    each = ", ".join(f"{one:.6g}{' (far)' if index in far else ''}" for index, one in enumerate(how.repeats_s))
    of = f"median of {len(how.repeats_s)} repeats" if len(how.repeats_s) > 1 else "one run"
    throttled = [events for events in how.throttled if events >= 0]
    heat = f"{sum(throttled)} events of throttling" if throttled else "no host tells of throttling"
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
        whole_and_each = [(one["calls"], sum(one["bytes"])) for one in (used, each)]
        lines.append(line(name, *whole_and_each))
    return lines


def _asked(args: argparse.Namespace) -> Problem:
    asked = own_problem_from_arguments(args)
    if asked is not None:
        return asked
    if args.app is None:
        raise OptionError("--app", "not given", f"Name one of {', '.join(kernel_names())}, or give --program FILE")
    return problem_from_arguments(args, args.app, default_class="S")


def _spec(args: argparse.Namespace) -> RunSpec:
    """Return the run that the options ask for."""
    asked = _asked(args)
    if args.timeline is not None:
        check_timeline(TIMELINE, args.timeline)
    machine = machine_from_arguments(args)
    settings = settings_from_arguments(args, machine)
    mode = args.mode or "skeleton"
    if mode not in MODES:
        raise OptionError(f"--mode {mode}", "no such mode", known_names(mode, MODES))
    if machine is None:
        platform = platform_from_arguments(args)
    else:
        if args.mode is not None and asked.program is not None:
            raise OptionError(f"--mode {args.mode}", "a program of your own has no modes", "Leave it out")
        if args.mode == "skeleton":
            raise OptionError("--mode skeleton", "a machine runs programs in full", "Leave it out with --machine")
        platform = machines_platform(args, machine)
    placement = placement_from_arguments(args, platform, args.ranks)
    divided = with_asked_shares(args, asked, platform, placement)
    spec = settings.spec(Target(divided, platform, placement), mode=mode)
    return spec if args.keep_output is None else replace(spec, keep_output=_output_folder(args.keep_output, spec))


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


def _check_of_machine(args: argparse.Namespace) -> None:
    """Refuse options of measured runs without a machine, and those of simulations with one."""
    if args.machine is not None:
        if args.timeline is not None:
            raise OptionError(TIMELINE, "shows a simulation, and does not go with --machine", "Drop one")
        if args.no_store and (args.store is not None or args.reuse):
            raise OptionError("--no-store", f"does not go with {'--reuse' if args.reuse else '--store'}", "Drop one")
        return
    for option, given in (("--store", args.store is not None), ("--no-store", args.no_store), ("--reuse", args.reuse)):
        if given:
            raise OptionError(option, "goes with --machine", "Leave it out: this command keeps no simulations")


def _measured(args: argparse.Namespace, spec: RunSpec, time_limit_s: float | None) -> RunRecord:
    """Return the record of a run on a machine, which the store keeps."""
    # Imported here for a quick start: they are slow to import.
    from apps.runs.cautions import run_cautions
    from apps.runs.engines import run_identity
    from apps.runs.simulate import simulate
    from apps.store import Store

    if args.no_store:
        return simulate(spec, time_limit_s=time_limit_s)
    if args.store == "":
        raise OptionError("--store", "an empty name", "Name a folder")
    with Store(Path(args.store) if args.store is not None else None) as store:
        if args.reuse:
            known = store.get_record(run_identity(spec), inexact=True)
            if known is not None:
                return replace(known, cautions=run_cautions(spec, known))
        with doing(f"running {spec.target}, {number_of(spec.repeats, 'repeat')}"):
            record = simulate(spec, time_limit_s=time_limit_s)
        store.put_record(record)
    return record


def _kept(args: argparse.Namespace, spec: RunSpec) -> RunRecord | None:
    """Return the record of an earlier run on the machine; None if the store has none, or there is no store."""
    # Imported here for a quick start: they are slow to import.
    from apps.runs.engines import run_identity
    from apps.store import Store
    from apps.store.database import DATABASE
    from platforms.files.caching import cache_folder

    folder = cache_folder() / "store" if args.store is None else Path(args.store)
    if not (folder / DATABASE).exists():
        return None
    with Store(folder, read_only=True) as store:
        return store.get_record(run_identity(spec), inexact=True, quiet=True)


def _run(args: argparse.Namespace) -> int:
    _check_of_machine(args)
    time_limit_s = wall_limit_from_arguments(args)
    spec = _spec(args)
    if args.dry_run:
        return _say_plan(args, spec)
    # Imported here for a quick start: they are slow to import.
    from apps.runs.cautions import extrapolation_caution
    from apps.runs.simulate import simulate

    if spec.machine is not None:
        record = _measured(args, spec, time_limit_s)
    else:
        with doing(f"simulating {spec.target}"):
            record = simulate(spec, time_limit_s=time_limit_s)
    print(json.dumps(record.to_json()) if args.json else summary(record))
    shown = None if args.json else extrapolation_caution(record)  # a line of the summary
    print_cautions(caution for caution in record.cautions if caution != shown)
    if args.timeline is not None:
        print(f"timeline: {write_timeline(TIMELINE, args.timeline, spec, record, time_limit_s)}", file=sys.stderr)
    if record.verified is False:
        print(f"error: {spec.target.problem.on(record.ranks)}: verification failed", file=sys.stderr)
        return 1
    return 0


def _say_plan(args: argparse.Namespace, spec: RunSpec) -> int:
    """Print what would be run on a machine, or simulated: once more under the recorder for a timeline."""
    if spec.machine is not None:
        # Imported here for a quick start: it is slow to import.
        from apps.measuring.rehearsal import planned_run

        if args.reuse and _kept(args, spec) is not None:
            print("--reuse   the store has a record of this run, which would be taken: nothing would be started")
        print("\n".join(planned_run(spec, wall_limit_from_arguments(args))))
        return 0
    # Imported here for a quick start: they are slow to import.
    from apps.runs.plan import Plan, for_timeline

    plan = Plan(truths=(spec,), others=() if args.timeline is None else (for_timeline(spec),))
    return print_plan(args, plan, kept=False)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))


if __name__ == "__main__":
    sys.exit(main())
