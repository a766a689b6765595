"""What one rank did in its timed section: clocks, flops, messages and collectives, whole and per iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass
class Traffic:
    """Point-to-point messages sent, and collectives called, with the bytes of their arguments."""

    messages: int = 0
    bytes: int = 0
    self_messages: int = 0  # those to oneself are a part of both
    self_bytes: int = 0
    calls: dict[str, int] = field(default_factory=dict)  # by name of the collective
    call_bytes: dict[str, int] = field(default_factory=dict)

    def sent(self, size_bytes: int, *, to_itself: bool) -> None:
        self.messages += 1
        self.bytes += size_bytes
        if to_itself:
            self.self_messages += 1
            self.self_bytes += size_bytes

    def called(self, name: str, size_bytes: int) -> None:
        self.calls[name] = self.calls.get(name, 0) + 1
        self.call_bytes[name] = self.call_bytes.get(name, 0) + size_bytes

    def copy(self) -> Traffic:
        return replace(self, calls=dict(self.calls), call_bytes=dict(self.call_bytes))

    def since(self, before: Traffic) -> Traffic:
        """What has come since ``before``, a copy of this one."""
        return Traffic(
            messages=self.messages - before.messages,
            bytes=self.bytes - before.bytes,
            self_messages=self.self_messages - before.self_messages,
            self_bytes=self.self_bytes - before.self_bytes,
            calls={name: count - before.calls.get(name, 0) for name, count in self.calls.items()},
            call_bytes={name: size - before.call_bytes.get(name, 0) for name, size in self.call_bytes.items()},
        )


@dataclass(frozen=True)
class Moment:
    """How far a rank had come: clock in s, and what it had done by then."""

    clock_s: float
    compute_s: float
    flops: float
    traffic: Traffic


class Section:
    """The timed section of one rank.  It is open from the beginning; ``begin`` starts it anew."""

    def __init__(self, clock_s: float = 0.0):
        self.begin(clock_s)

    def begin(self, clock_s: float) -> None:
        self.start_s = clock_s
        self.end: Moment | None = None
        self.compute_s = 0.0
        self.flops = 0.0
        self.traffic = Traffic()
        self.iterations: list[Moment] = []  # at their ends
        self.before: Moment | None = None  # where the first iteration begins, if the program says so

    @property
    def ended(self) -> Moment:
        """Where it ended.  Raises ValueError while it is open."""
        if self.end is None:
            raise ValueError("the timed section is still open")
        return self.end

    def now(self, clock_s: float) -> Moment:
        return Moment(clock_s, self.compute_s, self.flops, self.traffic.copy())

    def per_iteration(self) -> Moment:
        """One iteration, as a difference: the second, because set-up may precede the first unmarked."""
        ends = self.iterations
        start = Moment(self.start_s, 0.0, 0.0, Traffic())
        if not ends:
            return replace(start, clock_s=0.0)
        before, after = (ends[0], ends[1]) if len(ends) > 1 else (self.before or start, ends[0])
        return Moment(
            after.clock_s - before.clock_s,
            after.compute_s - before.compute_s,
            after.flops - before.flops,
            after.traffic.since(before.traffic),
        )


def output(sections: Sequence[Section], hosts: Sequence[str], timed_wall_s: float, iterations: int) -> dict[str, Any]:
    """What the ranks did, in the form of a C kernel's record (apps/common/run.c).

    ``iterations``: how many were asked for; iterations are reported if every rank has marked so many, else none are.
    """
    marked = all(len(one.iterations) == iterations for one in sections)
    each = [one.per_iteration() if marked else Section().per_iteration() for one in sections]
    ends = [one.ended for one in sections]
    counted = ("messages", "bytes", "self_messages", "self_bytes")
    return {
        "timed_wall_s": timed_wall_s,
        "verified": None,
        "checks": {},
        "host": list(hosts),
        "start_s": [one.start_s for one in sections],
        "stop_s": [end.clock_s for end in ends],
        "compute_s": [end.compute_s for end in ends],
        "flops": [end.flops for end in ends],
        "flops_per_iteration": [one.flops for one in each],
        **{name: [getattr(end.traffic, name) for end in ends] for name in counted},
        **{f"iteration_{name}": [getattr(one.traffic, name) for one in each] for name in counted},
        "collectives": _collectives([end.traffic for end in ends]),
        "iteration_collectives": _collectives([one.traffic for one in each]),
        "iteration_end_s": [[end.clock_s for end in one.iterations] if marked else [] for one in sections],
        "iteration_compute_s": [[end.compute_s for end in one.iterations] if marked else [] for one in sections],
    }


def _collectives(traffic: Sequence[Traffic]) -> dict[str, Any]:
    """Of every kind that was called: the calls of the rank that made most, the bytes of each."""
    names = dict.fromkeys(name for one in traffic for name, count in one.calls.items() if count)
    return {
        name: {
            "calls": max(one.calls.get(name, 0) for one in traffic),
            "bytes": [one.call_bytes.get(name, 0) for one in traffic],
        }
        for name in names
    }
