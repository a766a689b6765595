"""Write a designed grid as a scenario file, which every command reads with --scenario FILE.toml."""

from __future__ import annotations

import json

from platforms.grids.grid import Wire
from platforms.grids.network import named_network
from predictor.grid.offer import NetworkKind, NodeKind
from predictor.grid.space import Candidate


def scenario_text(candidate: Candidate, source: str) -> str:
    """Return the text of the file; ``source`` states the origin of the grid."""
    network, grid = candidate.network, candidate.grid()
    lines = [f"source = {_text(source)}", f"network = {_text(network.named)}"]
    for cluster, (kind, nodes) in zip(grid.clusters, candidate.parts, strict=True):
        lines += ["", "[[clusters]]", f"name = {_text(cluster.name)}", f"nodes = {nodes}"]
        lines += _node_lines(kind)
        lines += [f"{key} = {{ {wire} }}" for key, wire in _own_wires(network).items() if key != "wan"]
    if grid.wan_links:
        lines += ["", "[wan]", f"shape = {_text(network.wan_shape)}", f"duplex = {json.dumps(network.wan_duplex)}"]
        lines += _own_wires(network).get("wan", "").split(", ") if "wan" in _own_wires(network) else []
    if network.own_options:
        lines += ["", "[options]", *(f"{_text(key)} = {_text(value)}" for key, value in network.own_options)]
    return "\n".join(lines) + "\n"


def _node_lines(kind: NodeKind) -> list[str]:
    lines = [f"speed_gflops = {_number(kind.speed_flops / 1e9)}", f"cores = {kind.cores}"]
    if kind.power is not None:
        lines += [f"power = {{ idle_w = {_number(kind.power.idle_w)}, full_w = {_number(kind.power.full_w)} }}"]
    return lines


def _own_wires(network: NetworkKind) -> dict[str, str]:
    """Return the links that differ from those of the named network, by key."""
    named = named_network(network.named)
    wires = {key: (getattr(network, key), getattr(named, key)) for key in ("node", "backbone", "wan")}
    return {key: _wire(wires_here) for key, (wires_here, theirs) in wires.items() if wires_here != theirs}


def _wire(wire: Wire) -> str:
    bandwidth_gbit_s = _number(wire.bandwidth_Bps * 8 / 1e9)
    return f"bandwidth_gbit_s = {bandwidth_gbit_s}, latency_us = {_number(wire.latency_s * 1e6)}"


def _number(value: float) -> str:
    """Format a number with 15 significant digits, as in the platform file."""
    return f"{value:.15g}"


def _text(value: str) -> str:
    """Return a TOML string; TOML has the same escapes as JSON."""
    return json.dumps(value, ensure_ascii=False)
