"""The file ``machine.toml`` with which the machine engine runs programs on an emulated grid."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence

from apps.emulate.links import emulated_links
from apps.emulate.running import PACER
from apps.emulate.settings import DISTURBED
from platforms.grids.grid import Grid

_MPIRUN = ("mpirun", "-np", "{ranks}", "--hostfile", "{hostfile}", "--map-by", "seq", "{options}", "{program}")


def machine_text(grid: Grid, emulate: Sequence[str]) -> str:
    """Return the text of a machine file.

    Args:
        grid: The grid, slowed down as it is emulated.
        emulate: The arguments of ``gridval platform emulate`` for this grid.
    """
    command = [*own_command(), *emulate, "--", *_MPIRUN]
    lines = [
        f"# The emulated grid {grid.name}; its nodes are name spaces of this computer.",
        f"name = {json.dumps(grid.name)}",
        f"preload = [{json.dumps(PACER)}]  # inside the grid: paces the ranks",
        "",
        "[launcher]",
        f"command = {json.dumps(command)}",
        'version = ["mpirun", "--version"]',
        f"retry_status = {DISTURBED}  # a gate refused the run",
        "",
        "[compilers]",
        'c = "mpicc"',
        'cxx = "mpicxx"',
        'fortran = "mpif90"',
    ]
    for cluster in grid.clusters:
        lines += [
            "",
            "[[clusters]]",
            f"name = {json.dumps(cluster.name)}",
            f"hosts = {json.dumps(list(cluster.host_names))}",
            f"cores = {cluster.cores}",
            f"gflops = {cluster.speed_flops / 1e9:.12g}",
        ]
    return "\n".join([*lines, *_wires(grid)]) + "\n"


def own_command() -> list[str]:
    """Return the command that starts ``gridval platform emulate`` from any folder."""
    gridval = shutil.which("gridval")
    return [gridval, "platform", "emulate"] if gridval else [sys.executable, "-m", "gridval", "platform", "emulate"]


def _wires(grid: Grid) -> list[str]:
    """Return the nominal network of the first two hosts of a cluster, and of two hosts of different clusters."""
    links = emulated_links(grid)
    cluster_of = {host: cluster.name for cluster in grid.clusters for host in cluster.host_names}
    lines = []
    for title, same in (("network", True), ("between_clusters", False)):
        pairs = [pair for pair in links.paths if (cluster_of[pair[0]] == cluster_of[pair[1]]) == same]
        if not pairs and same:  # all clusters have one node
            pairs = list(links.paths)
        if pairs:
            rate, delay = links.rate_bit_s(*pairs[0]), links.delay_s(*pairs[0])
            lines += ["", f"[{title}]", f"bandwidth_gbit_s = {rate / 1e9:.12g}", f"latency_us = {delay * 1e6:.12g}"]
    return lines
