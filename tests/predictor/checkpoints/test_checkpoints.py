"""Applications of blocks on failing hardware: their checkpoints, and expected times and energies, by hand."""

import json
from math import exp, expm1, inf

import pytest

from platforms.errors import UserError
from platforms.system.convert import system_named
from predictor.blocks.application import Application
from predictor.blocks.programs import Barrier, Compute, If, Label, Repeat, WriteDisk
from predictor.blocks.setting import Setting
from predictor.checkpoints.cli import main
from predictor.checkpoints.expectation import NO_FAILURES, OWN, SCRATCH, best, expectation, expectations
from predictor.checkpoints.placed import (
    Placed,
    has_checkpoints,
    one_checkpoint,
    own_interval,
    placed,
    rhythm_of,
    without_checkpoints,
)
from predictor.failures.expected import restart_from_scratch, with_checkpoints

# A node computes 1e9 operations in a second, takes 10 W idle and 30 W computing, and fails three times in 10^6 s.
HARDWARE = """
[cpus.toy]
cores = 1
clock_ghz = 1
double_per_cycle = 1
single_per_cycle = 1
idle_w = 10
full_w = 30
failures_per_year = 94.6728
source = "made up"

[disks.toy]
read_mbyte_s = 100
write_mbyte_s = 100
source = "made up"
failures_per_year = 0
"""
SYSTEM = """
hardware = ["hardware.toml"]
[lan]
network = "gigabit-ethernet"
[[lan.node]]
name = "n"
count = 8
cpu = "toy"
disks = ["toy"]
"""
APP = """
[labels.p]
count = 2
program = [
    { repeat = 4, as = "k", do = [{ compute = "1e12 / p" }, { if = "k < 3", then = [{ write_disk = 1e9 }] }] },
]
"""
RUN = Placed(
    processes=4, nodes=4, work_s=1000.0, work_w=100.0, checkpoint_s=10.0, checkpoint_w=50.0, idle_w=20.0,
    rate_per_s=1e-3, own_interval_s=250.0,
)  # fmt: skip


@pytest.fixture
def files(tmp_path):
    for name, text in (("hardware.toml", HARDWARE), ("system.toml", SYSTEM), ("app.toml", APP)):
        (tmp_path / name).write_text(text)
    return tmp_path


STORED = (Barrier(), Barrier(), WriteDisk(5))


def program(*steps):
    return Application("", (Label("p", 2, steps),))


def test_work_and_one_checkpoint_are_the_two_parts_of_an_application():
    writing = If("k % 10 == 9", (WriteDisk(7),))
    first_only = If("index == 0", (WriteDisk(5),), (Compute(1),))
    whole = program(Repeat(100, (Compute(3), writing), "k"), first_only)
    assert has_checkpoints(whole) and not has_checkpoints(without_checkpoints(whole))
    (label,) = without_checkpoints(whole).labels
    assert label.program == (Repeat(100, (Compute(3), If("k % 10 == 9", ())), "k"), If("index == 0", (), (Compute(1),)))
    (label,) = one_checkpoint(whole).labels
    # A turn says when to write; an index says who writes.
    assert label.program == (WriteDisk(7), If("index == 0", (WriteDisk(5),), ()))


def test_times_powers_and_failures_are_those_of_the_placed_hardware(files):
    from predictor.blocks.description import read_application

    setting = Setting(read_application(files / "app.toml"), system_named(str(files / "system.toml")))
    run = placed(setting, lambda one: one.machine("hardware"))
    # Two nodes: 4 turns of 1e12 / 2 operations; 1e9 bytes at 1e8 byte/s; a checkpoint after each of three turns.
    assert (run.nodes, run.work_s, run.checkpoint_s) == (2, pytest.approx(2000), pytest.approx(10))
    assert (run.work_w, run.checkpoint_w, run.idle_w) == pytest.approx((60, 20, 20))
    assert run.rate_per_s == pytest.approx(2 * 94.6728 / (365.25 * 86400))
    assert run.own_interval_s == pytest.approx(500) and run.cautions == ()


@pytest.mark.parametrize("interval_s", [90.0, 250.0, 999.0, 1000.0, inf])
@pytest.mark.parametrize("restart_s", [0.0, 60.0])
def test_the_parts_add_up_to_the_known_expected_times(interval_s, restart_s):
    one = expectation(RUN, interval_s, rate_per_s=1e-3, restart_s=restart_s)
    known_s = with_checkpoints(1000.0, 1e-3, interval_s=interval_s, checkpoint_s=10.0, restart_s=restart_s)
    assert one.time_s == pytest.approx(float(known_s))


