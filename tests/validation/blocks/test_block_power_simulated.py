"""Energies of simulated applications by the power rules, against sums by hand."""

import pytest

from apps.runs.runner import Runner
from platforms.system.convert import system_named
from predictor.blocks.application import Application
from predictor.blocks.programs import Compute, Label, Receive, Send
from predictor.blocks.setting import Setting
from validation.blocks import cli
from validation.blocks.comparison import compare

IDLE_W, BUSY_W = 4.0, 24.0  # of a node of grid4x2, which has one core of 40 Gflop/s
SECOND = 40e9  # operations


@pytest.fixture(scope="module")
def runner():
    with Runner(jobs=1) as made:
        yield made


def early_and_late(wait):
    """One process computes for 1 s and may wait for the other, which computes for 3 s."""
    early = (Compute(SECOND), Receive("late")) if wait else (Compute(SECOND),)
    late = (Compute(3 * SECOND), Send("early", 0)) if wait else (Compute(3 * SECOND),)
    return Application("two", (Label("early", 1, early), Label("late", 1, late)))


@pytest.mark.parametrize(
    ("rule", "wait", "energy_j"),
    [
        ("idle-waiting", False, 4 * BUSY_W + 2 * IDLE_W),
        ("active-waiting", False, 4 * BUSY_W + 2 * IDLE_W),  # it has ended, and does not wait
        ("paper", False, 4 * BUSY_W),  # its node does not count any more
        ("idle-waiting", True, 4 * BUSY_W + 2 * IDLE_W),
        ("active-waiting", True, 6 * BUSY_W),
        ("paper", True, 6 * BUSY_W),
    ],
)
def test_the_simulated_energy_follows_the_rule(runner, rule, wait, energy_j):
    setting = Setting(early_and_late(wait), system_named("grid4x2"))
    found = compare(setting, lambda one: one.machine(), runner, power=rule)
    assert found.simulated_j == pytest.approx(energy_j, rel=1e-3)  # the message takes 0.2 ms
    assert found.energy_error_pct == pytest.approx(0, abs=1e-4)
    assert found.power == rule


TWO_UNITS = """
[lan]
network = "infiniband-qdr"
[[lan.node]]
count = 2
bus = "pcie3-x16"
[[lan.node.unit]]
cpu = "xeon-e5-2670"
power = { idle_w = 7, full_w = 100 }
slots = {}
[[lan.node.unit]]
gpu = "tesla-k40"
power = { idle_w = 4, full_w = 24 }
"""


def test_the_simulated_energy_counts_the_other_units_of_a_node_in_use(runner, tmp_path):
    (tmp_path / "two.toml").write_text(TWO_UNITS)
    system = system_named(str(tmp_path / "two.toml"))
    speed = system.groups[1].unit.speed_flops
    setting = Setting(Application("one", (Label("a", 1, (Compute(3 * speed),)),)), system)
    found = compare(setting, lambda one: one.machine(), runner)
    assert found.simulated_j == pytest.approx(3 * (24 + 7), rel=1e-6)  # the second node is not in use
    assert found.evaluated_j == pytest.approx(found.simulated_j, rel=1e-6)


def test_an_unknown_rule_is_refused_before_anything_is_simulated(capsys):
    assert cli.main("examples/blocks/stencil.toml --system grid4x2 --power lazy --no-store".split()) == 2
    assert capsys.readouterr().err == (
        "error: --power lazy: no such rule. Known: idle-waiting, active-waiting, paper.\n"
    )
