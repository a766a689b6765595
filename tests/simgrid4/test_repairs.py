"""Faults of SimGrid 4.1 with platforms are repaired when it is loaded; 3.32 gives the same results without repairs."""

from pathlib import Path

import pytest

import apps.smpi.launch
import platforms.simgrid.installed
import platforms.simgrid.repairs
from apps.programs.problem import problem
from apps.runs.simulate import simulate
from apps.smpi.launch import launch, repeatable
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise, read_platform, read_routes
from platforms.simgrid.repairs import loaded_first, repairs_library, simgrid_identity
from platforms.survey import survey

HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">'

# The gateway of "site" is a host of "inner", which is in "middle", which is in "site".
DEEP_GATEWAY = f"""{HEAD}<zone id="all" routing="{{routing}}">
  <zone id="site" routing="Full">
    <zone id="middle" routing="Full">
      <zone id="inner" routing="Full">
        <host id="door" speed="1Gf"/><host id="desk" speed="1Gf"/>
        <link id="room" bandwidth="1GBps" latency="1us"/>
        <route src="door" dst="desk"><link_ctn id="room"/></route>
      </zone>
      <zone id="hall" routing="Full"><host id="guest" speed="1Gf"/></zone>
      <link id="corridor" bandwidth="1GBps" latency="10us"/>
      <zoneRoute src="hall" dst="inner" gw_src="guest" gw_dst="desk"><link_ctn id="corridor"/></zoneRoute>
    </zone>
    <zone id="shed" routing="Full"><host id="tool" speed="1Gf"/></zone>
    <link id="path" bandwidth="1GBps" latency="100us"/>
    <zoneRoute src="shed" dst="middle" gw_src="tool" gw_dst="guest"><link_ctn id="path"/></zoneRoute>
  </zone>
  <zone id="town" routing="Full"><host id="shop" speed="1Gf"/></zone>
  <link id="road" bandwidth="1GBps" latency="1ms"/>
  <zoneRoute src="site" dst="town" gw_src="door" gw_dst="shop"><link_ctn id="road"/></zoneRoute>
</zone></platform>
"""


@pytest.mark.parametrize("routing", ["Full", "Floyd", "Dijkstra", "DijkstraCache"])
def test_the_way_to_a_gateway_deep_in_a_zone_is_found_in_both_directions(tmp_path, routing):
    path = tmp_path / "deep.xml"
    path.write_text(DEEP_GATEWAY.format(routing=routing))
    # By hand: tool - path - guest - corridor - desk - room - door - road - shop.
    there, back, near = read_routes(read_platform(path), [("tool", "shop"), ("shop", "tool"), ("shop", "guest")])
    assert there.link_names == ("path", "corridor", "room", "road")
    assert back.link_names == ("road", "room", "corridor", "path")
    assert near.link_names == ("road", "room", "corridor")
    assert there.latency_s == back.latency_s == pytest.approx(1.111e-3, rel=1e-12)
    assert near.latency_s == pytest.approx(1.011e-3, rel=1e-12)


@pytest.mark.parametrize("engine", ["smpi", "s4u"])
def test_programs_send_over_a_gateway_deep_in_a_zone(tmp_path, engine):
    path = tmp_path / "deep.xml"
    path.write_text(DEEP_GATEWAY.format(routing="Full"))
    hosts = ("tool", "shop")
    runs = [
        simulate(Settings(engine=engine, iterations=2).spec(Target(problem("cg", "S"), read_platform(path), hosts)))
    ]
    flat = tmp_path / "flat.xml"  # the same four links in series
    links = "".join(f'<link id="{n}" bandwidth="1GBps" latency="{n}"/>' for n in ("1us", "10us", "100us", "1ms"))
    way = "".join(f'<link_ctn id="{n}"/>' for n in ("100us", "10us", "1us", "1ms"))
    flat.write_text(
        f'{HEAD}<zone id="all" routing="Full"><host id="tool" speed="1Gf"/><host id="shop" speed="1Gf"/>{links}'
        f'<route src="tool" dst="shop">{way}</route></zone></platform>\n'
    )
    runs.append(
        simulate(Settings(engine=engine, iterations=2).spec(Target(problem("cg", "S"), read_platform(flat), hosts)))
    )
    assert runs[0].time_s == pytest.approx(runs[1].time_s, rel=1e-12)


