"""The predictors ``dpgraph-li`` and ``dpgraph-li-duplex``: the method of the Li paper, as far as the paper gives it.

K.-C. Li, H.-H. Wang and J.-L. Gaudiot, "A Strategy for Point-to-point Node Communication Performance Prediction in
Cluster Environments".  T_exec is the largest over the processes of the sum of its segments' and its communications'
times (3.2); a communication takes its process c n + k_l (3.3), by lines fitted to messages between two nodes (4.2);
nobody waits, and messages do not disturb each other.  What a process does on other numbers of nodes than those that
were recorded is fitted (predictor.dpgraph.scaling).  The paper's processes either send or receive: where one does both
at the same time, ``dpgraph-li`` adds up, and ``dpgraph-li-duplex`` counts the longer of the two.

Assumes a homogeneous cluster and one process per node.  Where nodes or paths differ, all nodes count as the slowest in
use and all messages as between the two clusters (or within the one) where they take longest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from apps.catalog import Problem
from apps.netprobe.measure import Exchange, Late, Measurement, Plan
from apps.recording import Mode, Op, Recording
from apps.spec import Target
from predictor.base import Cost, Evidence, EvidenceRequest, HostLoad, OutOfRange, Prediction
from predictor.dpgraph import li_tables
from predictor.dpgraph.li import MessageComponents, identify_components
from predictor.dpgraph.scaling import Curve, Process, ScaledProcess, Work, work_of
from predictor.dpgraph.send_model import Line, SendModel, Side

RECORDED_ITERATIONS = 3
_MOST_COUNTS = 3  # numbers of nodes that are recorded
_SMALL_BYTES = (1024, 8192, 32768)  # of sends that, if buffered, only copy
_LATE_US = 50_000  # long against latencies: a buffered send does not wait for its receiver
_ALIKE = 0.01  # nodes, or paths, that differ by less are equal
_POOR_FIT = 0.05


def recorded_counts(problem: Problem, nodes: int) -> tuple[int, ...]:
    """Numbers of nodes to record: the target's halved, again and again, the largest three.

    Below 16 nodes that are less than three: then three quarters too, and for 2 and 3 nodes the target's own.
    """
    least = int(dict(problem.params).get("min_procs", 1))  # IS
    halves: list[int] = []
    half = nodes // 2
    while half >= least and len(halves) < _MOST_COUNTS:
        halves.append(half)
        half //= 2
    if len(halves) < _MOST_COUNTS and nodes >= 4 and 3 * nodes // 4 >= least:
        halves.append(3 * nodes // 4)
    if len(set(halves)) < 2:
        halves.append(nodes)
    return tuple(sorted(set(halves)))


Pair = tuple[str, str]  # of clusters


def pair_classes(target: Target) -> dict[Pair, tuple[str, str]]:
    """Two hosts that stand for each kind of path that the target's messages may take: in a cluster, between two."""
    from predictor.dpgraph.survey import layout

    return layout(target.platform, target.placement).classes


def message_plan(target: Target) -> Plan | None:
    """The messages that lines are fitted to, of the paper's lengths; None for a target that sends none.

    For each kind of path: a ping-pong that does not count, ping-pongs (the receiver's times), sends whose receiver is
    ready (the sender's), and short sends to a late receiver (what a buffered sender takes, if they are buffered).
    """
    experiments: list[tuple[Exchange, ...] | Late] = []
    sizes = li_tables.sizes_bytes()
    for a, b in pair_classes(target).values():
        experiments += [(Exchange(a, b, size, size),) for size in (1, *sizes)]
        experiments += [Late(a, b, size, 1) for size in sizes]
        experiments += [Late(a, b, size, _LATE_US) for size in _SMALL_BYTES]
    return Plan(target.platform, tuple(experiments)) if experiments else None


def send_models(target: Target, measurement: Measurement) -> dict[Pair, SendModel]:
    """The lines of each kind of path, from the result of ``message_plan``.

    The standard mode, which is the one that is measured; and the buffered sender, where short standard sends turn out
    to be buffered.
    """
    sizes = li_tables.sizes_bytes()
    each, models = 1 + 2 * len(sizes) + len(_SMALL_BYTES), {}
    for i, pair in enumerate(pair_classes(target)):
        times = measurement.times_s[i * each : (i + 1) * each]
        there_and_back, sends, short = (
            times[1 : 1 + len(sizes)], times[1 + len(sizes) : -len(_SMALL_BYTES)], times[-len(_SMALL_BYTES) :]
        )  # fmt: skip
        lines = {
            (Mode.STANDARD, Side.RECEIVER): Line.fit(sizes, [time_s / 2 for (time_s,) in there_and_back]),
            (Mode.STANDARD, Side.SENDER): Line.fit(sizes, [send_s for send_s, _ in sends]),
        }
        copies_s = [send_s for send_s, _ in short]
        if max(copies_s) < _LATE_US * 1e-6 / 2:
            lines[Mode.BUFFERED, Side.SENDER] = Line.fit(_SMALL_BYTES, copies_s)
        models[pair] = SendModel(lines)
    return models


