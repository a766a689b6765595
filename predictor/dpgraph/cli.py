"""Command line that writes the DP*Graph of a kernel or program as GraphML and draws it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from apps.arguments.dry_run import add_dry_run_argument, print_plan
from apps.arguments.exit_status import exit_status
from apps.arguments.programs import (
    add_problem_arguments,
    add_program_arguments,
    own_problem_from_arguments,
    problem_from_arguments,
)
from apps.arguments.runner import add_runner_arguments, runner_from_arguments
from apps.results.cautions import Cautions
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.command import EXIT_STATUSES, CommandParser
from platforms.errors import UserError, known_names
from platforms.files.writing import check_picture, check_writable
from platforms.wording import number_of
from predictor.evidence.given import add_recording_arguments, given_from_arguments

if TYPE_CHECKING:
    from apps.programs.problem import Problem
    from apps.recording.events import Recording
    from predictor.dpgraph.graph import DPGraph

COLLECTIVES = ("points", "messages")
_RANKS = 4


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of ``python -m predictor.dpgraph``."""
    parser = CommandParser(
        prog="python -m predictor.dpgraph",
        description="Record a kernel or program, or take a trace of it, and write its graph of sequential segments, "
        "messages and synchronisations. Flops are those that the program counts.",
        epilog=EXIT_STATUSES,
    )
    parser.add_argument("--app", metavar="A", help="a kernel, such as is")
    add_problem_arguments(parser, default_class="S")
    add_program_arguments(parser)
    add_recording_arguments(parser)
    parser.add_argument("--ranks", type=int, metavar="P", help=f"processes (default: {_RANKS})")
    parser.add_argument("--iterations", type=int, metavar="K", help="number of recorded iterations (default: 1)")
    parser.add_argument(
        "--collectives", default="points", metavar="HOW",
        help=f"{' or '.join(COLLECTIVES)}: show each collective as one node, or as its messages (default: points)",
    )  # fmt: skip
    parser.add_argument("--elements", type=int, metavar="N", help="keep only the first N elements of each process")
    parser.add_argument("--graphml", metavar="FILE", help="write the graph to this GraphML file")
    parser.add_argument("--draw", metavar="FILE", help="draw the graph to this .png, .svg or .pdf (up to 200 elements)")
    parser.add_argument("--json", action="store_true", help="print the numbers as one JSON object")
    add_runner_arguments(parser)
    add_dry_run_argument(parser)
    return parser


def summary(graph: DPGraph) -> dict[str, Any]:
    """Return the number of elements of each kind, the flops and the message bytes of the graph."""
    # Imported here for a quick start: it is slow to import.
    from predictor.dpgraph.graph import Element

    return {
        "processes": graph.nranks,
        "elements": {element.value: graph.count(element) for element in Element},
        "edges": len(graph.edges),
        "flops": sum(node.flops for node in graph.nodes),
        "message_bytes": sum(node.size_bytes for node in graph.nodes if node.element is Element.SEND),
    }


def _problem(args: argparse.Namespace) -> Problem:
    own = own_problem_from_arguments(args)
    if own is not None:
        return own
    if args.app is None:
        remedy = "Give --app NAME, --program FILE or --recording TRACE"
        raise UserError("program", "no kernel or program is given", remedy)
    return problem_from_arguments(args, args.app, default_class="S")


def _checked_size(args: argparse.Namespace, problem: Problem) -> tuple[int, int]:
    """Return the number of ranks and of iterations to record."""
    nranks = _RANKS if args.ranks is None else args.ranks
    if nranks < 1:
        raise UserError(f"--ranks {nranks}", "not positive", "Give at least 1")
    full, iterations = problem.iterations_on(nranks), 1 if args.iterations is None else args.iterations
    if not 1 <= iterations <= full:
        where, what = f"--iterations {iterations}", f"not between 1 and the {full} iterations of {problem}"
        raise UserError(where, what, "Give a number in that range")
    return nranks, iterations


def _check(args: argparse.Namespace) -> None:
    if args.collectives not in COLLECTIVES:
        raise UserError(
            f"--collectives {args.collectives}", "no such choice", known_names(args.collectives, COLLECTIVES)
        )
    if args.elements is not None and args.elements < 1:
        raise UserError(f"--elements {args.elements}", "not positive", "Give at least 1")
    if args.graphml is not None:
        check_writable("--graphml", args.graphml)
    if args.draw is not None:
        check_picture("--draw", args.draw)


def _run(args: argparse.Namespace) -> int:
    _check(args)
    if args.dry_run:
        return _say_plan(args)
    said = Cautions()
    problem, recording = _recording(args, said)
    # Imported here for a quick start: it is slow to import.
    from predictor.dpgraph.graph import graph_of

    graph = graph_of(recording, expand=args.collectives == "messages")
    if args.elements is not None:
        graph = graph.first(args.elements)
    if args.graphml is not None:
        # Imported here for a quick start: it is slow to import.
        from predictor.dpgraph.graphml import write_graphml

        write_graphml(graph, args.graphml)
    if args.draw is not None:
        # Imported here for a quick start: it is slow to import.
        from predictor.dpgraph.draw import draw_graph

        part = "" if args.elements is None else f", at most {args.elements} elements of each"
        draw_graph(graph, args.draw, title=f"{problem.on(recording.nranks)}{part}")
    numbers = summary(graph)
    print(json.dumps({**numbers, "cautions": said.lines()}) if args.json else _text(problem, numbers))
    said.say_all()
    return 0


def _recording(args: argparse.Namespace, said: Cautions) -> tuple[Problem, Recording]:
    """Return the recording that the user gives, or a new one, and its problem."""
    given = given_from_arguments(args)
    if given is not None:
        said.say(*given.recording.cautions)
        return given.problem, given.recording
    spec, iterations = _to_record(args)
    with runner_from_arguments(args, cautions=said, saying=False) as runner:
        return spec.target.problem, runner.recording(spec, iterations)


def _to_record(args: argparse.Namespace) -> tuple[RunSpec, int]:
    """Return the run to record, and the number of its iterations that are recorded."""
    problem = _problem(args)
    nranks, iterations = _checked_size(args, problem)
    # Imported here for a quick start: it is slow to import.
    from apps.runs.neutral import neutral_platform

    platform = neutral_platform(nranks)
    return RunSpec(Target(problem, platform, tuple(host.name for host in platform.hosts))), iterations


def _say_plan(args: argparse.Namespace) -> int:
    """Print what would be simulated."""
    # Imported here for a quick start: it is slow to import.
    from apps.runs.plan import Plan

    if given_from_arguments(args) is not None:
        raise UserError("--dry-run", "a recording is given, so nothing is simulated", "Leave it out")
    return print_plan(args, Plan(recordings=(_to_record(args),)))


def _text(problem: Problem, numbers: Mapping[str, Any]) -> str:
    lines = [f"{problem.on(numbers['processes'])}, {number_of(numbers['edges'], 'edge')}"]
    lines += [f"{count:8d} {name}" for name, count in numbers["elements"].items()]
    return "\n".join([*lines, f"{numbers['flops']:.6g} flop, {numbers['message_bytes']} bytes in messages"])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))
