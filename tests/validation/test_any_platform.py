"""Platforms of every kind, simulated and predicted from their files."""

import math
from pathlib import Path

import pytest

from apps.child.failure import failures_explained
from apps.child.process import Finished
from apps.child.verdict import final_record
from apps.errors import SimulationError
from apps.probes.blocks.measure import BlockPlan, Experiment, measure_blocks
from apps.probes.network.measure import Exchange, NetworkPlan, measure
from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import PlatformError
from platforms.model.placement import block
from platforms.read.clusters import parse_clusters, regroup
from platforms.read.read import read_platform
from predictor.dpgraph.predictors import with_effect
from predictor.network.unmeasured import unmeasured
from predictor.registry import predictors
from validation.run import main
from validation.series.case import Case
from validation.series.series import Series

DATA = Path(__file__).parents[1] / "platforms" / "data"

# With these options a message takes latency + size / bandwidth.
PLAIN = (("network/crosstraffic", "no"), ("smpi/bw-factor", "0:1"), ("smpi/lat-factor", "0:1"))


@pytest.fixture(scope="module")
def runner():
    with Runner(jobs=1, store=None) as one:
        yield one


def results(runner, platform, nranks, *names, app="mg", ranks_per_host=1, settings=None):
    """Results of class S, by predictor."""
    target = Target(problem(app, "S"), platform, block(platform, nranks, ranks_per_host))
    series = Series((Case(target, "block", settings or Settings()),), predictors(list(names)))
    return {one.predictor: one for _, one in series.outcomes(runner)}


@pytest.mark.parametrize(
    ("name", "ends", "latency_s", "bandwidth_Bps"),
    [  # by hand from the files
        ("crossbar", ("x0", "x5"), 2 * 50e-6, 125e6),
        ("backbone", ("b0", "b4"), 2 * 50e-6 + 20e-6, 62.5e6),
        ("fat_tree", ("t0", "t4"), 4 * 50e-6, 125e6),  # through the root
        ("torus", ("d0", "d4"), 2 * 50e-6, 125e6),  # one step along two axes
        ("dragonfly", ("f0", "f1"), 3 * 50e-6, 125e6),  # up, between two routers of a chassis, down
        ("routers", ("old0", "new3"), 50e-6 + 10e-6 + 300e-6 + 500e-6 + 30e-6 + 20e-6, 50e6),
        ("peers", ("here", "there"), 7e-3, 0.25e6),  # distance 5 + heights 2, in ms; uploads at 2 Mbit/s
        ("floyd", ("a", "c"), 30e-6, 12.5e6),
        ("dijkstra", ("a", "c"), 30e-6, 12.5e6),
        ("nested", ("n9", "s1"), 20e-6 + 100e-6, 125e6),
    ],
)
def test_a_message_takes_the_time_that_follows_from_the_file(name, ends, latency_s, bandwidth_Bps):
    size = 1_000_000
    one = Exchange(*ends, size, size)
    # The second message is timed, because the first may include the start of SMPI.
    made = measure(NetworkPlan(read_platform(DATA / f"{name}.xml"), ((one,), (one,)), options=PLAIN))
    back_Bps = 0.125e6 if name == "peers" else bandwidth_Bps  # its uploads differ
    moved = size + 16  # SMPI's envelope
    by_hand_s = 2 * latency_s + moved / bandwidth_Bps + moved / back_Bps
    assert made.times_s[1][0] == pytest.approx(by_hand_s, rel=1e-9)  # the clock itself takes no time


KINDS = {
    "crossbar": 4,
    "backbone": 5,
    "fat_tree": 8,
    "torus": 8,
    "dragonfly": 8,
    "routers": 8,
    "vivaldi": 4,
    "floyd": 3,
    "dijkstra": 3,
    "peers": 2,
    "mixed_zone": 4,
    "one_way": 2,
}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_platform_is_simulated_and_the_graph_has_the_same_time(runner, name):
    found = results(runner, read_platform(DATA / f"{name}.xml"), KINDS[name], "dpgraph:known")["dpgraph:known"]
    assert found.simulated_s > 0
    assert found.abs_error_pct < 1e-3


