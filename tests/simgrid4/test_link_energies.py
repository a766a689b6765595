"""Energies of links are those of SimGrid 3.32, whichever SimGrid runs the tests (faults.md)."""

from itertools import combinations

import pytest

from apps.programs.problem import problem
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.read.read import read_platform

LINKS = {"a": ("1GBps", "10us"), "b": ("125MBps", "1ms"), "c": ("1GBps", "50us"), "d": ("50MBps", "20us")}
SPEEDS = {"a": "1Gf", "b": "1Gf", "c": "2Gf", "d": "3Gf"}


@pytest.fixture
def platform(tmp_path):
    """Four hosts, each with its own link, and a shared link between them that gives each message its full bandwidth."""
    watts = '<prop id="wattage_range" value="1:3"/>'
    hosts = "".join(f'<host id="{name}" speed="{speed}"/>' for name, speed in SPEEDS.items())
    links = f'<link id="between" bandwidth="1GBps" latency="1us" sharing_policy="FATPIPE">{watts}</link>'
    for name, (bandwidth, latency) in LINKS.items():
        links += f'<link id="to-{name}" bandwidth="{bandwidth}" latency="{latency}">{watts}</link>'
    routes = ""
    for one, other in combinations(SPEEDS, 2):
        way = "".join(f'<link_ctn id="{link}"/>' for link in (f"to-{one}", "between", f"to-{other}"))
        routes += f'<route src="{one}" dst="{other}">{way}</route>'
    (tmp_path / "four.xml").write_text(
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
        f'<platform version="4.1"><zone id="all" routing="Full">{hosts}{links}{routes}</zone></platform>'
    )
    return read_platform(tmp_path / "four.xml")


# Energy in J of "between" and of the links to a, b, c and d, from SimGrid 3.32, whose plugin updates a link when
# messages on it start and end.
JOULES = {
    ("cg", "smpi"): (3.609937975725, 3.848826391906, 9.70471901288, 3.478677230535, 3.802011167244),
    ("mg", "smpi"): (0.2766188058061, 0.3082400879439, 0.625530044077, 0.2766554398971, 0.5382298310634),
    ("is", "smpi"): (0.1217168857515, 0.130538228265, 0.3105146179213, 0.1271909104669, 0.2490274572046),
}
JOULES |= {(app, "s4u"): JOULES[app, "smpi"] for app in ("cg", "mg")}


@pytest.mark.parametrize(("app", "engine"), JOULES)
def test_energies_of_links_are_those_of_simgrid_3_32(platform, app, engine):
    target = Target(problem(app, "S"), platform, tuple(SPEEDS))
    found = simulate(RunSpec(target, engine=engine, iterations=2)).link_energy_j
    names = ("between", *(f"to-{name}" for name in SPEEDS))
    assert found == pytest.approx(dict(zip(names, JOULES[app, engine], strict=True)), rel=1e-9)
