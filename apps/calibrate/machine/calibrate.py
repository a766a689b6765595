"""Make a platform from a measurement, and validate it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.calibrate.machine.collectives import Collectives
from apps.calibrate.machine.contention import Sharing, sharing_of
from apps.calibrate.machine.fit import NetworkFit, fit_network
from apps.calibrate.machine.grid_file import CalibratedNode, grid_file
from apps.calibrate.machine.judge import Judgement, all_to_all_notes, judge
from apps.calibrate.machine.kernels import efficiencies, memory_Bps, triad_Bps
from apps.calibrate.machine.routes import Routes, routes_of
from apps.calibrate.machine.rows import Rows
from apps.calibrate.machine.speeds import Speeds, remarks, speeds_of
from apps.calibrate.machine.unseen import unseen
from apps.calibrate.message_error import ends, property_of
from apps.calibrate.platform_file import smpi_options
from apps.calibrate.points import held_out_sizes, points_of
from platforms.read.read import kept_file, read_platform


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
