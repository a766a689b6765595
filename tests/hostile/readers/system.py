"""System files, and hardware files."""

from contextlib import suppress

from readers.common import file_of, seeds

from platforms.errors import UserError
from platforms.grids.scenario import is_system_file
from platforms.system.convert import platform_file
from platforms.system.database import read_hardware
from platforms.system.description import read_system
from platforms.system.scheduler import schedule

SEEDS = seeds("examples/systems/*.toml", "platforms/system/hardware/*.toml")
WORDS = (
    "[wan]", "[lan]", "[[wan.lan]]", "[[wan.wan]]", "[[lan.node]]", "[[lan.node.unit]]", 'cpu = "xeon-l5640"',
    "count = ", 'gpu = "tesla-k20"', "sockets = ", 'slots = { "*" = 4 }', "power = { idle_w = 1, full_w = 2 }",
    "base_w", "memory = ", 'disks = ["ssd-sata"]', 'bus = "pcie3-x16"', 'network = "wan-metro"',
    "fabric = { bandwidth_gbit_s = 640 }", "[cpus.x]", "[gpus.x]", "[networks.x]", "[disks.x]",
    'hardware = ["x.toml"]', "inf", "nan", "-1", "1e999",
)  # fmt: skip


def read(content: bytes) -> None:
    path = file_of(content, ".toml")
    with suppress(UserError):
        read_hardware([path])
    is_system_file(path)
    system = read_system(path)
    if system.nodes < 1000:
        platform_file(system)
    schedule(system, {"slave": 3, "master": 1})
