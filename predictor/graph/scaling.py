"""A program's work as functions of the number of nodes, fitted by least squares to recordings on a few numbers.

K.-C. Li, H.-H. Wang and J.-L. Gaudiot, "A Strategy for Point-to-point Node Communication Performance Prediction in
Cluster Environments": models fitted at some numbers of nodes predict others (abstract).  The paper does not say which
functions it fits; the shapes in this module are this project's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np

from apps.recording.events import Kind, Mode, Op, Recording
from predictor.dpgraph.instructions import RECV, SEND, WAIT_RECEIVED, WAIT_SENT
from predictor.dpgraph.program import Program, Sections
from predictor.graph.section import timed_section
from predictor.sends.send_model import Side

# The shapes g of a + b g(P); of shapes that fit equally well, the first is used.
_SHAPES: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "1/P": lambda P: 1 / P,
    "log2 P": np.log2,
    "P": lambda P: P,
    "P^-1/2": lambda P: P**-0.5,
    "P^1/2": lambda P: P**0.5,
    "P^-2/3": lambda P: P ** (-2 / 3),
    "P^-2": lambda P: P**-2.0,
}
# Programs call the variant with counts where the nodes do not divide the problem; both count as the same collective.
_PLAIN = {
    Op.GATHERV: Op.GATHER, Op.SCATTERV: Op.SCATTER, Op.ALLGATHERV: Op.ALLGATHER, Op.ALLTOALLV: Op.ALLTOALL
}  # fmt: skip
_ALIKE = 1e-9  # relative: values that differ by at most this, the effect of rounding, are equal


@dataclass(frozen=True)
class Curve:
    """A function of the number of nodes P: a + b g(P), or a P^b with the shape ``power``."""

    a: float
    b: float
    shape: str

    @classmethod
    def fit(cls, nodes: Sequence[int], values: Sequence[float]) -> Curve:
        """Return the least-squares fit with the shape of g that leaves the smallest residual.

        Equal values give a constant.
        """
        return _curve(tuple(nodes), tuple(map(float, values)))

    @classmethod
    def fit_power(cls, nodes: Sequence[int], values: Sequence[float]) -> Curve:
        """Return a P^b by least squares of the logarithms.

        The result is that of ``fit`` if a value is zero or only one is known.
        """
        if len(nodes) < 2 or min(values) <= 0:
            return cls.fit(nodes, values)
        b, log_a = np.polyfit(np.log(nodes), np.log(values), 1)
        return cls(float(np.exp(log_a)), float(b), "power")

    def value(self, nodes: int) -> float:
        """Return the value at a number of nodes."""
        if self.shape == "power":
            power: float = nodes**self.b
            return self.a * power
        return self.a + self.b * float(_SHAPES[self.shape](np.asarray(nodes, float)))


@lru_cache(maxsize=4096)  # many processes have equal values
def _curve(nodes: tuple[int, ...], values: tuple[float, ...]) -> Curve:
    P, y = np.array(nodes, float), np.array(values)
    alike = _ALIKE * float(abs(y).max())
    best, best_rms = Curve(float(y.mean()), 0.0, "1/P"), float(np.std(y))
    for shape, g in _SHAPES.items():
        if best_rms <= alike:
            break
        terms = np.stack([np.ones_like(P), g(P)], axis=1)
        (a, b), *_ = np.linalg.lstsq(terms, y, rcond=None)
        rms = float(np.sqrt(np.mean((terms @ (a, b) - y) ** 2)))
        if rms < best_rms - alike:
            best, best_rms = Curve(float(a), float(b), shape), rms
    return best


@dataclass(frozen=True)
class MessageKind:
    """A kind of messages of one process, by their origin: a collective, or None for the program's own calls."""

    op: Op | None  # the variant without counts
    mode: Mode
    side: Side
    both_ways: bool  # the process both sends and receives while such a message is under way

    def __str__(self) -> str:
        return f"{'point-to-point' if self.op is None else self.op.name.lower()} {self.side.value}"


_ByKind = Mapping[MessageKind, np.ndarray]  # one entry per rank


@dataclass(frozen=True)
class Process:
    """The work of one process in the timed section."""

    flops: float
    messages: Mapping[MessageKind, float]  # number of messages
    mean_bytes: Mapping[MessageKind, float]  # mean size of each kind that occurs


@dataclass(frozen=True)
class Work:
    """The work of all processes of a program in the timed section."""

    processes: tuple[Process, ...]  # by rank
    self_bytes: float  # bytes of messages from a process to itself, which `processes` do not count