def test_a_compiled_platform_is_run_and_predicted(runner, racks):
    found = results(runner, read_platform(racks), 5, "hcf", "dpgraph:known")
    assert found["dpgraph:known"].abs_error_pct < 0.1
    assert found["hcf"].probe_cp_s > 0  # of left0 and right0


@pytest.mark.parametrize("ranks_per_host", [2, 4])
def test_ranks_that_share_a_host_are_predicted_or_refused(runner, ranks_per_host):
    platform = read_platform(DATA / "multicore.xml")
    found = results(
        runner, platform, 4 * ranks_per_host, "hcf", "dpgraph:known", "dpgraph", "blocks", "dpgraph:li", "hierarchical",
        ranks_per_host=ranks_per_host,
    )  # fmt: skip
    assert found["dpgraph:known"].abs_error_pct < 0.1
    assert found["dpgraph"].abs_error_pct < 1
    assert found["hcf"].predicted_s is None
    assert "the model assumes one rank per node" in found["hcf"].flags
    for name in ("blocks", "dpgraph:li"):
        assert found[name].predicted_s is None
        assert f"{4 * ranks_per_host} ranks on 4 nodes" in found[name].flags


def test_a_network_measured_on_single_hosts_knows_messages_to_oneself(runner, tmp_path):
    # Each host is its own cluster; messages within a host use a loopback that is 40 times as fast as the wire.
    text = (DATA / "two_hosts.xml").read_text().replace('"bob" speed="2Gf"', '"bob" speed="3Gf"')
    (tmp_path / "unequal.xml").write_text(text)
    found = results(runner, read_platform(tmp_path / "unequal.xml"), 2, "dpgraph", app="cg")["dpgraph"]
    assert found.abs_error_pct < 1


def test_paths_that_one_measurement_does_not_stand_for_are_said(runner):
    tree = read_platform(DATA / "fat_tree.xml")
    (said,) = unmeasured(tree, ("t0", "t1", "t4"), [(0, 1), (0, 2)])
    assert "2 times the latency of t0 to t1 and back" in said
    measured_as = {("t0", "t4"): ("t1", "t5"), ("t4", "t0"): ("t1", "t5")}
    assert unmeasured(tree, ("t0", "t1", "t4"), [(0, 1), (0, 2)], measured_as) == ()
    for found in results(runner, read_platform(DATA / "one_way.xml"), 2, "dpgraph", "structural").values():
        assert "has 0.5 times the latency of up to down and back" in found.flags  # 100 us, where the mean is 200
        assert found.feature_surroundings == "unlike"  # such cases have an interval of their own, which is wide
        assert found.interval_high_s > 1.1 * found.interval_low_s


def test_unlike_paths_are_told_with_what_they_do_to_the_run_and_only_then():
    said = ("t0 to t2 has 2 times the latency of t0 to t1 and back, measured for all such pairs",)
    assert with_effect((), 1.0, lambda: 9.0) == ()
    assert with_effect(said, 1.0, lambda: 1.019) == ()  # within 2 %
    assert with_effect(said, 1.0, lambda: 1.25)[0].endswith("the run takes 25.0 % longer (dpgraph:known)")
    assert with_effect(said, 1.0, lambda: 0.5)[0].endswith("the run takes 50.0 % shorter (dpgraph:known)")
    assert with_effect(said, 1.0, lambda: math.nan) == said  # the model does not represent the file's links


def test_links_inside_a_fat_tree_are_measured(runner):
    found = results(runner, read_platform(DATA / "fat_tree.xml"), 8, "dpgraph", app="cg")["dpgraph"]
    assert found.abs_error_pct < 0.1  # 16 % were measured with one pair of nodes for all
    assert found.flags == ""
    assert found.interval_low_s is not None


def test_a_link_that_clusters_share_without_being_measured_together_is_said():
    platform = regroup(read_platform(DATA / "routers.xml"), parse_clusters("a=old[01],b=old*,c=new[01],d=new*"))
    hosts = ("old0", "old2", "new0", "new2")  # a-c and b-d go over the ring, and have no cluster in common
    (said,) = unmeasured(platform, hosts, [(0, 2), (1, 3)])
    assert "carries messages of 2 pairs of clusters" in said
    assert unmeasured(platform, hosts, [(0, 2), (0, 3)]) == ()


