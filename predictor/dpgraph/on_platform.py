"""The graph of a program on a platform: its times, its critical path, and what would make it faster."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.programs.problem import Problem
from apps.recording.events import Recording
from apps.runs.runner import Runner
from apps.spec.engine_options import parse_options
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.arguments import placement_from_arguments, platform_from_arguments
from platforms.errors import UserError
from platforms.model.platform import Route
from predictor.dpgraph.evaluate import estimate
from predictor.dpgraph.graph import OwnedGraph, owned_graph
from predictor.dpgraph.known import declared_cautions, known_network
from predictor.dpgraph.places import places_of
from predictor.dpgraph.predictors import iterations_to_record
from predictor.dpgraph.program import LEAST_FOR_LOOP, Sections
from predictor.dpgraph.timed import TimedGraph, timed

if TYPE_CHECKING:
    from predictor.dpgraph.what_if import Answers


@dataclass(frozen=True)
class Analysis:
    """A program's graph on a platform."""

    target: Target
    owned: OwnedGraph
    timed: TimedGraph
    iterations: int  # in the graph
    whole_s: float | None  # time of all iterations; None: too few were recorded to tell it
    answers: Answers | None
    cautions: tuple[str, ...]


def target_from_arguments(args: argparse.Namespace, problem: Problem, nranks: int | None) -> Target:
    """Return the target that the options of platform and placement describe.

    Raises:
        UserError: The options contradict each other, or do not fit the platform.
    """
    platform = platform_from_arguments(args)
    return Target(problem, platform, placement_from_arguments(args, platform, nranks))


def settings_of(args: argparse.Namespace) -> Settings:
    """Return the settings of the recording: its share of the hosts' speed, and SimGrid's options."""
    return Settings(efficiency=args.efficiency, options=parse_options(args.cfg))


def iterations_of(args: argparse.Namespace, target: Target) -> int:
    """Return the number of iterations to record.

    Raises:
        UserError: The target has not so many.
    """
    if args.iterations is None:
        return iterations_to_record(target)
    full = target.iterations
    if not 1 <= args.iterations <= full:
        where, what = f"--iterations {args.iterations}", f"not between 1 and the {full} iterations of {target.problem}"
        raise UserError(where, what, "Give a number in that range")
    return int(args.iterations)


def recorded(args: argparse.Namespace, target: Target, runner: Runner) -> Recording:
    """Return the recording of a target's program."""
    return runner.recording(settings_of(args).spec(target), iterations_of(args, target))


def analysis(args: argparse.Namespace, target: Target, recording: Recording) -> Analysis:
    """Return the graph of a recording with its times on the target.

    Raises:
        OutOfRange: The platform has links or options that the fluid model does not represent.
        UserError: The program cannot end.
    """
    options = {**dict(target.platform.options), **dict(settings_of(args).options)}
    places = places_of(target.problem, recording.paths)
    owned = owned_graph(recording, expand=args.collectives == "messages", places=places)
    sections = Sections(recording)
    routes = _routes(target, sections)
    network = known_network(routes, options)
    found = timed(owned, target, network)
    hosts = [target.platform.host(host) for host in target.placement]
    whole_s = None
    if sections.iterations in (0, target.iterations) or sections.iterations >= LEAST_FOR_LOOP:
        whole_s = estimate(
            sections, target.iterations, network, target.placement, [1 / host.speed_flops for host in hosts],
            [host.cores for host in hosts],
        ).time_s  # fmt: skip
    answers = None
    if args.what_if is not None:
        # Imported here for a quick start: it is needed only by this option.
        from predictor.dpgraph.what_if import Setting, what_if

        answers = what_if(Setting(owned.program, target, tuple(routes), options, places), args.what_if)
    return Analysis(
        target, owned, found, sections.iterations, whole_s, answers,
        (*_said_of(recording, places), *declared_cautions(options)),
    )  # fmt: skip


def _routes(target: Target, sections: Sections) -> list[Route]:
    # Imported here for a quick start: it is slow to import.
    from platforms.read.routes import routes_between

    pairs = {(target.placement[a], target.placement[b]) for a, b in sections.partners}
    return routes_between(target.platform, sorted(pairs | {pair[::-1] for pair in pairs}))


def _said_of(recording: Recording, places: tuple[str | None, ...]) -> tuple[str, ...]:
    if recording.paths and any(place is not None for place in places):
        return ()
    return ("the places of calls in the program are not known: a trace or a program in Python does not tell them",)
