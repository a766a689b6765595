import tomllib
from pathlib import Path

import pytest

import platforms.grids.scenario
from platforms.errors import PlatformError
from platforms.grids.grid import default_power
from platforms.grids.network import named_network, network_names
from platforms.grids.scenario import NAMED, SCENARIOS, named_grid, read_grid


# Fanfakh 2019, Table 1: scenario, clusters, total nodes, Gflops of each node in cluster 1, 2, ...
@pytest.mark.parametrize(
    ("name", "clusters", "total_nodes", "gflops"),
    [
        ("grid4x2", 4, 8, [40, 50, 60, 70]),
        ("grid4x4", 4, 16, [40, 50, 60, 70]),
        ("grid4x8", 4, 32, [40, 50, 60, 70]),
        ("grid3x9", 3, 27, [35, 45, 55]),
        ("grid3x12", 3, 36, [35, 45, 55]),
        ("grid3x16", 3, 48, [35, 45, 55]),
    ],
)
def test_the_named_scenarios_are_those_of_the_paper(name, clusters, total_nodes, gflops):
    grid = named_grid(name)
    assert len(grid.clusters) == clusters
    assert sum(cluster.nodes for cluster in grid.clusters) == total_nodes
    assert [cluster.speed_flops for cluster in grid.clusters] == [g * 1e9 for g in gflops]
    assert {cluster.cores for cluster in grid.clusters} == {1}
    assert grid.network == "gigabit"


def test_the_scenarios_come_in_the_order_of_the_paper():
    assert SCENARIOS == ("grid4x2", "grid4x4", "grid4x8", "grid3x9", "grid3x12", "grid3x16")


def test_every_scenario_has_exactly_the_keys_that_are_read():
    table = tomllib.loads(Path(platforms.grids.scenario.__file__).with_name("scenarios.toml").read_text("utf-8"))
    assert all(set(table[name]) == {"nodes", "speeds_gflops"} for name in SCENARIOS)
    assert all(named_grid(name) for name in NAMED)  # the others are read as scenario files, which refuse unknown keys


# Li, Wang and Gaudiot, Table 1: cluster, nodes, clock; flops per cycle as in scenarios.toml.
@pytest.mark.parametrize(("name", "nodes", "clock_hz", "flops"), [("li-1", 16, 433e6, 1), ("li-2", 8, 1.6e9, 2)])
def test_the_machines_of_li_are_one_cluster_on_fast_ethernet(name, nodes, clock_hz, flops):
    grid = named_grid(name)
    (cluster,) = grid.clusters
    assert (cluster.nodes, cluster.speed_flops) == (nodes, pytest.approx(clock_hz * flops))
    assert (grid.network, cluster.node.bandwidth_Bps) == ("fast-ethernet", 12.5e6)
    assert named_grid(name, "ideal").network == "ideal"
    with pytest.raises(PlatformError, match="its speeds are those of the machine"):
        named_grid(name, speeds_flops=[1e9])


def test_full_frames_of_fast_ethernet_carry_1448_bytes_in_1538_byte_times():
    # 1500 - 20 (IP) - 20 (TCP) - 12 (its time stamps); 1500 + 14 + 4 + 8 + 12 (header, check sum, preamble, gap).
    assert float(dict(named_network("fast-ethernet").options)["smpi/bw-factor"].split(":")[1]) == pytest.approx(
        (1500 - 20 - 20 - 12) / (1500 + 14 + 4 + 8 + 12), rel=1e-6
    )


def test_any_grid_can_be_named_when_speeds_are_given():
    grid = named_grid("grid2x5", "metro", [1e9, 3e9])
    assert [(c.name, c.nodes, c.speed_flops) for c in grid.clusters] == [("c1", 5, 1e9), ("c2", 5, 3e9)]
    assert grid.clusters[1].host_names == ("c2-0", "c2-1", "c2-2", "c2-3", "c2-4")
    # A mesh of 2 clusters: 1 link; metro's WAN is 10 Gbit/s, 1 ms.
    (link,) = grid.wan_links
    assert (link.first, link.second, link.wire.bandwidth_Bps, link.wire.latency_s) == ("c1", "c2", 1.25e9, 1e-3)


def test_one_cluster_needs_no_wide_area_link():
    assert named_grid("grid1x4", speeds_flops=[1e9]).wan_links == ()


@pytest.mark.parametrize(
    ("network", "node", "backbone", "wan"),  # (Gbit/s, us) of each kind of link
    [
        ("gigabit", (1, 50), (10, 50), (10, 100)),
        ("metro", (1, 50), (10, 50), (10, 1000)),
        ("continental", (1, 50), (10, 50), (10, 5000)),
        ("infiniband", (40, 1.5), (400, 1), (100, 10)),
        ("fast-ethernet", (0.1, 25), (4.8, 10), (1, 50)),
    ],
)
def test_the_networks_have_the_links_they_are_documented_with(network, node, backbone, wan):
    found = named_network(network)
    for wire, (gbit_s, us) in zip((found.node, found.backbone, found.wan), (node, backbone, wan), strict=True):
        assert wire.bandwidth_Bps == pytest.approx(gbit_s * 1e9 / 8, rel=1e-15)
        assert wire.latency_s == pytest.approx(us * 1e-6, rel=1e-15)
    assert found.source


