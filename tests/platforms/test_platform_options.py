"""--platform with several files, and --clusters."""

import shutil

import pytest

from platforms.errors import UserError
from platforms.options import (
    PlacementOptions,
    placement_from_request,
    platform_from_request,
    platforms_from_request,
)
from platforms.read.read import read_platform
from tests.verbs import asked
from validation.options import PlatformsOptions


def parsed(*arguments):
    return asked(*arguments, groups=(PlatformsOptions,))


def test_files_come_with_commas_or_one_by_one_and_each_once(data, tmp_path):
    crossbar, torus, tree = (data / f"{name}.xml" for name in ("crossbar", "torus", "fat_tree"))
    found = platforms_from_request(parsed("--platform", f"{crossbar},{torus}", "--platform", tree, "--platform", torus))
    assert [platform.name for platform in found] == ["crossbar", "torus", "fat_tree"]
    odd = tmp_path / "a,b.xml"
    shutil.copy(crossbar, odd)
    assert [platform.path for platform in platforms_from_request(parsed("--platform", odd))] == [odd]


def test_files_of_one_name_are_told_apart(data, tmp_path):
    twin = tmp_path / "torus.xml"
    shutil.copy(data / "torus.xml", twin)
    found = platforms_from_request(parsed("--platform", f"{data / 'torus.xml'},{twin}"))
    assert len({platform.name for platform in found}) == 2


def test_a_scenario_file_is_the_same_platform_by_either_option(tmp_path, data):
    path = tmp_path / "two.toml"
    path.write_text('[[clusters]]\nname = "a"\nnodes = 2\nspeed_gflops = 20\n')
    by_platform, by_scenario = (platform_from_request(parsed(option, path)) for option in ("--platform", "--scenario"))
    assert by_platform == by_scenario and by_platform.network == "gigabit"
    metro = platform_from_request(parsed("--platform", path, "--network", "metro"))
    assert metro.network == "metro"
    several = platforms_from_request(parsed("--platform", f"{path},{data / 'torus.xml'}"))
    assert (several[0].name, len(several[0].hosts)) == ("two", 2)
    assert several[0].content_hash == by_platform.content_hash


def test_a_compiled_platform_may_be_named_from_the_current_folder(racks, monkeypatch):
    monkeypatch.chdir(racks.parent)
    platform = platform_from_request(parsed("--platform", racks.name))
    assert platform.path == racks  # absolute, because SimGrid aborts on a relative path
    shape = {c.name: (len(c.hosts), c.speed_flops, c.cores) for c in platform.clusters}
    assert shape == {"left": (3, 4e9, 2), "right": (2, 6e9, 2)}


def test_what_a_compiled_platform_makes_is_part_of_its_identity(racks):
    first = read_platform(racks).content_hash
    assert read_platform(racks).content_hash == first


def test_clusters_go_with_every_file_and_the_option_may_come_again(data):
    args = parsed("--platform", data / "routers.xml", "--clusters", "all=old*", "--clusters", "all=new*")
    platform = platform_from_request(args)
    assert [cluster.name for cluster in platform.clusters] == ["all.1", "all.2"]  # two kinds of hosts


def test_a_huge_platform_is_not_filled_unasked(tmp_path):
    text = (
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
        '<cluster id="huge" prefix="h" suffix="" radical="0-4999" speed="1Gf" bw="1Gbps" lat="1us"/></platform>\n'
    )
    (tmp_path / "huge.xml").write_text(text)
    args = PlacementOptions()
    platform = read_platform(tmp_path / "huge.xml")
    with pytest.raises(UserError, match=r"it would take 5000 ranks to fill it.*--ranks"):
        placement_from_request(args, platform)
    assert len(placement_from_request(args, platform, 16)) == 16


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--scenario grid4x2 --clusters a=*", "--clusters a=*: goes with --platform"),
        ("--platform routers.xml --clusters a=old*", "4 of 8 hosts match no pattern"),
        ("--platform routers.xml --clusters=", "--clusters: an empty text"),
        ("--platform routers.xml,", "an empty name"),
        ("--platform routers.xml,torus.xml", "2 files, but this command takes one"),
        ("--platform routers.xml,absent.xml", "absent.xml: no such file"),
        ("--platform routers.xml --scenario all", "--scenario: does not go with --platform"),
    ],
)
def test_what_does_not_fit_is_said(data, monkeypatch, arguments, said):
    monkeypatch.chdir(data)
    with pytest.raises(UserError) as error:
        platform_from_request(parsed(*arguments.split()))
    assert said in str(error.value)
