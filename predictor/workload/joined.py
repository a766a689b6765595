"""Graphs of several programs, joined into one that is evaluated on one network: they share its links.

The ranks of the programs are numbered one after the other, and each begins with a sleep until its start.  Changes of a
link or of a host's speed are flows of further ranks that occupy the part of the capacity that is not there: no other
flow can displace them, because their penalty is far smaller.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from apps.recording.events import Elapse, Mark
from apps.together.run import PlatformEvent, Ran, directions
from platforms.model.platform import Platform, Route
from predictor.base import OutOfRange
from predictor.dpgraph.evaluate import execute
from predictor.dpgraph.instructions import COMPUTE, MARK, OWN, SLEEP
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import Program, Sections
from predictor.network.value import DirectedPath, Timing

MOST_MESSAGES = 20_000_000  # of all programs together
# Penalty of a flow that occupies all but a part of a link, as a share of that part and of the smallest penalty on it:
# so that a thousand other flows do not displace it.  The evaluation neglects shares below 1e-12 of another.
_FIRST = 1e-3
_FOREVER_S = 1e9  # a change lasts at least so long
_HOST = "speed of {}"  # the link that stands for the speed of a rank's core


@dataclass(frozen=True)
class Part:
    """A program on its hosts, from a date on."""

    name: str
    sections: Sections
    iterations: int
    placement: tuple[str, ...]
    start_s: float


def together(
    parts: Sequence[Part],
    network: NetworkModel,
    platform: Platform,
    *,
    events: Sequence[PlatformEvent] = (),
    routes: Mapping[tuple[str, str], Route] | None = None,
) -> dict[str, Ran]:
    """Evaluate all parts on one network, and return their dates by name.

    Args:
        parts: The programs.
        network: The network between all hosts that exchange messages.
        platform: The platform.
        events: Changes of links and of hosts' speeds; failures are left out.
        routes: Of all pairs of hosts of the network, if links change.

    Raises:
        OutOfRange: A program polls, answers requests in order of arrival, or has too many messages.
    """
    programs = [_unrolled(part) for part in parts]
    placement = [host for part in parts for host in part.placement]
    program = join([(made, part.start_s) for made, part in zip(programs, parts, strict=True)])
    changes = [event for event in events if not event.fails]
    if changes:
        program, network, placement = _with_changes(program, network, placement, platform, changes, routes or {})
    hosts = [platform.host(host) for host in placement]
    run = execute(
        program,
        network,
        tuple(placement),
        [1 / host.speed_flops for host in hosts],
        [len(placement)] * len(placement) if changes else [host.cores for host in hosts],
        to_the_end=False,
    )
    ran = {}
    first = 0
    for part in parts:
        ranks = slice(first, first + len(part.placement))
        first = ranks.stop
        start_s = _dates(run.marks[ranks], run.marks_s[ranks], Mark.START, np.full(len(part.placement), part.start_s))
        stop_s = _dates(run.marks[ranks], run.marks_s[ranks], Mark.STOP, run.end_s[ranks])
        if np.isnan(stop_s).any():
            raise OutOfRange(f"job {part.name}", "a rank waits forever in its graph", "Leave the job out")
        ran[part.name] = Ran(part.start_s, float(stop_s.max()), part.sections.time_s(stop_s - start_s))
    return ran


def _dates(marks: np.ndarray, marks_s: np.ndarray, mark: Mark, otherwise: np.ndarray) -> np.ndarray:
    at = marks == mark
    dates: np.ndarray = np.where(at.any(axis=1), marks_s[np.arange(len(at)), at.argmax(axis=1)], otherwise)
    return dates


def _unrolled(part: Part) -> Program:
    """Return the program with all iterations, without a loop."""
    program = part.sections.program(part.iterations) if part.sections.iterations else part.sections.program()
    if part.sections.polls or len(program.choices.role):
        problem = (
            "it polls for messages or serves requests in order of arrival, which graphs of several jobs do not follow"
        )
        raise OutOfRange(f"job {part.name}", problem, "Leave the job out, or only simulate (--no-predict)")
    if program.nmessages > MOST_MESSAGES:
        problem = f"{program.nmessages} messages"
        raise OutOfRange(f"job {part.name}", problem, f"Give a smaller problem: up to {MOST_MESSAGES} messages")
    return program


def join(parts: Sequence[tuple[Program, float]]) -> Program:
    """Return one program of several without loops; the ranks of each sleep first until a date, s."""
    codes, arguments, values, lengths, sources, destinations = [], [], [], [], [], []
    ranks = messages = 0
    for program, start_s in parts:
        argument = program.argument.astype(np.int32)
        of_message = ~np.isin(program.code, (COMPUTE, MARK, SLEEP))
        argument = np.where(of_message, argument + messages, argument)
        first, length = program.first, np.diff(program.first)
        code, value = program.code, program.value
        if start_s > 0:
            code = np.insert(code, first[:-1], SLEEP)
            argument = np.insert(argument, first[:-1], Elapse.ASLEEP)
            value = np.insert(value, first[:-1], start_s)
            length = length + 1
        codes.append(code)
        arguments.append(argument)
        values.append(value)
        lengths.append(length)
        sources.append(program.source + ranks)
        destinations.append(program.destination + ranks)
        ranks += program.nranks
        messages += program.nmessages
    return Program(
        code=np.concatenate(codes).astype(np.uint8),
        argument=np.concatenate(arguments).astype(np.int32),
        value=np.concatenate(values).astype(float),
        first=np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64),
        source=np.concatenate(sources).astype(np.int32),
        destination=np.concatenate(destinations).astype(np.int32),
        size_bytes=np.concatenate([program.size_bytes for program, _ in parts]),
        mode=np.concatenate([program.mode for program, _ in parts]),
    )


def _with_changes(
    program: Program,
    network: NetworkModel,
    placement: Sequence[str],
    platform: Platform,
    events: Sequence[PlatformEvent],
    routes: Mapping[tuple[str, str], Route],
) -> tuple[Program, NetworkModel, list[str]]:
    """Return the program, its network and its placement with the ranks that occupy what is not there."""
    ways, capacity_Bps = dict(network.ways.items()), dict(network.capacity_Bps)
    courses = _courses(events)
    occupied: list[tuple[str, list[tuple[float, float]]]] = []  # link and its course
    for (kind, name), course in courses.items():
        if kind == "link":
            occupied += _slower_link(name, course, ways, capacity_Bps, routes)
    idle = len(network.timing.latency_s)  # the class of paths without latency
    own: list[DirectedPath] = []
    program = _computing_as_flows(program, placement, platform, courses, own, occupied, capacity_Bps, idle=idle)
    rows = []
    for link, course in occupied:
        rows.append(_occupying(course, capacity_Bps[link], len(own)))
        crossing = [way.penalty for way in (*ways.values(), *own) if link in way.links]
        own += [
            DirectedPath(idle, (1 - factor) * capacity_Bps[link], min(crossing) * factor * _FIRST, {link: 1.0})
            for _, factor in course
            if factor < 1
        ]
    timing = network.timing
    zero = Timing(
        timing.above_bytes,
        np.vstack([timing.latency_s, np.zeros(len(timing.above_bytes))]),
        np.vstack([timing.factor, np.ones(len(timing.above_bytes))]),
    )
    network = replace(network, ways=ways, capacity_Bps=capacity_Bps, timing=zero, own_ways=(*network.own_ways, *own))
    more = [(_sleeper(row), 0.0) for row in rows]
    return join([(program, 0.0), *more]), network, [*placement, *[placement[0]] * len(more)]


def _courses(events: Sequence[PlatformEvent]) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Return the dates and factors of each link and host that changes, by kind and name, in the order of the dates."""
    courses: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for event in sorted(events, key=lambda event: event.date_s):
        courses.setdefault((event.kind, event.name), [(0.0, 1.0)]).append((event.date_s, event.factor))
    return courses


