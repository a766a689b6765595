"""Predict how long a run takes when nodes fail, and find the number of nodes that finishes it soonest.

More nodes compute faster but fail more often.  The command prints for every number of nodes the time without failures,
the probability that no node fails in that time, and the expected time if the run restarts after each failure, from the
beginning or from checkpoints at Young's and at Daly's interval (docs/planning/reliability.md).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from apps.options.programs import add_problem_arguments, problem_from_request
from apps.results.cautions import Cautions
from platforms.command.parser import CommandParser
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError, known_names, nearest
from platforms.terminal.width import add_wide_argument
from predictor.reliability.names import INTERVALS, SEGMENTS

if TYPE_CHECKING:
    from predictor.reliability.outlook import Failures
    from predictor.reliability.run_times import Asked, RunTimes

MOST_NUMBERS = 5_000_000  # largest length of the list of numbers of nodes
MOST_REPEATS = 1_000_000_000
_RATES = ("rate", "node_mtbf_years", "node_mtbf_hours", "model")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(
        prog="python -m predictor.reliability",
        description=__doc__,
        epilog=EXIT_STATUSES,
        first="--node-mtbf-years --restart --work --serial --nodes --scenario --app --predictor --simulate".split(),
    )
    failing = parser.add_argument_group("failures and checkpoints", "give one of the first four options")
    failing.add_argument("--rate", type=float, metavar="LAMBDA", help="failure rate of one node, 1/s")
    failing.add_argument("--node-mtbf-years", type=float, metavar="Y", help="mean time between failures of one node")
    failing.add_argument("--node-mtbf-hours", type=float, metavar="H", help="the same in hours")
    failing.add_argument("--model", metavar="NAME|FILE", help="the failure rate of a block model, such as galera+")
    failing.add_argument("--checkpoint", type=float, required=True, metavar="S", help="seconds to write a checkpoint")
    failing.add_argument("--restart", type=float, default=0.0, metavar="S", help="seconds of a restart (default: 0)")
    failing.add_argument(
        "--intervals", default="young,daly", metavar="I1,I2,...",
        help=f"intervals between checkpoints, of {', '.join(INTERVALS)} (default: young,daly)",
    )  # fmt: skip
    failing.add_argument(
        "--segments", default=SEGMENTS[0], metavar="HOW",
        help="how segments between checkpoints are counted: whole, those of a real run, without a checkpoint after the "
        "last (default), or daly, T/tau segments, each with a checkpoint, as in Daly's cost function",
    )  # fmt: skip
    law = parser.add_argument_group("time of the run without failures, by a law")
    law.add_argument("--work", type=float, metavar="S", help="seconds that one node takes: T(P) = S (f + (1 - f)/P)")
    law.add_argument("--serial", type=float, metavar="F", help="f, the serial share (default: 0)")
    table = parser.add_argument_group("or by a table")
    table.add_argument("--times", metavar="FILE.csv", help="file with the columns nodes and time_s")
    _add_predictor_arguments(parser)
    parser.add_argument(
        "--nodes", metavar="A:B|N1,N2,...",
        help="numbers of nodes (default: 1:10000 with a law; 1, 2, 4, ... and all with a predictor; those of a table)",
    )  # fmt: skip
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="number of runs in a row that make up the job (default: 1)"
    )
    parser.add_argument("--rows", type=int, default=16, metavar="N", help="rows of the table, about (default: 16)")
    parser.add_argument("--plot", metavar="FILE", help="write a figure to this file: .png, .svg or .pdf")
    add_wide_argument(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _add_predictor_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that only a predictor and its evidence use."""
    # Imported here for a quick start: they are slow to import.
    from apps.options.dry_run import add_dry_run_argument
    from apps.options.runner import add_runner_arguments
    from apps.options.settings import add_settings_arguments
    from apps.programs.kernel import kernel_names
    from platforms.options import add_platform_arguments
    from predictor.registry import help_text

    model = parser.add_argument_group("or by a predictor", "one rank per node, shared evenly among the clusters")
    add_platform_arguments(model)
    model.add_argument("--app", metavar="NAME", help=f"one of {', '.join(kernel_names())}")
    add_problem_arguments(model, default_class="B")
    model.add_argument("--predictor", metavar="NAME", help=f"{help_text()} (default: dpgraph-known)")
    evidence = parser.add_argument_group("simulations for a predictor's evidence")
    add_dry_run_argument(evidence)
    add_settings_arguments(evidence, programs=False)
    add_runner_arguments(evidence)


