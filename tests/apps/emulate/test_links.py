"""Links and paths of a grid to emulate, by hand."""

import pytest

from apps.emulate.running import description, emulated_links
from apps.emulate.settings import FREE, TURNS, Settings, slowed_down
from apps.errors import OptionError
from platforms.errors import PlatformError
from platforms.grids.scenario import named_grid, read_grid

FREE_GRID = "examples/emulation/free.toml"


def names(emulated, source, destination):
    return [emulated.links[number].name for number in emulated.paths[source, destination]]


def test_a_packet_between_clusters_crosses_both_nodes_both_backbones_and_both_links_to_the_hub():
    emulated = emulated_links(read_grid(FREE_GRID))
    assert names(emulated, "c1-0", "c4-1") == [
        *("c1_link_0_UP", "c1_backbone", "wan_c1_hub_UP", "wan_c4_hub_DOWN", "c4_backbone", "c4_link_1_DOWN"),
    ]
    # By hand: 250 us of each node and 1000 us of each link to the hub; the slowest of them have 100 Mbit/s.
    assert emulated.delay_s("c1-0", "c4-1") == pytest.approx(2 * 250e-6 + 2 * 1000e-6)
    assert emulated.rate_bit_s("c1-0", "c4-1") == pytest.approx(100e6)


def test_within_a_cluster_there_are_only_the_nodes_and_their_backbone():
    emulated = emulated_links(read_grid("examples/emulation/wan10.toml"))
    assert names(emulated, "c2-1", "c2-0") == ["c2_link_1_UP", "c2_backbone", "c2_link_0_DOWN"]
    assert emulated.delay_s("c2-1", "c2-0") == pytest.approx(500e-6)
    # The two grids differ between clusters only: 2 x 250 us + 2 x 5 ms, 50 Mbit/s.
    assert emulated.delay_s("c2-1", "c3-0") == pytest.approx(10.5e-3)
    assert emulated.rate_bit_s("c2-1", "c3-0") == pytest.approx(50e6)


def test_the_directions_of_a_wide_area_link_are_two_links_only_if_it_is_duplex():
    shared = emulated_links(named_grid("grid4x2"))
    assert names(shared, "c1-0", "c2-0")[2] == names(shared, "c2-1", "c1-1")[2] == "wan_c1_c2"
    duplex = emulated_links(read_grid(FREE_GRID))
    assert names(duplex, "c1-0", "c2-0")[2:4] == ["wan_c1_hub_UP", "wan_c2_hub_DOWN"]
    assert names(duplex, "c2-0", "c1-0")[2:4] == ["wan_c2_hub_UP", "wan_c1_hub_DOWN"]


def test_slow_motion_divides_rates_and_speeds_and_multiplies_delays():
    grid = read_grid(FREE_GRID)
    slow = slowed_down(grid, 20.0)
    assert emulated_links(slow).rate_bit_s("c1-0", "c1-1") == pytest.approx(5e6)
    assert emulated_links(slow).delay_s("c1-0", "c2-0") == pytest.approx(50e-3)
    assert Settings().node_speeds(slow)["c4-0"] == pytest.approx(3.5e9 / 20)


def test_the_free_pace_gives_nodes_their_share_of_a_core():
    speeds = Settings(FREE, 40e9).node_speeds(read_grid(FREE_GRID))
    assert [speeds[host] for host in ("c1-0", "c2-0", "c3-0", "c4-1")] == [0.05, 0.0625, 0.075, 0.0875]


def test_the_description_numbers_nodes_from_the_front_and_links_from_zero():
    lines = description(read_grid(FREE_GRID), 0).splitlines()
    nodes = [line.split() for line in lines if line.startswith("node ")]
    assert nodes[0] == ["node", "front", "198.18.0.1", "0"]
    assert nodes[8] == ["node", "c4-1", "198.18.0.9", "1"]
    links = [line.split()[1] for line in lines if line.startswith("link ")]
    # By hand: 8 nodes with 2 directions, 4 backbones, 4 links to the hub with 2 directions, and the front's.
    assert len(links) == 8 * 2 + 4 + 4 * 2 + 1
    assert {line.split()[4] for line in lines if line.startswith("link ")} == {"fifo"}
    in_turn = [line.split()[1] for line in description(read_grid(FREE_GRID), 0, TURNS).splitlines() if "turns" in line]
    assert len(in_turn) == 8 and all(name.endswith("_UP") and not name.startswith("wan") for name in in_turn)
    path = next(line.split()[3:] for line in lines if line.startswith("path 1 8 "))
    assert [links[int(number)] for number in path][2] == "wan_c1_hub_UP"
    # All pairs of 8 nodes, and each of them with the front in both directions.
    assert sum(line.startswith("path ") for line in lines) == 8 * 7 + 2 * 8


def test_grids_that_cannot_be_emulated_are_refused():
    with pytest.raises(PlatformError, match="32 nodes"):
        Settings().check(named_grid("grid4x8"))
    with pytest.raises(PlatformError, match="need 11 of one processor"):
        Settings(FREE, 40e9).check(named_grid("grid4x2"))  # 2 x (40 + 50 + 60 + 70) / 40
    Settings(FREE, 40e9).check(read_grid(FREE_GRID))  # 22 / 40
    with pytest.raises(OptionError, match="not a factor"):
        slowed_down(named_grid("grid4x2"), 0.5)
    with pytest.raises(OptionError, match="does not go with --pace counted"):
        Settings("counted", 40e9)