def _relative(course: Sequence[tuple[float, float]]) -> tuple[float, list[tuple[float, float]]]:
    """Return the largest factor of a course, and the course relative to it."""
    most = max(factor for _, factor in course)
    return most, [(date_s, factor / most) for date_s, factor in course]


def _slower_link(
    name: str,
    course: Sequence[tuple[float, float]],
    ways: dict[tuple[str, str], DirectedPath],
    capacity_Bps: dict[str, float],
    routes: Mapping[tuple[str, str], Route],
) -> list[tuple[str, list[tuple[float, float]]]]:
    """Give the paths over a link its largest bandwidth, and return the directions with the relative course."""
    most, relative = _relative(course)
    found = {}
    for pair, route in routes.items():
        crossed = {link.name: link for link in route.links}
        named = directions(name, crossed)
        if not named or pair not in ways:
            continue
        way = ways[pair]
        bound_Bps = min(link.bandwidth_Bps * (most if link.name in named else 1.0) for link in route.links)
        links = dict(way.links)
        for direction in named:
            links.setdefault(direction, 1.0)
            capacity_Bps[direction] = crossed[direction].bandwidth_Bps * most
            found[direction] = relative
        raised = way.bound_Bps * bound_Bps / route.bandwidth_Bps
        ways[pair] = replace(way, bound_Bps=raised, links=links)
    return list(found.items())


