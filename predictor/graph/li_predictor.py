"""The predictors ``dpgraph:li`` and ``dpgraph:li-duplex``: the method of the Li paper, as far as the paper gives it.

K.-C. Li, H.-H. Wang and J.-L. Gaudiot, "A Strategy for Point-to-point Node Communication Performance Prediction in
Cluster Environments".  T_exec is the maximum over the processes of the sum of a process's segment and communication
times (3.2).  A communication takes its process c n + k_l (3.3), by lines fitted to messages between two nodes (4.2).
No process waits, and messages do not disturb each other.  The work of a process on numbers of nodes that were not
recorded is fitted (predictor.graph.scaling).  The paper's processes either send or receive: where a process does both
at the same time, ``dpgraph:li`` adds the two times, and ``dpgraph:li-duplex`` counts the longer one.

The model assumes a homogeneous cluster and one process per node.  Where nodes differ, all nodes count as the slowest
one in use.  Where paths differ, all messages count as messages on the slowest kind of path, within one cluster or
between two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from apps.probes.network.measure import Exchange, LateReceive, NetworkPlan
from apps.probes.plan import Measurement
from apps.programs.problem import Problem
from apps.recording.events import Kind, Mode, Op, Recording
from apps.spec.target import Target
from predictor.base import Cost, Evidence, EvidenceRequest, HostLoad, OutOfRange, Prediction
from predictor.graph.left_out import left_out
from predictor.graph.scaling import Curve, Process, ScaledProcess, Work, work_of
from predictor.network.layout import layout
from predictor.sends import tables as li_tables
from predictor.sends.components import MessageComponents, identify_components
from predictor.sends.send_model import Line, SendModel, Side

RECORDED_ITERATIONS = 3
_MOST_COUNTS = 3  # most different numbers of nodes that are recorded
_SMALL_BYTES = (1024, 8192, 32768)  # sizes of sends that only copy if they are buffered
_LATE_US = 50_000  # delay of a late receiver: long against latencies, and a buffered send does not wait for it
_ALIKE = 0.01  # relative: nodes, or paths, that differ by less are equal
_POOR_FIT = 0.05  # relative: a fit that leaves more gets a caution


def recorded_counts(problem: Problem, nodes: int) -> tuple[int, ...]:
    """Return the numbers of nodes to record: the target's number halved repeatedly, of which the largest three.

    Below 16 nodes this gives fewer than three; then three quarters of the target's number are added, and for 2 and 3
    nodes the target's own number.
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
    """Return two hosts for each kind of path that the target's messages may take: in a cluster, between two."""
    return layout(target.platform, target.placement).classes


def message_plan(target: Target) -> NetworkPlan | None:
    """Return the messages to which lines are fitted, with the paper's sizes; None for a target that sends none.

    For each kind of path these are a ping-pong that does not count, ping-pongs (for the receiver's times), sends whose
    receiver is ready (for the sender's times), and short sends to a late receiver (for the times of a buffered sender,
    if these sends are buffered).
    """
    experiments: list[tuple[Exchange, ...] | LateReceive] = []
    sizes = li_tables.sizes_bytes()
    for a, b in pair_classes(target).values():
        experiments += [(Exchange(a, b, size, size),) for size in (1, *sizes)]
        experiments += [LateReceive(a, b, size, 1) for size in sizes]
        experiments += [LateReceive(a, b, size, _LATE_US) for size in _SMALL_BYTES]
    return NetworkPlan(target.platform, tuple(experiments)) if experiments else None


MODES = (Mode.BUFFERED, Mode.SYNCHRONOUS, Mode.READY)  # those that are measured where a program uses them


def mode_plan(target: Target, modes: Sequence[Mode]) -> NetworkPlan | None:
    """Return the messages in other modes than the standard one to which lines are fitted; None if there are none.

    For each kind of path and each mode these are ping-pongs and sends to a ready receiver, as in ``message_plan``.
    """
    experiments: list[tuple[Exchange, ...] | LateReceive] = []
    sizes = li_tables.sizes_bytes()
    for a, b in pair_classes(target).values():
        for mode in modes:
            experiments += [(Exchange(a, b, size, size, mode),) for size in (1, *sizes)]
            experiments += [LateReceive(a, b, size, 1, mode) for size in sizes]
    return NetworkPlan(target.platform, tuple(experiments)) if experiments else None


