"""``gridval platform check``: platforms that can be used, and the reason where one cannot."""

import json

import pytest

from platforms.show.check import main

HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">'
# Two hosts of two cores; PROFILE stands for an attribute of the second one, ROUTE for the route between them.
PAIR = """<zone id="pair" routing="Full">
  <host id="a" speed="1Gf" core="2"/>
  <host id="b" speed="1Gf" core="2" PROFILE/>
  <link id="cable" bandwidth="1GBps" latency="1us"/>
  ROUTE
</zone></platform>"""
ROUTE = '<route src="a" dst="b"><link_ctn id="cable"/></route>'


@pytest.fixture
def pair(tmp_path):
    """``pair(profile, route)``: the file of two hosts."""

    def write(profile="", route=ROUTE):
        path = tmp_path / "pair.xml"
        path.write_text(HEAD + PAIR.replace("PROFILE", profile).replace("ROUTE", route))
        return str(path)

    return write


def test_a_platform_that_can_be_used_is_counted(pair, capsys):
    assert main([pair()]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("pair can be used: 2 hosts, 4 cores, 1 cluster;")


def test_json_says_the_same(pair, capsys):
    assert main([pair(), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["platform"], said["usable"]) == ("pair", True)
    assert all(note.keys() >= {"kind", "text"} for note in said["notes"])


def test_a_grid_by_name_is_a_platform_too(capsys):
    # Grid 4*2 has four clusters of two nodes with one core each.
    assert main(["grid4x2"]) == 0
    assert "grid4x2 can be used: 8 hosts, 8 cores, 4 clusters;" in " ".join(capsys.readouterr().out.split())


def test_a_host_that_is_off_is_refused_by_name(pair, refused, tmp_path):
    (tmp_path / "off.profile").write_text("0 0\n")
    refused(main, [pair(profile='state_file="off.profile"')], "host 'b' is switched off when a run begins")


def test_hosts_without_a_route_are_refused(pair, refused):
    path = pair(route="")  # the user's own file is named, not the copy that is read
    refused(main, [path], f"error: {path}, route ", "SimGrid says: ")


def test_a_file_that_is_absent_is_refused(refused, tmp_path):
    refused(main, [str(tmp_path / "none.xml")], "no such file")