def _computing_as_flows(
    program: Program,
    placement: Sequence[str],
    platform: Platform,
    courses: Mapping[tuple[str, str], Sequence[tuple[float, float]]],
    own: list[DirectedPath],
    occupied: list[tuple[str, list[tuple[float, float]]]],
    capacity_Bps: dict[str, float],
    *,
    idle: int,
) -> Program:
    """Return the program whose computations on hosts that change are flows over a link of their own.

    On other hosts with more ranks than cores they are, too: all flows of a host share the speed of its cores.
    """
    ranks_of = {host: placement.count(host) for host in dict.fromkeys(placement)}
    code, argument, value = program.code.copy(), program.argument.copy(), program.value.copy()
    rank = np.repeat(np.arange(program.nranks), np.diff(program.first))
    for number, name in enumerate(placement):
        host = platform.host(name)
        changed = courses.get(("host", name))
        if changed is None and ranks_of[name] <= host.cores:
            continue
        most, relative = _relative(changed or [(0.0, 1.0)])
        shared = ranks_of[name] > host.cores
        link = _HOST.format(name if shared else f"rank {number}")
        which = (rank == number) & (code == COMPUTE)
        code[which], argument[which] = SLEEP, OWN + len(own)
        bound = host.speed_flops * most
        own.append(DirectedPath(idle, bound, 1.0, {link: 1.0}))
        if link not in capacity_Bps:
            capacity_Bps[link] = bound * (host.cores if shared else 1)
            if changed is not None:
                occupied.append((link, relative))
    return replace(program, code=code, argument=argument, value=value)


def _occupying(course: Sequence[tuple[float, float]], capacity_Bps: float, first: int) -> list[tuple[int, float]]:
    """Return the argument and value of each SLEEP of a rank that occupies a link: a pause, or bytes."""
    rows: list[tuple[int, float]] = []
    ends_s = [*(date_s for date_s, _ in course[1:]), course[-1][0] + _FOREVER_S]
    for (date_s, factor), end_s in zip(course, ends_s, strict=True):
        if factor < 1:
            rows.append((OWN + first, (1 - factor) * capacity_Bps * (end_s - date_s)))
            first += 1
        elif end_s - date_s < _FOREVER_S:
            rows.append((int(Elapse.ASLEEP), end_s - date_s))
    return rows


def _sleeper(rows: Sequence[tuple[int, float]]) -> Program:
    """Return the program of one rank that carries out these SLEEPs."""
    none = np.empty(0, np.int64)
    return Program(
        code=np.full(len(rows), SLEEP, np.uint8),
        argument=np.array([argument for argument, _ in rows], np.int32),
        value=np.array([value for _, value in rows], float),
        first=np.array([0, len(rows)], np.int64),
        source=none.astype(np.int32),
        destination=none.astype(np.int32),
        size_bytes=none,
        mode=none.astype(np.uint8),
    )
