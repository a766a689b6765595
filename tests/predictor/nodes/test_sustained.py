"""Clusters whose CPUs sustain unlike shares of their speed."""

import json

import pytest

from apps.programs.problem import Problem, problem
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.read.read import materialise, read_platform
from platforms.read.routes import routes_between
from predictor.nodes.changed_clusters import Shares, parse_shares, sustained_platform
from predictor.nodes.cli import main


def ichikawa():
    return materialise(named_grid("ichikawa", None))


def test_a_cluster_that_sustains_another_share_has_as_much_less_speed():
    # The Xeon at 3.3 in place of 5.6 Gflop/s, as a share of Himeno's: 0.09 x 3.3 / 5.6.
    platform = ichikawa()
    changed = sustained_platform(platform, parse_shares(f"0.09,xeon={0.09 * 3.3 / 5.6}"), Problem("himeno"))
    speeds = [cluster.speed_flops for cluster in changed.clusters]
    assert speeds == pytest.approx([7.2e9, 3.3e9, 2.25e9])
    assert [len(cluster.hosts) for cluster in changed.clusters] == [8, 16, 8]
    assert changed.content_hash != platform.content_hash
    # Network and watts stay.
    pair = [("pentium4-0", "xeon-3")]
    assert routes_between(changed, pair) == routes_between(platform, pair)
    assert changed.clusters[1].hosts[0].power == platform.clusters[1].hosts[0].power
    # One share for all is one of the runs, and no other platform.
    assert sustained_platform(platform, parse_shares("0.09"), Problem("himeno")) is platform


def test_hosts_that_a_file_lists_one_by_one_get_their_share_too(tmp_path):
    path = tmp_path / "two.xml"
    path.write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1"><zone id="z" routing="Full"><host id="a" speed="2Gf"/><host id="b" speed="4Gf"/>'
        '<link id="l" bandwidth="1GBps" latency="1us"/><route src="a" dst="b"><link_ctn id="l"/></route></zone>'
        "</platform>"
    )
    platform = read_platform(path)
    second = platform.clusters[1].name  # of the zone's second kind of host
    changed = sustained_platform(platform, Shares("0.5", {second: 0.25}), problem("cg", "S"))
    assert [host.speed_flops for host in changed.hosts] == pytest.approx([2e9, 2e9])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.09,xeon", "'xeon' is not CLUSTER=SHARE"),
        ("0.09,xeon=fast", "'fast' is not a number"),
        ("xeon=0.1,xeon=0.2", "xeon is named twice"),
        ("xeon=2", "xeon"),
        ("0.09,opteron=0.1", "no such cluster"),
        ("platform,xeon=0.1", "it has the shares of all hosts already"),
    ],
)
def test_wrong_shares_are_refused(text, said):
    with pytest.raises(UserError) as error:
        sustained_platform(ichikawa(), parse_shares(text), Problem("himeno"))
    assert said in str(error.value)


def test_the_choice_follows_what_the_cpus_sustain(tmp_path, capsys):
    # EP does not communicate: of two single nodes the one is best that sustains more operations, whatever its peak.
    path = tmp_path / "two.toml"
    path.write_text(
        '[[clusters]]\nname = "old"\nnodes = 1\nspeed_gflops = 40\n[[clusters]]\nname = "new"\nnodes = 1\n'
        "speed_gflops = 60\n"
    )
    words = f"--scenario {path} --app ep --class S --predictor dpgraph:known --processes 1,1 --nodes".split()
    for nodes, efficiency, expected_gflops in (
        ("1,0", "0.1,old=0.3", 12),
        ("0,1", "0.1,old=0.3", 6),
        ("0,1", "0.1", 6),
    ):
        assert main([*words, nodes, "--efficiency", efficiency, "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        # Class S of EP counts the operations of 2^24 pairs; with the same program the times are as the speeds.
        assert answer["estimated_s"] * expected_gflops == pytest.approx(_work_gflop(capsys, words), rel=1e-6)


def _work_gflop(capsys, words):
    assert main([*words, "1,0", "--efficiency", "1", "--json"]) == 0
    return json.loads(capsys.readouterr().out)["estimated_s"] * 40