def mode_lines(
    target: Target, plan: NetworkPlan, measurement: Measurement
) -> dict[Pair, dict[tuple[Mode, Side], Line]]:
    """Return the lines of each kind of path in the modes of a ``mode_plan``."""
    sizes = li_tables.sizes_bytes()
    each, by_size = 1 + 2 * len(sizes), {}
    modes = list(dict.fromkeys(experiment[0].mode for experiment in plan.experiments if isinstance(experiment, tuple)))
    rows = iter(range(0, len(measurement.times_s), each))
    for pair in pair_classes(target):
        lines = {}
        for mode, row in zip(modes, rows, strict=False):
            times = measurement.times_s[row + 1 : row + each]
            there_and_back, sends = times[: len(sizes)], times[len(sizes) :]
            lines[mode, Side.RECEIVER] = Line.fit(sizes, [time_s / 2 for (time_s,) in there_and_back])
            lines[mode, Side.SENDER] = Line.fit(sizes, [send_s for send_s, _ in sends])
        by_size[pair] = lines
    return by_size


def send_models(target: Target, measurement: Measurement) -> dict[Pair, SendModel]:
    """Return the lines of each kind of path, from the result of ``message_plan``.

    The lines are those of the standard mode, which is the measured mode, and of the buffered sender where short
    standard sends turn out to be buffered.
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
    """The time of a process's messages, s, and the number of messages that the lines do not cover."""

    time_s: float
    messages: float
    outside: float  # number of messages shorter or longer than those of the fit
    negative: float  # number of messages for which the line is below zero; they count as 0 s


