"""Dates in an evaluated program: when each instruction begins and ends, what it waits for, and how late it may end.

Dates are those of the fluid model, with waiting and shared links.  Between them the instructions depend on each
other: on the one before in their process and, where they wait, on a message, which depends on its send and (unless it
is eager) on its receive.  If each message keeps the time that it takes, the slack of an instruction is how much later
it may end without delaying the end of the program, and the critical path is a chain of instructions and messages
without slack.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from apps.recording.events import Mark
from predictor.dpgraph.evaluate import execute
from predictor.dpgraph.instructions import COMPUTE, MARK, PROBE, RECV, SEND, SLEEP, WAIT_RECEIVED, WAIT_SENT
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import Program

_DONE = 102  # a mark's number, unused by apps.recording.events.Mark and predictor.dpgraph.busy


class Step(NamedTuple):
    """A part of the critical path: a computation, or a message in flight."""

    instruction: int  # the computation, or the wait that the message ends
    post: int | None  # the send or receive that lets the message begin; None: a computation
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class Moments:
    """When each instruction of a program without a loop begins and ends, s."""

    program: Program
    begin_s: np.ndarray
    end_s: np.ndarray
    late_s: np.ndarray  # as Dates.late_s
    started_s: np.ndarray  # by message; NaN: never
    arrived_s: np.ndarray  # by message; NaN: never


@dataclass(frozen=True)
class Dates:
    """The dates of a program without a loop, s.  One entry per instruction, except where it says otherwise."""

    program: Program
    begin_s: np.ndarray
    end_s: np.ndarray
    late_s: np.ndarray  # part of a wait during which its message has not begun, because its other process is late
    slack_s: np.ndarray
    critical: tuple[Step, ...]  # from the begin to the end of the program
    started_s: np.ndarray  # by message; NaN: never
    arrived_s: np.ndarray  # by message; NaN: never

    @property
    def time_s(self) -> float:
        """The end of the last process."""
        return float(self.end_s.max(initial=0.0))


def dates_of(
    program: Program,
    network: NetworkModel,
    placement: tuple[str, ...],
    s_per_flop: Sequence[float] | np.ndarray,
    cores: Sequence[int] | None = None,
) -> Dates:
    """Return the dates of a program that has no loop.

    Args:
        program: The program.
        network: As for ``predictor.dpgraph.evaluate.execute``.
        placement: As there.
        s_per_flop: As there.
        cores: As there.

    Raises:
        UserError: As there.
    """
    moments, links = _moments(program, network, placement, s_per_flop, cores)
    begin_s, end_s = moments.begin_s, moments.end_s
    return Dates(
        program=program,
        begin_s=begin_s,
        end_s=end_s,
        late_s=moments.late_s,
        slack_s=links.slack_s(begin_s, end_s),
        critical=links.critical(begin_s, end_s),
        started_s=links.started_s,
        arrived_s=links.arrived_s,
    )


def moments_of(
    program: Program,
    network: NetworkModel,
    placement: tuple[str, ...],
    s_per_flop: Sequence[float] | np.ndarray,
    cores: Sequence[int] | None = None,
) -> Moments:
    """Return the dates of a program without a loop, but neither slack nor critical path, which take longer.

    The arguments and errors are those of ``dates_of``.
    """
    return _moments(program, network, placement, s_per_flop, cores)[0]


def critical_path(
    program: Program,
    network: NetworkModel,
    placement: tuple[str, ...],
    s_per_flop: Sequence[float] | np.ndarray,
    cores: Sequence[int] | None = None,
    *,
    timed_rank: int | None = None,
) -> tuple[Step, ...]:
    """Return the critical path through the timed section of a program without a loop, but no slack, which takes longer.

    The arguments and errors are those of ``dates_of``; ``timed_rank`` is the rank whose section counts, None: the one
    that takes longest.
    """
    moments, links = _moments(program, network, placement, s_per_flop, cores)
    borders = {
        mark: np.flatnonzero((program.code == MARK) & (program.argument == mark)) for mark in (Mark.START, Mark.STOP)
    }
    if any(len(marks) != program.nranks for marks in borders.values()):
        return links.critical(moments.begin_s, moments.end_s)
    start_s, stop_s = (moments.end_s[borders[mark]] for mark in (Mark.START, Mark.STOP))
    rank = int(np.argmax(stop_s - start_s)) if timed_rank is None else timed_rank
    steps = links.critical(moments.begin_s, moments.end_s, last=int(borders[Mark.STOP][rank]))
    begin_s = float(start_s[rank])
    return tuple(step._replace(begin_s=max(step.begin_s, begin_s)) for step in steps if step.end_s > begin_s)


def _moments(
    program: Program,
    network: NetworkModel,
    placement: tuple[str, ...],
    s_per_flop: Sequence[float] | np.ndarray,
    cores: Sequence[int] | None,
) -> tuple[Moments, _Dependencies]:
    run = execute(_watched(program), network, placement, s_per_flop, cores, arrivals=True)
    assert run.arrived_s is not None
    marked = [dates_s[marks == _DONE] for marks, dates_s in zip(run.marks, run.marks_s, strict=True)]
    end_s = np.concatenate(marked) if marked else np.empty(0)
    begin_s = np.concatenate([np.concatenate([[0.0], row[:-1]]) if len(row) else row for row in marked])
    links = _Dependencies.of(program, network, placement, end_s, run.arrived_s)
    waits = np.isin(program.code, (WAIT_SENT, WAIT_RECEIVED))
    late_s = np.zeros(len(end_s))
    begun_s = links.started_s[program.argument[waits]]
    late_s[waits] = np.clip(np.minimum(begun_s, end_s[waits]) - begin_s[waits], 0.0, None)
    probes = program.code == PROBE
    late_s[probes] = (end_s - begin_s)[probes]
    return Moments(program, begin_s, end_s, np.nan_to_num(late_s), links.started_s, run.arrived_s), links


def _watched(program: Program) -> Program:
    """Return the program with a mark after each instruction."""
    code, argument, value = (np.repeat(field, 2) for field in (program.code, program.argument, program.value))
    code[1::2], argument[1::2], value[1::2] = MARK, _DONE, 0.0
    return replace(program, code=code, argument=argument, value=value, first=2 * program.first, site=None)


@dataclass(frozen=True)
class _Dependencies:
    """The instructions that let each message begin, and the dates between which it is in flight."""

    program: Program
    sent_at: np.ndarray  # i8, by message: the instruction; -1: none
    received_at: np.ndarray  # likewise, of a receive on which the beginning of the message depends
    detached: np.ndarray  # bool, by message: no wait of the sender depends on it
    started_s: np.ndarray
    arrived_s: np.ndarray

    @classmethod
    def of(
        cls,
        program: Program,
        network: NetworkModel,
        placement: tuple[str, ...],
        end_s: np.ndarray,
        arrived_s: np.ndarray,
    ) -> _Dependencies:
        messages, _ = network.carry(program, placement)
        kinds = messages.kinds[messages.kind]
        at = {}
        for code in (SEND, RECV):
            posts = np.flatnonzero(program.code == code)
            at[code] = np.full(program.nmessages, -1, np.int64)
            at[code][program.argument[posts]] = posts
        at[RECV][kinds["eager"].astype(bool)] = -1
        posted_s = {code: np.where(at[code] >= 0, end_s[at[code]], -np.inf) for code in at}
        started_s = np.where(at[SEND] >= 0, np.maximum(posted_s[SEND], posted_s[RECV]), np.nan)
        return cls(program, at[SEND], at[RECV], kinds["detached"].astype(bool), started_s, arrived_s)

    def slack_s(self, begin_s: np.ndarray, end_s: np.ndarray) -> np.ndarray:
        """Return how much later each instruction may end, s."""
        program = self.program
        code, argument = program.code.tolist(), program.argument.tolist()
        own_s = np.where(np.isin(program.code, (COMPUTE, SLEEP)), end_s - begin_s, 0.0).tolist()
        latest_s = np.full(len(code), end_s.max(initial=0.0)).tolist()
        takes_s = (self.arrived_s - self.started_s).tolist()
        due_s = np.full(program.nmessages, np.inf).tolist()  # by message: latest arrival
        asked_s = np.full(program.nmessages, np.inf).tolist()  # by message: latest send, for those who probe
        firsts = set(program.first[:-1].tolist())
        for i in reversed(self._order()):
            which, what = code[i], argument[i]
            if which == SEND or (which == RECV and self.received_at[what] == i):
                if due_s[what] < np.inf:
                    latest_s[i] = min(latest_s[i], due_s[what] - takes_s[what])
                if which == SEND:
                    latest_s[i] = min(latest_s[i], asked_s[what])
            elif which == WAIT_RECEIVED or (which == WAIT_SENT and not self.detached[what]):
                due_s[what] = min(due_s[what], latest_s[i])
            elif which == PROBE:
                asked_s[what] = min(asked_s[what], latest_s[i])
            if i not in firsts:
                latest_s[i - 1] = min(latest_s[i - 1], latest_s[i] - own_s[i])
        slack_s: np.ndarray = np.clip(np.array(latest_s) - end_s, 0.0, None)
        return slack_s

    def _order(self) -> list[int]:
        """Return the instructions, each after those that it depends on."""
        program = self.program
        code, argument, first = program.code.tolist(), program.argument.tolist(), program.first.tolist()
        sent_at, received_at = self.sent_at.tolist(), self.received_at.tolist()
        posted = bytearray(len(code))
        waiting: dict[int, list[int]] = {}  # by post: the processes that wait for it
        at, order = list(first[:-1]), list[int]()
        ready = list(range(program.nranks))
        while ready:
            rank = ready.pop()
            i = at[rank]
            while i < first[rank + 1]:
                which = code[i]
                if which in (WAIT_RECEIVED, PROBE) or (which == WAIT_SENT and not self.detached[argument[i]]):
                    needed = [sent_at[argument[i]]] + ([] if which == PROBE else [received_at[argument[i]]])
                    missing = next((post for post in needed if post >= 0 and not posted[post]), None)
                    if missing is not None:
                        waiting.setdefault(missing, []).append(rank)
                        break
                elif which in (SEND, RECV):
                    posted[i] = True
                    ready += waiting.pop(i, [])
                order.append(i)
                i += 1
            at[rank] = i
        return order

    def critical(self, begin_s: np.ndarray, end_s: np.ndarray, *, last: int | None = None) -> tuple[Step, ...]:
        """Return the chain of computations and messages that ends last, or with the instruction ``last``, in order."""
        program = self.program
        lasts = [last - 1 for first, last in zip(program.first[:-1], program.first[1:], strict=True) if last > first]
        if not lasts:
            return ()
        i = int(max(lasts, key=lambda at: float(end_s[at]))) if last is None else last
        rank_of = np.repeat(np.arange(program.nranks), np.diff(program.first))
        steps = []
        while i >= 0:
            code, takes = program.code[i], end_s[i] > begin_s[i]
            post = i - 1 if i > program.first[rank_of[i]] else -1
            if takes and code in (COMPUTE, SLEEP):
                steps.append(Step(i, None, float(begin_s[i]), float(end_s[i])))
            elif takes and code == PROBE:
                post = int(self.sent_at[program.argument[i]])
            elif takes:
                message = program.argument[i]
                sent, received = int(self.sent_at[message]), int(self.received_at[message])
                post = sent if received < 0 or end_s[sent] >= end_s[received] else received
                steps.append(Step(i, post, float(self.started_s[message]), float(end_s[i])))
            i = post
        return tuple(reversed(steps))
