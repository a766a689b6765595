"""Command line that writes the DP*Graph of a kernel or program, draws it, and predicts its times on a platform."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from apps.options.dry_run import print_plan
from apps.options.exit_status import exit_status
from apps.options.programs import (
    own_problem_from_request,
    problem_from_request,
)
from apps.options.runner import runner_from_request
from apps.programs.kernel import named_kernel
from apps.programs.problem import problem
from apps.results.cautions import Cautions
from apps.spec.choices import AUTO
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.command.command import Command
from platforms.errors import UserError, known_names
from platforms.files.writing import check_writable
from platforms.plotting.pictures import check_picture, write_picture
from platforms.wording import number_of
from predictor.evidence.given import given_from_request
from predictor.graph.request import COLLECTIVES, RANKS, TIMES, GraphRequest

if TYPE_CHECKING:
    from apps.programs.problem import Problem
    from apps.recording.events import Recording
    from predictor.graph.graph import DPGraph
    from predictor.graph.on_platform import Analysis, PaperTimes

FIRST = (
    "--scenario", "--app", "--class", "--program", "--ranks", "--what-if", "--timeline", "--draw", "--graphml",
)  # fmt: skip
# Options without effect where no platform is given.
_ON_PLATFORM = (
    "clusters", "hardware", "network", "factors", "speeds", "frequency", "mapping", "hostfile", "ranks_per_host",
    "times", "timeline", "what_if", "balance", "compute", "host_speed", "efficiency", "cfg",
)  # fmt: skip


def summary(graph: DPGraph) -> dict[str, Any]:
    """Return the number of elements of each kind, the flops and the message bytes of the graph."""
    # Imported here because it is slow to import.
    from predictor.graph.graph import Element

    return {
        "processes": graph.nranks,
        "elements": {element.value: graph.count(element) for element in Element},
        "edges": len(graph.edges),
        "flops": sum(node.flops for node in graph.nodes),
        "message_bytes": sum(node.size_bytes for node in graph.nodes if node.element is Element.SEND),
    }


def problem_of(request: GraphRequest) -> Problem:
    """Return the problem that the options name.

    Raises:
        UserError: They name none, or an impossible one.
    """
    program = own_problem_from_request(request)
    if program is not None:
        return program
    if request.app is None:
        remedy = "Give --app NAME, --program FILE or --recording TRACE"
        raise UserError("program", "no kernel or program is given", remedy)
    if request.problem_class is None and request.size is None:
        classes = named_kernel(request.app).classes
        if classes and request.default_class not in classes:
            return problem(request.app, next(iter(classes)))
    return problem_from_request(request, request.app)


def _checked_size(request: GraphRequest, problem: Problem) -> tuple[int, int]:
    """Return the number of ranks, by default the largest up to RANKS that the kernel allows, and of iterations."""
    nranks = request.ranks
    if nranks is None:
        nranks = next((number for number in range(RANKS, 0, -1) if problem.allows(number)), RANKS)
    if nranks < 1:
        raise UserError(f"--ranks {nranks}", "not positive", "Give at least 1")
    full, iterations = problem.iterations_on(nranks), 1 if request.iterations is None else request.iterations
    if not 1 <= iterations <= full:
        where, what = f"--iterations {iterations}", f"not between 1 and the {full} iterations of {problem}"
        raise UserError(where, what, "Give a number in that range")
    return nranks, iterations


def check_arguments(request: GraphRequest) -> None:
    """Check the options that need no platform to be read.

    Raises:
        UserError: One is impossible, or does not go with another one.
    """
    if request.collectives not in COLLECTIVES:
        raise UserError(
            f"--collectives {request.collectives}", "no such choice", known_names(request.collectives, COLLECTIVES)
        )
    if request.elements is not None and request.elements < 1:
        raise UserError(f"--elements {request.elements}", "not positive", "Give at least 1")
    if request.graphml is not None:
        check_writable("--graphml", request.graphml)
    if request.draw is not None:
        check_picture("--draw", request.draw)
    if request.timeline is not None:
        check_picture("--timeline", request.timeline)
    if request.what_if is not None and not 0 < request.what_if < float("inf"):
        raise UserError(f"--what-if {request.what_if:g}", "not a positive number", "Give for example 2: twice as fast")
    if request.times not in (None, *TIMES):
        raise UserError(f"--times {request.times}", "no such choice", known_names(request.times, TIMES))
    if request.times == "li":
        for flag in ("what_if", "timeline", "balance"):
            if getattr(request, flag) not in (None, False):
                name = f"--{flag.replace('_', '-')}"
                raise UserError(name, "these times have no shared links and no dates", "Drop it, or --times li")
    if not has_platform(request):
        for flag in _ON_PLATFORM:
            if getattr(request, flag) not in (None, False, (), "reference", AUTO):
                name = f"--{flag.replace('_', '-')}"
                raise UserError(name, "it needs a platform", "Give --scenario NAME or --platform FILE too")


def _run(request: GraphRequest) -> int:
    check_arguments(request)
    if request.dry_run:
        return _say_plan(request)
    if has_platform(request):
        return _run_on_platform(request)
    said = Cautions()
    asked, recording = _recording(request, said)
    # Imported here because they are slow to import.
    from predictor.graph.graph import graph_of
    from predictor.graph.places import places_of

    expand, places = request.collectives == "messages", places_of(asked, recording.paths)
    graph = graph_of(recording, expand=expand, places=places)
    if request.elements is not None:
        graph = graph.first(request.elements)
    if request.graphml is not None:
        # Imported here because it is slow to import.
        from predictor.graph.graphml import write_graphml

        write_graphml(graph, request.graphml)
    if request.draw is not None:
        # Imported here because it is slow to import.
        from predictor.graph.draw import graph_figure
        from predictor.graph.shown import without_empty_messages

        figure = graph_figure(without_empty_messages(graph)[0], title=_title(request, asked.on(recording.nranks)))
        write_picture("--draw", request.draw, figure, dpi=110)
    numbers = summary(graph)
    program = _folded(request, graph)
    print(
        json.dumps({**numbers, **program.values, "cautions": said.lines()})
        if request.json
        else "\n".join([_text(asked, numbers), *program.lines])
    )
    said.say_all()
    return 0


def _title(request: GraphRequest, what: str) -> str:
    return what if request.elements is None else f"{what}, at most {request.elements} elements of each"


RECORDED = "recording"  # key of the cautions of the command's only recording


def has_platform(request: GraphRequest) -> bool:
    """Return whether the options name a platform."""
    return request.scenario is not None or bool(request.platform)


def _run_on_platform(request: GraphRequest) -> int:
    # Imported here because they are slow to import.
    from predictor.graph.on_platform import Analysis, analysis, iterations_in, paper_times, recorded
    from predictor.graph.on_platform import target_from_request as target_of
    from predictor.graph.timed_text import analysis_json, analysis_text, li_json, li_text

    said = Cautions()
    given = given_from_request(request)
    with runner_from_request(request, cautions=said, saying=False) as runner:
        if given is not None:
            target, recording = target_of(request, given.problem, given.recording.nranks), given.recording
        else:
            target = target_of(request, problem_of(request), request.ranks)
            recording = recorded(request, target, runner)
        said.add(f"recording of {target.problem.on(target.nranks)}", recording.cautions, key=RECORDED)
        paper_answer = paper_times(request, target, recording, runner) if request.times == "li" else None
        made = analysis(request, target, recording, runner) if paper_answer is None else paper_answer
    said.say(*made.cautions)
    write_pictures(request, made)
    if isinstance(made, Analysis):
        numbers, text = analysis_json(made), analysis_text(made, wide=request.wide)
    else:
        iterations = iterations_in(recording)
        numbers = li_json(made.times, iterations=iterations)
        text = li_text(made.times, iterations=iterations, wide=request.wide)
    program = _folded(request, made.graph)
    print(
        json.dumps({**summary(made.graph), **numbers, **program.values, "cautions": said.lines()})
        if request.json
        else "\n".join([text, *program.lines])
    )
    said.say_all()
    return 0


@dataclass(frozen=True)
class _Folded:
    """The program with its loops and branches, if requested."""

    lines: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)


def _folded(request: GraphRequest, graph: DPGraph) -> _Folded:
    if not request.folded:
        return _Folded()
    # Imported here because it is slow to import.
    from predictor.graph.folded import folded, folded_json, folded_lines

    rows = folded(graph)
    title = "The program, with its loops and branches"
    return _Folded(["", title, *folded_lines(rows)], {"program": folded_json(rows)})


def write_pictures(request: GraphRequest, analysis: Analysis | PaperTimes) -> None:
    """Write the files that the options name: the graph with its times, and its pictures."""
    graph, origin = analysis.graph, tuple(range(len(analysis.graph.nodes)))
    if request.elements is not None:
        graph, origin = graph.beginning(request.elements)
    if request.graphml is not None:
        # Imported here because it is slow to import.
        from predictor.graph.graphml import write_graphml

        times = analysis.node_times()
        write_graphml(graph, request.graphml, {new: times.get(old, {}) for new, old in enumerate(origin)})
    if request.draw is not None:
        # Imported here because they are slow to import.
        from platforms.terminal.quantities import duration
        from predictor.graph.draw import graph_figure
        from predictor.graph.shown import without_empty_messages

        graph, kept = without_empty_messages(graph)
        origin = tuple(origin[at] for at in kept)
        place, critical = {old: new for new, old in enumerate(origin)}, set(analysis.critical_nodes)
        notes = {
            (place[node], rank): duration(max(0.0, time_s))  # rounding may leave a time below 0
            for (node, rank), time_s in analysis.element_times_s().items()
            if node in place
        }
        marked = [new for new, old in enumerate(origin) if old in critical]
        figure = graph_figure(graph, title=_title(request, str(analysis.target)), highlight=marked, notes=notes)
        write_picture("--draw", request.draw, figure, dpi=110)
    if request.timeline is not None:
        # Imported here because they are slow to import.
        from predictor.graph.on_platform import Analysis
        from predictor.graph.timeline import timeline_figure

        assert isinstance(analysis, Analysis)  # check_arguments refuses the option with --times li
        figure = timeline_figure(analysis.timed, title=str(analysis.target), hosts=True)
        write_picture("--timeline", request.timeline, figure)


def _recording(request: GraphRequest, said: Cautions) -> tuple[Problem, Recording]:
    """Return the recording that the user gives, or a new one, and its problem."""
    given = given_from_request(request)
    if given is not None:
        asked, recording = given.problem, given.recording
    else:
        spec, iterations = _to_record(request)
        with runner_from_request(request, cautions=said, saying=False) as runner:
            asked, recording = spec.target.problem, runner.recording(spec, iterations)
    said.add(f"recording of {asked.on(recording.nranks)}", recording.cautions, key=RECORDED)
    return asked, recording


def _to_record(request: GraphRequest) -> tuple[RunSpec, int]:
    """Return the run to record, and the number of its iterations that are recorded."""
    asked = problem_of(request)
    nranks, iterations = _checked_size(request, asked)
    # Imported here because it is slow to import.
    from apps.runs.neutral import neutral_platform

    platform = neutral_platform(nranks)
    target = Target(asked, platform, tuple(host.name for host in platform.hosts))
    if asked.program is not None and asked.program.native is not None:  # its computation can only be measured
        return Settings().spec(target), asked.iterations_on(nranks)
    return RunSpec(target), iterations


def _say_plan(request: GraphRequest) -> int:
    """Print what would be simulated."""
    # Imported here because it is slow to import.
    from apps.runs.plan import Plan

    if given_from_request(request) is not None:
        raise UserError("--dry-run", "a recording is given, so nothing is simulated", "Leave it out")
    if has_platform(request):
        # Imported here because it is slow to import.
        from predictor.graph.on_platform import plan_on_platform, target_from_request

        return print_plan(
            request, plan_on_platform(request, target_from_request(request, problem_of(request), request.ranks))
        )
    return print_plan(request, Plan(recordings=(_to_record(request),)))


def _text(problem: Problem, numbers: Mapping[str, Any]) -> str:
    lines = [f"{problem.on(numbers['processes'])}, {number_of(numbers['edges'], 'edge')}"]
    lines += [f"{count:8d} {name}" for name, count in numbers["elements"].items()]
    return "\n".join([*lines, f"{numbers['flops']:.6g} flop, {numbers['message_bytes']} bytes in messages"])


COMMAND = Command(
    "graph",
    GraphRequest,
    _run,
    "Record a kernel or program, or take a trace of it, and write its graph of sequential segments, "
    "messages and synchronisations. Flops are those that the program counts. With --scenario or --platform it has "
    "times: those of its elements, T_exec, its critical path, slack, the idle time of each cluster, and what would "
    "make it faster.",
    first=FIRST,
    status=exit_status,
)
main = COMMAND.main
