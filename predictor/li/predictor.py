"""The predictors ``dpgraph:li-size`` and ``dpgraph:li-size-duplex``: a problem from smaller ones on fewer nodes.

K.-C. Li, H.-H. Wang and J.-L. Gaudiot, "A Strategy for Point-to-point Node Communication Performance Prediction in
Cluster Environments", abstract and sections 3.2, 3.3 and 4.2.  Every process of the target is predicted, and T_exec
is the maximum over them.  ``dpgraph:li-size`` follows the printed formula: it adds the times of sent and received
messages, and counts all nodes as the slowest one and all messages as on the slowest path.  ``dpgraph:li-size-duplex``
counts the longer of the two where a process sends and receives at the same time, and gives each process the speed of
its own node and each message the line of its own path.

The work of a process as a function of the size of the problem N and the number of nodes P.

K.-C. Li, H.-H. Wang and J.-L. Gaudiot, "A Strategy for Point-to-point Node Communication Performance Prediction in
Cluster Environments": "problem size and number of nodes are input to the model" (abstract).  The paper does not say
which functions it fits; those here are this project's own: q(N, P) = g(P) (N / N_0)^x, with g fitted to the largest
recorded size N_0 as in predictor.graph.scaling, and the exponent x to the sizes recorded on equal numbers of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from apps.programs.problem import Problem
from apps.recording.events import Recording
from apps.spec.target import Target
from predictor.base import AsksOnce, Cost, Evidence, EvidenceRequest, HostLoad, OutOfRange, Prediction
from predictor.dpgraph.program import Sections
from predictor.graph.li_predictor import (
    RECORDED_ITERATIONS,
    Communication,
    LiModel,
    LiPredictor,
    Pair,
    communication,
    is_of_modes,
    line_flags,
    program_flags,
    recorded_counts,
    recorded_work,
    speed_flags,
)
from predictor.graph.scaling import Curve, MessageKind, Process, Work
from predictor.graph.section import timed_section
from predictor.npt.smaller import Sized, program_equations, size_of, smaller
from predictor.sends.send_model import SendModel, Side

Works = Mapping[tuple[int, int], Work]  # by N and number of nodes
_SIZES = 2  # smaller sizes that are recorded


@dataclass(frozen=True)
class Surface:
    """A quantity as a function of N and P: the curve at N = ``size``, times (N / size)^exponent."""

    curve: Curve
    size: int
    exponent: float

    @classmethod
    def fit(cls, values: Mapping[tuple[int, int], float], *, power: bool = False) -> Surface:
        """Return the fit to values by N and P.

        The exponent is the mean, over the numbers of nodes with several sizes, of the slope of log q over log N.

        Args:
            values: The values; at least one.
            power: The curve is a power of P.
        """
        largest = max(N for N, _ in values)
        nodes = sorted(P for N, P in values if largest == N)
        at_largest = [values[largest, P] for P in nodes]
        curve = Curve.fit_power(nodes, at_largest) if power else Curve.fit(nodes, at_largest)
        slopes = []
        for P in nodes:
            known = sorted((N, value) for (N, on), value in values.items() if on == P and value > 0)
            if len(known) > 1:
                N, q = np.log(np.array(known, float)).T
                slopes.append(float(np.polyfit(N, q, 1)[0]))
        return cls(curve, largest, float(np.mean(slopes)) if slopes else 0.0)

    def value(self, N: float, P: int) -> float:
        """Return the quantity, at least 0."""
        return max(0.0, self.curve.value(P)) * float((N / self.size) ** self.exponent)


def counterpart(rank: int, ranks: int, recorded: int) -> int:
    """Return the process of a run on ``recorded`` nodes that has the same relative place as one among ``ranks``.

    >>> [counterpart(rank, 8, 4) for rank in range(8)]
    [0, 0, 1, 1, 2, 2, 3, 3]
    """
    return min(recorded - 1, rank * recorded // ranks)


def process_at(works: Works, N: float, rank: int, ranks: int) -> Process:
    """Return the work of a process on a problem of size N, fitted to its counterparts in the recorded runs.

    Args:
        works: The recorded work; of two sizes at least on one number of nodes.
        N: Size of the problem.
        rank: The process.
        ranks: Number of processes.
    """
    processes = {(M, P): work.processes[counterpart(rank, ranks, P)] for (M, P), work in works.items()}
    flops = Surface.fit({at: process.flops for at, process in processes.items()}).value(N, ranks)
    messages, mean_bytes = dict[MessageKind, float](), dict[MessageKind, float]()
    for kind in dict.fromkeys(kind for process in processes.values() for kind in process.messages):
        count = Surface.fit({at: process.messages.get(kind, 0.0) for at, process in processes.items()}).value(N, ranks)
        having = {at: process.mean_bytes[kind] for at, process in processes.items() if kind in process.mean_bytes}
        if count > 0:
            messages[kind], mean_bytes[kind] = count, Surface.fit(having, power=True).value(N, ranks)
    return Process(flops, messages, mean_bytes)


def partner_shares(sent_bytes: np.ndarray, rank: int, groups: Sequence[str]) -> dict[str, float]:
    """Return the share of a process's bytes that goes to the processes of each group.

    Args:
        sent_bytes: Recorded bytes by sender and receiver, on a number of nodes of its own; those that a process sends
            to itself do not count.
        rank: The process.
        groups: The group of each process to predict, such as its cluster.
    """
    ranks, recorded = len(groups), len(sent_bytes)
    row = sent_bytes[counterpart(rank, ranks, recorded)]
    shares: dict[str, float] = {}
    for other in range(ranks):
        if other != rank:
            weight = float(row[counterpart(other, ranks, recorded)])
            shares[groups[other]] = shares.get(groups[other], 0.0) + weight
    total = sum(shares.values())
    if total <= 0:
        return {groups[rank]: 1.0}
    return {group: weight / total for group, weight in shares.items()}


def recorded_sizes(problem: Problem) -> tuple[Sized, ...]:
    """Return the smaller problems to record: the largest two.

    Raises:
        OutOfRange: The program's sizes are not known, or there are fewer than two smaller ones.
    """
    program_equations(problem)
    sizes = smaller(problem)[-_SIZES:]
    if len(sizes) < _SIZES:
        known = ", ".join(str(size.problem) for size in sizes) or "none"
        what = f"{_SIZES} smaller sizes are needed, and there are: {known}"
        raise OutOfRange(str(problem), what, "Use dpgraph:li, which records the problem itself on fewer nodes")
    return sizes


def _recordings(target: Target) -> dict[tuple[int, int], Target]:
    """Return the runs to record, by N and number of nodes."""
    counts = recorded_counts(target.problem, target.nranks)
    return {
        (recorded_size.N, count): Target(recorded_size.problem, target.platform, target.placement[:count])
        for recorded_size in recorded_sizes(target.problem)
        for count in counts
        if recorded_size.fits(count)
    }


@dataclass(frozen=True)
class _ProcessTime:
    """The predicted times of a process, s."""

    compute_s: float
    comm: Communication

    @property
    def time_s(self) -> float:
        return self.compute_s + self.comm.time_s


@dataclass(frozen=True)
class LiSizeModel:
    """Recordings of smaller problems, and the lines of messages."""

    name: str
    duplex: bool  # also: each process at the speed of its node, each message on the line of its path
    recordings: Mapping[Target, Evidence]
    lines: LiModel

    def predict(self, target: Target) -> Prediction:
        """Return the maximum over the processes of the sum of their times.

        Raises:
            OutOfRange: The target has more than one process per node, its program has too few smaller sizes, or a send
                mode was not measured.
        """
        P = target.nranks
        if target.nodes < P:
            where = f"{self.name}, {P} ranks on {target.nodes} nodes"
            raise OutOfRange(where, "the model assumes one process per node", "Use one rank per node")
        used = {at: self.recordings[recording] for at, recording in _recordings(target).items()}
        works = {at: recorded_work(e.recording, target.iterations) for at, e in used.items()}
        N = size_of(target.problem)
        processes = [process_at(works, N, rank, P) for rank in range(P)]
        seconds = self._by_path(target, works, used) if self.duplex else self._slowest(target)
        times = [seconds(rank, process) for rank, process in enumerate(processes)]
        longest = max(times, key=lambda process_time: process_time.time_s)
        evidence = [*used.values(), *(t[target] for t in (self.lines.messages, self.lines.modes) if target in t)]
        return Prediction(
            time_s=longest.time_s,
            parts={"compute_s": longest.compute_s, "comm_s": longest.comm.time_s},
            flags=(
                *self._platform_flags(target),
                *line_flags(longest.comm),
                *program_flags(works.values(), [e.recording for e in used.values()]),
            ),
            evidence=tuple(e.id for e in evidence),
            cost=sum((e.cost for e in evidence), Cost()),
            loads={
                host: _load(target, host, process.flops)
                for host, process in zip(target.placement, processes, strict=True)
            },
        )

    def _platform_flags(self, target: Target) -> list[str]:
        if self.duplex:
            return []
        flags = speed_flags(sorted({target.platform.host(host).speed_flops for host in target.placement}))
        if len(self.lines.lines(target)) > 1:
            flags.append("all messages count as messages on the slowest path: the model assumes one cluster")
        return flags

    def _slowest(self, target: Target) -> Callable[[int, Process], _ProcessTime]:
        """Return the times of a process where all nodes and paths count as the slowest."""
        slowest_flops = min(target.platform.host(host).speed_flops for host in target.placement)
        models = list(self.lines.lines(target).values()) or [SendModel({})]

        def seconds(_: int, process: Process) -> _ProcessTime:
            each = [communication(process, model, duplex=False) for model in models]
            return _ProcessTime(process.flops / slowest_flops, max(each, key=lambda message_time: message_time.time_s))

        return seconds

    def _by_path(
        self, target: Target, works: Works, used: Mapping[tuple[int, int], Evidence]
    ) -> Callable[[int, Process], _ProcessTime]:
        """Return the times of a process on its own node, with each message on its own path."""
        models = self.lines.lines(target)
        groups = [target.platform.cluster_of(host).name for host in target.placement]
        largest = used[max(works, key=lambda at: (at[1], at[0]))]
        sent = {Side.SENDER: _sent_bytes(largest.recording)}
        sent[Side.RECEIVER] = sent[Side.SENDER].T

        def seconds(rank: int, process: Process) -> _ProcessTime:
            shares = {side: partner_shares(table, rank, groups) for side, table in sent.items()}
            parts = []
            for group in dict.fromkeys(groups):
                counts = {kind: count * shares[kind.side].get(group, 0.0) for kind, count in process.messages.items()}
                counts = {kind: count for kind, count in counts.items() if count > 0}
                if counts:
                    part = Process(0.0, counts, process.mean_bytes)
                    parts.append(communication(part, _line_of(models, groups[rank], group), duplex=True))
            speed_flops = target.platform.host(target.placement[rank]).speed_flops
            return _ProcessTime(process.flops / speed_flops, _sum(parts))

        return seconds


def _line_of(models: Mapping[Pair, SendModel], a: str, b: str) -> SendModel:
    """Return the lines between two clusters, or of the only other kind of path that was measured."""
    for pair in ((a, b), (b, a)):
        if pair in models:
            return models[pair]
    return next(iter(models.values()))


def _sum(parts: Sequence[Communication]) -> Communication:
    return Communication(
        sum(part.time_s for part in parts),
        sum(part.messages for part in parts),
        sum(part.outside for part in parts),
        sum(part.negative for part in parts),
    )


def _load(target: Target, host: str, flops: float) -> HostLoad:
    time_s = flops / target.platform.host(host).speed_flops
    return HostLoad(time_s, time_s, time_s)


@lru_cache(maxsize=16)
def _sent_bytes(recording: Recording) -> np.ndarray:
    """Return the bytes of the recorded timed section by sender and receiver."""
    program = Sections(timed_section(recording)).program()
    sent_bytes = np.zeros((program.nranks, program.nranks))
    np.add.at(sent_bytes, (program.source, program.destination), program.size_bytes)
    return sent_bytes


@dataclass(frozen=True)
class LiSizePredictor(AsksOnce):
    """The predictor: it asks for recordings of smaller problems on fewer nodes, and for messages between two nodes."""

    name: str
    duplex: bool

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return the requests for recordings and messages."""
        asked: list[EvidenceRequest] = []
        for target in targets:
            if target.nodes < target.nranks:
                continue  # predict refuses it
            with suppress(OutOfRange):  # predict raises it again
                for recording in _recordings(target).values():
                    asked.append(
                        EvidenceRequest(
                            "recording", recording, iterations=min(RECORDED_ITERATIONS, recording.iterations)
                        )
                    )
                asked += [e for e in _messages().requests([target]) if e.kind == "exchange"]
        return list(dict.fromkeys(asked))

    def fit(self, evidence: Sequence[Evidence]) -> LiSizeModel:
        """Return the model from all evidence."""
        recordings = {e.request.target: e for e in evidence if e.request.kind == "recording"}
        messages = [e for e in evidence if e.request.kind == "exchange" and not is_of_modes(e)]
        return LiSizeModel(self.name, self.duplex, recordings, _messages().fit(messages))


def _messages() -> LiPredictor:
    """Return the predictor whose measurements of messages are used."""
    return LiPredictor("dpgraph:li", duplex=False)


DPGRAPH_LI_SIZE = LiSizePredictor("dpgraph:li-size", duplex=False)
DPGRAPH_LI_SIZE_DUPLEX = LiSizePredictor("dpgraph:li-size-duplex", duplex=True)
