"""Reading platforms of every kind; expected values are calculated by hand from the files in data/."""

from pathlib import Path

import pytest

from platforms.errors import PlatformError
from platforms.grids.scenario import SCENARIOS, named_grid
from platforms.model.platform import Power
from platforms.read.content import loadable
from platforms.read.read import materialise, read_platform, read_routes

REFERENCE = Path(__file__).parents[2] / "apps" / "data" / "platform-grid-ref.xml"


def shape(platform):
    return {cluster.name: (len(cluster.hosts), cluster.speed_flops, cluster.cores) for cluster in platform.clusters}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("two_hosts", {"world": (2, 2e9, 1)}),
        ("crossbar", {"xbar": (12, 1e9, 2)}),
        ("fat_tree", {"tree": (16, 1e9, 1)}),
        ("torus", {"donut": (12, 1e9, 1)}),
        ("dragonfly", {"fly": (60, 1e9, 1)}),
        ("floyd", {"path": (3, 1e9, 1)}),
        ("dijkstra", {"path": (3, 1e9, 1)}),
        ("peers", {"internet": (2, 1e9, 1)}),
        ("profiled", {"world": (2, 2e9, 1)}),
        ("nested", {"north": (2, 1e9, 4), "south": (1, 3e9, 1), "farm": (3, 5e9, 1)}),
        # A zone of several kinds of hosts is split: 1 Gflop/s, 2 Gflop/s, and 1 Gflop/s with 8 cores.
        ("mixed_zone", {"lab.1": (2, 1e9, 1), "lab.2": (1, 2e9, 1), "lab.3": (1, 1e9, 8)}),
    ],
)
def test_zones_with_hosts_are_clusters(data, name, expected):
    assert shape(read_platform(data / f"{name}.xml")) == expected


def test_hosts_come_in_the_order_of_the_file(data):
    names = [host.name for host in read_platform(data / "nested.xml").hosts]
    assert names == ["n10", "n9", "s1", "farm-0.org", "farm-1.org", "farm-7.org"]


def test_watts_are_those_of_the_first_state(data):
    platform = read_platform(data / "nested.xml")
    assert platform.host("s1").power == Power(idle_w=95, epsilon_w=120, full_w=200)
    assert platform.host("n9").power is None


def test_options_of_a_platform_are_known(data):
    assert dict(read_platform(data / "nested.xml").options) == {
        "smpi/lat-factor": "0:1",
        "network/crosstraffic": "no",
    }


def config(**options):
    props = "".join(f'<prop id="{key}" value="{value}"/>' for key, value in options.items())
    return (
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
        f'<config>{props}</config><zone id="z" routing="Full"><host id="a" speed="1Gf"/></zone></platform>'
    )


def test_options_of_mpi_programs_are_known_too(tmp_path):
    options = {"smpi/os": "0:1e-6:0", "smpi/coll-selector": "ompi", "smpi/async-small-thresh": "65536"}
    (tmp_path / "mpi.xml").write_text(config(**options))
    assert dict(read_platform(tmp_path / "mpi.xml").options) == options


def test_an_option_that_simgrid_does_not_have_is_refused(tmp_path):
    (tmp_path / "mpi.xml").write_text(config(**{"smpi/no-such-option": "1"}))
    with pytest.raises(PlatformError, match="Bad config key: smpi/no-such-option"):
        read_platform(tmp_path / "mpi.xml")


@pytest.mark.parametrize(
    ("name", "ends", "latency_s", "bandwidth_Bps"),
    [
        ("two_hosts", ("alice", "bob"), 10e-6, 12.5e6),
        ("crossbar", ("x0", "x5"), 2 * 50e-6, 125e6),  # up and down
        ("floyd", ("a", "c"), 30e-6, 12.5e6),
        ("dijkstra", ("a", "c"), 30e-6, 12.5e6),
        ("nested", ("n9", "s1"), 20e-6 + 100e-6, 125e6),  # within the city, through the gateway n10
        ("peers", ("here", "there"), 7e-3, 0.25e6),  # distance 5 + heights 2, in ms; uploads at 2 Mbit/s
    ],
)
def test_routes_are_those_of_simgrid(data, name, ends, latency_s, bandwidth_Bps):
    (route,) = read_routes(read_platform(data / f"{name}.xml"), [ends])
    assert (route.source, route.destination) == ends
    assert route.latency_s == pytest.approx(latency_s, rel=1e-9)
    assert route.bandwidth_Bps == pytest.approx(bandwidth_Bps, rel=1e-9)