def test_the_energy_has_the_power_of_each_part():
    # One segment of 500 s of work and a checkpoint of 10 s, then 500 s; r = 1e-3 / s, R = 60 s.
    one = expectation(RUN, 500.0, rate_per_s=1e-3, restart_s=60.0)
    work_s = (exp(0.01) * expm1(0.5) + expm1(0.5)) * 1000
    restart_s = (expm1(0.51) + expm1(0.5)) * expm1(0.06) * 1000
    assert (one.work_s, one.checkpoint_s, one.restart_s) == pytest.approx((work_s, expm1(0.01) * 1000, restart_s))
    assert one.energy_j == pytest.approx(100 * work_s + 50 * expm1(0.01) * 1000 + 20 * restart_s)


def test_the_strategies():
    found = expectations(RUN, ["young"], restart_s=0.0)
    assert list(found) == [NO_FAILURES, SCRATCH, OWN, "young"]
    assert (found[NO_FAILURES].time_s, found[NO_FAILURES].energy_j) == (1000, 100_000)
    assert found[SCRATCH].time_s == pytest.approx(float(restart_from_scratch(1000.0, 1e-3)))
    assert found[OWN].interval_s == 250
    assert found["young"].interval_s == pytest.approx((2 * 10 / 1e-3) ** 0.5)  # sqrt(2 delta M)


def test_the_best_placement_may_differ_for_time_and_energy():
    slow = Placed(1, 1, 1000.0, 100.0, 10.0, 100.0, 10.0, 0.0, None)
    fast = Placed(4, 4, 500.0, 400.0, 10.0, 400.0, 40.0, 0.0, None)
    found = [expectations(one, []) for one in (slow, fast)]
    assert (best(found, SCRATCH), best(found, SCRATCH, energy=True), best(found, OWN)) == (1, 0, None)


def rhythm(*steps):
    return rhythm_of(program(*steps))


def test_the_rhythm_of_checkpoints_in_loops():
    turn = Repeat(10, (Compute(2), WriteDisk(5)))
    every = rhythm(Compute(1), turn, Compute(3))
    assert (every.work, every.moments, every.head, every.tail, every.longest) == (24, 10, 3, 3, 2)
    assert every.checkpoints == 10 and every.ends_with_work and every.caution() is None
    # The turns of the outer loop differ, so that they are followed one by one.
    some = rhythm(Repeat(7, (Repeat(3, (Compute(1),)), If("k % 2 == 1", (WriteDisk(5),))), "k"))
    assert (some.work, some.moments, some.head, some.tail, some.longest) == (21, 3, 6, 3, 6)
    assert some.ends_with_work  # half of the work before a checkpoint


def test_checkpoints_that_differ_are_cautioned():
    turn = Repeat(10, (Compute(2), WriteDisk(5)))
    final = rhythm(turn, WriteDisk(5))
    assert final.checkpoints is None and final.moments == 10
    assert "not done equally often (step 1.2: 10, step 2: 1)" in final.caution()
    early = rhythm(Repeat(10, (Compute(1), If("k == 1", (WriteDisk(5),), ())), "k"))
    assert "4 times the mean work" in early.caution()


def test_a_process_that_does_not_compute_counts_messages():
    labels = (Label("p", 2, (Repeat(6, (Compute(1), Barrier())),)), Label("w", 1, (Repeat(3, STORED),)))
    found = rhythm_of(Application("", labels))
    assert (found.work, found.moments, found.tail) == (6, 3, 0)


def test_too_many_turns_and_other_writers_are_not_followed():
    assert rhythm(Repeat(60_000, (Compute("k"), WriteDisk(5)), "k")) is None
    assert rhythm(Compute(1)) is None


def test_runs_in_a_row_have_their_gaps_together():
    application = program(Repeat(4, (Compute(1), If("k < 3", (WriteDisk(5),))), "k"))
    assert own_interval(application, 3)[0] == 1 / 4
    assert own_interval(application, 3, repeat=10)[0] == 10 / 31


def test_what_takes_for_ever_is_infinite():
    hopeless = expectation(RUN, inf, rate_per_s=10.0, restart_s=0.0)
    assert hopeless.time_s == inf