def communication(process: Process, model: SendModel, *, duplex: bool) -> Communication:
    """Return the sum of c n + k_l over a process's sends and receives, with the mean size n of each kind of message.

    Args:
        process: The process.
        model: The fitted lines.
        duplex: Where the process sends and receives at the same time, count only the longer of the two sums, separately
            for each collective and for the process's own messages.

    Raises:
        OutOfRange: A send mode was not measured.
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


Times = tuple[float, Communication]  # computation time of a process, s, and its communication


@dataclass(frozen=True)
class Sum:
    """The largest sum of partial times over the processes, and the quality of its fit."""

    compute_s: float
    comm: Communication
    clipped: tuple[str, ...]  # names of the quantities that fell below zero
    left_rel: Mapping[str, float]  # by part: largest relative error of the fit at the recorded numbers of nodes

    @property
    def time_s(self) -> float:
        """T_exec, s."""
        return self.compute_s + self.comm.time_s


def fitted_sum(works: Mapping[int, Work], nodes: int, seconds: Callable[[Process], Times]) -> Sum:
    """Return T_exec on a number of nodes, fitted to the process that decides it at each recorded number of nodes.

    Args:
        works: The recorded work, by number of nodes.
        nodes: The number of nodes to predict.
        seconds: Function that returns the times of a process.
    """

    def sum_s(process: Process) -> float:
        compute_s, comm = seconds(process)
        return compute_s + comm.time_s

    recorded = {count: max(work.processes, key=sum_s) for count, work in works.items()}
    scaled = ScaledProcess.fit(recorded)
    process, clipped = scaled.at(nodes)
    left_rel = {"computation": 0.0, "communication": 0.0}
    for count, of_count in recorded.items():
        (compute_s, comm), (fitted_s, fitted) = seconds(of_count), seconds(scaled.at(count)[0])
        pairs = {"computation": (compute_s, fitted_s), "communication": (comm.time_s, fitted.time_s)}
        for part, (true_s, guess_s) in pairs.items():
            if true_s > 0:
                left_rel[part] = max(left_rel[part], abs(guess_s - true_s) / true_s)
    return Sum(*seconds(process), clipped, left_rel)


@dataclass(frozen=True)
class LiModel:
    """The evidence: recordings by problem, platform and number of nodes; messages by target."""

    name: str
    duplex: bool
    traces: Mapping[tuple[Problem, str], Mapping[int, Evidence]]
    messages: Mapping[Target, Evidence]
    modes: Mapping[Target, Evidence]  # messages in other modes, where a program uses them

    def components(self, target: Target) -> dict[Pair, MessageComponents]:
        """Return Figure 4's c1, k_b, c2 and k_l of each kind of path.

        Raises:
            OutOfRange: No send is buffered.
        """
        return {pair: identify_components(model) for pair, model in self.lines(target).items()}

    def lines(self, target: Target) -> dict[Pair, SendModel]:
        """Return the fitted lines of each kind of path; none for a target of one node."""
        evidence, more = self.messages.get(target), self.modes.get(target)
        models = {} if evidence is None else send_models(target, evidence.measurement)
        if more is not None and more.request.plan is not None:
            assert isinstance(more.request.plan, NetworkPlan)
            for pair, lines in mode_lines(target, more.request.plan, more.measurement).items():
                models[pair] = SendModel({**models[pair].lines, **lines})
        return models

    def predict(self, target: Target) -> Prediction:
        """Return T_exec of section 3.2.

        Raises:
            OutOfRange: The target has more than one process per node, or a send mode was not measured.
        """
        P = target.nranks
        if target.nodes < P:
            where = f"{self.name}, {P} ranks on {target.nodes} nodes"
            raise OutOfRange(where, "the model assumes one process per node", "Use one rank per node")
        counts = recorded_counts(target.problem, P)
        traces = self.traces[target.problem, target.platform.content_hash]
        used = [traces[count] for count in counts]
        works = {count: recorded_work(e.recording, target.iterations) for count, e in zip(counts, used, strict=True)}
        speeds = sorted({target.platform.host(host).speed_flops for host in target.placement})
        models: dict[Pair | None, SendModel] = dict(self.lines(target).items())
        if not models:  # one node sends no messages
            models = {None: SendModel({})}
        sums = {pair: fitted_sum(works, P, self._seconds(model, 1 / speeds[0])) for pair, model in models.items()}
        slowest = max(sums, key=lambda pair: sums[pair].time_s)
        chosen = sums[slowest]
        flags = [
            *_platform_flags(speeds, slowest, sums),
            *line_flags(chosen.comm),
            *_fit_flags(chosen, counts),
            *program_flags(works.values(), [e.recording for e in used]),
        ]
        used += [table[target] for table in (self.messages, self.modes) if target in table]
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
    """Return an equal share of all flops for each node, at the node's own speed.

    The sum of all flops is fitted over the recorded numbers of nodes.  T_exec is computed differently: it counts the
    slowest process and the slowest node for all.
    """
    counts = sorted(works)
    flops = [sum(process.flops for process in works[count].processes) for count in counts]
    share_flops = max(0.0, Curve.fit(counts, flops).value(target.nranks)) / target.nranks
    times_s = {host: share_flops / target.platform.host(host).speed_flops for host in target.placement}
    return {host: HostLoad(time_s, time_s, time_s) for host, time_s in times_s.items()}


def _platform_flags(speeds: Sequence[float], slowest: Pair | None, sums: Mapping[Pair | None, Sum]) -> list[str]:
    flags = speed_flags(speeds)
    if slowest is None:
        return flags
    if sums[slowest].comm.time_s > (1 + _ALIKE) * min(total.comm.time_s for total in sums.values()):
        where = f"within {slowest[0]}" if slowest[0] == slowest[1] else f"between {slowest[0]} and {slowest[1]}"
        flags.append(f"all messages count as messages {where}, the slowest path: the model assumes one cluster")
    return flags


def speed_flags(speeds: Sequence[float]) -> list[str]:
    """Return the caution about nodes of unequal speeds (flop/s, ascending), which all count as the slowest."""
    if speeds[-1] <= (1 + _ALIKE) * speeds[0]:
        return []
    return [
        f"nodes of {speeds[0] / 1e9:.4g} to {speeds[-1] / 1e9:.4g} Gflop/s all count as the slowest: "
        "the model assumes equal nodes"
    ]


def line_flags(comm: Communication) -> list[str]:
    """Return the cautions about messages that the lines do not cover."""
    flags = []
    sizes = li_tables.sizes_bytes()
    if comm.outside > 0:
        share = 100 * comm.outside / comm.messages
        flags.append(
            f"{share:.0f} % of the messages are outside the {sizes[0] / 1e6:g} to {sizes[-1] / 1e6:g} MB "
            "to which the lines are fitted"
        )
    if comm.negative > 0:
        share = 100 * comm.negative / comm.messages
        flags.append(f"{share:.0f} % of the messages have a negative predicted time, taken as 0")
    return flags


def _fit_flags(chosen: Sum, counts: Sequence[int]) -> list[str]:
    flags = [f"{what} falls below 0 in the extrapolation, taken as 0" for what in chosen.clipped]
    for part, left_rel in chosen.left_rel.items():
        if left_rel > _POOR_FIT:
            known = ", ".join(map(str, counts))
            flags.append(f"the {part} fitted over {known} nodes is up to {100 * left_rel:.0f} % off at these numbers")
    return flags


def program_flags(works: Iterable[Work], recordings: Sequence[Recording]) -> list[str]:
    """Return the cautions about recorded programs."""
    flags = []
    if any(work.self_bytes > 0 for work in works):
        flags.append("messages of processes to themselves are not counted")
    if any(recording.timed for recording in recordings):
        flags.append("computation times were measured and vary from run to run")
    return [*flags, *left_out(recordings)]


@dataclass(frozen=True)
class LiPredictor:
    """The predictor: it asks for recordings on fewer nodes and for messages between two nodes of each kind of path."""

    name: str
    # A process sends and receives at the same time without loss; else all its times add up, as in the paper's formula.
    duplex: bool

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return the requests for recordings and messages."""
        asked = []
        for target in targets:
            if target.nodes < target.nranks:
                continue  # predict refuses it
            iterations = min(RECORDED_ITERATIONS, target.iterations)
            for count in recorded_counts(target.problem, target.nranks):
                shorter = Target(target.problem, target.platform, target.placement[:count])
                asked.append(EvidenceRequest("recording", shorter, iterations=iterations))
            plan = message_plan(target)
            if plan is not None:
                asked.append(EvidenceRequest("exchange", target, plan=plan))
        return list(dict.fromkeys(asked))

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        """Return the requests for messages in the other send modes that the recorded programs use."""
        asked = []
        measured = {e.request.target for e in evidence if is_of_modes(e)}
        for target in targets:
            used = [
                e.recording
                for e in evidence
                if e.request.kind == "recording" and _same_program(e.request.target, target)
            ]
            plan = mode_plan(target, [mode for mode in MODES if any(_uses(program, mode) for program in used)])
            if plan is not None and target.nodes == target.nranks and target not in measured:
                asked.append(EvidenceRequest("exchange", target, plan=plan))
        return list(dict.fromkeys(asked))

    def fit(self, evidence: Sequence[Evidence]) -> LiModel:
        """Return the model from all evidence."""
        traces: dict[tuple[Problem, str], dict[int, Evidence]] = {}
        for e in evidence:
            if e.request.kind == "recording":
                target = e.request.target
                traces.setdefault((target.problem, target.platform.content_hash), {})[target.nranks] = e
        messages = [e for e in evidence if e.request.kind == "exchange"]
        return LiModel(
            self.name,
            self.duplex,
            traces,
            {e.request.target: e for e in messages if not is_of_modes(e)},
            {e.request.target: e for e in messages if is_of_modes(e)},
        )


def is_of_modes(evidence: Evidence) -> bool:
    """Return whether evidence comes from a ``mode_plan``, whose first experiment is in another mode."""
    plan = evidence.request.plan
    if not isinstance(plan, NetworkPlan):
        return False
    first = plan.experiments[0]
    return isinstance(first, tuple) and first[0].mode != Mode.STANDARD


def _same_program(recorded: Target, target: Target) -> bool:
    return recorded.problem == target.problem and recorded.platform.content_hash == target.platform.content_hash


def _uses(recording: Recording, mode: Mode) -> bool:
    return any(((events["kind"] == Kind.SEND) & (events["mode"] == mode)).any() for events in recording.events)


@lru_cache(maxsize=16)
def recorded_work(recording: Recording, iterations: int) -> Work:
    """Return ``work_of``, kept for recordings that are requested again."""
    return work_of(recording, iterations)


DPGRAPH_LI = LiPredictor("dpgraph:li", duplex=False)
DPGRAPH_LI_DUPLEX = LiPredictor("dpgraph:li-duplex", duplex=True)