def test_ethernet_networks_leave_simgrid_as_it_is():
    # The reference times of metro were taken with SimGrid's defaults.
    assert all(named_network(name).options == () for name in ("gigabit", "metro", "continental"))


def test_network_names_are_listed_with_the_default_first():
    assert network_names() == ("gigabit", "metro", "continental", "infiniband", "fast-ethernet", "ideal")


def test_power_is_proportional_to_speed_as_published():
    # The scenarios' authors publish 20 W dynamic and 4 W static power at 40 Gflop/s, 25 W and 5 W at 50 Gflop/s.
    for gflops, dynamic_w, static_w in ((40, 20, 4), (50, 25, 5)):
        power = default_power(gflops * 1e9)
        assert power.idle_w == pytest.approx(static_w)
        assert power.full_w == pytest.approx(static_w + dynamic_w)


@pytest.mark.parametrize(
    ("name", "network", "speeds", "said"),
    [
        ("grid5x9", "gigabit", None, "--speeds"),
        ("grid4x2", "gigabit", [1e9, 2e9], "2 speeds for 4 clusters"),
        ("grd4x8", "gigabit", None, "grid4x2, grid4x4, grid4x8, grid3x9, grid3x12, grid3x16"),
        ("grid0x4", "gigabit", [], "no such scenario"),
        ("grid2x0", "gigabit", [1e9, 1e9], "no such scenario"),
        ("grid4x8", "megabit", None, "gigabit, metro, continental, infiniband, fast-ethernet, ideal"),
        ("grid1x1", "gigabit", [-1e9], "speed is -1000000000.0 flop/s"),
        ("grid1x1", "gigabit", [float("nan")], "speed is nan"),
    ],
)
def test_a_name_that_does_not_fit_is_refused_with_what_to_do(name, network, speeds, said):
    with pytest.raises(PlatformError) as error:
        named_grid(name, network, speeds)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


LAB = """
network = "gigabit"
[[clusters]]
nodes = 3
speed_gflops = 40
cores = 4
[[clusters]]
name = "old"
nodes = 1
speed_gflops = 10.5
node = { bandwidth_gbit_s = 0.1 }
backbone = { latency_us = 7 }
power = { idle_w = 30, full_w = 45 }
[[clusters]]
nodes = 2
speed_gflops = 20
[wan]
latency_us = 2000
[[wan.links]]
between = ["c3", "old"]
bandwidth_gbit_s = 0.5
[options]
"network/crosstraffic" = "no"
"""


def test_a_scenario_file_overrides_only_what_it_names(lab_file):
    grid = read_grid(lab_file(LAB))
    first, old, third = grid.clusters
    assert grid.name == "lab"
    assert (first.name, first.nodes, first.cores, first.speed_flops) == ("c1", 3, 4, 40e9)
    # Gigabit: 1 Gbit/s = 125e6 byte/s and 50 us for nodes; 10 Gbit/s and 50 us for backbones.
    assert (first.node.bandwidth_Bps, first.node.latency_s) == (125e6, 50e-6)
    assert (old.node.bandwidth_Bps, old.node.latency_s) == (12.5e6, 50e-6)
    assert (old.backbone.bandwidth_Bps, old.backbone.latency_s) == (1.25e9, 7e-6)
    # By hand: 4 cores of 40 Gflop/s, 0.1 W and 0.1 + 0.5 W per Gflop/s of the node.
    assert (first.node_power.idle_w, first.node_power.full_w) == (pytest.approx(16), pytest.approx(96))
    assert (old.node_power.idle_w, old.node_power.full_w) == (30, 45)
    assert third.name == "c3"
    wires = {(link.first, link.second): (link.wire.bandwidth_Bps, link.wire.latency_s) for link in grid.wan_links}
    assert wires == {("c1", "old"): (1.25e9, 2e-3), ("c1", "c3"): (1.25e9, 2e-3), ("old", "c3"): (62.5e6, 2e-3)}
    assert grid.options == (("network/crosstraffic", "no"),)


def test_a_star_has_one_link_per_cluster(lab_file):
    text = LAB.replace("[wan]", '[wan]\nshape = "star"').replace('between = ["c3", "old"]', 'cluster = "old"')
    grid = read_grid(lab_file(text))
    assert [(link.first, link.second) for link in grid.wan_links] == [("c1", None), ("old", None), ("c3", None)]
    assert [link.wire.bandwidth_Bps for link in grid.wan_links] == [1.25e9, 62.5e6, 1.25e9]
    assert [(link.first, forward) for link, forward in grid.wan_route("c3", "old")] == [("c3", True), ("old", False)]