def test_reference_grid_routes_cross_node_links_backbones_and_the_wide_area():
    to_self, near, far = read_routes(read_platform(REFERENCE), [("c1-0", "c1-0"), ("c1-0", "c1-1"), ("c1-0", "c3-0")])
    # By hand: 50 us per node link and backbone, 1 ms between clusters.
    assert [route.latency_s for route in (to_self, near, far)] == pytest.approx([150e-6, 150e-6, 1.2e-3])
    assert [len(route.links) for route in (to_self, near, far)] == [3, 3, 5]


@pytest.mark.parametrize("name", SCENARIOS)
def test_generated_scenarios_are_read_back(name):
    grid = named_grid(name)
    platform = materialise(grid)
    assert platform.name == name
    assert platform.network == "gigabit"
    assert shape(platform) == {c.name: (c.nodes, c.speed_flops, 1) for c in grid.clusters}


def test_generated_nodes_take_the_published_power():
    # The scenarios' authors publish 4 W static and 20 W dynamic power at 40 Gflop/s, 5 W and 25 W at 50 Gflop/s.
    platform = materialise(named_grid("grid4x2"))
    assert platform.host("c1-0").power == Power(idle_w=4, epsilon_w=4, full_w=24)
    assert platform.host("c2-0").power == Power(idle_w=5, epsilon_w=5, full_w=30)


def test_equal_grids_are_one_platform_and_others_are_not():
    hashes = [materialise(named_grid("grid4x2", net)).content_hash for net in ("gigabit", "gigabit", "metro")]
    assert hashes[0] == hashes[1] != hashes[2]


def test_a_profile_belongs_to_the_identity_of_a_platform(data, tmp_path):
    for name in ("profiled.xml", "busy.profile"):
        (tmp_path / name).write_bytes((data / name).read_bytes())
    before = read_platform(tmp_path / "profiled.xml").content_hash
    (tmp_path / "busy.profile").write_text("0.0 1.0\n10.0 0.25\n")
    assert read_platform(tmp_path / "profiled.xml").content_hash != before


def test_a_compiled_platform_is_read_like_a_file(racks):
    assert shape(read_platform(racks)) == {"left": (3, 4e9, 2), "right": (2, 6e9, 2)}
    (route,) = read_routes(read_platform(racks), [("left0", "right1")])
    assert route.latency_s == pytest.approx(2 * 30e-6 + 1e-3)  # both node links and the wide area


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no_hosts", "has no hosts"),
        ("bad_unit", "SimGrid says: .*parsecs"),
        ("absent", "no such file"),
    ],
)
def test_a_platform_that_cannot_be_used_is_refused_in_one_line(data, name, said):
    with pytest.raises(PlatformError, match=said) as error:
        read_platform(data / f"{name}.xml")
    assert "\n" not in str(error.value)


def test_text_that_is_no_platform_is_refused(tmp_path):
    (tmp_path / "letter.xml").write_text("Dear SimGrid,\n")
    with pytest.raises(PlatformError, match=r"letter\.xml:1: not XML that can be read: syntax error"):
        read_platform(tmp_path / "letter.xml")


def test_empty_lines_before_the_declaration_are_read_as_simgrid_does(data, tmp_path):
    late = tmp_path / "late.xml"
    late.write_text("\n \n" + (data / "nested.xml").read_text())
    found = read_platform(late)
    assert shape(found) == shape(read_platform(data / "nested.xml"))
    assert loadable(found).read_bytes() == (data / "nested.xml").read_bytes()
    late.write_text("\n\nDear SimGrid,\n")
    with pytest.raises(PlatformError, match=r"late\.xml:3: not XML"):
        read_platform(late)


def test_a_missing_route_is_said_with_its_ends(data):
    with pytest.raises(PlatformError, match="route alice to bob"):
        read_routes(read_platform(data / "no_route.xml"), [("alice", "bob")])


def test_an_unknown_host_is_said_with_near_matches(data):
    with pytest.raises(PlatformError, match="alice"):
        read_routes(read_platform(data / "two_hosts.xml"), [("alicia", "bob")])
