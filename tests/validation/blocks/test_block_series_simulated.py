"""Series of comparisons: points that fail, parts of the times, the pool, the store, timelines."""

import csv
import json

import pytest

from apps.errors import SimulationError
from apps.runs import simulate as engine
from platforms.command.values import parsed
from predictor.blocks.series import evaluations
from validation.blocks import cli
from validation.blocks.series import Timed, timed

# The nodes of CLUSTER compute 20.8 Gflop/s and have a disk of 520 Mbyte/s; the sender computes for 1 s.
APPLICATION = """
name = "pair"
[variables]
seconds = 1
size = 1000
written = 0
[labels.sender]
count = 1
program = [
    { compute = "20.8e9 * seconds" },
    { send_to = "receiver", bytes = "size" },
    { if = "written", then = [{ write_disk = "written" }] },
]
[labels.receiver]
count = 1
program = [{ receive_from = "sender" }]
"""
CLUSTER = """
[lan]
network = "gigabit-ethernet"
[[lan.node]]
name = "n"
count = 2
cpu = "xeon-e5-2670"
disks = ["ssd-sata"]
"""


@pytest.fixture
def pair(tmp_path):
    path, system = tmp_path / "pair.toml", tmp_path / "system.toml"
    path.write_text(APPLICATION)
    system.write_text(CLUSTER)
    return [str(path), "--system", str(system), "--store", str(tmp_path / "store")]


def asked(words, capsys):
    status = cli.main(words)
    out, err = capsys.readouterr()
    return status, out, err


def test_a_point_that_cannot_be_simulated_does_not_stop_the_others(pair, capsys):
    words = [*pair, "--vary", f"size={2**31},1000", "--json"]  # MPI sends less than 2 GiB in a message
    status, out, err = asked(words, capsys)
    large, small = json.loads(out)["comparisons"]
    assert status == 2
    assert large["evaluated_s"] > 1 and large["simulated_s"] is large["error_pct"] is None
    assert "2147483648 bytes in one message" in large["refused"]
    assert small["error_pct"] == pytest.approx(0, abs=1e-4) and small["refused"] is None
    assert err.splitlines() == [f"error: size = {2**31}: {large['refused']}"]