def test_a_network_given_by_the_caller_replaces_that_of_the_file(lab_file):
    grid = read_grid(lab_file(LAB), "continental")
    assert grid.network == "continental"
    text = LAB.replace("latency_us = 2000\n", "")
    assert read_grid(lab_file(text), "continental").wan_links[0].wire.latency_s == 5e-3


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("cores = 4", "core = 4", "lab.toml:6, clusters 1: unknown key 'core'. Did you mean cores?"),
        ("cores = 4", "core = 4", "name, nodes, speed_gflops, cores, node, backbone, power"),
        ("latency_us = 7", "delay = 7", "clusters 2, backbone: unknown key 'delay'"),
        ("nodes = 3\n", "", "clusters 1: 'nodes' is missing"),
        ("nodes = 3", "nodes = 0", "cluster 'c1': 0 nodes"),
        ("nodes = 3", "nodes = 2.5", "nodes = 2.5 is not a whole number"),
        ("nodes = 3", "nodes = true", "nodes = True is not a whole number"),
        ("speed_gflops = 10.5", 'speed_gflops = "fast"', "speed_gflops = 'fast' is not a number"),
        ("speed_gflops = 10.5", "speed_gflops = nan", "speed is nan"),
        ("cores = 4", "cores = 0", "0 cores"),
        ("bandwidth_gbit_s = 0.1", "bandwidth_gbit_s = 0", "bandwidth is 0.0 byte/s"),
        ("latency_us = 7", "latency_us = -1", "latency is"),
        ("full_w = 45", "full_w = 5", "30.0 W idle and 5.0 W at full load"),
        (", full_w = 45", "", "clusters 2, power: 'full_w' is missing"),
        ('"old"', '"c1"', "'c1' is used twice"),
        ('"old"', '"c1-2"', "'c1-2' is used twice"),
        ('"old"', '"grid"', "'grid' is used twice"),
        ('"old"', '"my <cluster>"', "not a name that SimGrid can use"),
        ('["c3", "old"]', '["c3", "odl"]', "no cluster 'odl'. Known: c1, old, c3"),
        ('["c3", "old"]', '["old", "old"]', "both ends are the same cluster"),
        ('["c3", "old"]', '["old"]', "not a list of 2 texts"),
        ('between = ["c3", "old"]', 'cluster = "old"', "'cluster' does not go with a mesh"),
        ("[wan]", '[wan]\nshape = "ring"', "no shape 'ring'. Known: mesh, star"),
        ("[wan]", '[wan]\nshape = "star"', "'between' does not go with a star"),
        ("[options]", '[[wan.links]]\nbetween = ["old", "c3"]\n[options]', "this link is given twice"),
        ('"network/crosstraffic" = "no"', '"network/crosstraffic" = false', "not a table of texts"),
        ('network = "gigabit"', 'network = "giga"', "network 'giga'"),
        ('network = "gigabit"', "network = gigabit", "not TOML"),
        (
            'network = "gigabit"',
            'netwrk = "gigabit"',
            "unknown key 'netwrk'. Did you mean network? Known here: name, network, clusters",
        ),
    ],
)
def test_a_scenario_file_with_a_fault_is_refused_naming_it(lab_file, old, new, said):
    assert old in LAB
    with pytest.raises(PlatformError) as error:
        read_grid(lab_file(LAB.replace(old, new)))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_scenario_file_without_clusters_or_that_is_absent_is_refused(lab_file, tmp_path):
    with pytest.raises(PlatformError, match=r"no \[\[clusters\]\]"):
        read_grid(lab_file('network = "metro"'))
    with pytest.raises(PlatformError, match="cannot be read: No such file"):
        read_grid(tmp_path / "none.toml")
    with pytest.raises(PlatformError, match="cannot be read: Is a directory"):
        read_grid(tmp_path)


def test_the_cluster_of_ichikawa_is_that_of_its_table_iv():
    grid = named_grid("ichikawa")
    # Ichikawa, Takahashi, Kawai, Table IV: 8 Pentium 4 at 3.6 GHz, 16 Xeon at 2.8 GHz, 8 Celeron M at 1.5 GHz.
    assert [(c.name, c.nodes) for c in grid.clusters] == [("pentium4", 8), ("xeon", 16), ("celeron", 8)]
    assert [c.speed_flops for c in grid.clusters] == [2 * 3.6e9, 2 * 2.8e9, 1.5 * 1.5e9]
    # One wire-speed switch: all pairs are equal, and only the nodes' own links can be saturated.
    pairs = [("pentium4-0", "pentium4-1"), ("xeon-3", "celeron-7"), ("celeron-0", "celeron-1")]
    for route in grid.routes(pairs):
        assert route.latency_s == pytest.approx(30e-6)
        assert [link.name for link in route.links if link.bandwidth_Bps == route.bandwidth_Bps] == [
            route.links[0].name,
            route.links[-1].name,
        ]


def test_two_directions_of_a_duplex_link_do_not_share_it(lab_file):
    text = "[[clusters]]\nnodes = 2\nspeed_gflops = 1\n" * 2 + "[wan]\nduplex = true\n"
    grid = read_grid(lab_file(text))
    there, back = grid.routes([("c1-0", "c2-0"), ("c2-0", "c1-0")])
    assert "wan_c1_c2_UP" in there.link_names and "wan_c1_c2_DOWN" in back.link_names
    with pytest.raises(PlatformError, match="duplex = 1 is not true or false"):
        read_grid(lab_file(text.replace("true", "1")))
