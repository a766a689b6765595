"""Platforms of which single hosts and links are faster: runs take as long as on the platform that says so itself."""

from dataclasses import replace

import pytest

from apps.programs.problem import problem
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import PlatformError
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise, read_platform
from platforms.read.routes import changed_platform

GRID = named_grid("grid4x2")


def time_s(platform, hosts):
    return simulate(Settings(iterations=2).spec(Target(problem("is", "S"), platform, hosts))).time_s


@pytest.fixture(scope="module")
def grid():
    platform = materialise(GRID)
    return platform, block(platform, 8)


def test_without_changes_runs_take_the_same_time(grid):
    platform, hosts = grid
    assert time_s(changed_platform(platform, hosts), hosts) == time_s(platform, hosts)


def test_a_faster_link_is_that_of_a_grid_with_such_a_link(grid):
    platform, hosts = grid
    first, *others = GRID.wan_links
    wire = replace(first.wire, bandwidth_Bps=2 * first.wire.bandwidth_Bps, latency_s=first.wire.latency_s / 2)
    wanted = materialise(replace(GRID, wan_links=(replace(first, wire=wire), *others)))
    made = changed_platform(platform, hosts, faster_links={first.name: 2.0})
    assert time_s(made, hosts) == pytest.approx(time_s(wanted, hosts), rel=1e-12)
    assert time_s(made, hosts) < time_s(platform, hosts)


def test_faster_hosts_are_those_of_a_grid_with_a_faster_cluster(grid):
    platform, hosts = grid
    first, *others = GRID.clusters
    wanted = materialise(replace(GRID, clusters=(replace(first, speed_flops=3 * first.speed_flops), *others)))
    made = changed_platform(platform, hosts, faster_hosts=dict.fromkeys(hosts[:2], 3.0))
    assert time_s(made, hosts) == pytest.approx(time_s(wanted, hosts), rel=1e-12)


def test_only_the_hosts_in_use_are_kept(grid):
    platform, hosts = grid
    assert [host.name for host in changed_platform(platform, hosts[:3]).hosts] == list(hosts[:3])


def test_platforms_that_such_a_file_cannot_describe_are_refused(tmp_path):
    large = materialise(named_grid("grid1x65", speeds_flops=[1e9]))
    with pytest.raises(PlatformError, match="65 hosts are too many"):
        changed_platform(large, [host.name for host in large.hosts])
    file = tmp_path / "changes.xml"
    file.write_text(
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
        '<zone id="z" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>'
        '<link id="l" bandwidth="1GBps" latency="1us"/><route src="a" dst="b"><link_ctn id="l"/></route>'
        '<trace id="t" periodicity="-1">1 0.5\n</trace><trace_connect kind="SPEED" trace="t" element="a"/>'
        "</zone></platform>"
    )
    with pytest.raises(PlatformError, match="change over time"):
        changed_platform(read_platform(file), ["a", "b"])
