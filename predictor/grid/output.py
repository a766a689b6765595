"""Output of a search as text, as JSON, and as a scenario file of the grid found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from platforms.grids.grid import Wire
from platforms.grids.network import named_network
from platforms.prices.carbon import Site
from platforms.terminal.prose import folded_lines, prose_lines
from platforms.terminal.quantities import significant
from platforms.terminal.table import table_lines
from predictor.base import Cost
from predictor.grid.request import DesignQuestion, NetworkKind, NodeKind
from predictor.grid.search import Evaluated, Search
from predictor.grid.space import Candidate, Refused


def text(
    request: DesignQuestion, search: Search, refused: Refused, *, predictor: str, cost: Cost, site: Site | None = None
) -> str:
    """Return tables of the best grids and of the front, with counts of the search, cautions and the evidence's cost.

    With a ``site`` they have the emissions of the programs, at most: all nodes at full power all the time.
    """
    money = f" {request.currency}" if request.currency else ""
    lines = prose_lines(f"grids for at most {request.budget:g}{money}, by {predictor}: {_counts(search)}")
    lines += [
        f"every program on all nodes of the grid, {_ranks(request)}; the sum is weighted",
        "",
        *_table(request, search.best, site),
    ]
    if search.with_front:
        front = f"front of price{money} against time: no other grid is faster at the same or a lower price"
        lines += ["", *prose_lines(front), ""]
        lines += _table(request, search.front, site)
    lines += ["", *folded_lines([*_refused_cautions(refused), *_cautions(search)])]
    lines.append(f"evidence costs {cost.node_s:.4g} node-seconds, gathered in {cost.wall_s:.3g} s")
    return "\n".join(lines)


def as_json(
    request: DesignQuestion, search: Search, refused: Refused, *, predictor: str, cost: Cost, site: Site | None = None
) -> dict[str, Any]:
    """Return the results as JSON values."""
    return {
        "design": request.name,
        "budget": request.budget,
        "currency": request.currency,
        "predictor": predictor,
        "complete": search.complete,
        "candidates": len(search.candidates),
        "evaluated": len(search.evaluated),
        "ruled_out": search.left_out,
        "unanswered": dict(search.unanswered),
        "refused": {
            "grids": refused.grids,
            "ranks": {program: list(ranks) for program, ranks in refused.ranks.items()},
        },
        "best": [_grid_to_json(request, grid, site) for grid in search.best],
        "front": [_grid_to_json(request, grid, site) for grid in search.front] if search.with_front else None,
        "evidence": asdict(cost),
    }


def most_carbon_g(evaluated: Evaluated, site: Site) -> float:
    """Return the emissions of the weighted programs with all nodes at full power, one after the other, g CO2e."""
    candidate, time_s = evaluated.candidate, evaluated.value_s
    operational_g = site.operational_g(candidate.full_power_w * time_s, start_s=site.profile.starts_s[0], time_s=time_s)
    return operational_g + site.embodied_g(candidate.nodes, time_s)


def _grid_to_json(request: DesignQuestion, evaluated: Evaluated, site: Site | None) -> dict[str, Any]:
    candidate = evaluated.candidate
    return {
        "price": candidate.price,
        "network": candidate.network.name,
        "clusters": [
            {"kind": kind.name, "nodes": nodes, "ranks_per_node": ranks}
            for (kind, nodes), ranks in zip(candidate.parts, candidate.ranks_per_node, strict=True)
        ],
        "nodes": candidate.nodes,
        "ranks": candidate.ranks,
        "full_power_w": candidate.full_power_w,
        "programs": [
            {"app": p.problem.name, "class": p.problem.label, "weight": p.weight, "predicted_s": time_s}
            for p, time_s in zip(request.programs, evaluated.times_s, strict=True)
        ],
        "weighted_sum_s": evaluated.value_s,
        "most_carbon_g": None if site is None else most_carbon_g(evaluated, site),
        "flags": list(evaluated.flags),
    }


def _counts(search: Search) -> str:
    unanswered = search.unanswered.total()
    parts = [f"{len(search.candidates)} candidates", f"{len(search.evaluated)} evaluated"]
    parts += [f"{search.left_out} ruled out by bounds"] if search.left_out else []
    parts += [f"{unanswered} without an answer"] if unanswered else []
    return ", ".join(parts)


def _ranks(request: DesignQuestion) -> str:
    if request.ranks_per_node is None:
        return "a rank on each core"
    return f"{request.ranks_per_node} rank{'s' if request.ranks_per_node > 1 else ''} on each node"


def _refused_cautions(refused: Refused) -> list[str]:
    if not refused.grids:
        return []
    left_out = "1 grid within the budget is" if refused.grids == 1 else f"{refused.grids} grids within the budget are"
    return [f"caution: {left_out} left out: {refused}"]


def _cautions(search: Search) -> list[str]:
    lines = [] if search.complete else ["caution: interrupted, so there may be better grids"]
    for reason, count in search.unanswered.most_common(3):
        lines.append(f"caution: no answer for {count} grid{'' if count == 1 else 's'}: {reason}")
    for rank, grid in enumerate(search.best, 1):
        lines += [f"caution: grid {rank}, {grid.candidate}: {flag}" for flag in grid.flags]
    hidden = len(search.unanswered) - 3
    return lines + ([f"caution: and {hidden} more reasons for no answer (--json has them)"] if hidden > 0 else [])


def _table(request: DesignQuestion, rows: Sequence[Evaluated], site: Site | None) -> list[str]:
    heads = ["price", "grid", "network", "ranks", "full W", *(f"{p.problem} s" for p in request.programs)]
    cells = [[*heads, "sum s", *([] if site is None else ["most g CO2e"])]]
    for row in rows:
        candidate = row.candidate
        cells.append(
            [
                f"{candidate.price:.10g}", str(candidate), _network(candidate.network, len(candidate.parts)),
                str(candidate.ranks), f"{candidate.full_power_w:.4g}",
                *(significant(time_s) for time_s in row.times_s), significant(row.value_s),
                *([] if site is None else [significant(most_carbon_g(row, site))]),
            ]
        )  # fmt: skip
    return table_lines(cells, left={1, 2})  # columns of words


def _network(network: NetworkKind, clusters: int) -> str:
    return network.name if clusters == 1 else f"{network.name}, {network.wan_shape}"


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
