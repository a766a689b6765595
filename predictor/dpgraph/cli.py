"""Command line: the DP*Graph of a program, written as GraphML and drawn."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from apps.options import (
    add_problem_arguments,
    add_program_arguments,
    add_runner_arguments,
    exit_status,
    own_problem_from_arguments,
    problem_from_arguments,
    runner_from_arguments,
)
from platforms.command import EXIT_STATUSES, CommandParser
from platforms.errors import UserError
from platforms.writing import check_picture, check_writable

if TYPE_CHECKING:
    from apps.catalog import Problem
    from predictor.dpgraph.graph import DPGraph

COLLECTIVES = ("points", "messages")


def build_parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m predictor.dpgraph",
        description="Record what a program does and write its graph: sequential segments, messages, synchronisation. "
        "Flops are those that the program counts.",
        epilog=EXIT_STATUSES,
    )
    parser.add_argument("--app", metavar="A", help="a kernel, such as is")
    add_problem_arguments(parser, default_class="S")
    add_program_arguments(parser)
    parser.add_argument("--ranks", type=int, default=4, metavar="P", help="processes (default: 4)")
    parser.add_argument(
        "--iterations", type=int, default=1, metavar="K", help="iterations that are recorded (default: 1)"
    )
    parser.add_argument(
        "--collectives", default="points", metavar="HOW",
        help=f"{' or '.join(COLLECTIVES)}: one node for each, or the messages it is made of (default: points)",
    )  # fmt: skip
    parser.add_argument("--elements", type=int, metavar="N", help="only the first N elements of each process")
    parser.add_argument("--graphml", metavar="FILE", help="write the graph there")
    parser.add_argument("--draw", metavar="FILE", help="draw it there: .png, .svg or .pdf, up to 200 elements")
    parser.add_argument("--json", action="store_true", help="print the numbers as one JSON object")
    add_runner_arguments(parser)
    return parser


def summary(graph: DPGraph) -> dict[str, Any]:
    """How many elements of each kind the graph has, its flops and the bytes of its messages."""
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
        raise UserError("program", "none is given", "Give --app NAME or --program FILE")
    return problem_from_arguments(args, args.app, default_class="S")


def _check(args: argparse.Namespace, problem: Problem) -> None:
    if args.ranks < 1:
        raise UserError(f"--ranks {args.ranks}", "not positive", "Give at least 1")
    full = problem.iterations_on(args.ranks)
    if not 1 <= args.iterations <= full:
        where, what = f"--iterations {args.iterations}", f"not between 1 and the {full} of {problem}"
        raise UserError(where, what, "Give a number in that range")
    if args.collectives not in COLLECTIVES:
        raise UserError(f"--collectives {args.collectives}", "no such choice", f"Known: {', '.join(COLLECTIVES)}")
    if args.elements is not None and args.elements < 1:
        raise UserError(f"--elements {args.elements}", "not positive", "Give at least 1")
    if args.graphml is not None:
        check_writable("--graphml", args.graphml)
    if args.draw is not None:
        check_picture("--draw", args.draw)


def _run(args: argparse.Namespace) -> int:
    problem = _problem(args)
    _check(args, problem)
    from apps.record_events import neutral_platform
    from apps.spec import RunSpec, Target
    from predictor.dpgraph.graph import graph_of

    platform = neutral_platform(args.ranks)
    target = Target(problem, platform, tuple(host.name for host in platform.hosts))
    with runner_from_arguments(args) as runner:
        recording = runner.trace(RunSpec(target), args.iterations)
    graph = graph_of(recording, expand=args.collectives == "messages")
    if args.elements is not None:
        graph = graph.first(args.elements)
    if args.graphml is not None:
        from predictor.dpgraph.graphml import write_graphml

        write_graphml(graph, args.graphml)
    if args.draw is not None:
        from predictor.dpgraph.draw import draw_graph

        part = "" if args.elements is None else f", at most {args.elements} elements of each"
        draw_graph(graph, args.draw, title=f"{problem} on {args.ranks} ranks{part}")
    numbers = summary(graph)
    print(json.dumps(numbers) if args.json else _text(problem, numbers))
    return 0


def _text(problem: Problem, numbers: Mapping[str, Any]) -> str:
    lines = [f"{problem} on {numbers['processes']} ranks, {numbers['edges']} edges"]
    lines += [f"{count:8d} {name}" for name, count in numbers["elements"].items()]
    return "\n".join([*lines, f"{numbers['flops']:.6g} flop, {numbers['message_bytes']} bytes in messages"])


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    return exit_status(lambda: _run(args))
