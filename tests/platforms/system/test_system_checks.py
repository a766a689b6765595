"""Systems made in Python that are refused, and the names of levels."""

import math
import re
from dataclasses import replace

import pytest

from platforms.errors import UserError
from platforms.grids.grid import Wire
from platforms.grids.scenario import named_grid
from platforms.system.convert import of_grid
from platforms.system.database import DiskArray

GRID = named_grid("grid2x2", speeds_flops=[1e9, 2e9])

DISK = DiskArray("d", "a disk", 1e8, 1e8, 0.0, 0.0, "made up")


def a_system(**changes):
    """A system of two LANs; ``level``, ``node`` and ``unit`` are changes to the first one."""
    system = of_grid(GRID)
    lan = system.top.levels[0]
    (node,) = lan.nodes
    (unit,) = node.units
    node = replace(node, **{"units": (replace(unit, **changes.get("unit", {})),), **changes.get("node", {})})
    lan = replace(lan, **{"nodes": (node,), **changes.get("lan", {})})
    return replace(
        system, top=replace(system.top, **{"levels": (lan, *system.top.levels[1:]), **changes.get("wan", {})})
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"wan": {"shape": "ring"}}, "no shape 'ring'. Known: "),
        ({"wan": {"links": ()}}, "its links are not those of a mesh"),
        ({"lan": {"nodes": ()}}, "a LAN must contain nodes, and nothing else"),
        ({"node": {"units": ()}}, "no compute unit. Give it a cpu or a gpu"),
        ({"node": {"link": Wire(math.inf, 0.0)}}, "bandwidth is inf byte/s"),
        ({"unit": {"kind": "tpu"}}, "no kind 'tpu'. Known: cpu, gpu"),
        ({"unit": {"speed_flops": 0.0}}, "speed is 0.0 flop/s"),
        ({"unit": {"cores": 0}}, "0 cores"),
        ({"unit": {"cores": 2, "threads": 1}}, "1 threads on 2 cores"),
        ({"node": {"disks": (replace(DISK, read_Bps=0.0),)}}, "read bandwidth is 0.0 byte/s"),
        ({"node": {"disks": (replace(DISK, write_latency_s=-1.0),)}}, "write latency is -1.0 s"),
    ],
)
def test_a_system_that_cannot_be_is_refused(changes, said):
    with pytest.raises(UserError, match=re.escape(said)):
        a_system(**changes)


def test_a_level_above_a_cluster_called_wan_has_another_name():
    assert of_grid(GRID).top.name == "wan"
    links = tuple(replace(link, first="wan" if link.first == "c1" else link.first) for link in GRID.wan_links)
    renamed = replace(GRID, clusters=(replace(GRID.clusters[0], name="wan"), GRID.clusters[1]), wan_links=links)
    assert of_grid(renamed).top.name == "wan_"
