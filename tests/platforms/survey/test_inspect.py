"""The description of a platform: latencies and bandwidths calculated by hand from its file, and unusual properties."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from platforms.grids.scenario import named_grid
from platforms.read.read import materialise, read_platform
from platforms.show.cli import main
from platforms.show.inspection import inspect
from platforms.survey import bandwidth_text, evenly, groups_of, survey

ROOT = Path(__file__).parents[3]
CAMPUS = ROOT / "examples" / "platforms" / "campus.xml"
HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">'


@pytest.fixture
def platform_of(tmp_path):
    """``platform_of(xml)``: the platform of these zones."""

    def write(xml):
        (tmp_path / "own.xml").write_text(f"{HEAD}{xml}</platform>")
        return read_platform(tmp_path / "own.xml")

    return write


def table(found):
    return {
        pair: (one.latency_s.low, one.latency_s.high, one.bandwidth_Bps.low, one.bandwidth_Bps.high)
        for pair, one in found.between.items()
    }


def kinds(found):
    return {note.kind: note for note in found.notes}


# By hand: node links and backbone of old 25 + 10 + 25 us; of new 5 + 5; cables 40; fibre 200 us, copper 1 ms.
CAMPUS_ROUTES = {
    ("old", "old"): (60e-6, 1e9),
    ("old", "new"): (25e-6 + 10e-6 + 200e-6 + 5e-6, 1e9),
    ("old", "lab.1"): (40e-6 + 1e-3 + 10e-6 + 25e-6, 0.5e9),
    ("old", "lab.2"): (40e-6 + 1e-3 + 10e-6 + 25e-6, 0.1e9),
    ("new", "new"): (10e-6, 10e9),
    ("new", "lab.1"): (40e-6 + 1e-3 + 200e-6 + 5e-6, 0.5e9),
    ("new", "lab.2"): (40e-6 + 1e-3 + 200e-6 + 5e-6, 0.1e9),
    ("lab.1", "lab.1"): (80e-6, 1e9),
    ("lab.1", "lab.2"): (80e-6, 0.1e9),
}


def test_latency_and_bandwidth_are_those_of_the_links_in_the_file():
    found = table(inspect(read_platform(CAMPUS)))
    assert found.keys() == CAMPUS_ROUTES.keys()
    for pair, (latency_s, bits_per_s) in CAMPUS_ROUTES.items():
        assert found[pair] == pytest.approx((latency_s, latency_s, bits_per_s / 8, bits_per_s / 8)), pair


def test_a_torus_has_near_and_far_hosts(data):
    # torus.xml has 3 x 2 x 2 hosts with links of 50 us; routes have one step, up to one along each dimension.
    found = inspect(read_platform(data / "torus.xml")).between["donut", "donut"]
    assert (found.looked_at, found.missing) == (12 * 11, 0)
    assert (found.latency_s.low, found.latency_s.high) == pytest.approx((50e-6, 150e-6))
    # Of the 11 other hosts, 2 + 1 + 1 are one step away, 2 + 2 + 1 two steps, and 2 three steps.
    assert found.latency_s.mean == pytest.approx((4 * 50e-6 + 5 * 100e-6 + 2 * 150e-6) / 11)


@pytest.mark.parametrize("network", ["gigabit", "continental"])
def test_a_generated_grid_is_what_its_links_make_it(network):
    grid = named_grid("grid4x2", network)
    found = table(inspect(materialise(grid)))
    for first, second in found:
        (route,) = grid.routes([(f"{first}-0", f"{second}-{int(first == second)}")])
        expected = (route.latency_s, route.latency_s, route.bandwidth_Bps, route.bandwidth_Bps)
        assert found[first, second] == pytest.approx(expected)


def test_zones_are_told_as_they_nest():
    root = survey(read_platform(CAMPUS)).root
    assert [(depth, zone.name, zone.routing, len(zone.hosts), zone.routers) for depth, zone in root.walk()] == [
        (0, "campus", "Full", 0, 0),
        (1, "old", "Star", 8, 1),
        (1, "new", "Star", 4, 1),
        (1, "lab", "Floyd", 3, 1),
    ]


@pytest.mark.parametrize(
    ("name", "routing"),
    [
        ("fat_tree", "FatTree"),
        ("torus", "Torus"),
        ("dragonfly", "Dragonfly"),
        ("peers", "Vivaldi"),
        ("dijkstra", "Dijkstra"),
    ],
)
def test_the_kind_of_routing_is_named(data, name, routing):
    assert survey(read_platform(data / f"{name}.xml")).root.routing == routing


def test_many_clusters_are_put_together_zone_by_zone(data):
    platform = read_platform(data / "nested.xml")
    looked_at = survey(platform)
    assert [group.name for group in groups_of(platform, looked_at, 3)] == ["north", "south", "farm"]
    city, farm = groups_of(platform, looked_at, 2)
    assert [cluster.name for cluster in city.clusters] == ["north", "south"]
    assert (city.name, city.zones, farm.name) == ("city", ("country", "city"), "farm")


def test_many_clusters_of_one_zone_are_put_together_in_order():
    platform = materialise(named_grid("grid5x1", speeds_flops=[1e9] * 5))
    assert [g.name for g in groups_of(platform, survey(platform), 3)] == ["c1 to c2", "c3 to c4", "c5"]


def test_large_clusters_are_sampled_from_the_first_host_to_the_last():
    platform = materialise(named_grid("grid2x300", speeds_flops=[1e9, 2e9]))
    looked_at = survey(platform)
    assert looked_at.checked == 600  # routes between each host and the first one of its cluster
    assert {names[0] for names in looked_at.inside} == {"c1-0", "c2-0"}
    assert {names[-1] for names in looked_at.inside} == {"c1-299", "c2-299"}
    assert len(looked_at.routes) < 3000


# --- unusual properties ---


def test_hosts_without_a_way_to_others_are_named(data):
    found = inspect(read_platform(data / "no_route.xml"))
    assert kinds(found)["no route"].names == ("alice", "bob")
    assert found.between["world", "world"].latency_s is None


def test_one_host_without_a_route_among_many_is_found(platform_of):
    joined = [i for i in range(40) if i != 23]
    links = "".join(f'<link id="l{i}" bandwidth="1GBps" latency="1us"/>' for i in joined)
    cables = "".join(f'<route src="h{i}" dst="hub"><link_ctn id="l{i}"/></route>' for i in joined)
    hosts = "".join(f'<host id="h{i}" speed="1Gf"/>' for i in range(40))
    found = inspect(platform_of(f'<zone id="world" routing="Floyd">{hosts}<router id="hub"/>{links}{cables}</zone>'))
    assert kinds(found)["no route"].names == ("h23",)


def test_zones_that_nothing_joins_are_named(platform_of):
    zones = "".join(
        f'<cluster id="{n}" prefix="{n}" suffix="" radical="0-2" speed="1Gf" bw="1GBps" lat="1us"/>' for n in "ab"
    )
    found = inspect(platform_of(f'<zone id="world" routing="Full">{zones}</zone>'))
    assert kinds(found)["no route"].names == ("a and b",)
    assert found.between["a", "b"].missing == found.between["a", "b"].looked_at == 2 * 3 * 3
    assert found.between["a", "a"].missing == 0


def test_routes_that_differ_with_the_direction_are_counted(platform_of):
    ways = "".join(
        f'<route src="{a}" dst="{b}" symmetrical="NO"><link_ctn id="{link}"/></route>'
        for a, b, link in (("x", "y", "fast"), ("y", "x", "slow"))
    )
    found = inspect(
        platform_of(
            '<zone id="world" routing="Full"><host id="x" speed="1Gf"/><host id="y" speed="1Gf"/>'
            '<link id="fast" bandwidth="1GBps" latency="1us"/><link id="slow" bandwidth="1MBps" latency="9us"/>'
            f"{ways}</zone>"
        )
    )
    one = found.between["world", "world"]
    assert (one.looked_at, one.asymmetric, one.bandwidth_Bps.low, one.bandwidth_Bps.high) == (2, 1, 1e6, 1e9)
    assert "asymmetric" in kinds(found)


def test_a_profile_is_said(data):
    note = kinds(inspect(read_platform(data / "profiled.xml")))["profile"]
    assert note.names == ("busy",)
    assert "speed" in note.text


def test_a_zone_of_several_kinds_and_single_hosts_are_said(data):
    found = kinds(inspect(read_platform(data / "mixed_zone.xml")))
    assert found["several kinds"].names == ("lab",)
    assert found["single host"].names == ("lab.2", "lab.3")


def test_routes_without_links_and_slow_starts_are_said(platform_of):
    hosts = "".join(
        f'<host id="h{i}" speed="1Gf,2Gf" coordinates="{3 * i}.0 0.0 1.0"/>' for i in range(2)
    )  # 3 ms apart, and a height of 1 ms each
    found = inspect(platform_of(f'<zone id="world" routing="Vivaldi">{hosts}</zone>'))
    one = found.between["world", "world"]
    assert one.latency_s.low == pytest.approx(5e-3)
    assert one.bandwidth_Bps.low == float("inf")
    assert {"no links", "level"} <= kinds(found).keys()


# --- the command ---


def test_json_holds_everything_in_si_units(capsys):
    assert main([str(CAMPUS), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["name"], shown["hosts"], shown["cores"]) == ("campus", 15, 8 + 4 * 4 + 3)
    old, new, lab, desk = shown["clusters"]
    assert (old["hosts"], old["speed_flops"], old["power"]["full_w"]) == ([f"old-{i}" for i in range(8)], 20e9, 110)
    assert ([level["speed_flops"] for level in new["levels"]], new["cores"], new["memory_Bps"]) == (
        [45e9, 30e9],
        4,
        77e9,
    )
    assert (lab["hosts"], desk["hosts"], desk["zones"]) == (["desk-0", "desk-1"], ["desk-2"], ["lab"])
    assert old["to_itself"]["links"] == ["old_link_0_UP", "old_backbone", "old_link_0_DOWN"]
    assert [zone["routing"] for zone in shown["zones"]["zones"]] == ["Star", "Star", "Floyd"]
    fibre = next(one for one in shown["connections"] if (one["first"], one["second"]) == ("old", "new"))
    assert fibre["latency_s"]["mean"] == pytest.approx(240e-6)
    assert fibre["looked_at"] == 2 * 4 * 4


def test_infinite_bandwidths_are_null_in_json(data, tmp_path, capsys):
    (tmp_path / "far.xml").write_text(
        f'{HEAD}<zone id="w" routing="Vivaldi"><host id="a" speed="1Gf" coordinates="0 0 1"/>'
        '<host id="b" speed="1Gf" coordinates="3 4 1"/></zone></platform>'
    )
    assert main([str(tmp_path / "far.xml"), "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["connections"]
    assert set(one["bandwidth_Bps"].values()) == {None}


def test_patterns_make_other_clusters(capsys):
    assert main([str(CAMPUS), "--clusters", "all=old-*,-=*", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [(cluster["name"], len(cluster["hosts"])) for cluster in shown["clusters"]] == [("all", 8)]


def test_a_single_host_is_described(tmp_path, capsys):
    (tmp_path / "one.xml").write_text(
        f'{HEAD}<zone id="w" routing="Full"><host id="a" speed="1Gf" core="4"/></zone></platform>'
    )
    assert main([str(tmp_path / "one.xml")]) == 0
    assert "single host" in capsys.readouterr().out


def test_a_scenario_file_is_taken_too(capsys):
    assert main([str(ROOT / "examples" / "two-sites.toml")]) == 0
    # By hand, us: old 50 + 50 + 50 within; to new 50 + 50 + 1500 + 10 + 20.
    lines = capsys.readouterr().out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("latency, us"))
    assert [line.split()[1:] for line in lines[at + 1 : at + 3]] == [["150", "1630"], ["1630", "50"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "Give --scenario NAME or --platform FILE"),
        ("absent.xml", "no such file"),
        ("absent.toml", "absent.toml"),
        (f"{CAMPUS} --scenario grid4x2", "does not go with the file"),
        (f"{CAMPUS} --platform {CAMPUS}", "does not go with the file"),
        (f"{CAMPUS} --clusters old=nothing*", "match no pattern"),
        (f"{CAMPUS} --picture campus.gif", "no format for the ending 'gif'"),
        (f"{CAMPUS} --picture /proc/no/campus.png", "cannot be written"),
        ("--scenario grid9x9", "--speeds"),
    ],
)
def test_what_cannot_be_inspected_is_refused(arguments, said, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(main, arguments.split(), said)


def test_help_loads_nothing_heavy():
    script = (
        "import sys; from platforms.show.cli import COMMAND; COMMAND.parser().format_help(); "
        "print({'numpy', 'pandas', 'matplotlib', 'lxml'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "set()\n"


def test_long_lists_are_cut_and_say_so(capsys):
    assert main(["--scenario", "grid50x1", "--speeds", ",".join(["1"] * 50)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "... 10 more clusters: --json lists all" in lines
    assert "... 21 more zones: --json lists all" in lines  # 50 clusters and the root, of which 30 are listed
    assert "between clusters: 48 of 50" in lines


def test_radio_and_disks_are_told(data, capsys):
    assert main([str(data / "wireless.xml")]) == 0
    said = capsys.readouterr().out
    assert "bandwidth, Gbit/s: Wi-Fi between any two hosts" in said
    assert "wifi: Wi-Fi, whose bandwidth depends on the station and is not given here: air" in said


def test_a_network_without_links_has_no_limit(data, capsys):
    assert main([str(data / "vivaldi.xml")]) == 0
    assert "bandwidth, Gbit/s: unlimited between any two hosts" in capsys.readouterr().out


def test_rates_and_samples_at_their_ends():
    assert bandwidth_text(math.inf) == "unlimited" and bandwidth_text(0.0125) == "0.1 bit/s"
    assert evenly("abcde", 1) == ("a",) and evenly("abcde", 3) == ("a", "c", "e")


def test_a_grid_may_be_named_instead_of_a_file(tmp_path, monkeypatch, capsys, refused):
    assert main(["grid4x2", "--json"]) == 0
    named = capsys.readouterr().out
    assert main(["--scenario", "grid4x2", "--json"]) == 0
    assert capsys.readouterr().out == named
    monkeypatch.chdir(tmp_path)
    refused(main, ["missing.xml"], "missing.xml: no such file")
