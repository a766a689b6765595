"""Formulas of reliability compared with drawn runs and with failing hosts in SimGrid."""

import json
import math

import numpy as np
import pytest

from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from validation.failures.cli import main
from validation.failures.study import (
    ABORTED,
    STALLED,
    SUCCEEDED,
    completion_times,
    duration,
    first_failures,
    mean_check,
    probability_check,
    simulate_failing,
)


@pytest.fixture
def ep_on_four_nodes():
    from apps.programs.problem import problem
    from apps.spec.settings import Settings
    from apps.spec.target import Target

    platform = materialise(named_grid("grid4x2"))
    return Settings(iterations="full").spec(Target(problem("ep", "S"), platform, block(platform, 4)))


def test_the_interval_of_a_proportion_is_the_published_one():
    # No success in n runs: the upper limit is 1 - (alpha/2)^(1/n) (Clopper and Pearson 1934).
    check = probability_check("", 0.0, successes=0, runs=200)
    assert (check.low, check.high) == pytest.approx((0, 1 - 0.005 ** (1 / 200)))
    assert check.inside
    assert not probability_check("", 0.5, successes=0, runs=200).inside


def test_the_interval_of_a_mean_by_hand():
    # Mean 2, standard deviation 1, n = 3: t(0.995, 2) = 9.925 from any table.
    check = mean_check("", 2.0, np.array([1.0, 2.0, 3.0]))
    assert check.high - check.estimate == pytest.approx(9.925 / math.sqrt(3), rel=1e-4)


def test_nodes_fail_independently():
    first_s = first_failures(np.random.default_rng(5), 20_000, nodes=50, rate_per_s=0.01)
    assert mean_check("", 2.0, first_s).inside  # 1/(50 x 0.01)


def test_a_run_that_never_fails_takes_its_work_and_its_checkpoints():
    times_s = completion_times(
        np.random.default_rng(1), 3, nodes=1, rate_per_s=1e-30, work_s=300, interval_s=100, checkpoint_s=10,
        restart_s=5,
    )  # fmt: skip
    assert times_s == pytest.approx([320] * 3)


def test_every_formula_lies_in_the_interval_of_drawn_runs(capsys):
    assert main("--runs 1500 --simulations 0 --json".split()) == 0
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert len(checks) == 12
    assert all(check["low"] <= check["formula"] <= check["high"] for check in checks)


def test_a_run_in_simgrid_succeeds_where_no_host_fails_before_its_end(ep_on_four_nodes):
    lasts_s = duration(ep_on_four_nodes)
    done = simulate_failing(ep_on_four_nodes, lasts_s, runs=16, rate_per_s=0.5 / (4 * lasts_s), seed=1)
    assert done.as_drawn == 16
    assert 0 < done.succeeded < 16
    assert set(done.outcomes) == {SUCCEEDED, STALLED, ABORTED}  # the last two with exit status 0 and 134


@pytest.mark.slow
def test_success_in_simgrid_is_that_of_the_formula(capsys):
    assert main("--runs 10000 --simulations 200 --json".split()) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["simulations"]["as_drawn"] == 200


def test_a_compiled_platform_cannot_be_given_failures(ep_on_four_nodes, tmp_path):
    from dataclasses import replace

    target = ep_on_four_nodes.target
    compiled = replace(target.platform, path=tmp_path / "grid.so")
    with pytest.raises(UserError, match="is compiled"):
        simulate_failing(replace(ep_on_four_nodes, target=replace(target, platform=compiled)), 1, runs=1, rate_per_s=1,
                         seed=1)  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [
        *("--runs 10", "--runs 99999999999", "--simulations -1", "--success 1", "--jobs 0", "--ranks 9"),
        *("--simulations 0 --app ep", "--simulations 0 --ranks 2", "--simulations 0 --scenario grid4x2"),
        *("--app himeno", "--app himeno --size 32 --class S"),
    ],
)
def test_bad_input_gives_one_line(arguments, capsys):
    assert main(arguments.split()) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_tells_what_it_drew_and_what_simgrid_did(capsys):
    assert main("--runs 200 --simulations 6 --success 0.5 --seed 1 --ranks 2".split()) == 0
    heading, *rows, blank, in_simgrid, verdict = capsys.readouterr().out.splitlines()
    assert heading.split() == ["quantity", "runs", "formula", "estimate", "99", "%", "interval"] and not blank
    assert max(map(len, rows)) <= 80
    firsts = [row for row in rows if row.endswith("inside")]  # a row's quantity may take several lines
    assert len(firsts) == 13 and not any(row.endswith("OUTSIDE") for row in rows)
    # The failure rate is such that half of the runs succeed; the draws determine which ones.
    assert firsts[-1].startswith("success, ep S on 2")
    assert " 6 " in firsts[-1] and " 0.5" in firsts[-1]
    assert in_simgrid.startswith("in SimGrid: ") and in_simgrid.endswith("; 6 of 6 agree with their draws")
    assert verdict.startswith("13 of 13 inside")


def test_runs_on_a_platform_that_changes_carry_its_caution(tmp_path, capsys):
    (tmp_path / "half.txt").write_text("1000 0.5\n")
    path = tmp_path / "changes.xml"
    path.write_text(
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
        '<zone id="z" routing="Full"><host id="a" speed="1Gf" speed_file="half.txt"/><host id="b" speed="1Gf"/>'
        '<link id="l" bandwidth="1GBps" latency="1us"/><route src="a" dst="b"><link_ctn id="l"/></route>'
        "</zone></platform>"
    )
    options = f"--platform {path} --ranks 2 --runs 1500 --simulations 2 --jobs 1 --json".split()
    main(options)
    printed = capsys.readouterr()
    (said,) = json.loads(printed.out)["cautions"]
    assert "the platform changes while the program runs: " in said
    assert f"caution: {said}\n" in printed.err
