"""What the choice of nodes has beyond the paper: orders of ranks, watts, and when the evidence has paid."""

import json

import numpy as np
import pytest

from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.placement import configured
from platforms.read.read import materialise
from predictor.allocation.configuration import Limits
from predictor.allocation.space import Space
from predictor.evidence.broker import Broker
from predictor.nodes.alternatives import break_even
from predictor.nodes.changed_clusters import parse_watts, powered_platform
from predictor.nodes.cli import main
from predictor.nodes.drivers import Estimates
from predictor.nodes.rank_orders import AS_CHOSEN, ordered, rank_orders

SWITCHES = "ichikawa-two-switches"


def test_orders_of_ranks_keep_the_number_on_every_host():
    platform = materialise(named_grid(SWITCHES))
    placement = configured(platform, ((2, 2), (1, 1)))
    orders = rank_orders(platform, placement)
    assert orders[AS_CHOSEN] == placement == ("xeon-0", "xeon-0", "xeon-1", "xeon-1", "celeron-0")
    assert orders["in turn over the nodes"] == ("xeon-0", "xeon-1", "celeron-0", "xeon-0", "xeon-1")
    assert orders["clusters in reverse"] == ("celeron-0", "xeon-1", "xeon-1", "xeon-0", "xeon-0")
    assert orders["in turn over the clusters"] == ("xeon-0", "xeon-0", "celeron-0", "xeon-1", "xeon-1")
    assert all(sorted(order) == sorted(placement) for order in orders.values())
    assert "fastest nodes first" not in orders  # is the order of the clusters


def test_the_order_by_the_graph_is_the_order_by_simulation():
    platform = materialise(named_grid(SWITCHES))
    target = Target(problem("cg", "S"), platform, configured(platform, ((4, 1), (4, 1))))
    with Runner(jobs=1) as runner:
        found = ordered(target, Broker.of(Settings(), (), runner))
    times_s = {
        order.name: simulate(Settings().spec(Target(target.problem, platform, order.placement))).time_s
        for order in found.orders
    }
    for order in found.orders:
        assert order.time_s == pytest.approx(times_s[order.name], rel=0.01)
    assert times_s[found.best.name] <= 1.01 * min(times_s.values())
    assert found.best.name == AS_CHOSEN and "cluster by cluster, the fastest of 3 orders" in str(found)


def test_watts_of_ones_own_replace_the_default_and_nothing_else():
    # Thermal design powers of the paper's processors, the full watts: 115, 74 and 21 W.
    platform = materialise(named_grid("ichikawa"))
    powered = powered_platform(platform, "60:115,50:74,8:21")
    assert [cluster.hosts[-1].power.full_w for cluster in powered.clusters] == [115, 74, 21]
    assert [cluster.hosts[0].power.idle_w for cluster in powered.clusters] == [60, 50, 8]
    assert [host.speed_flops for host in powered.hosts] == [host.speed_flops for host in platform.hosts]


@pytest.mark.parametrize("text", ["60:115", "60:115,50:74,8", "a:b,1:2,1:2", "115:60,50:74,8:21"])
def test_wrong_watts_are_refused(text):
    with pytest.raises(UserError, match="--watts"):
        parse_watts(text, 3)


def test_real_watts_decide_which_node_takes_least_energy(tmp_path, capsys):
    # EP on one node: energy is watts x operations / speed.  By default watts are in proportion to the speed, and equal.
    path = tmp_path / "two.toml"
    path.write_text(
        '[[clusters]]\nname = "old"\nnodes = 1\nspeed_gflops = 40\n[[clusters]]\nname = "new"\nnodes = 1\n'
        "speed_gflops = 60\n"
    )
    words = f"--scenario {path} --app ep --class S --predictor dpgraph:known --processes 1,1 --nodes 1,1 --json"
    for watts, chosen in (("10:100,10:100", "(0,0,1,1)"), ("10:50,10:100", "(1,1,0,0)")):
        assert main([*words.split(), "--objective", "energy", "--watts", watts]) == 0
        assert json.loads(capsys.readouterr().out)["chosen"] == chosen


def test_the_evidence_has_paid_when_the_runs_have_saved_its_time():
    # Two clusters of two nodes: all nodes take 10 s, the choice 7 s; 31 s of evidence are saved by 11 runs of 3 s.
    space = Space(Limits((2, 2), (2, 1)))
    platform = materialise(named_grid(SWITCHES))
    times_s = np.full(len(space), 7.0)
    (row,) = (at for at in range(len(space)) if str(space.configuration(at)) == "(2,1,2,1)")
    times_s[row] = 10.0
    found = break_even(space, Estimates(times_s), platform, 7.0, 31.0)
    assert (found.configuration, found.runs, found.saved_s) == ("(2,1,2,1)", 11, 3.0)
    assert str(found).endswith("has paid after 11 runs")
    assert break_even(space, Estimates(times_s), platform, 10.0, 31.0).runs is None
    assert break_even(space, Estimates(times_s), platform, 7.0, 0.0) is None
