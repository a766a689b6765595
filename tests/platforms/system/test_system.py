"""A system and its platform file are the same machine: SimGrid gives the same values."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from platforms.grids.grid import WanLink, Wire
from platforms.grids.scenario import named_grid
from platforms.model.platform import Power
from platforms.read.read import materialise, read_platform, read_routes
from platforms.read.routes import part_hash
from platforms.system.convert import as_grid, materialise_system, of_grid, platform_file
from platforms.system.description import read_system
from platforms.system.xml import system_xml

EXAMPLE = Path(__file__).parents[3] / "examples" / "systems" / "merpsys.toml"

# Every kind of zone: a WAN in a WAN, a LAN on a fabric with nodes of several units, a single group, memory, disks.
LEVELS = """
[wan]
network = "wan-metro"
[[wan.links]]
to = "b"
latency_us = 3000
duplex = false
[[wan.wan]]
name = "site"
network = "wan-campus"
[[wan.wan.lan]]
name = "a"
network = "infiniband-qdr"
fabric = { bandwidth_gbit_s = 100, latency_us = 2 }
[[wan.wan.lan.node]]
count = 2
cpu = "xeon-l5640"
sockets = 2
[[wan.wan.lan.node]]
name = "gpu"
count = 2
bus = "pcie3-x16"
base_w = 40
[[wan.wan.lan.node.unit]]
cpu = "xeon-e5-2670"
[[wan.wan.lan.node.unit]]
gpu = "tesla-k40"
count = 2
[[wan.wan.lan]]
name = "aa"
network = "infiniband-qdr"
[[wan.wan.lan.node]]
name = "alone"
cpu = "xeon-e5-2670"
count = 3
[[wan.lan]]
name = "b"
network = "infiniband-qdr"
[[wan.lan.node]]
name = "store"
cpu = "xeon-e5345"
disks = ["lustre-galera", "ssd-sata"]
slots = {}
[[wan.lan.node]]
name = "mem"
count = 2
cpu = "xeon-e5345"
memory = { bandwidth_gbit_s = 80, latency_us = 0.3 }
[[wan.lan.node]]
name = "cards"
bus = "pcie3-x16"
memory = { bandwidth_gbit_s = 80, latency_us = 0.3 }
[[wan.lan.node.unit]]
gpu = "tesla-k40"
[[wan.lan.node.unit]]
gpu = "tesla-k20"
name = "k20"
[[wan.lan]]
name = "c"
network = "infiniband-qdr"
[[wan.lan.node]]
name = "cd"
cpu = "xeon-e5345"
count = 2
disks = ["ssd-sata"]
"""

MESH = """
[wan]
shape = "mesh"
bandwidth_gbit_s = 1
latency_us = 400
duplex = false
[[wan.links]]
between = ["y", "x"]
latency_us = 900
duplex = true
[[wan.lan]]
name = "x"
bandwidth_gbit_s = 10
latency_us = 20
fabric = { bandwidth_gbit_s = 4 }
[[wan.lan.node]]
cpu = "xeon-e5345"
[[wan.lan.node]]
cpu = "xeon-e5345"
link = { bandwidth_gbit_s = 1, latency_us = 3 }
[[wan.lan]]
name = "y"
bandwidth_gbit_s = 10
latency_us = 20
[[wan.lan.node]]
name = "one"
cpu = "xeon-e5345"
count = 2
[[wan.lan.node]]
name = "two"
cpu = "xeon-e5345"
disks = ["ssd-sata"]
memory = { bandwidth_gbit_s = 80, latency_us = 0.3 }
[[wan.wan]]
name = "z"
network = "wan-campus"
[[wan.wan.lan]]
network = "fast-ethernet"
[[wan.wan.lan.node]]
cpu = "celeron-m-1500"
[[wan.wan.lan]]
network = "fast-ethernet"
[[wan.wan.lan.node]]
cpu = "celeron-m-1500"
memory = { bandwidth_gbit_s = 8, latency_us = 1 }
[options]
"network/crosstraffic" = "no"
"""

GRID = """
[wan]
network = "wan-metro"
[[wan.lan]]
network = "gigabit-ethernet"
fabric = { bandwidth_gbit_s = 2, latency_us = 5 }
[[wan.lan.node]]
cpu = "xeon-e5345"
count = 3
[[wan.lan]]
network = "gigabit-ethernet"
[[wan.lan.node]]
cpu = "xeon-l5640"
sockets = 2
count = 2
[[wan.lan]]
network = "gigabit-ethernet"
[[wan.lan.node]]
cpu = "epyc-7742"
"""


def some_hosts(system):
    """The first, second and last host of every group."""
    return [group.host(i) for group in system.groups for i in sorted({0, min(1, group.units - 1), group.units - 1})]


def check_routes(system):
    """Check that the system and SimGrid give the same links for every route between some hosts."""
    platform = materialise_system(system)
    pairs = list(itertools.product(some_hosts(system), repeat=2))
    for ours, simgrids in zip(system.routes(pairs), read_routes(platform, pairs), strict=True):
        assert (ours.source, ours.destination) == (simgrids.source, simgrids.destination)
        assert ours.latency_s == pytest.approx(simgrids.latency_s, rel=1e-12)
        assert ours.bandwidth_Bps == pytest.approx(simgrids.bandwidth_Bps, rel=1e-12)
        mine, theirs = sorted(ours.links, key=str), sorted(simgrids.links, key=str)
        assert [(link.name, link.sharing) for link in mine] == [(link.name, link.sharing) for link in theirs]
        for one, other in zip(mine, theirs, strict=True):
            assert one.bandwidth_Bps == pytest.approx(other.bandwidth_Bps, rel=1e-12)
            assert one.latency_s == pytest.approx(other.latency_s, rel=1e-12)
    for group, cluster in zip(system.groups, platform.clusters, strict=True):
        assert cluster.name == group.name
        assert [host.name for host in cluster.hosts] == [group.host(i) for i in range(group.units)]
        for host in (cluster.hosts[0], cluster.hosts[-1]):
            assert host.speed_flops == pytest.approx(group.unit.speed_flops, rel=1e-14)
            assert (host.cores, host.power) == (group.unit.cores, group.unit.power)
    return platform


@pytest.mark.parametrize("text", [LEVELS, MESH, GRID], ids=["levels", "mesh", "grid"])
def test_hosts_and_routes_of_a_system_are_those_that_simgrid_has(lab_file, text):
    check_routes(read_system(lab_file(text)))


def test_a_grid_is_written_by_the_grids_own_writer_and_the_systems_writer_says_the_same(lab_file, tmp_path):
    system = read_system(lab_file(GRID))
    grid = as_grid(system)
    platform = check_routes(system)
    assert platform_file(system) != system_xml(system)
    assert platform.content_hash == materialise(grid).content_hash
    assert [cluster.name for cluster in grid.clusters] == ["c1", "c2", "c3"]
    (tmp_path / "own.xml").write_bytes(system_xml(system))
    pairs = list(itertools.product(some_hosts(system), repeat=2))
    both = zip(read_routes(platform, pairs), read_routes(read_platform(tmp_path / "own.xml"), pairs), strict=True)
    for one, other in both:
        assert sorted(one.links, key=str) == sorted(other.links, key=str)


def test_a_lone_lan_of_single_nodes_is_a_grid_of_one_cluster(lab_file):
    text = '[lan]\nnetwork = "infiniband-qdr"\n[[lan.node]]\ncpu = "xeon-l5640"\nsockets = 2\ncount = 192\n'
    grid = as_grid(read_system(lab_file(text)))
    (cluster,) = grid.clusters
    assert (cluster.nodes, cluster.cores, cluster.speed_flops) == (192, 12, pytest.approx(9.08e9))
    # The non-blocking fabric has the bandwidth of both directions of all links: 2 x 192 x 32 Gbit/s.
    assert cluster.backbone == Wire(2 * 192 * 4e9, 0.0)
    assert grid.options == tuple(named_grid("grid4x2", "infiniband").options)
    for more in ('disks = ["ssd-sata"]\n', "memory = { bandwidth_gbit_s = 80, latency_us = 0.3 }\n"):
        assert as_grid(read_system(lab_file(text + more))) is None


@pytest.mark.parametrize(
    "grid",
    [
        named_grid("grid4x2"),
        named_grid("galera+"),
        named_grid("ichikawa-two-switches"),
        replace(
            named_grid("grid3x2", "metro", [1e9] * 3),
            wan_shape="star",
            wan_links=tuple(WanLink(f"c{i}", None, Wire(1e8 * i, 1e-3), duplex=i > 1) for i in (1, 2, 3)),
        ),
    ],
    ids=lambda grid: grid.name,
)
def test_a_grid_as_a_system_is_the_same_platform(grid):
    system = of_grid(grid)
    assert materialise_system(system).content_hash == materialise(grid).content_hash
    pairs = list(itertools.product(some_hosts(system), repeat=2))
    for one, other in zip(system.routes(pairs), grid.routes(pairs), strict=True):
        assert (one.latency_s, one.links) == (pytest.approx(other.latency_s, rel=1e-15), other.links)


def test_ways_by_hand(lab_file):
    system = read_system(lab_file(LEVELS))
    groups = system.group_by_name

    def way(here, i, there, j):
        found = system.way(groups[here], i, groups[there], j)
        return found.kind, found.level, pytest.approx(found.latency_s * 1e6), pytest.approx(found.bandwidth_Bps)

    qdr, pcie3, campus, metro = 4e9, 16 * 8e9 * 128 / 130 / 8, 1.25e9, 1.25e9
    # Within a node: the bus, 1 us for each GPU on the route.
    assert way("gpu.cpu", 0, "gpu.gpu1", 0) == ("node", "gpu", 1, pcie3)
    assert way("gpu.gpu2", 1, "gpu.gpu1", 1) == ("node", "gpu", 2, pcie3)
    # Within a unit: the node's link in both directions, 1.3 us; or memory.
    assert way("c1", 0, "c1", 0) == ("unit", "c1", 1.3, qdr)
    assert way("mem", 1, "mem", 1) == ("unit", "mem", 0.3, 10e9)
    # Within a LAN: QDR's 1.3 us from node to node, and here 2 us of the fabric.
    assert way("c1", 0, "c1", 1) == ("lan", "a", 3.3, qdr)
    assert way("c1", 0, "gpu.gpu1", 1) == ("lan", "a", 3.3 + 1, qdr)
    assert way("mem", 0, "store", 0) == ("lan", "b", 1.3, qdr)
    # Between LANs of the site: 100 us; beyond the site, half of that, half of 1 ms and half of 3 ms.
    assert way("alone", 0, "c1", 1) == ("wan", "site", 100 + 1.3 + 2, campus)
    assert way("alone", 0, "mem", 1) == ("wan", "wan", 50 + 500 + 1500 + 1.3, metro)
    assert way("c1", 0, "cd", 1) == ("wan", "wan", 50 + 500 + 500 + 1.3 + 2, metro)


def test_units_of_a_node_by_hand(lab_file):
    system = read_system(lab_file(LEVELS))
    groups = system.group_by_name
    sockets = groups["c1"].unit
    assert (sockets.cores, sockets.threads, sockets.speed_flops) == (12, 24, pytest.approx(2.27e9 * 4))
    assert sockets.power == Power(idle_w=24, full_w=120, epsilon_w=24)  # two of 60 W, a fifth of it idle
    assert sockets.price_usd == 2 * 996
    gpu = groups["gpu.gpu2"].unit
    assert (gpu.cores, gpu.speed_flops) == (1, pytest.approx(15 * 0.745e9 * 128))  # a kernel uses all of it
    # The power of the rest of a node, 40 W, is added to that of its first unit, 115 W.
    assert groups["gpu.cpu"].unit.power.full_w == 155
    assert system.nodes == 2 + 2 + 3 + 1 + 2 + 1 + 2
    single = read_system(lab_file('precision = "single"\n' + LEVELS)).group_by_name["gpu.gpu2"].unit
    assert single.speed_flops == pytest.approx(15 * 0.745e9 * 384)


def test_a_disk_is_found_on_the_node_then_in_the_lan_then_anywhere(lab_file):
    system = read_system(lab_file(LEVELS))
    groups = system.group_by_name
    found = {name: system.disks_for(groups[name]) for name in ("cd", "mem", "alone")}
    assert {name: (group.name, disk.name) for name, (group, disk) in found.items()} == {
        "cd": ("cd", "ssd-sata"),
        "mem": ("store", "lustre-galera"),
        "alone": ("store", "lustre-galera"),
    }
    example = read_system(EXAMPLE)
    assert {example.disks_for(group)[0].name for group in example.groups} == {"master"}
    none = read_system(
        lab_file('[lan]\nnetwork = "gigabit-ethernet"\n[[lan.node]]\nname = "n"\ncpu = "xeon-e5-1620"\n')
    )
    assert none.disks_for(none.groups[0]) is None


def test_disks_are_in_the_platform_file_with_their_bandwidths(lab_file):
    from lxml import etree

    root = etree.fromstring(platform_file(read_system(lab_file(LEVELS))))
    disks = {disk.get("id"): disk for disk in root.iter("disk")}
    assert list(disks) == ["store-0-lustre-galera", "store-0-ssd-sata", "cd-0-ssd-sata", "cd-1-ssd-sata"]
    assert (disks["cd-1-ssd-sata"].get("read_bw"), disks["cd-1-ssd-sata"].get("write_bw")) == (
        "540000000Bps",
        "520000000Bps",
    )
    properties = {prop.get("id"): float(prop.get("value")) for prop in disks["store-0-lustre-galera"]}
    assert properties == {"read_latency_s": 1390e-6, "write_latency_s": 270e-6}
    assert disks["cd-1-ssd-sata"].getparent().get("id") == "cd-1"


def test_runs_on_a_system_with_disks_are_not_taken_for_those_on_its_equal_without(lab_file):
    with_disks = materialise_system(read_system(lab_file(LEVELS)))
    assert part_hash(with_disks, ["mem-0"]) == with_disks.content_hash
    without = materialise_system(read_system(lab_file(MESH.replace('disks = ["ssd-sata"]\n', ""))))
    assert part_hash(without, ["one-0"]) != without.content_hash


def test_figure_1_of_the_paper_with_12800_slaves_is_quick():
    system = read_system(EXAMPLE)
    assert [(group.name, group.units, group.unit.slots) for group in system.groups] == [
        ("master", 1, (("master", 1),)),
        ("slave", 3200, (("slave1", 4),)),
    ]
    assert len(platform_file(system)) < 2000  # clusters are written as ranges, not node by node
    check_routes(system)
    # One node for each slave.
    slaves = replace(system.top.nodes[1], count=12800)
    wide = replace(system, top=replace(system.top, nodes=(system.top.nodes[0], slaves)))
    platform = materialise_system(wide)
    assert len(platform.hosts) == 12801
    (route,) = wide.routes([("master-0", "slave-12799")])
    assert route.latency_s == pytest.approx(100e-6)
    assert route.bandwidth_Bps == 125e6


# Proficz and Czarnul, section 5: nodes, cores, clock; flops per cycle as in hardware/cpus.toml; Table 3: T_p2p, K_p2p,
# and 78 + 12 x 4.84 W.
@pytest.mark.parametrize(
    ("name", "nodes", "cores", "core_flops", "p2p_us", "us_per_byte", "watts"),
    [
        ("galera+", 192, 12, 2.27e9 * 4, 3.7, 0.00063, (78, 136.08)),
        ("galera", 672, 8, 2.33e9 * 4, 1.3, 0.00132, (2 * 16, 2 * 80)),
        ("kask", 10, 4, 2.8e9 * 2, 1.3, 0.00181, (2 * 27, 2 * 135)),
    ],
)
def test_the_clusters_of_the_paper_are_scenarios(name, nodes, cores, core_flops, p2p_us, us_per_byte, watts):
    grid = named_grid(name)
    (cluster,) = grid.clusters
    assert (cluster.nodes, cluster.cores, cluster.speed_flops) == (nodes, cores, pytest.approx(core_flops))
    assert (cluster.node_power.idle_w, cluster.node_power.full_w) == watts
    (route,) = grid.routes([(f"{cluster.name}-0", f"{cluster.name}-1")])
    assert route.latency_s == pytest.approx(p2p_us * 1e-6)
    assert 1 / route.bandwidth_Bps == pytest.approx(us_per_byte * 1e-6, rel=1e-12)
    # Non-blocking: the bandwidth of both directions of all links together.
    assert cluster.backbone.bandwidth_Bps == pytest.approx(2 * nodes * route.bandwidth_Bps, rel=1e-12)
    options = dict(grid.options)
    assert (options["smpi/bw-factor"], options["smpi/lat-factor"], options["network/TCP-gamma"]) == ("0:1", "0:1", "0")