@dataclass(frozen=True)
class Communication:
    """The time of a process's messages, s, and how many of them the lines do not cover."""

    time_s: float
    messages: float
    outside: float  # shorter or longer than those of the fit
    negative: float  # whose line is below zero: counted as nothing


def communication(process: Process, model: SendModel, *, duplex: bool) -> Communication:
    """The sum of c n + k_l over a process's sends and receives; n: the mean size of each kind of message.

    ``duplex``: where it sends and receives at the same time, the sum over its sends or over its receives, whichever is
    longer, for each collective and for its own messages.  Raises OutOfRange for a send mode that was not measured.
    """
    messages = outside = negative = alone_s = 0.0
    side_s: dict[tuple[Op | None, Side], float] = {}
    for kind, count in process.messages.items():
        size_bytes, line = process.mean_bytes[kind], model.line(kind.mode, kind.side)
        each_s = line.time_s(size_bytes)
        messages += count
        outside += 0 if line.covers(size_bytes) else count
        negative += count if each_s < 0 else 0
        time_s = count * max(0.0, each_s)
        if duplex and kind.both_ways:
            side_s[kind.op, kind.side] = side_s.get((kind.op, kind.side), 0.0) + time_s
        else:
            alone_s += time_s
    together_s = sum(max(side_s.get((op, side), 0.0) for side in Side) for op in {op for op, _ in side_s})
    return Communication(alone_s + together_s, messages, outside, negative)


Times = tuple[float, Communication]  # of a process: computing, s, and communicating


@dataclass(frozen=True)
class Sum:
    """The sum of the partial times of the process where it is largest, and what is to be said of its fit."""

    compute_s: float
    comm: Communication
    clipped: tuple[str, ...]  # what fell below zero
    left_rel: Mapping[str, float]  # by part: the largest share of it that the fit leaves over where it was recorded

    @property
    def time_s(self) -> float:
        return self.compute_s + self.comm.time_s


def fitted_sum(works: Mapping[int, Work], nodes: int, seconds: Callable[[Process], Times]) -> Sum:
    """T_exec on so many nodes: fitted to the process that decides it on each recorded number of them."""

    def sum_s(process: Process) -> float:
        compute_s, comm = seconds(process)
        return compute_s + comm.time_s

    recorded = {count: max(work.processes, key=sum_s) for count, work in works.items()}
    scaled = ScaledProcess.fit(recorded)
    process, clipped = scaled.at(nodes)
    left_rel = {"computation": 0.0, "communication": 0.0}
    for count, one in recorded.items():
        (compute_s, comm), (fitted_s, fitted) = seconds(one), seconds(scaled.at(count)[0])
        pairs = {"computation": (compute_s, fitted_s), "communication": (comm.time_s, fitted.time_s)}
        for part, (true_s, guess_s) in pairs.items():
            if true_s > 0:
                left_rel[part] = max(left_rel[part], abs(guess_s - true_s) / true_s)
    return Sum(*seconds(process), clipped, left_rel)


@dataclass(frozen=True)
class LiModel:
    """Recordings by program, platform and number of nodes; messages by target."""

    name: str
    duplex: bool
    traces: Mapping[tuple[Problem, str], Mapping[int, Evidence]]
    messages: Mapping[Target, Evidence]

    def components(self, target: Target) -> dict[Pair, MessageComponents]:
        """Figure 4's c1, k_b, c2 and k_l of each kind of path.  Raises OutOfRange where no send is buffered."""
        return {pair: identify_components(model) for pair, model in self.lines(target).items()}

    def lines(self, target: Target) -> dict[Pair, SendModel]:
        """The fitted lines of each kind of path; none for a target of one node."""
        evidence = self.messages.get(target)
        return {} if evidence is None else send_models(target, evidence.measurement)

    def predict(self, target: Target) -> Prediction:
        """T_exec of section 3.2.

        Raises OutOfRange for more than one process per node and for send modes that were not measured.
        """
        P = target.nranks
        if target.nodes < P:
            where = f"{self.name}, {P} ranks on {target.nodes} nodes"
            raise OutOfRange(where, "the model assumes one process per node", "Use one rank per node")
        counts = recorded_counts(target.problem, P)
        traces = self.traces[target.problem, target.platform.content_hash]
        used = [traces[count] for count in counts]
        works = {count: _work(e.recording, target.iterations) for count, e in zip(counts, used, strict=True)}
        speeds = sorted({target.platform.host(host).speed_flops for host in target.placement})
        models: dict[Pair | None, SendModel] = dict(self.lines(target).items())
        if not models:  # one node has nobody to talk to
            models = {None: SendModel({})}
        sums = {pair: fitted_sum(works, P, self._seconds(model, 1 / speeds[0])) for pair, model in models.items()}
        slowest = max(sums, key=lambda pair: sums[pair].time_s)
        chosen = sums[slowest]
        flags = [
            *_platform_flags(speeds, slowest, sums),
            *_line_flags(chosen.comm),
            *_fit_flags(chosen, counts),
            *_program_flags(works.values(), any(e.recording.measured for e in used)),
        ]
        if target in self.messages:
            used.append(self.messages[target])
        return Prediction(
            time_s=chosen.time_s,
            parts={"compute_s": chosen.compute_s, "comm_s": chosen.comm.time_s},
            flags=tuple(flags),
            evidence=tuple(e.id for e in used),
            cost=sum((e.cost for e in used), Cost()),
            loads=_loads(target, works),
        )

    def _seconds(self, model: SendModel, s_per_flop: float) -> Callable[[Process], Times]:
        return lambda process: (process.flops * s_per_flop, communication(process, model, duplex=self.duplex))