def failures_from_request(args: argparse.Namespace) -> Failures:
    """Return the failure rate and the times of checkpoints and restarts from the options.

    Raises:
        UserError: The rate is not given exactly once, or a value is out of its range.
    """
    # Imported here for a quick start: they are slow to import.
    from predictor.reliability.outlook import Failures
    from predictor.reliability.report import HOUR_S, YEAR_S

    given = [name for name in _RATES if getattr(args, name) is not None]
    if len(given) != 1:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in _RATES)
        problem = "is not given" if not given else f"is given {len(given)} times"
        raise UserError("failure rate", problem, f"Give one of {options}")
    (name,) = given
    value = getattr(args, name)
    if name == "model":
        # Imported here for a quick start: it is slow to import.
        from predictor.blocks.by_name import block_model

        rate_per_s = block_model(value).failure_rate_per_s
        if rate_per_s is None:
            raise UserError(f"--model {value}", "it has no failure rate", "Give --rate or --node-mtbf-years")
    elif name == "rate":
        rate_per_s = value
    elif not value > 0:
        raise UserError(f"--{name.replace('_', '-')} {value:g}", "not a time", "Give more than 0")
    else:
        rate_per_s = 1 / (value * (YEAR_S if name == "node_mtbf_years" else HOUR_S))
    return Failures(rate_per_s, args.checkpoint, args.restart)


def intervals_from_request(args: argparse.Namespace) -> list[str]:
    """Return the names of the checkpoint intervals, each once.

    Raises:
        UserError: A name is not known, or there is none.
    """
    names = [part.strip() for part in args.intervals.split(",") if part.strip()]
    for name in names:
        if name not in INTERVALS:
            raise UserError(f"--intervals {name}", "no such interval", nearest(name, INTERVALS))
    if not names:
        raise UserError(f"--intervals {args.intervals!r}", "names none", f"Give some of {', '.join(INTERVALS)}")
    return list(dict.fromkeys(names))


def parse_nodes(text: str) -> list[int]:
    """Parse numbers of nodes: ``A:B``, every number from A to B, or a comma-separated list.

    Raises:
        UserError: The text is not of this form, or the numbers are too many or too large.
    """
    # Imported here for a quick start: it is slow to import.
    from predictor.reliability.run_times import MOST_NODES

    try:
        if ":" in text:
            first, last = (int(part) for part in text.split(":"))
            if last - first >= MOST_NUMBERS:
                raise UserError(f"--nodes {text}", f"more than {MOST_NUMBERS} numbers", "Give fewer, or a list")
            numbers = list(range(first, last + 1))
        else:
            numbers = sorted({int(part) for part in text.split(",")})
    except ValueError:
        numbers = []
    if not numbers or numbers[0] < 1:
        raise UserError(f"--nodes {text}", "not numbers of nodes", "Write for example 1:1000, or 1,2,4,8")
    if numbers[-1] > MOST_NODES:
        raise UserError(f"--nodes {text}", "too many nodes", f"Give numbers up to {MOST_NODES}")
    return numbers


def run_times_from_request(args: argparse.Namespace, said: Cautions) -> RunTimes:
    """Return the run times without failures, from a law, a table or a predictor.

    ``said`` collects the cautions about the runs that a predictor uses, which are printed.
    Errors of the engine while a predictor gathers its evidence are passed on.

    Raises:
        UserError: The options do not fit together, or a value is wrong.
    """
    # Imported here for a quick start: they are slow to import.
    import numpy as np

    from predictor.reliability.run_times import amdahl, read_times

    _check_sources(args)
    if args.times is not None:
        if args.nodes is not None:
            raise UserError(f"--nodes {args.nodes}", "does not go with --times", "The file has them: drop it")
        return read_times(args.times)
    if args.work is not None:
        return amdahl(args.work, args.serial or 0.0, np.array(parse_nodes(args.nodes or "1:10000"), float))
    return _predicted(args, said)


