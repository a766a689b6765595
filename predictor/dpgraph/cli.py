"""Command line that writes the DP*Graph of a kernel or program, draws it, and predicts its times on a platform."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from apps.options.dry_run import add_dry_run_argument, print_plan
from apps.options.exit_status import exit_status
from apps.options.programs import (
    add_problem_arguments,
    add_program_arguments,
    own_problem_from_request,
    problem_from_request,
)
from apps.options.runner import add_runner_arguments, runner_from_request
from apps.results.cautions import Cautions
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.command.parser import CommandParser
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError, known_names
from platforms.files.writing import check_picture, check_writable
from platforms.options import add_placement_arguments, add_platform_arguments
from platforms.terminal.width import add_wide_argument
from platforms.wording import number_of
from predictor.evidence.given import add_recording_arguments, given_from_request

if TYPE_CHECKING:
    from apps.programs.problem import Problem
    from apps.recording.events import Recording
    from predictor.dpgraph.graph import DPGraph
    from predictor.dpgraph.on_platform import Analysis, PaperTimes

COLLECTIVES = ("points", "messages")
TIMES = ("network", "measured", "li")
FIRST = (
    "--scenario", "--app", "--class", "--program", "--ranks", "--what-if", "--timeline", "--draw", "--graphml",
)  # fmt: skip
_RANKS = 4
# Options without effect where no platform is given.
_ON_PLATFORM = (
    "clusters", "hardware", "network", "factors", "speeds", "frequency", "mapping", "hostfile", "ranks_per_host",
    "times", "timeline", "what_if", "efficiency", "cfg",
)  # fmt: skip


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of ``python -m predictor.dpgraph``."""
    parser = CommandParser(
        prog="python -m predictor.dpgraph",
        description="Record a kernel or program, or take a trace of it, and write its graph of sequential segments, "
        "messages and synchronisations. Flops are those that the program counts. With --scenario or --platform it has "
        "times: those of its elements, T_exec, its critical path, slack, the idle time of each cluster, and what would "
        "make it faster.",
        epilog=EXIT_STATUSES,
        first=FIRST,
    )
    add_arguments(parser)
    return parser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command, which its comparison with a simulation has too."""
    add_platform_arguments(parser)
    parser.add_argument("--app", metavar="A", help="a kernel, such as is")
    add_problem_arguments(parser, default_class="S")
    add_program_arguments(parser)
    add_recording_arguments(parser)
    parser.add_argument(
        "--ranks", type=int, metavar="P", help=f"processes (default: {_RANKS}, or as many as fit on the platform)"
    )
    add_placement_arguments(parser)
    parser.add_argument(
        "--iterations", type=int, metavar="K",
        help="number of recorded iterations (default: 1; on a platform 3, or all where they differ)",
    )  # fmt: skip
    parser.add_argument(
        "--collectives", default="points", metavar="HOW",
        help=f"{' or '.join(COLLECTIVES)}: show each collective as one node, or as its messages (default: points)",
    )  # fmt: skip
    parser.add_argument("--elements", type=int, metavar="N", help="keep only the first N elements of each process")
    parser.add_argument("--graphml", metavar="FILE", help="write the graph to this GraphML file")
    parser.add_argument("--draw", metavar="FILE", help="draw the graph to this .png, .svg or .pdf (up to 200 elements)")
    parser.add_argument(
        "--times", metavar="HOW", type=str.lower,
        help=f"on a platform: {', '.join(TIMES[:-1])} or {TIMES[-1]}: network, messages on the platform's links, with "
        "waiting and shared links (default); measured, the same on links that messages between the nodes show, as "
        "dpgraph measures them; li, the Li paper's components of messages, measured between nodes",
    )  # fmt: skip
    parser.add_argument(
        "--timeline", metavar="FILE",
        help="on a platform: draw processes over time and the critical path, to this .png, .svg or .pdf",
    )  # fmt: skip
    parser.add_argument(
        "--what-if", type=float, metavar="F",
        help="on a platform: what if one link, node, cluster, call or computation were F times as fast? A ranked table",
    )  # fmt: skip
    parser.add_argument(
        "--efficiency", default="reference", metavar="E", type=str.lower,
        help="on a platform: share of a host's speed that a kernel sustains, as in python -m predictor.predict "
        "(default: reference)",
    )  # fmt: skip
    parser.add_argument(
        "--cfg", action="append", default=[], metavar="KEY:VALUE",
        help="on a platform: a SimGrid option; may be given several times",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the numbers as one JSON object")
    add_wide_argument(parser)
    add_runner_arguments(parser)
    add_dry_run_argument(parser)


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


def problem_of(args: argparse.Namespace) -> Problem:
    """Return the problem that the options name.

    Raises:
        UserError: They name none, or an impossible one.
    """
    own = own_problem_from_request(args)
    if own is not None:
        return own
    if args.app is None:
        remedy = "Give --app NAME, --program FILE or --recording TRACE"
        raise UserError("program", "no kernel or program is given", remedy)
    return problem_from_request(args, args.app, default_class="S")


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


def check_arguments(args: argparse.Namespace) -> None:
    """Check the options that need no platform to be read.

    Raises:
        UserError: One is impossible, or does not go with another one.
    """
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
    if args.timeline is not None:
        check_picture("--timeline", args.timeline)
    if args.what_if is not None and not 0 < args.what_if < float("inf"):
        raise UserError(f"--what-if {args.what_if:g}", "not a positive number", "Give for example 2: twice as fast")
    if args.times not in (None, *TIMES):
        raise UserError(f"--times {args.times}", "no such choice", known_names(args.times, TIMES))
    if args.times == "li":
        for option in ("what_if", "timeline"):
            if getattr(args, option) is not None:
                name = f"--{option.replace('_', '-')}"
                raise UserError(name, "these times have no shared links and no dates", "Drop it, or --times li")
    if not has_platform(args):
        for option in _ON_PLATFORM:
            if getattr(args, option) not in (None, [], "reference"):
                name = f"--{option.replace('_', '-')}"
                raise UserError(name, "it needs a platform", "Give --scenario NAME or --platform FILE too")


def _run(args: argparse.Namespace) -> int:
    check_arguments(args)
    if args.dry_run:
        return _say_plan(args)
    if has_platform(args):
        return _run_on_platform(args)
    said = Cautions()
    problem, recording = _recording(args, said)
    # Imported here for a quick start: they are slow to import.
    from predictor.dpgraph.graph import graph_of
    from predictor.dpgraph.places import places_of

    expand, places = args.collectives == "messages", places_of(problem, recording.paths)
    graph = graph_of(recording, expand=expand, places=places)
    if args.elements is not None:
        graph = graph.first(args.elements)
    if args.graphml is not None:
        # Imported here for a quick start: it is slow to import.
        from predictor.dpgraph.graphml import write_graphml

        write_graphml(graph, args.graphml)
    if args.draw is not None:
        # Imported here for a quick start: it is slow to import.
        from predictor.dpgraph.draw import draw_graph

        draw_graph(graph, args.draw, title=_title(args, problem.on(recording.nranks)))
    numbers = summary(graph)
    print(json.dumps({**numbers, "cautions": said.lines()}) if args.json else _text(problem, numbers))
    said.say_all()
    return 0


def _title(args: argparse.Namespace, what: str) -> str:
    return what if args.elements is None else f"{what}, at most {args.elements} elements of each"


RECORDED = "recording"  # key of the cautions of the command's only recording


def has_platform(args: argparse.Namespace) -> bool:
    """Tell whether the options name a platform."""
    return args.scenario is not None or args.platform is not None


def _run_on_platform(args: argparse.Namespace) -> int:
    # Imported here for a quick start: they are slow to import.
    from predictor.dpgraph.on_platform import Analysis, analysis, iterations_in, paper_times, recorded
    from predictor.dpgraph.on_platform import target_from_request as target_of
    from predictor.dpgraph.timed_text import analysis_json, analysis_text, li_json, li_text

    said = Cautions()
    given = given_from_request(args)
    with runner_from_request(args, cautions=said, saying=False) as runner:
        if given is not None:
            target, recording = target_of(args, given.problem, given.recording.nranks), given.recording
        else:
            target = target_of(args, problem_of(args), args.ranks)
            recording = recorded(args, target, runner)
        said.add(f"recording of {target.problem.on(target.nranks)}", recording.cautions, key=RECORDED)
        found = paper_times(args, target, recording, runner) if args.times == "li" else None
        made = analysis(args, target, recording, runner) if found is None else found
    said.say(*made.cautions)
    write_pictures(args, made)
    if isinstance(made, Analysis):
        numbers, text = analysis_json(made), analysis_text(made, wide=args.wide)
    else:
        iterations = iterations_in(recording)
        numbers = li_json(made.times, iterations=iterations)
        text = li_text(made.times, iterations=iterations, wide=args.wide)
    print(json.dumps({**summary(made.graph), **numbers, "cautions": said.lines()}) if args.json else text)
    said.say_all()
    return 0


def write_pictures(args: argparse.Namespace, found: Analysis | PaperTimes) -> None:
    """Write the files that the options name: the graph with its times, and its pictures."""
    graph, origin = found.graph, tuple(range(len(found.graph.nodes)))
    if args.elements is not None:
        graph, origin = graph.beginning(args.elements)
    if args.graphml is not None:
        # Imported here for a quick start: it is slow to import.
        from predictor.dpgraph.graphml import write_graphml

        times = found.node_times()
        write_graphml(graph, args.graphml, {new: times.get(old, {}) for new, old in enumerate(origin)})
    if args.draw is not None:
        # Imported here for a quick start: they are slow to import.
        from platforms.terminal.quantities import duration
        from predictor.dpgraph.draw import draw_graph

        place, critical = {old: new for new, old in enumerate(origin)}, set(found.critical_nodes)
        notes = {
            (place[node], rank): duration(time_s)
            for (node, rank), time_s in found.element_times_s().items()
            if node in place
        }
        marked = [new for new, old in enumerate(origin) if old in critical]
        draw_graph(graph, args.draw, title=_title(args, str(found.target)), highlight=marked, notes=notes)
    if args.timeline is not None:
        # Imported here for a quick start: they are slow to import.
        from predictor.dpgraph.on_platform import Analysis
        from predictor.dpgraph.timeline import draw_timeline

        assert isinstance(found, Analysis)  # check_arguments refuses the option with --times li
        draw_timeline(found.timed, args.timeline, title=str(found.target))


def _recording(args: argparse.Namespace, said: Cautions) -> tuple[Problem, Recording]:
    """Return the recording that the user gives, or a new one, and its problem."""
    given = given_from_request(args)
    if given is not None:
        problem, recording = given.problem, given.recording
    else:
        spec, iterations = _to_record(args)
        with runner_from_request(args, cautions=said, saying=False) as runner:
            problem, recording = spec.target.problem, runner.recording(spec, iterations)
    said.add(f"recording of {problem.on(recording.nranks)}", recording.cautions, key=RECORDED)
    return problem, recording


def _to_record(args: argparse.Namespace) -> tuple[RunSpec, int]:
    """Return the run to record, and the number of its iterations that are recorded."""
    problem = problem_of(args)
    nranks, iterations = _checked_size(args, problem)
    # Imported here for a quick start: it is slow to import.
    from apps.runs.neutral import neutral_platform

    platform = neutral_platform(nranks)
    return RunSpec(Target(problem, platform, tuple(host.name for host in platform.hosts))), iterations


def _say_plan(args: argparse.Namespace) -> int:
    """Print what would be simulated."""
    # Imported here for a quick start: it is slow to import.
    from apps.runs.plan import Plan

    if given_from_request(args) is not None:
        raise UserError("--dry-run", "a recording is given, so nothing is simulated", "Leave it out")
    if has_platform(args):
        # Imported here for a quick start: it is slow to import.
        from predictor.dpgraph.on_platform import plan_on_platform, target_from_request

        return print_plan(args, plan_on_platform(args, target_from_request(args, problem_of(args), args.ranks)))
    return print_plan(args, Plan(recordings=(_to_record(args),)))


def _text(problem: Problem, numbers: Mapping[str, Any]) -> str:
    lines = [f"{problem.on(numbers['processes'])}, {number_of(numbers['edges'], 'edge')}"]
    lines += [f"{count:8d} {name}" for name, count in numbers["elements"].items()]
    return "\n".join([*lines, f"{numbers['flops']:.6g} flop, {numbers['message_bytes']} bytes in messages"])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))
