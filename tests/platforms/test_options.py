"""The command-line options for platforms and placements."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import platforms
from platforms.errors import UserError
from platforms.options import (
    PlacementOptions,
    PlatformOptions,
    placement_from_request,
    platform_from_request,
)
from platforms.system.convert import grid_of_file
from tests.verbs import asked

MERPSYS = Path(__file__).parents[2] / "examples" / "systems" / "merpsys.toml"


def parsed(*arguments):
    return asked(*arguments, groups=(PlatformOptions, PlacementOptions))


def placed(*arguments, nranks=None):
    args = parsed(*arguments)
    return placement_from_request(args, platform_from_request(args), nranks)


def test_a_scenario_by_name_by_speeds_and_by_file(tmp_path):
    assert platform_from_request(parsed("--scenario", "grid3x9")).network == "gigabit"
    own = platform_from_request(parsed("--scenario", "grid2x1", "--speeds", "35,4.5", "--network", "metro"))
    assert ([host.speed_flops for host in own.hosts], own.network) == ([35e9, 4.5e9], "metro")
    (tmp_path / "lab.toml").write_text('network = "metro"\n[[clusters]]\nnodes = 3\nspeed_gflops = 1\n')
    assert platform_from_request(parsed("--scenario", tmp_path / "lab.toml")).network == "metro"
    other = platform_from_request(parsed("--scenario", tmp_path / "lab.toml", "--network", "ideal"))
    assert (other.name, other.network) == ("lab", "ideal")


def test_factors_replace_those_of_the_network_and_nothing_else():
    # networks.toml gives infiniband factors of 0.986 and 3, no window and no cross traffic.
    others = {"network/TCP-gamma": "0", "network/crosstraffic": "no"}
    for words, factors in (
        ((), {"smpi/bw-factor": "0:0.986", "smpi/lat-factor": "0:1;65536:3"}),
        (("--factors", "neutral"), {"smpi/bw-factor": "0:1", "smpi/lat-factor": "0:1"}),
        (("--factors", "simgrid"), {}),
    ):
        found = platform_from_request(parsed("--scenario", "grid4x2", "--network", "infiniband", *words))
        assert dict(found.options) == {**others, **factors}


def test_a_folder_or_file_called_like_a_scenario_does_not_hide_it(tmp_path, monkeypatch):
    (tmp_path / "grid3x9").write_text("results of mine")
    monkeypatch.chdir(tmp_path)
    assert len(platform_from_request(parsed("--scenario", "grid3x9")).hosts) == 27


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "Give --scenario NAME or --platform FILE"),
        ("--scenario grid3x9 --platform x.xml", "--scenario: does not go with --platform"),
        ("--network metro --platform x.xml", "--network: does not go with --platform"),
        ("--factors neutral --platform x.xml", "--factors: does not go with --platform"),
        (f"--scenario {MERPSYS} --factors neutral", "--factors: does not go with a system file"),
        ("--speeds 1,2 --platform x.xml", "--speeds: does not go with --platform"),
        ("--platform x.xml", "no such file"),
        ("--scenario x.toml --speeds 1", "--speeds: does not go with a scenario file"),
        ("--scenario x.toml", "x.toml: cannot be read"),
        ("--scenario grid2x2 --speeds 1,fast", "--speeds 1,fast: not positive numbers"),
        ("--scenario grid2x2 --speeds 1,nan", "not positive numbers"),
        ("--scenario grid2x2 --speeds 1,-2", "not positive numbers"),
        ("--scenario grid2x2 --speeds 1,inf", "not positive numbers"),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments, said):
    with pytest.raises(UserError) as error:
        platform_from_request(parsed(*arguments.split()))
    assert said in str(error.value)


def test_a_placement_is_block_on_all_hosts_by_default():
    assert placed("--scenario", "grid4x2") == ("c1-0", "c1-1", "c2-0", "c2-1", "c3-0", "c3-1", "c4-0", "c4-1")
    assert placed("--scenario", "grid4x2", "--mapping", "cyclic", nranks=5) == ("c1-0", "c2-0", "c3-0", "c4-0", "c1-1")


def test_a_host_file_is_cut_to_the_ranks_but_never_wrapped(tmp_path):
    (tmp_path / "hosts").write_text("c2-1\nc1-0\nc1-1\n")
    options = ("--scenario", "grid4x2", "--hostfile", tmp_path / "hosts")
    assert placed(*options) == ("c2-1", "c1-0", "c1-1")
    assert placed(*options, nranks=2) == ("c2-1", "c1-0")
    with pytest.raises(UserError, match="4 ranks, but it places 3"):
        placed(*options, nranks=4)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--mapping", "random"), "--mapping random: no such mapping. Known: block, cyclic"),
        (("--hostfile", "h", "--mapping", "block"), "--mapping: does not go with --hostfile"),
        (("--hostfile", "h", "--ranks-per-host", "2"), "--ranks-per-host: does not go with --hostfile"),
        (("--ranks-per-host", "2"), "2 ranks per host, but host c1-0 has 1 core"),
        (("--ranks-per-host", "0"), "0 ranks per host"),
    ],
)
def test_placement_options_that_do_not_fit_are_refused(arguments, said):
    with pytest.raises(UserError) as error:
        placed("--scenario", "grid4x2", *arguments)
    assert said in str(error.value)


def test_the_options_cost_no_heavy_import():
    # Imports take 0.08 s (numpy), 0.33 s (pandas) and 0.54 s (pyplot): --help must not need them.
    heavy = "{'numpy', 'pandas', 'scipy', 'matplotlib', 'lxml.etree'}"
    program = f"import sys, platforms.options, platforms.make; print(sorted(set(sys.modules) & {heavy}))"
    root = Path(platforms.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == "[]"


def test_a_system_of_several_kinds_of_units_is_no_grid():
    with pytest.raises(UserError, match=re.escape("not a grid of clusters, each of a single kind of node")):
        grid_of_file(str(MERPSYS), ())