def _check_sources(args: argparse.Namespace) -> None:
    """Raise UserError unless the run times have one source, and the other options go with it."""
    platform = args.scenario is not None or args.platform is not None
    sources = [option for option, given in (("--work", args.work is not None), ("--times", args.times is not None),
                                            ("--scenario or --platform", platform)) if given]  # fmt: skip
    if len(sources) != 1:
        problem = "is not given" if not sources else f"is given by {' and '.join(sources)}"
        raise UserError("run time", problem, "Give --work, --times, or --scenario and --app")
    if args.serial is not None and args.work is None:
        raise UserError(f"--serial {args.serial:g}", "goes with --work", "Drop it")
    if not platform:
        _refuse_predictor_options(args)


def _refuse_predictor_options(args: argparse.Namespace) -> None:
    """Raise UserError for an option that only a predictor and its evidence use."""
    parser = CommandParser(add_help=False)
    _add_predictor_arguments(parser)
    for name, default in vars(parser.parse_args([])).items():
        if getattr(args, name) != default:
            option = "--class" if name == "preset" else f"--{name.replace('_', '-')}"
            raise UserError(option, "goes with --scenario or --platform", "Drop it, or name the platform")


def _predicted(args: argparse.Namespace, said: Cautions) -> RunTimes:
    # Imported here for a quick start: they are slow to import.
    from apps.options.runner import runner_from_request
    from predictor.reliability.run_times import predicted

    asked = _asked(args)
    with runner_from_request(args, cautions=said) as runner:
        return predicted(asked, runner)


def _asked(args: argparse.Namespace) -> Asked:
    """Return the runs whose times a predictor is asked for."""
    # Imported here for a quick start: they are slow to import.
    from apps.options.settings import settings_from_request
    from platforms.options import platform_from_request
    from predictor.registry import predictor
    from predictor.reliability.run_times import Asked

    if args.app is None:
        raise UserError("--app", "is not given", "Name the program whose times are to be predicted")
    model = predictor(args.predictor or "dpgraph-known")
    problem = problem_from_request(args, args.app, default_class="B")
    settings = settings_from_request(args)
    platform = platform_from_request(args)
    most = len(platform.hosts)
    powers = [2**i for i in range(most.bit_length()) if 2**i < most]
    nodes = [*powers, most] if args.nodes is None else parse_nodes(args.nodes)
    return Asked(model, problem, platform, tuple(nodes), settings)


def _say_plan(args: argparse.Namespace) -> int:
    """Print what would be simulated for the predictor's evidence."""
    # Imported here for a quick start: they are slow to import.
    from apps.options.dry_run import print_plan
    from predictor.evidence.plan import planned

    asked = _asked(args)
    targets = [target for _, target in asked.targets() if target is not None]
    return print_plan(args, planned([(asked.settings, [one]) for one in targets], [asked.model], truths=False))


def _run(args: argparse.Namespace) -> int:
    # Imported here for a quick start: they are slow to import.
    from platforms.files.writing import check_picture, write_picture
    from predictor.reliability.outlook import outlook
    from predictor.reliability.report import as_json, as_text

    if args.rows < 2:
        raise UserError(f"--rows {args.rows}", "below two", "Give 2 or more")
    if args.repeat < 1:
        raise UserError(f"--repeat {args.repeat}", "below one", "Give 1 or more")
    if args.repeat > MOST_REPEATS:
        raise UserError(f"--repeat {args.repeat}", "too many", f"Give at most {MOST_REPEATS}")
    if args.segments not in SEGMENTS:
        raise UserError(
            f"--segments {args.segments}", "no such way to count segments", known_names(args.segments, SEGMENTS)
        )
    if args.plot is not None:
        check_picture("--plot", args.plot)
    failures, intervals = failures_from_request(args), intervals_from_request(args)
    said = Cautions()
    if args.dry_run:
        _check_sources(args)
        return _say_plan(args)
    times = run_times_from_request(args, said).repeated(args.repeat)
    found = outlook(times.nodes, times.time_s, failures, intervals, segments=args.segments)
    if args.json:
        data = as_json(times, failures, found, args.rows)
        data["cautions"] += said.lines()
        print(json.dumps(data))
    else:
        print(as_text(times, failures, found, args.rows, wide=args.wide))
    if args.plot is not None:
        # Imported here for a quick start: it is slow to import.
        from predictor.reliability.plot import figure

        write_picture("--plot", args.plot, figure(found, f"{times.source}: expected time when nodes fail"))
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    # Imported here for a quick start: it is slow to import.
    from apps.options.exit_status import exit_status

    return exit_status(lambda: _run(build_parser().parse_args(argv)))
