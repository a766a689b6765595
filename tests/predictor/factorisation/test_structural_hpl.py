"""HPL by the predictor ``structural``: against simulated runs, and what it refuses."""

import pytest

from apps.programs.problem import sized_problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise, read_platform
from predictor.answers.answers import predict
from predictor.evidence.broker import Broker
from predictor.registry import predictor

PLATFORM = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="zone" routing="Full">
    <cluster id="one" prefix="n" suffix="" radical="0-{last}" speed="{speed}" bw="{rate}" lat="20us" {more}/>
  </zone>
</platform>
"""


def answered(tmp_path, problem, ranks, *, per=1, speed="10Gf", rate="1.25GBps", more="", options=()):
    """Return the answer of structural, and the simulated time, s, of HPL on a cluster of 8 nodes."""
    (tmp_path / "one.xml").write_text(PLATFORM.format(last=7, speed=speed, rate=rate, more=more))
    platform = read_platform(tmp_path / "one.xml")
    target, settings = Target(problem, platform, block(platform, ranks, per)), Settings(efficiency="1", options=options)
    with Runner(jobs=1) as runner:
        (answer,) = predict(predictor("structural"), [target], Broker.of(settings, [target], runner))
        return answer, runner.record(settings.spec(target)).time_s


@pytest.mark.parametrize(
    ("ranks", "given", "changes"),
    [
        (8, {"grid_rows": 4}, {}),
        (6, {"grid_rows": 1, "broadcast": "2-ring-modified"}, {"speed": "2Gf", "rate": "125MBps"}),
        (
            8,
            {"grid_rows": 2, "broadcast": "long"},
            {"per": 2, "more": 'core="2" loopback_bw="5GBps" loopback_lat="1us"'},
        ),
    ],
)
def test_it_has_the_simulated_time(tmp_path, ranks, given, changes):
    answer, simulated_s = answered(tmp_path, sized_problem("hpl", 1500, nb=50, **given), ranks, **changes)
    assert answer.prediction.time_s == pytest.approx(simulated_s, rel=0.01)


# Calls take time of their own, and the one that HPL sends with (os) another than the one of ping-pongs (ois).
CALLS = (
    ("smpi/async-small-thresh", "65536"),
    ("smpi/os", "0:4e-6:4e-10"),
    ("smpi/ois", "0:1e-6:0"),
    ("smpi/or", "0:6e-6:2e-10"),
)


@pytest.mark.parametrize("broadcast", ["ring", "long"])
def test_calls_that_take_time_are_told_from_the_way(tmp_path, broadcast):
    problem = sized_problem("hpl", 1500, nb=50, grid_rows=2, broadcast=broadcast)
    answer, simulated_s = answered(tmp_path, problem, 8, options=CALLS)
    assert answer.prediction.time_s == pytest.approx(simulated_s, rel=0.01)


def test_looks_that_cost_time_are_a_caution(tmp_path):
    answer, _ = answered(tmp_path, sized_problem("hpl", 400, nb=50, grid_rows=2, depth=1), 4)
    assert any("smpi/iprobe" in flag for flag in answer.prediction.flags)


def test_a_link_that_all_nodes_share_is_refused_in_one_line(tmp_path):
    problem = sized_problem("hpl", 400, nb=50, grid_rows=2)
    answer, _ = answered(tmp_path, problem, 8, more='bb_bw="2GBps" bb_lat="10us"')
    assert answer.prediction is None
    assert "share a link" in answer.refusal and "\n" not in answer.refusal


def test_several_clusters_and_ranks_that_do_not_fill_the_grid_are_refused():
    platform = materialise(named_grid("grid4x2"))
    for problem, ranks, text in (
        (sized_problem("hpl", 400, nb=50, grid_rows=2), 8, "4 clusters"),
        (sized_problem("hpl", 400, nb=50, grid_rows=3), 2, "grid_rows"),
    ):
        target = Target(problem, platform, block(platform, ranks))
        with Runner(jobs=1) as runner:
            (answer,) = predict(predictor("structural"), [target], Broker.of(Settings(), [target], runner))
        assert answer.prediction is None and text in answer.refusal
