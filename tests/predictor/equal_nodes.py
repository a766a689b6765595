"""A system of equal nodes: two cores of 1 Gflop/s, 10 W idle and 30 W busy; latency 100 us, 1 Gbit/s."""

from pathlib import Path

from platforms.system.convert import system_named
from platforms.system.model import System

SYSTEM = """
[lan]
bandwidth_gbit_s = 1
latency_us = 100
[[lan.node]]
name = "n"
count = {nodes}
slots = {{ "*" = {slots} }}
cpu = "test"
"""
HARDWARE = """
[cpus.test]
title = "two cores of 1 Gflop/s"
source = "made up"
cores = 2
threads = 2
clock_ghz = 1
double_per_cycle = 1
single_per_cycle = 1
idle_w = 10
full_w = 30
price_usd = 1
"""


def equal_nodes(folder: Path, nodes: int, slots: int) -> System:
    """Return a system of ``nodes`` nodes with ``slots`` slots on each; its files are written into the folder."""
    hardware, system = folder / "hardware.toml", folder / f"system-{nodes}-{slots}.toml"
    hardware.write_text(HARDWARE)
    system.write_text(SYSTEM.format(nodes=nodes, slots=slots))
    return system_named(str(system), hardware=[hardware])