@pytest.mark.parametrize("enclosed", [False, True])
@pytest.mark.parametrize(
    ("topology", "parameters", "routing"),
    [
        ("TORUS", "3,2,2", "Torus"),
        ("FAT_TREE", "2;4,3;1,2;1,2", "FatTree"),
        ("DRAGONFLY", "3,4;2,3;2,1;1", "Dragonfly"),
    ],
)
def test_a_cluster_with_a_topology_needs_no_zone_around_it(tmp_path, topology, parameters, routing, enclosed):
    path = tmp_path / "cluster.xml"
    cluster = (
        f'<cluster id="c" prefix="h" suffix="" radical="0-11" speed="1Gf" bw="1Gbps" lat="50us" '
        f'topology="{topology}" topo_parameters="{parameters}" loopback_bw="1GBps" loopback_lat="1us"/>'
    )
    path.write_text(f'{HEAD}<zone id="around" routing="Full">{cluster}</zone></platform>' if enclosed else
                    f"{HEAD}{cluster}</platform>")  # fmt: skip
    zones, zone = [], survey(read_platform(path)).root
    while zone is not None:
        zones.append((zone.name, zone.routing))
        (zone,) = zone.children or (None,)
    assert zones == [*([("around", "Full")] if enclosed else []), ("c", routing)]


@pytest.mark.parametrize("version", ["3.32", "3.36", "4.0", "4.2"])
def test_other_versions_are_left_as_they_are(monkeypatch, tmp_path, version):
    monkeypatch.setattr(platforms.simgrid.installed, "simgrid_version", lambda: version)
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    assert repairs_library() is None
    assert loaded_first(tmp_path) == []
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("version", ["4.1", "3.32"])
def test_results_are_of_the_repairs_too(monkeypatch, tmp_path, version):
    for module in (platforms.simgrid.installed, platforms.simgrid.repairs):
        monkeypatch.setattr(module, "simgrid_version", lambda: version)
    before = simgrid_identity()
    assert before.split("-")[0] == version
    other = tmp_path / "repairs.cpp"
    other.write_text("/* others */")
    for name, value in (("_SOURCES", [other]), ("_HEADER", other), ("_FLAGS", ("-O2",))):
        with monkeypatch.context() as changed:
            changed.setattr(platforms.simgrid.repairs, name, value)
            assert (simgrid_identity() != before) == (version == "4.1")


def test_what_is_loaded_first_has_plain_names_and_comes_before_what_the_user_has_loaded(monkeypatch, tmp_path):
    mending = Path("/a folder/mending.so")
    monkeypatch.setattr(platforms.simgrid.repairs, "repairs_library", lambda: mending)
    monkeypatch.setenv("LD_PRELOAD", "/their/own.so")
    words = loaded_first(tmp_path, Path("/b:c/recorder.so"), called="..")
    assert words == ["env", "LD_PRELOAD=../first-0.so:../first-1.so:/their/own.so"]
    assert [(tmp_path / f"first-{i}.so").readlink() for i in (0, 1)] == [Path("/b:c/recorder.so"), mending]


def test_the_command_that_repeats_a_run_has_what_it_needs(monkeypatch):
    platform = materialise(named_grid("grid4x2"))
    spec = Settings().spec(Target(problem("mg", "S"), platform, block(platform, 8)))
    started = launch(spec, 1)
    monkeypatch.setattr(apps.smpi.launch, "repairs_library", lambda: Path("/cache/mending.so"))
    assert repeatable(spec, started)[:3] == ("smpirun", "-wrapper", "env LD_PRELOAD=/cache/mending.so")
    # The loader splits the list at colons and spaces and knows no quotes.
    for folder in ("a cache", "a:cache"):
        monkeypatch.setattr(apps.smpi.launch, "repairs_library", lambda folder=folder: Path(f"/{folder}/mending.so"))
        assert repeatable(spec, started)[:3] == ("smpirun", "-wrapper", "env LD_PRELOAD=./REPAIRS")
    monkeypatch.setattr(apps.smpi.launch, "repairs_library", lambda: None)
    assert repeatable(spec, started)[:2] == ("smpirun", "-np")
