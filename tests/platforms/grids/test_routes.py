"""Routes of generated grids and of clusters with a topology, counted by hand."""

from dataclasses import replace
from pathlib import Path

import pytest

from platforms.grids.grid import WanLink, Wire
from platforms.grids.random_grid import random_grid
from platforms.grids.scenario import named_grid, read_grid
from platforms.model.platform import Power
from platforms.read.read import materialise, read_platform, read_routes

REFERENCE = Path(__file__).parents[2] / "apps" / "data" / "platform-grid-ref.xml"


def route(path, source, destination):
    return read_routes(read_platform(path), [(source, destination)])[0]


def test_metro_with_twelve_nodes_is_the_reference_grid():
    ours = materialise(named_grid("grid4x12", "metro", [40e9, 50e9, 60e9, 70e9]))
    reference = read_platform(REFERENCE)
    assert [(h.name, h.speed_flops) for h in ours.hosts] == [(h.name, h.speed_flops) for h in reference.hosts]
    hosts = ["c1-0", "c1-11", "c2-3", "c3-0", "c4-11"]
    pairs = [(a, b) for a in hosts for b in hosts]
    for mine, theirs in zip(read_routes(ours, pairs), read_routes(reference, pairs), strict=True):
        assert mine.latency_s == theirs.latency_s  # equal to the last bit, as the text is the same
        parts = [(link.bandwidth_Bps, link.latency_s, link.sharing) for link in mine.links]
        assert parts == [(link.bandwidth_Bps, link.latency_s, link.sharing) for link in theirs.links]


def test_a_star_of_unequal_clusters_goes_through_the_hub(tmp_path):
    (tmp_path / "star.toml").write_text(
        "[[clusters]]\nnodes = 2\nspeed_gflops = 8\ncores = 4\npower = { idle_w = 10, full_w = 50 }\n"
        '[[clusters]]\nname = "far"\nnodes = 1\nspeed_gflops = 3\nnode = { latency_us = 3 }\n'
        "[[clusters]]\nnodes = 1\nspeed_gflops = 3\n"
        '[wan]\nshape = "star"\nlatency_us = 200\n'
        '[[wan.links]]\ncluster = "far"\nlatency_us = 1000\nbandwidth_gbit_s = 0.5\n'
    )
    platform = materialise(read_grid(tmp_path / "star.toml"))
    assert [host.name for host in platform.hosts] == ["c1-0", "c1-1", "far-0", "c3-0"]
    assert (platform.host("c1-1").cores, platform.host("c1-1").node_flops) == (4, 32e9)
    assert platform.host("c1-1").power == Power(idle_w=10, full_w=50, epsilon_w=10)
    # By hand, us: 50 + 50 in c1, 200 to the hub, 1000 from it, 50 + 3 in far.
    way, back = read_routes(platform, [("c1-0", "far-0"), ("far-0", "c1-0")])
    assert way.latency_s == pytest.approx(1353e-6)
    assert way.bandwidth_Bps == pytest.approx(62.5e6)
    assert [name for name in way.link_names if "wan" in name] == ["wan_c1_hub", "wan_far_hub"]
    assert [name for name in back.link_names if "wan" in name] == ["wan_far_hub", "wan_c1_hub"]
    assert route(platform.path, "c1-0", "c3-0").latency_s == pytest.approx(600e-6)


@pytest.mark.parametrize(
    ("file", "source", "destination", "links"),  # links of 50 us between them
    [
        ("crossbar", "x0", "x11", 2),  # up, down
        ("fat_tree", "t0", "t3", 2),  # below one leaf switch
        ("fat_tree", "t0", "t15", 4),  # leaf switch, core switch, leaf switch
        ("torus", "d0", "d1", 1),
        ("torus", "d0", "d11", 3),  # a step in each direction, the first one wraps around
        ("dragonfly", "f0", "f4", 3),  # the same chassis: up, green, down
    ],
)
def test_clusters_with_a_topology(data, file, source, destination, links):
    way = route(data / f"{file}.xml", source, destination)
    assert len(way.links) == links
    assert way.latency_s == pytest.approx(links * 50e-6)


def test_power_at_part_load_is_what_simgrids_plugin_charges():
    # SimGrid 3.32, host_energy: a host of 2 cores, one of them busy for 10 s, takes 1500 J with wattage_per_state
    # 100:200 and 1600 J with 100:120:200.
    assert Power(idle_w=100, full_w=200, epsilon_w=100).at_load(0.5) * 10 == pytest.approx(1500)
    assert Power(idle_w=100, full_w=200, epsilon_w=120).at_load(0.5) * 10 == pytest.approx(1600)
    assert Power(idle_w=100, full_w=200, epsilon_w=120).at_load(0) == 100


@pytest.mark.parametrize(
    "grid",
    [
        named_grid("grid3x3", "metro", [1e9, 2e9, 3e9]),
        random_grid(5, 1),
        replace(
            named_grid("grid3x2", "gigabit", [1e9] * 3),
            wan_shape="star",
            wan_links=tuple(WanLink(f"c{i}", None, Wire(1e8 * i, 1e-3)) for i in (1, 2, 3)),
        ),
        named_grid("ichikawa"),
        named_grid("ichikawa-two-switches"),  # full duplex between clusters: a link per direction
        replace(
            named_grid("grid3x2", "gigabit", [1e9] * 3),
            wan_shape="star",
            wan_links=tuple(WanLink(f"c{i}", None, Wire(1e8 * i, 1e-3), duplex=i > 1) for i in (1, 2, 3)),
        ),
    ],
)
def test_a_grid_knows_its_routes_as_simgrid_has_them(grid):
    platform = materialise(grid)
    hosts = [host.name for host in platform.hosts]
    pairs = [(a, b) for a in (hosts[0], hosts[-1]) for b in (hosts[0], hosts[1], hosts[-1], hosts[-3])]
    for ours, simgrids in zip(grid.routes(pairs), read_routes(platform, pairs), strict=True):
        assert (ours.source, ours.destination) == (simgrids.source, simgrids.destination)
        assert ours.latency_s == pytest.approx(simgrids.latency_s, rel=1e-12)
        assert ours.link_names == simgrids.link_names
        for one, other in zip(ours.links, simgrids.links, strict=True):
            assert one.sharing == other.sharing
            assert one.bandwidth_Bps == pytest.approx(other.bandwidth_Bps, rel=1e-12)
