"""Command line: run one kernel, or a user's own program, on a platform and print its record."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence

from apps.arguments.exit_status import exit_status
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
from apps.errors import OptionError
from apps.programs.kernel import kernel_names
from apps.results.cautions import print_cautions
from apps.results.record import RunRecord
from apps.spec.choices import MODES
from apps.spec.target import Target
from apps.timelines.files import check_timeline, timeline_formats, write_timeline
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

_TIMELINE = "--timeline"


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
        "--mode", default="skeleton", metavar="MODE", type=str.lower, help=f"{' or '.join(MODES)} (default: skeleton)"
    )
    add_platform_arguments(parser)
    add_placement_arguments(parser)
    add_settings_arguments(parser)
    add_wall_limit_argument(parser, "--wall-limit", "--time-limit")
    parser.add_argument(
        _TIMELINE, metavar="FILE",
        help=f"write what each rank does when, of the iterations that are simulated: {timeline_formats()} "
        "(docs/programs/timelines.md); the run is simulated once more for it",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the whole record as one JSON object")
    return parser


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
            f"time          {record.time_s:.6g} s simulated, {record.wall_s:.3g} s to simulate",
            *extrapolated,
            f"busiest rank  {busiest} on {record.host[busiest]}: computing {record.compute_s[busiest]:.6g} s, "
            f"in MPI {record.comm_s[busiest]:.6g} s",
            *_traffic(record),
            f"flops         {record.flops:.6g}",
            *_energy(record),
            f"verification  {verified}",
        )
    )


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


def _run(args: argparse.Namespace) -> int:
    asked = own_problem_from_arguments(args)
    if asked is None:
        if args.app is None:
            raise OptionError("--app", "not given", f"Name one of {', '.join(kernel_names())}, or give --program FILE")
        asked = problem_from_arguments(args, args.app, default_class="S")
    if args.timeline is not None:
        check_timeline(_TIMELINE, args.timeline)
    time_limit_s = wall_limit_from_arguments(args)
    settings = settings_from_arguments(args)
    if args.mode not in MODES:
        raise OptionError(f"--mode {args.mode}", "no such mode", known_names(args.mode, MODES))
    platform = platform_from_arguments(args)
    placement = placement_from_arguments(args, platform, args.ranks)
    spec = settings.spec(Target(asked, platform, placement), mode=args.mode)
    # Imported here for a quick start: it is slow to import.
    from apps.runs.cautions import extrapolation_caution
    from apps.runs.simulate import simulate

    with doing(f"simulating {spec.target}"):
        record = simulate(spec, time_limit_s=time_limit_s)
    print(json.dumps(record.to_json()) if args.json else summary(record))
    shown = None if args.json else extrapolation_caution(record)  # a line of the summary
    print_cautions(caution for caution in record.cautions if caution != shown)
    if args.timeline is not None:
        print(f"timeline: {write_timeline(_TIMELINE, args.timeline, spec, record, time_limit_s)}", file=sys.stderr)
    if record.verified is False:
        print(f"error: {asked.on(record.ranks)}: verification failed", file=sys.stderr)
        return 1
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))


if __name__ == "__main__":
    sys.exit(main())
