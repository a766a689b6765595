"""Background load on platforms in files: their wide-area links, their routes under load, and the files of draws."""

import shutil
from pathlib import Path

import pytest

from platforms.background.site import loaded_grid, loaded_platform, site_of
from platforms.background.statement import Availability, Draw, asked_background
from platforms.errors import PlatformError
from platforms.grids.scenario import named_grid
from platforms.read.read import materialise, read_platform
from platforms.read.routes import routes_between

CAMPUS = Path(__file__).parents[3] / "examples" / "platforms" / "campus.xml"


@pytest.fixture(scope="module")
def campus():
    return read_platform(CAMPUS, "campus")


def half(site, names):
    """Return a draw that leaves half of the bandwidth of these links, and doubles their latency."""
    every = [link.name for link in site.wan_links]
    return Draw({}, {name: 0.5 if name in names else 1.0 for name in every},
                {name: 2.0 if name in names else 1.0 for name in every})  # fmt: skip


def test_the_wide_area_links_of_the_campus_are_those_between_its_buildings(campus):
    # As the comments of the file say: fibre between old and new, copper to the lab; desk-2 is of another kind.
    site = site_of(campus)
    assert {link.name for link in site.wan_links} == {"fibre", "copper"}
    by_name = {link.name: link for link in site.wan_links}
    assert (by_name["fibre"].bandwidth_Bps, by_name["fibre"].latency_s) == pytest.approx((2e9 / 8, 200e-6))
    assert by_name["fibre"].duplex and not by_name["copper"].duplex
    assert ("new", "old") in by_name["fibre"].pairs and ("new", "old") not in by_name["copper"].pairs


def test_a_grid_that_is_written_as_a_file_has_the_wide_area_links_of_the_grid():
    grid = named_grid("grid3x9")
    site = site_of(materialise(grid))
    assert {link.name for link in site.wan_links} == {link.name for link in grid.wan_links}
    draw = Draw({}, dict.fromkeys(site.quiet, 0.05), dict.fromkeys(site.quiet, 3.0))
    pairs = [("c1-0", "c2-0"), ("c1-0", "c1-1")]
    for mine, its in zip(loaded_grid(site, draw).routes(pairs), loaded_grid(grid, draw).routes(pairs), strict=True):
        assert mine.latency_s == pytest.approx(its.latency_s)
        assert mine.bandwidth_Bps == pytest.approx(its.bandwidth_Bps)


def test_the_file_of_a_draw_has_the_routes_of_the_draw_and_the_shares_of_its_hosts(campus):
    site = site_of(campus)
    draw = half(site, ["copper"])
    draw = Draw({"old-0": Availability((0.5, 1.0), (2.0, 1.0))}, draw.bandwidth, draw.latency)
    made = loaded_platform(site, draw)
    pairs = [("desk-0", "old-0"), ("desk-0", "new-1"), ("old-1", "new-1")]
    for mine, its in zip(loaded_grid(site, draw).routes(pairs), routes_between(made, pairs), strict=True):
        assert mine.latency_s == pytest.approx(its.latency_s)
        assert mine.bandwidth_Bps == pytest.approx(its.bandwidth_Bps)
    # By hand: copper has 0.5 Gbit/s and 1 ms in the file.
    (quiet,) = site.routes(pairs[:1])
    (loaded,) = loaded_grid(site, draw).routes(pairs[:1])
    assert loaded.bandwidth_Bps == pytest.approx(0.25e9 / 8)
    assert loaded.latency_s - quiet.latency_s == pytest.approx(1e-3)
    assert [(change.kind, change.name) for change in made.changes] == [("speed", "old-0")]


def test_named_links_have_the_load_in_place_of_those_that_are_found(campus):
    assert [link.name for link in site_of(campus, ["fib*"]).wan_links] == ["fibre"]
    with pytest.raises(PlatformError, match=r"no link between clusters fits 'glass'. Links between them: .*fibre"):
        site_of(campus, ["glass"])


def test_a_background_names_the_links_that_are_shared(tmp_path):
    path = tmp_path / "load.toml"
    path.write_text('[wan]\nlinks = ["wan_c1*"]\nbandwidth = { kind = "constant", value = 0.5 }\n')
    background, grid = asked_background(str(path)), named_grid("grid3x9")
    background.check(grid)
    assert [background.shares(name) for name in ("wan_c1_c2", "wan_c2_c3")] == [True, False]
    path.write_text('[wan]\nlinks = ["x*"]\nbandwidth = { kind = "constant", value = 0.5 }\n')
    with pytest.raises(PlatformError, match="has no wide-area link 'x\\*'"):
        asked_background(str(path)).check(grid)
    path.write_text('[nodes]\navailability = { kind = "constant", value = 0.5 }\n[wan]\nlinks = ["wan_c1*"]\n')
    with pytest.raises(PlatformError, match="links are named, but no load of theirs"):
        asked_background(str(path))


def test_files_into_which_no_load_can_be_written_are_refused(tmp_path, campus):
    cluster = '<cluster id="a" prefix="a-" suffix="" radical="0-1" speed="1Gf" bw="1Gbps" lat="1us"/>'
    path = tmp_path / "flat.xml"
    head = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
    path.write_text(f'{head}<platform version="4.1">{cluster}</platform>')
    with pytest.raises(PlatformError, match="no <zone> in which profiles of hosts can stand"):
        site_of(read_platform(path))
    with pytest.raises(PlatformError, match="is no <link> of the file"):
        site_of(campus, ["old_backbone*"])
    shutil.copy(CAMPUS, path)
    text = path.read_text().replace('<host id="desk-0" speed="30Gf"/>', '<host id="desk-0" speed="30Gf" '
                                    'speed_file="trace"/>')  # fmt: skip
    path.write_text(text)
    (tmp_path / "trace").write_text("PERIODICITY 10\n1 0.5\n")
    with pytest.raises(PlatformError, match="profiles of its own"):
        site_of(read_platform(path))
