"""Make a platform from a measurement, and validate it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from apps.calibrate.machine.collectives import Collectives
from apps.calibrate.machine.contention import Sharing, sharing_of, unseen
from apps.calibrate.machine.fit import NetworkFit, fit_network
from apps.calibrate.machine.grid_file import CalibratedNode, grid_file
from apps.calibrate.machine.judge import Judgement, all_to_all_notes, judge
from apps.calibrate.machine.kernels import Kernels, efficiencies, kernels_of, memory_Bps, ratios, triad_Bps
from apps.calibrate.machine.rows import Routes, Rows, routes_of
from apps.calibrate.platform_file import smpi_options
from apps.calibrate.points import ends, held_out_sizes, points_of, property_of
from platforms.read.read import kept_file, read_platform

SAME_SPEED = 0.05  # nodes that differ by less get their cluster's usual speed
_MOST = 0.75  # share of a node's values that must differ: a busy machine disturbs single ones, in both directions
_SLOW = 0.95  # share of the cluster's median speed below which a node is reported
_FAR = 1.2  # multiple of the median latency of similar pairs: a node is reported if all its pairs are above it
_DRIFT = 0.05  # relative change of a median from the first third of the time to the last
_FEWEST = 3  # values needed on either side to show a drift


@dataclass(frozen=True)
class Speeds:
    """Operations per second of one rank, by node."""

    alone: Mapping[str, float]
    busy: Mapping[str, float]  # of each rank while all ranks of the node compute; empty if a node had one rank
    values: Mapping[str, Sequence[float]]  # values whose median is in ``of``
    kernels: Kernels  # empty: not measured

    def of(self, node: str) -> float:
        """Return the speed of a core in practice: with the participating ranks on the node."""
        return self.busy.get(node, self.alone[node])

    def usual(self, members: Sequence[str]) -> float:
        """Return the usual speed of the nodes of a cluster."""
        return median(rate for node in members for rate in self.values[node])

    def share(self, node: str, members: Sequence[str]) -> float:
        """Return the speed of a node relative to the usual one of its cluster; 1 if too few of its values differ.

        The values are those of the kernels, if at least three were measured, or else those of the multiply-adds.
        """
        usual = self.usual(members)
        values = ratios(self.kernels, node, members)
        if len(values) < _FEWEST:
            values = [rate / usual for rate in self.values[node]]
        differ = [value for value in values if abs(value - 1) > SAME_SPEED]
        share = median(values)
        if len(differ) <= _MOST * len(values) or abs(share - 1) <= SAME_SPEED:
            return 1.0
        return share


def speeds_of(rows: Rows) -> Speeds:
    """Return the median speeds."""
    alone_ratios: dict[str, dict[str, list[float]]] = {"alone": defaultdict(list), "busy": defaultdict(list)}
    for row in rows.of("alone", "busy"):
        alone_ratios[row.experiment][row.first].append(row.amount / row.time_s)
    alone, busy = ({node: median(rates) for node, rates in alone_ratios[what].items()} for what in ("alone", "busy"))
    return Speeds(alone, busy, {**alone_ratios["alone"], **alone_ratios["busy"]}, kernels_of(rows))


def remarks(rows: Rows, speeds: Speeds) -> tuple[str, ...]:
    """Return sentences about slow nodes, far nodes, busy nodes and drift."""
    return (*_slow(rows, speeds), *_crowded(speeds), *_far(rows), *_drifted(rows))


def _slow(rows: Rows, speeds: Speeds) -> list[str]:
    findings = []
    for cluster in range(rows.clusters):
        for name in rows.members(cluster):
            share = speeds.share(name, rows.members(cluster))
            if share < _SLOW:
                findings.append(f"{name} computes at {share:.0%} of the median of its cluster")
    return findings


def _crowded(speeds: Speeds) -> list[str]:
    shares = {node: rate / speeds.alone[node] for node, rate in speeds.busy.items()}
    return [
        f"{node}: with all ranks computing, each has {share:.0%} of the speed of one alone"
        for node, share in shares.items()
        if share < _SLOW
    ]


def _far(rows: Rows) -> list[str]:
    """Report nodes that are farther from every node of a cluster than the others are from each other."""
    latency = {pair: by_size[1] for pair, by_size in rows.medians("latency").items() if 1 in by_size}
    findings = []
    for cluster in range(rows.clusters):
        members = rows.members(cluster)
        inside = {pair: time_s for pair, time_s in latency.items() if set(pair) <= set(members)}
        if len(members) < 4 or not inside:
            continue
        usual = median(inside.values())
        for name in members:
            times_s = [time_s for pair, time_s in inside.items() if name in pair]
            if times_s and min(times_s) > _FAR * usual:
                findings.append(
                    f"{name}: its smallest latency is {min(times_s) / usual:.2f} times the median of its cluster"
                )
    return findings


def _drifted(rows: Rows) -> list[str]:
    """Compare early and late repetitions."""
    values: dict[tuple[str, str, str, int], list[tuple[float, float]]] = defaultdict(list)
    repeated = rows.of("alone", "pingpong")
    for row in repeated:
        values[row.experiment, row.first, row.second, row.amount].append((row.at_s, row.time_s))
    begin_s, end_s = min((row.at_s for row in repeated), default=0.0), rows.rows[-1].at_s  # kernels may come earlier
    changes: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (experiment, first, _, _), seen in values.items():
        early = [time_s for at_s, time_s in seen if at_s < begin_s + (end_s - begin_s) / 3]
        late = [time_s for at_s, time_s in seen if at_s > end_s - (end_s - begin_s) / 3]
        if min(len(early), len(late)) >= _FEWEST:
            changes[experiment, first if experiment == "alone" else ""].append(median(late) / median(early) - 1)
    findings = []
    for (experiment, node), changed_times in changes.items():
        change = median(changed_times)
        if abs(change) > _DRIFT:
            what = f"computing on {node}" if experiment == "alone" else "ping-pongs"
            longer = "longer" if change > 0 else "less"
            findings.append(
                f"drift: {what} took {abs(change):.0%} {longer} in the last third of the time than in the first"
            )
    return findings


@dataclass(frozen=True)
class CalibrationInput:
    """A measurement, and settings it does not contain."""

    rows: Rows
    name: str  # of the machine
    clusters: Sequence[str]  # names
    cores: Sequence[int]  # of a node, by cluster
    core_flops: Sequence[float] | None  # by cluster; None: as fast as the measured multiply-adds
    collectives: Collectives
    hold_out: int  # one in this many sizes is held out for validation
    provenance: Sequence[str]
    notes: Sequence[str] = ()  # sentences about what was not measured


@dataclass(frozen=True)
class MachineCalibration:
    """A calibrated platform of a machine, with the measures of its quality."""

    request: CalibrationInput
    routes: Routes
    network: NetworkFit
    sharing: Sharing
    speeds: Speeds
    nodes: Sequence[CalibratedNode]
    options: Mapping[str, str]  # SimGrid's, in the platform's <config>
    content: bytes  # the platform file
    judgement: Judgement
    remarks: Sequence[str]  # sentences about unusual results


def calibrated(request: CalibrationInput) -> MachineCalibration:
    """Fit, write and validate.

    Raises:
        SimulationError: The replay does not succeed.
    """
    rows = request.rows
    routes = routes_of(rows)
    trips = routes.trips[routes.fitted[routes.main]]
    held_out = held_out_sizes({"pingpong": points_of(trips.items())}, request.hold_out)
    network = fit_network(rows, routes, held_out)
    sharing = sharing_of(rows, network.wires)
    speeds = speeds_of(rows)
    nodes, above = _nodes(request, speeds)
    options = {**smpi_options(network.model, request.collectives.selector), **request.collectives.options}
    parts = nodes, request.clusters, network, sharing, options, request.provenance
    platform = read_platform(kept_file(grid_file(*parts, {})), request.name)
    judgement = judge(platform, rows, routes, [int(size) for size in held_out])
    content = grid_file(*parts, property_of(ends(judgement.ratios(rows))))
    sentences = (
        *request.notes,
        *request.collectives.notes,
        *unseen(rows),
        *remarks(rows, speeds),
        *above,
        *network.notes,
        *sharing.notes,
    )
    sentences = (*sentences, *all_to_all_notes(judgement, network.model.thresholds.detached_bytes))
    return MachineCalibration(
        request, routes, network, sharing, speeds, nodes, options, content, judgement, sentences
    )  # fmt: skip


def _nodes(request: CalibrationInput, speeds: Speeds) -> tuple[list[CalibratedNode], list[str]]:
    """Return the nodes of the platform, and sentences about memory, and kernels that are too fast."""
    rows, nodes, sentences = request.rows, [], []
    for cluster in range(rows.clusters):
        members = rows.members(cluster)
        flops = {name: _speed(request, speeds, name) for name in members}
        ranks = {node.name: node.ranks for node in rows.nodes if node.cluster == cluster}
        shares, above = efficiencies(speeds.kernels, members, flops, ranks)
        if above:
            names = ", ".join(above)
            sentences.append(
                f"{request.clusters[cluster]}: faster than the nominal speed of its cores, so the platform has no "
                f"efficiency for them: {names}"
            )
        by_kernels, by_triad = memory_Bps(speeds.kernels, ranks), triad_Bps(rows, members)
        bus = by_triad if by_kernels is None else by_kernels
        if bus is not None:
            how = "STREAM's triad" if by_kernels is None else "the kernels' loss"
            sentences.append(
                f"{request.clusters[cluster]}: memory of a node {bus / 1e9:.4g} GB/s, by {how} with all cores busy"
            )
        nodes += [
            CalibratedNode(node, max(request.cores[cluster], node.ranks), flops[node.name], tuple(shares), bus)
            for node in rows.nodes
            if node.cluster == cluster
        ]
    order = {node.name: place for place, node in enumerate(rows.nodes)}
    return sorted(nodes, key=lambda node: order[node.node.name]), sentences


def _speed(request: CalibrationInput, speeds: Speeds, name: str) -> float:
    """Return the speed of a node's core: its cluster's, unless the node differs notably."""
    cluster = request.rows.cluster_of(name)
    members = request.rows.members(cluster)
    base = speeds.usual(members) if request.core_flops is None else request.core_flops[cluster]
    return base * speeds.share(name, members)
