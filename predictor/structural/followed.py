"""Messages of different steps that share links: evaluates the program as instructions, event by event.

The recurrence evaluates the messages of one exchange as flows, then those of the next one.  On a full link, however,
messages of ranks in different steps slow one another down, as do those of different planes of a sweep.  Here all steps
become instructions of the ranks, and the evaluation of graphs (predictor/dpgraph) shares every link among all messages
that use it at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from predictor.dpgraph import fluid, instructions
from predictor.dpgraph.instructions import MARK, MESSAGE, RECV, SEND, WAIT_RECEIVED, WAIT_SENT, Instructions, Messages
from predictor.structural.measured import EAGER, SYNCHRONOUS
from predictor.structural.paths import Paths, PlaceOfLinks
from predictor.structural.schedule import COMPUTE, EXCHANGE, Schedule

MOST_MESSAGES = 1 << 20  # that are evaluated; more take long
TURNS = (3, 12)  # evaluated iterations before the last one; the second number if the first does not settle
SETTLED = 5e-4  # relative: iterations that differ by at most this are alike, as in native/run.c
_BARRIER, _BEFORE, _ITERATION, _LAST, _AFTER = range(5)  # the segments

Numbers = npt.NDArray[np.int64]


class FollowedProgram:
    """A program whose messages are evaluated together through all its steps.

    Args:
        schedule: The steps of the program.
        protocol: BUFFERED, EAGER or SYNCHRONOUS, by size.
    """

    def __init__(self, schedule: Schedule, protocol: np.ndarray):
        self._schedule, self._protocol = schedule, protocol
        self._written: dict[bool, _Written] = {}

    def evaluate(
        self, paths: Paths, host: np.ndarray, s_per_flop: np.ndarray, iterations: int
    ) -> tuple[float, float] | None:
        """Return the time of the program on one placement, and its possible error; None: it sends too many messages.

        Args:
            paths: The network.
            host: The host of each rank, by its number in ``paths``.
            s_per_flop: Seconds per flop, by rank.
            iterations: Number of iterations of the program, >= 1.

        Returns:
            The time of the slowest rank from its own start, s; and the difference between the last two evaluated
            iterations times the number of those not evaluated, s.
        """
        evaluated = None
        for most in TURNS:
            turns = min(most, iterations - 1)
            if _messages(self._schedule, turns) > MOST_MESSAGES:
                break
            evaluated = self._evaluated(paths, host, s_per_flop, iterations, turns)
            if evaluated[1] <= SETTLED * evaluated[0] or turns == iterations - 1:
                break
        return evaluated

    def _evaluated(
        self, paths: Paths, host: np.ndarray, s_per_flop: np.ndarray, iterations: int, turns: int
    ) -> tuple[float, float]:
        if (turns > 0) not in self._written:
            self._written[turns > 0] = _written(self._schedule, self._protocol, looped=turns > 0)
        program = self._written[turns > 0]
        loop = program.loop._replace(copies=turns) if turns else None
        marks_s = np.empty((len(host), turns + 2))
        kinds, network = _network(self._schedule, paths, host, self._protocol)
        speeds = np.ascontiguousarray(s_per_flop)
        end_s = fluid.evaluate(program.steps, Messages(kinds, program.kind), network, speeds, marks_s, loop)
        time_s = float((end_s - marks_s[:, 0]).max())
        missing = iterations - 1 - turns
        if not missing:
            return time_s, 0.0
        lengths_s = np.diff(marks_s[:, 1:].max(axis=0))
        return time_s + missing * float(lengths_s[-1]), missing * float(abs(lengths_s[-1] - lengths_s[-2]))


class _Written(NamedTuple):
    """A program as instructions."""

    steps: Instructions
    loop: instructions.Loop  # the iterations before the last one
    kind: npt.NDArray[np.int32]  # by message


def _written(schedule: Schedule, protocol: np.ndarray, *, looped: bool) -> _Written:
    """Return a program as instructions, with a mark at the start, before the iterations and after each of the loop."""
    before, turn, after = (_Part(schedule, protocol) for _ in range(3))
    before.write(_BARRIER, mark=True)
    before.write(_BEFORE, mark=True)
    if looped:
        turn.write(_ITERATION, mark=True)
    after.write(_LAST)
    after.write(_AFTER)
    kind = np.concatenate([part.kinds() for part in (before, after, turn)])
    fixed = len(kind) - turn.messages
    ranks = schedule.flops.shape[1]
    written = [before.columns(0), turn.columns(fixed), after.columns(before.messages)]
    rank, code, argument, value = (np.concatenate(column) for column in zip(*written, strict=True))
    order = np.argsort(rank, kind="stable")
    counts = np.array([np.bincount(columns[0], minlength=ranks) for columns in written])
    first = np.concatenate([[0], np.cumsum(counts.sum(axis=0))]).astype(np.int64)
    steps = Instructions(
        code[order].astype(np.uint8), argument[order].astype(np.int32), value[order].astype(float), first
    )
    loop_first = first[:-1] + counts[0]
    return _Written(steps, instructions.Loop(loop_first, loop_first + counts[1], 0, fixed), kind)


def _messages(schedule: Schedule, turns: int) -> int:
    """Return the number of messages of a program with a number of iterations before the last one."""
    of_exchange = np.diff(schedule.first)
    of_sweep = 2 * schedule.shape[:, 0] * schedule.shape[:, 1] * schedule.shape[:, 3]
    total = 0
    for segment in range(5):
        part = slice(schedule.segment[segment], schedule.segment[segment + 1])
        kind, item = schedule.kind[part], schedule.item[part]
        exchanges, sweeps = item[kind == EXCHANGE], item[(kind != EXCHANGE) & (kind != COMPUTE)]
        once = int(of_exchange[exchanges].sum() + of_sweep[sweeps].sum())
        total += once * turns if segment == _ITERATION else once
    return total


class _Part:
    """A part of the program as instructions of all ranks, in the order of each rank; its messages count from 0."""

    def __init__(self, schedule: Schedule, protocol: np.ndarray):
        self._schedule, self._protocol = schedule, protocol
        self._rank = np.arange(schedule.flops.shape[1])
        self.messages = 0  # so far
        self._kinds: list[np.ndarray] = [np.empty(0, np.int32)]
        none = np.empty(0, np.int64)
        self._columns: list[tuple[np.ndarray, ...]] = [(none, none, none, np.empty(0))]
        self._steps: dict[tuple[int, int], _Part] = {}  # parts made before, by kind and item

    def kinds(self) -> npt.NDArray[np.int32]:
        """Return the kinds of the messages, as ``_network`` numbers them."""
        self._kinds = [np.concatenate(self._kinds).astype(np.int32)]
        return self._kinds[0]

    def columns(self, number: int) -> tuple[np.ndarray, ...]:
        """Return the rank, the code, the argument and the value of each instruction.

        Args:
            number: The number of the first message.
        """
        if len(self._columns) > 1:
            self._columns = [tuple(np.concatenate(column) for column in zip(*self._columns, strict=True))]
        rank, code, argument, value = self._columns[0]
        return rank, code, np.where((code == MARK) | (code == instructions.COMPUTE), 0, argument + number), value

    def write(self, segment: int, *, mark: bool = False) -> None:
        """Write the steps of a segment, and after them a mark of every rank."""
        schedule = self._schedule
        for step in range(schedule.segment[segment], schedule.segment[segment + 1]):
            kind, item = int(schedule.kind[step]), int(schedule.item[step])
            if (kind, item) not in self._steps:
                self._steps[kind, item] = self._written(kind, item)
            self._append(self._steps[kind, item])
        if mark:
            self._add(self._rank, MARK)

    def _written(self, kind: int, item: int) -> _Part:
        """Return a step as a part."""
        part = _Part(self._schedule, self._protocol)
        if kind == COMPUTE:
            part._compute(self._schedule.flops[item])
        elif kind == EXCHANGE:
            part._exchange(item)
        else:
            part._sweep(item)
        return part

    def _append(self, part: _Part) -> None:
        self._columns.append(part.columns(self.messages))
        self._kinds.append(part.kinds())
        self.messages += part.messages

    def _add(
        self, rank: np.ndarray, code: int | np.ndarray, argument: int | np.ndarray = 0, value: float | np.ndarray = 0.0
    ) -> None:
        columns = (code, argument, value)
        self._columns.append((rank, *(of if isinstance(of, np.ndarray) else np.full(len(rank), of) for of in columns)))

    def _compute(self, flops: np.ndarray) -> None:
        self._add(self._rank[: len(flops)], instructions.COMPUTE, 0, flops)

    def _number(self, kind: np.ndarray) -> Numbers:
        """Return the numbers of new messages of these kinds."""
        self._kinds.append(kind)
        numbers: Numbers = self.messages + np.arange(len(kind))
        self.messages += len(kind)
        return numbers

    def _exchange(self, item: int) -> None:
        schedule = self._schedule
        kind = np.arange(schedule.first[item], schedule.first[item + 1])
        number = self._number(kind)
        source, destination = schedule.source[kind], schedule.destination[kind]
        waited = self._protocol[schedule.size[kind]] == SYNCHRONOUS
        self._add(destination, RECV, number)
        if schedule.at_once[item]:
            self._add(source, SEND, number)
        else:
            self._send(source, number, waited)
        if schedule.meanwhile[item] >= 0:
            self._compute(schedule.flops[schedule.meanwhile[item]])
        if schedule.at_once[item]:
            self._add(source[waited], WAIT_SENT, number[waited])
        self._add(destination, WAIT_RECEIVED, number)

    def _send(self, source: np.ndarray, number: Numbers, waited: np.ndarray) -> None:
        """Write sends, each followed by a wait if the sender waits."""
        kept = np.stack([np.ones(len(number), bool), waited], axis=1)
        columns = (source[:, None], np.array([SEND, WAIT_SENT]), number[:, None])
        self._add(*(np.broadcast_to(column, kept.shape)[kept] for column in columns))

    def _sweep(self, item: int) -> None:
        """Write a sweep: for each plane, receive along x and along y, compute, and send along x and along y."""
        width, height, forward, planes = (int(number) for number in self._schedule.shape[item])
        plane = _Part(self._schedule, self._protocol)
        plane._plane(item, list(_axes(self._rank[: width * height], width, height, 1 if forward else -1)))
        rank, code, argument, value = plane.columns(0)
        later = np.repeat(np.arange(planes) * plane.messages, len(rank))
        number = self._number(np.tile(plane.kinds(), planes))
        self._add(
            np.tile(rank, planes), np.tile(code, planes),
            np.tile(argument, planes) + later + (self.messages - len(number)), np.tile(value, planes),
        )  # fmt: skip

    def _plane(self, item: int, axes: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        schedule, numbers = self._schedule, []
        for axis, (source, destination) in enumerate(axes):
            numbers.append(self._number(len(schedule.source) + (2 * item + axis) * len(self._rank) + source))
            self._add(destination, RECV, numbers[-1])
            self._add(destination, WAIT_RECEIVED, numbers[-1])
        width, height = schedule.shape[item, :2]
        self._compute(schedule.plane_flops[item, : width * height])
        for axis, (source, _) in enumerate(axes):
            waited = self._protocol[schedule.plane_size[item, axis, source]] == SYNCHRONOUS
            self._send(source, numbers[axis], waited)


def _axes(rank: np.ndarray, width: int, height: int, ahead: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the senders and the receivers of a plane's messages, along x and along y."""
    for place, places, distance in ((rank % width, width, 1), (rank // width, height, width)):
        source = rank[(place + ahead >= 0) & (place + ahead < places)]
        yield source, source + ahead * distance


def _network(
    schedule: Schedule, paths: Paths, host: np.ndarray, protocol: np.ndarray
) -> tuple[np.ndarray, instructions.Paths]:
    """Return the kinds of messages, those of exchanges and then those of sweeps by axis and rank, and their paths."""
    ends = [(host[schedule.source], host[schedule.destination], schedule.size)]
    rank = np.arange(schedule.flops.shape[1])
    for item, (width, height, forward, _) in enumerate(schedule.shape.tolist()):
        for axis, (source, destination) in enumerate(
            _axes(rank[: width * height], width, height, 1 if forward else -1)
        ):
            to = np.array(host)  # a rank that sends nothing gets a message to itself that is never sent
            to[source] = host[destination]
            ends.append((host, to, schedule.plane_size[item, axis]))
    a, b, size = (np.concatenate(columns) for columns in zip(*ends, strict=True))
    pair, number = np.unique(a.astype(np.int64) * len(paths.cluster) + b, return_inverse=True)
    pair_a, pair_b = np.divmod(pair, len(paths.cluster))
    row = np.where(a == b, paths.self_row[paths.cluster[a]], paths.row[paths.cluster[a], paths.cluster[b]])
    kinds = np.zeros(len(a), MESSAGE)
    kinds["amount_bytes"], kinds["latency_s"] = paths.amount_bytes[row, size], paths.latency_s[row, size]
    kinds["factor"], kinds["path"] = 1.0, number
    kinds["detached"], kinds["eager"] = protocol[size] != SYNCHRONOUS, protocol[size] == EAGER
    crossed = [_links(paths, int(a), int(b)) for a, b in zip(pair_a, pair_b, strict=True)]
    pair_row = np.where(
        pair_a == pair_b, paths.self_row[paths.cluster[pair_a]], paths.row[paths.cluster[pair_a], paths.cluster[pair_b]]
    )
    network = instructions.Paths(
        paths.bound_Bps[pair_row],
        paths.penalty[pair_row],
        np.cumsum([0, *map(len, crossed)]).astype(np.int64),
        np.array([link for links in crossed for link, _ in links], np.int32),
        np.array([weight for links in crossed for _, weight in links], float),
        paths.capacity_Bps,
    )
    return kinds, network


def _links(paths: Paths, a: int, b: int) -> list[tuple[int, float]]:
    """Return the links from host a to host b and a flow's use of each, as in native/way.c."""
    place, c, d = PlaceOfLinks(len(paths.cluster), len(paths.back)), int(paths.cluster[a]), int(paths.cluster[b])
    hosts = place.hosts
    if a == b:
        self_links = [(a, 1 + paths.back[c]), (hosts + a, 1 + paths.back[c]), (place.inside(c), 1.0)]
        return self_links if paths.self_shares[c] else []
    links = [(a, 1.0), (hosts + b, 1.0), (hosts + a, paths.back[c]), (b, paths.back[d]), (place.inside(c), 1.0)]
    if c != d:
        links += [(place.inside(d), 1.0), (place.outside(c), 1.0), (place.outside(d), 1.0)]
        links += [(place.one_way(c, d), 1.0), (place.both_ways(c, d), 1.0)]
    return [(link, weight) for link, weight in links if weight > 0 and paths.capacity_Bps[link] < np.inf]