def _loads(target: Target, works: Mapping[int, Work]) -> dict[str, HostLoad]:
    """Equal shares of all flops, fitted over the recorded numbers of nodes, on each node at its own speed.

    Not what T_exec is made of: that counts the slowest process and the slowest node for all.
    """
    counts = sorted(works)
    flops = [sum(process.flops for process in works[count].processes) for count in counts]
    share_flops = max(0.0, Curve.fit(counts, flops).value(target.nranks)) / target.nranks
    times_s = {host: share_flops / target.platform.host(host).speed_flops for host in target.placement}
    return {host: HostLoad(time_s, time_s, time_s) for host, time_s in times_s.items()}


def _platform_flags(speeds: Sequence[float], slowest: Pair | None, sums: Mapping[Pair | None, Sum]) -> list[str]:
    flags = []
    if speeds[-1] > (1 + _ALIKE) * speeds[0]:
        flags.append(
            f"nodes of {speeds[0] / 1e9:.4g} to {speeds[-1] / 1e9:.4g} Gflop/s all count as the slowest: "
            "the model is of equal nodes"
        )
    if slowest is None:
        return flags
    if sums[slowest].comm.time_s > (1 + _ALIKE) * min(one.comm.time_s for one in sums.values()):
        where = f"within {slowest[0]}" if slowest[0] == slowest[1] else f"between {slowest[0]} and {slowest[1]}"
        flags.append(f"all messages count as {where}, the slowest path: the model is of one cluster")
    return flags


def _line_flags(comm: Communication) -> list[str]:
    flags = []
    sizes = li_tables.sizes_bytes()
    if comm.outside > 0:
        share = 100 * comm.outside / comm.messages
        flags.append(
            f"{share:.0f} % of the messages are outside the {sizes[0] / 1e6:g} to {sizes[-1] / 1e6:g} MB "
            "that the lines are fitted on"
        )
    if comm.negative > 0:
        flags.append(f"{100 * comm.negative / comm.messages:.0f} % of the messages have a negative time, taken as 0")
    return flags


def _fit_flags(chosen: Sum, counts: Sequence[int]) -> list[str]:
    flags = [f"{what} falls below 0 in the extrapolation, taken as 0" for what in chosen.clipped]
    for part, left_rel in chosen.left_rel.items():
        if left_rel > _POOR_FIT:
            known = ", ".join(map(str, counts))
            flags.append(f"the {part} fitted over {known} nodes is up to {100 * left_rel:.0f} % off there")
    return flags


def _program_flags(works: Iterable[Work], measured: bool) -> list[str]:
    flags = []
    if any(work.self_bytes > 0 for work in works):
        flags.append("messages of processes to themselves are not counted")
    if measured:
        flags.append("computation was measured as it ran, and varies")
    return flags


@dataclass(frozen=True)
class LiPredictor:
    """Asks for recordings on fewer nodes and for messages between two nodes of each kind of path.

    ``duplex``: what a process sends and receives at the same time goes on side by side; else all of it adds up, as the
    paper's formula has it.
    """

    name: str
    duplex: bool

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        asked = []
        for target in targets:
            if target.nodes < target.nranks:
                continue  # refused by predict
            iterations = min(RECORDED_ITERATIONS, target.iterations)
            for count in recorded_counts(target.problem, target.nranks):
                shorter = Target(target.problem, target.platform, target.placement[:count])
                asked.append(EvidenceRequest("trace", shorter, iterations=iterations))
            plan = message_plan(target)
            if plan is not None:
                asked.append(EvidenceRequest("exchange", target, plan=plan))
        return list(dict.fromkeys(asked))

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        return []

    def fit(self, evidence: Sequence[Evidence]) -> LiModel:
        traces: dict[tuple[Problem, str], dict[int, Evidence]] = {}
        for e in evidence:
            if e.request.kind == "trace":
                target = e.request.target
                traces.setdefault((target.problem, target.platform.content_hash), {})[target.nranks] = e
        return LiModel(
            self.name, self.duplex, traces, {e.request.target: e for e in evidence if e.request.kind == "exchange"}
        )


@lru_cache(maxsize=16)
def _work(recording: Recording, iterations: int) -> Work:
    return work_of(recording, iterations)


DPGRAPH_LI = LiPredictor("dpgraph-li", duplex=False)
DPGRAPH_LI_DUPLEX = LiPredictor("dpgraph-li-duplex", duplex=True)