def test_a_point_that_cannot_be_evaluated_is_simulated_all_the_same(pair, capsys, tmp_path):
    asynchronous = APPLICATION.replace('"size" }', '"size", request = "it" },\n    { wait = "it" }')
    (tmp_path / "pair.toml").write_text(asynchronous)
    folder = tmp_path / "out"
    status, out, err = asked([*pair, "--vary", "model=simgrid,kask", "--parts", "--out", str(folder)], capsys)
    assert status == 2
    assert err.startswith("error: model = kask: ") and err.count("\n") == 1
    known, unknown = out.splitlines()[3:5]
    assert known.split() == ["simgrid", "2", "1.00", "s", "1.00", "s", "<0.01", "<0.01"]
    assert unknown.split() == ["kask", "2", "-", "1.00", "s", "-", "-"]
    with open(folder / "series.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [bool(row["refused"]) for row in rows] == [False, True]
    assert [bool(row["working_s"]) for row in rows] == [True, False]
    assert rows[0]["simulated_working_s"] == rows[1]["simulated_working_s"]


def test_a_simulation_that_fails_gives_status_1(pair, capsys, monkeypatch):
    simulate = engine.simulate

    def failing(spec, **options):
        record = simulate(spec, **options)
        if record.time_s > 1.5:
            raise SimulationError("it has run out of luck", "a line\nand the last line of its log")
        return record

    monkeypatch.setattr(engine, "simulate", failing)
    status, out, err = asked([*pair, "--vary", "seconds=1,2,0.5", "--json"], capsys)
    rows = json.loads(out)["comparisons"]
    assert status == 1
    assert [row["simulated_s"] is None for row in rows] == [False, True, False]
    assert err.splitlines() == ["error: seconds = 2: it has run out of luck", "  a line"]


def test_a_single_point_that_fails_is_one_line(pair, capsys):
    status, out, err = asked([*pair, "--count", "sender=99"], capsys)
    assert (status, out) == (2, "")
    assert err.startswith("error: ") and err.count("\n") == 1


@pytest.mark.parametrize("option", ["--evaluator lazy", "--model galera-", "--power-law printed"])
def test_a_wrong_option_is_refused_before_anything_is_simulated(pair, capsys, monkeypatch, option):
    monkeypatch.setattr("apps.runs.runner.Runner.record", None)
    status, out, err = asked([*pair, "--vary", "seconds=1,2", *option.split()], capsys)
    assert (status, out) == (2, "")
    assert err.startswith(("error: --", "error: model ")) and err.count("\n") == 1


def test_a_point_without_processes_has_one_error_line(pair, capsys):
    status, _, err = asked([*pair, "--vary", "sender=0,1", "--set", "size=0", "--count", "receiver=0"], capsys)
    assert status == 2
    assert err.splitlines()[0].endswith("no processes. Give a label a count of 1 or more.")
    assert sum("sender = 0" in line for line in err.splitlines()) == 1


def test_parts_of_evaluated_and_simulated_times_agree_and_add_up(pair, capsys):
    status, out, _ = asked([*pair, "--set", "written=52e6", "--parts", "--json"], capsys)
    (row,) = json.loads(out)["comparisons"]
    assert status == 0
    for side in ("evaluated_parts", "simulated_parts"):
        sender, receiver = row[side]["sender"], row[side]["receiver"]
        assert sender["working_s"] == pytest.approx(1.1, rel=1e-3)  # 1 s of computing, 0.1 s of the disk
        assert receiver["working_s"] == pytest.approx(0, abs=1e-9)
        assert receiver["messages_s"] == pytest.approx(1.0, rel=1e-3)
        assert sender["idle_s"] == receiver["idle_s"] == 0  # of the same label
        assert sum(sender[name] for name in ("working_s", "messages_s")) == pytest.approx(row["evaluated_s"])
    text = asked([*pair, "--set", "written=52e6", "--parts"], capsys)[1]
    assert ["sender", "computing,", "disk", "1.100", "1.100"] in [line.split() for line in text.splitlines()]


def test_evaluations_are_kept_too(pair, capsys, monkeypatch):
    assert asked([*pair, "--vary", "seconds=1,2"], capsys)[0] == 0
    monkeypatch.setattr("validation.blocks.series.evaluate", None)
    assert asked([*pair, "--vary", "seconds=1,2"], capsys)[0] == 0
    with pytest.raises(TypeError):
        cli.main([*pair, "--vary", "seconds=3"])


def test_an_interrupted_series_says_how_to_go_on(pair, capsys, monkeypatch):
    def interrupted(self, spec):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("apps.runs.runner.Runner.record", interrupted)
        status, _, err = asked([*pair, "--vary", "seconds=1,2"], capsys)
    assert status == 130
    assert "kept in the store. To continue: " in err
    monkeypatch.setattr("validation.blocks.series.evaluate", None)
    assert asked([*pair, "--vary", "seconds=1,2"], capsys)[0] == 0


def test_answers_of_two_kinds_are_kept_apart(pair, tmp_path):
    from apps.store import Store
    from predictor.blocks.series.points import points_of

    request = parsed(cli.BlocksComparisonRequest, cli.COMMAND.parser(), [*pair, "--vary", "seconds=1,2"])
    with Store(tmp_path / "both") as store:
        plain = evaluations.evaluations(points_of(request), store, 1)
        found = evaluations.made_and_kept(points_of(request), timed, Timed, store, 1)
        again = evaluations.made_and_kept(points_of(request), timed, Timed, store, 1)
    assert [one.result for one in found] == plain
    assert again == found


def test_the_simulated_run_has_a_timeline(pair, capsys, tmp_path):
    path = tmp_path / "run.json"
    status, _, err = asked([*pair, "--timeline", str(path)], capsys)
    assert status == 0 and "1 messages" in err
    assert '"computation"' in path.read_text()
    status, _, err = asked([*pair, "--timeline", str(path), "--vary", "seconds=1,2"], capsys)
    assert status == 2 and "does not go with --vary" in err


def test_a_plan_leaves_out_what_cannot_be_simulated(pair, capsys):
    status, out, err = asked([*pair, "--vary", f"size=1000,{2**31}", "--dry-run"], capsys)
    assert status == 2 and "1 run" in out and err.count("\n") == 1


def test_the_evaluator_of_a_point_that_is_refused_is_the_one_asked_for(pair, capsys):
    status, *_ = asked([*pair, "--vary", "evaluator=cohorts,lazy", "--out", str(pair[-1]) + "-out"], capsys)
    with open(f"{pair[-1]}-out/series.csv") as file:
        rows = list(csv.DictReader(file))
    assert status == 2
    assert [(row["evaluator"], row["refused"] == "") for row in rows] == [("cohorts", True), ("lazy", False)]
