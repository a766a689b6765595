"""The timed section of a rank: clocks, flops, messages and collectives, as a whole and per iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass
class Counts:
    """Numbers and bytes of point-to-point messages sent and of collectives called."""

    messages: int = 0
    bytes: int = 0
    self_messages: int = 0  # the part of ``messages`` that the rank sent to itself
    self_bytes: int = 0  # the same of ``bytes``
    calls: dict[str, int] = field(default_factory=dict)  # by name of the collective
    call_bytes: dict[str, int] = field(default_factory=dict)  # of the arguments

    def sent(self, size_bytes: int, *, to_itself: bool) -> None:
        """Count a message."""
        self.messages += 1
        self.bytes += size_bytes
        if to_itself:
            self.self_messages += 1
            self.self_bytes += size_bytes

    def called(self, name: str, size_bytes: int) -> None:
        """Count a call of a collective."""
        self.calls[name] = self.calls.get(name, 0) + 1
        self.call_bytes[name] = self.call_bytes.get(name, 0) + size_bytes

    def copy(self) -> Counts:
        """Return a copy that later calls do not change."""
        return replace(self, calls=dict(self.calls), call_bytes=dict(self.call_bytes))

    def since(self, before: Counts) -> Counts:
        """Return what has been counted since ``before``, an earlier copy."""
        return Counts(
            messages=self.messages - before.messages,
            bytes=self.bytes - before.bytes,
            self_messages=self.self_messages - before.self_messages,
            self_bytes=self.self_bytes - before.self_bytes,
            calls={name: count - before.calls.get(name, 0) for name, count in self.calls.items()},
            call_bytes={name: size - before.call_bytes.get(name, 0) for name, size in self.call_bytes.items()},
        )


@dataclass(frozen=True)
class Moment:
    """The clock at some moment, s, and what the rank had done by then."""

    clock_s: float
    compute_s: float
    flops: float
    counts: Counts


class Section:
    """The timed section of one rank.  It is open from the beginning; ``begin`` restarts it."""

    def __init__(self, clock_s: float = 0.0):
        self.all_marked = False  # whether only the part marked by ``before`` precedes the first iteration
        self.begin(clock_s)

    def begin(self, clock_s: float) -> None:
        """Start the section at this clock, with nothing done."""
        self.start_s = clock_s
        self.end: Moment | None = None
        self.compute_s = 0.0
        self.flops = 0.0
        self.counts = Counts()
        self.iterations: list[Moment] = []  # at the ends of the iterations
        self.before: Moment | None = None  # at the beginning of the first iteration, where the program marks it

    @property
    def ended(self) -> Moment:
        """The end of the section.

        Raises:
            ValueError: the section is still open.
        """
        if self.end is None:
            raise ValueError("the timed section is still open")
        return self.end

    def now(self, clock_s: float) -> Moment:
        """Return this moment."""
        return Moment(clock_s, self.compute_s, self.flops, self.counts.copy())

    def per_iteration(self) -> Moment:
        """Return what one iteration does: the second, because set-up without a mark may precede the first.

        It is the first where all is marked, as in the C kernels, or where there is no second.
        """
        ends = self.iterations
        start = Moment(self.start_s, 0.0, 0.0, Counts())
        if not ends:
            return replace(start, clock_s=0.0)
        is_first = self.all_marked or len(ends) == 1
        before, after = (self.before or start, ends[0]) if is_first else (ends[0], ends[1])
        return Moment(
            after.clock_s - before.clock_s,
            after.compute_s - before.compute_s,
            after.flops - before.flops,
            after.counts.since(before.counts),
        )


def output(sections: Sequence[Section], hosts: Sequence[str], timed_wall_s: float, iterations: int) -> dict[str, Any]:
    """Return what the ranks did, in the form of a C kernel's record (apps/kernels/harness/record.c).

    Args:
        sections: the timed section of each rank.
        hosts: the host of each rank.
        timed_wall_s: real time of the timed section, s.
        iterations: the requested number; iterations are reported only if every rank has marked this many.
    """
    marked = all(len(section.iterations) == iterations for section in sections)
    each = [section.per_iteration() if marked else Section().per_iteration() for section in sections]
    ends = [section.ended for section in sections]
    counted = ("messages", "bytes", "self_messages", "self_bytes")
    return {
        "timed_wall_s": timed_wall_s,
        "verified": None,
        "checks": {},
        "host": list(hosts),
        "start_s": [section.start_s for section in sections],
        "stop_s": [end.clock_s for end in ends],
        "compute_s": [end.compute_s for end in ends],
        "flops": [end.flops for end in ends],
        "flops_per_iteration": [iteration.flops for iteration in each],
        **{name: [getattr(end.counts, name) for end in ends] for name in counted},
        **{f"iteration_{name}": [getattr(iteration.counts, name) for iteration in each] for name in counted},
        "collectives": _collectives([end.counts for end in ends]),
        "iteration_collectives": _collectives([iteration.counts for iteration in each]),
        "iteration_end_s": [[end.clock_s for end in section.iterations] if marked else [] for section in sections],
        "iteration_compute_s": [
            [end.compute_s for end in section.iterations] if marked else [] for section in sections
        ],
    }


def _collectives(counts: Sequence[Counts]) -> dict[str, Any]:
    """Return for each collective that was called the largest number of calls of a rank, and the bytes of each rank."""
    names = dict.fromkeys(name for counted in counts for name, count in counted.calls.items() if count)
    return {
        name: {
            "calls": max(count.calls.get(name, 0) for count in counts),
            "bytes": [count.call_bytes.get(name, 0) for count in counts],
        }
        for name in names
    }