def work_of(recording: Recording, iterations: int) -> Work:
    """Return the work of a number of iterations; those between the first and the last repeat the second one recorded.

    A recording without iterations stands for the whole program.

    Raises:
        UserError: As ``Sections`` and ``Sections.program``.
    """
    section = timed_section(recording)
    count: dict[MessageKind, np.ndarray] = {}
    size: dict[MessageKind, np.ndarray] = {}
    self_bytes = 0.0
    for op in _origins(section):
        sections = Sections(_only(section, op))
        weighted = [(sections.program(), 1.0)]
        if sections.iterations and iterations != sections.iterations:
            more = iterations - sections.iterations  # factor of the work that one more iteration adds
            weighted = [(sections.program(), 1.0 - more), (sections.program(sections.iterations + 1), float(more))]
        for program, weight in weighted:
            to_itself = program.source == program.destination
            self_bytes += weight * float(program.size_bytes[to_itself].sum())
            both_ways = _both_ways(program)
            ends = {Side.SENDER: program.source, Side.RECEIVER: program.destination}
            for (side, rank), mode, both in product(ends.items(), np.unique(program.mode), (False, True)):
                which = ~to_itself & (program.mode == mode) & (both_ways[side] == both)
                if which.any():
                    kind = MessageKind(op, Mode(mode), side, both)
                    for table, amount in ((count, None), (size, program.size_bytes[which])):
                        added = weight * np.bincount(rank[which], amount, minlength=program.nranks)
                        table[kind] = table.get(kind, 0.0) + added
    flops = Sections(section).flops(iterations)
    return Work(tuple(_process(rank, flops, count, size) for rank in range(recording.nranks)), self_bytes)


def _process(rank: int, flops: np.ndarray, count: _ByKind, size: _ByKind) -> Process:
    messages = {kind: float(counts[rank]) for kind, counts in count.items() if counts[rank] > 0.5}
    mean_bytes = {kind: float(size[kind][rank]) / number for kind, number in messages.items()}
    return Process(float(flops[rank]), messages, mean_bytes)


def _origins(recording: Recording) -> list[Op | None]:
    ops: set[Op | None] = set()
    for events in recording.events:
        calls = map(Op, np.unique(events["op"][events["kind"] == Kind.COLLECTIVE]))
        ops |= {_PLAIN.get(op, op) for op in calls}
        ops |= {None} if (events["kind"] == Kind.SEND).any() else set()
    return sorted(ops, key=lambda op: -1 if op is None else op)


def _only(recording: Recording, op: Op | None) -> Recording:
    """Return the recording's messages of one origin, and its marks."""
    kept = []
    for events in recording.events:
        kind = events["kind"]
        if op is None:
            which = np.isin(kind, (Kind.SEND, Kind.RECV, Kind.WAIT))
        else:
            variants = [op, *(counted for counted, plain in _PLAIN.items() if plain is op)]
            which = (kind == Kind.COLLECTIVE) & np.isin(events["op"], variants)
        kept.append(events[which | (kind == Kind.MARK)])
    return replace(recording, events=tuple(kept))


def _both_ways(program: Program) -> dict[Side, np.ndarray]:
    """Tell for each side of each message whether its process sends and receives while the message is under way.

    All operations that a process begins until it has waited for all of them are under way together.  Messages of a
    process to itself do not count.
    """
    code, message = program.code, program.argument
    change = np.zeros(len(code), np.int64)
    posts = {Side.SENDER: (SEND, WAIT_SENT), Side.RECEIVER: (RECV, WAIT_RECEIVED)}
    for post, wait in posts.values():
        waits = np.flatnonzero(code == wait)
        waited, firsts = np.unique(message[waits], return_index=True)
        change[(code == post) & np.isin(message, waited)] = 1
        change[waits[firsts]] = -1
    together = np.cumsum((change == 1) & (np.cumsum(change) == 1))  # no operation is under way at a rank's end
    away = program.source != program.destination
    group, has = {}, {}
    for side, (post, _) in posts.items():
        at = np.flatnonzero(code == post)
        group[side] = np.zeros(program.nmessages, np.int64)
        group[side][message[at]] = together[at]
        has[side] = np.bincount(group[side][away], minlength=together.max(initial=0) + 1) > 0
    both = has[Side.SENDER] & has[Side.RECEIVER]
    return {side: both[group[side]] for side in Side}


@dataclass(frozen=True)
class ScaledProcess:
    """A process as a function of the number of nodes."""

    flops: Curve
    messages: Mapping[MessageKind, Curve]
    mean_bytes: Mapping[MessageKind, Curve]

    @classmethod
    def fit(cls, processes: Mapping[int, Process]) -> ScaledProcess:
        """Return the fit to a process's work at some numbers of nodes."""
        nodes = sorted(processes)
        messages, mean_bytes = {}, {}
        for kind in dict.fromkeys(kind for P in nodes for kind in processes[P].messages):
            messages[kind] = Curve.fit(nodes, [processes[P].messages.get(kind, 0.0) for P in nodes])
            having = [P for P in nodes if kind in processes[P].mean_bytes]
            mean_bytes[kind] = Curve.fit_power(having, [processes[P].mean_bytes[kind] for P in having])
        return cls(Curve.fit(nodes, [processes[P].flops for P in nodes]), messages, mean_bytes)

    def at(self, nodes: int) -> tuple[Process, tuple[str, ...]]:
        """Return the process at a number of nodes, and the names of quantities below zero, which count as zero."""
        clipped = []

        def positive(curve: Curve, what: str) -> float:
            value = curve.value(nodes)
            if value < -_ALIKE * (abs(curve.a) + abs(curve.b)):
                clipped.append(what)
            return max(0.0, value)

        process = Process(
            positive(self.flops, "computation"),
            {kind: positive(curve, f"number of messages, {kind},") for kind, curve in self.messages.items()},
            {kind: positive(curve, f"size of messages, {kind},") for kind, curve in self.mean_bytes.items()},
        )
        return process, tuple(clipped)