def test_the_command_finds_the_best_number_of_nodes(files, capsys):
    arguments = [str(files / "app.toml"), "--system", str(files / "system.toml"), "--model", "hardware"]
    assert main([*arguments, "--vary", "p=1,2,4,8", "--restart", "60", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [row["nodes"] for row in said["rows"]] == [1, 2, 4, 8]
    times_s = [row["expected"]["daly"]["time_s"] for row in said["rows"]]
    assert said["best_time"]["daly"] == times_s.index(min(times_s))
    assert main([*arguments, "--vary", "p=1,2,4,8", "--restart", "60"]) == 0
    text = capsys.readouterr().out
    assert "best, daly: p 8, 8 nodes" in text and "caution: daly: the best number of nodes, 8, is an end" in text
    assert max(map(len, text.splitlines())) <= 80


def test_dalys_interval_and_time_of_an_application_by_hand(files, capsys):
    arguments = [str(files / "app.toml"), "--system", str(files / "system.toml"), "--model", "hardware", "--json"]
    assert main([*arguments, "--failure-rate", "1e-3", "--restart", "60"]) == 0
    daly = json.loads(capsys.readouterr().out)["rows"][0]["expected"]["daly"]
    # Two nodes, so M = 500 s; checkpoints of 10 s.  Daly (2006), eq. 37: sqrt(2 d M) (1 + x/3 + x^2/9) - d, x^2 = d/2M.
    x = (10 / 1000) ** 0.5
    interval_s = 100 * (1 + x / 3 + x * x / 9) - 10
    assert daly["interval_s"] == pytest.approx(interval_s)
    # 2000 s are 21 segments of 93.4 s with a checkpoint, and a last one without; each takes
    # M e^(R/M) (e^((work + checkpoint)/M) - 1) on average.
    last_s = 2000 - 21 * interval_s
    assert 0 < last_s < interval_s
    time_s = 500 * exp(60 / 500) * (21 * expm1((interval_s + 10) / 500) + expm1(last_s / 500))
    assert daly["time_s"] == pytest.approx(time_s)


def test_a_placement_that_fails_does_not_stop_the_others(files, capsys, monkeypatch):
    arguments = [str(files / "app.toml"), "--system", str(files / "system.toml"), "--store", str(files / "store")]
    assert main([*arguments, "--vary", "p=2,9,4", "--json"]) == 2
    out, err = capsys.readouterr()
    assert [row["nodes"] for row in json.loads(out)["rows"]] == [2, 4]
    assert err.startswith("error: p = 9: ") and err.count("\n") == 1
    monkeypatch.setattr("predictor.checkpoints.placed.evaluate", None)  # the placements are kept
    assert main([*arguments, "--vary", "p=2,4", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)["rows"]
    assert again == json.loads(out)["rows"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--restart", "-1"], "--restart -1: not a time"),
        (["--checkpoint", "0"], "--checkpoint 0: not a time"),
        (["--repeat", "0"], "--repeat 0: out of its range"),
        (["--intervals", "dally"], "no such interval"),
        (["--vary", "q=1"], "no label or variable 'q'"),
        (["--power", "none"], "no such rule"),
        (["--evaluator", "lazy"], "--evaluator lazy: no such evaluator"),
    ],
)
def test_a_wrong_option_is_one_line(files, capsys, more, words):
    assert main([str(files / "app.toml"), "--system", str(files / "system.toml"), *more]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1 and words in said


def test_the_evaluator_is_the_one_asked_for_and_its_caution_is_said(files):
    setting = Setting(program(Compute(1e9), Barrier(), WriteDisk(1000)), system_named(str(files / "system.toml")))
    whole = placed(setting, lambda one: one.machine("hardware"))  # formulas of whole collectives, by cohorts
    assert any("messages of different steps do not slow one another" in text for text in whole.cautions)
    each = placed(setting, lambda one: one.machine("hardware"), evaluator="graph")
    assert not any("different steps" in text for text in each.cautions)


def test_an_application_without_checkpoints_or_rates_says_what_to_give(files):
    setting = Setting(program(Compute(1e9)), system_named(str(files / "system.toml")))
    with pytest.raises(UserError, match=r"no write_disk.*Give --checkpoint"):
        placed(setting, lambda one: one.machine("hardware"))
    unknown = Setting(program(Compute(1e9)), system_named("grid4x8"))
    with pytest.raises(UserError, match=r"none for processor .*Give --failure-rate"):
        placed(unknown, lambda one: one.machine("hardware"), checkpoint_s=1.0)