def test_a_probe_goes_by_the_users_clusters(runner):
    platform = regroup(read_platform(DATA / "crossbar.xml"), parse_clusters("a=x[0-5],b=x*"))
    found = results(runner, platform, 8, "hcf")["hcf"]
    assert "the probe is one node" not in found.flags  # as it would be with the zones as clusters


def test_a_probe_larger_than_its_target_is_said(runner):
    found = results(runner, read_platform(DATA / "mixed_zone.xml"), 2, "hcf")["hcf"]
    assert "the probe has more nodes (3) than the target (2)" in found.flags


def test_a_host_whose_speed_is_halved_computes_as_long_as_its_profile_says():
    # By hand: 20 Gflop, 5 s at 2 Gflop/s and then 10 s at 1 Gflop/s.
    platform = read_platform(DATA / "halved.xml")
    made = measure_blocks(BlockPlan(platform, (Experiment("compute", ("tired",), 20e9),)))
    assert made.times_s[0][0] == pytest.approx(15.0, rel=1e-4)


def test_on_a_platform_that_changes_every_iteration_is_simulated_and_every_prediction_cautious(runner):
    platform = read_platform(DATA / "halved.xml")
    for found in results(runner, platform, 2, "structural", "dpgraph:known").values():
        assert found.iterations_simulated == found.iterations
        assert "the platform changes over time, which the prediction ignores: the speed of host 'tired'" in found.flags


@pytest.mark.parametrize(
    ("name", "hosts", "said"),
    [
        ("failing", ("f0", "f1", "f2"), "host 'f2' is switched off or on from 1 s"),
        ("torus", ("d0", "d1", "d2", "d3"), "send data from d0 to d0 but there is no connecting path"),  # by CG
    ],
)
def test_a_run_that_fails_by_its_platform_is_bad_input(runner, name, hosts, said):
    target = Target(problem("cg", "S"), read_platform(DATA / f"{name}.xml"), hosts)
    ((_, failed),) = Series((Case(target, "block", Settings()),), predictors(["hcf"])).outcomes(runner)
    assert isinstance(failed.error, PlatformError)
    assert said in str(failed.error)


@pytest.mark.parametrize("how", [{"timed_out": True}, {"status": -9}, {"log": "MPI_Abort was called"}])
def test_a_run_that_is_ended_otherwise_is_not_the_platforms_fault(how):
    target = Target(problem("cg", "S"), read_platform(DATA / "failing.xml"), ("f0", "f1", "f2"))
    done = Finished(**{"status": 1, "output": "", "log": "", "wall_s": 1.0, "peak_memory_bytes": 1} | how)
    with pytest.raises(SimulationError), failures_explained(target.changes, done):
        final_record(done, "a run")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "--platform no_route.xml",
            f"error: {DATA / 'no_route.xml'}, route alice to bob: SimGrid says: there is no connecting path",
        ),
        ("--platform wireless.xml", "does not seem attached to that WIFI link"),
        ("--platform failing.xml", "host 'f3' is switched off when a run begins"),
        ("--platform halved.xml --iterations steady", "halved changes over time"),
        ("--platform multicore.xml --ranks-per-host 5", "5 ranks per host, but host w0 has 4 cores"),
        ("--platform routers.xml --clusters a=old*", "4 of 8 hosts match no pattern"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(refused, monkeypatch, arguments, said):
    monkeypatch.chdir(DATA)
    refused(main, [*arguments.split(), "--class", "S", "--no-store"], said)


def test_several_files_are_run_with_one_command(monkeypatch, capsys):
    monkeypatch.chdir(DATA)
    arguments = (
        "--platform floyd.xml,peers.xml --ranks 2 --app mg --class S --predictor dpgraph:known --no-store --json"
    )
    assert main(arguments.split()) == 0
    shown = capsys.readouterr().out
    assert '"floyd"' in shown
    assert '"peers"' in shown
