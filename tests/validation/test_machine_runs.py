"""Predictions that are compared with runs on a real machine: this computer, under three names."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from apps.machines.machine_file import read_machine
from apps.machines.machine_platform import machine_platform
from apps.programs.problem import problem
from apps.recording.events import Recording
from apps.results.record import Measured
from apps.spec.settings import Settings
from apps.spec.target import Target
from predictor.answers.answers import Answer
from predictor.answers.text import answer_lines
from predictor.base import Cost, Evidence, EvidenceRequest, Prediction
from validation.comparison.truth import measured_record
from validation.run import main

EXAMPLES = Path(__file__).parents[2] / "examples"


def answers(capsys, *options):
    status = main(list(options))
    return status, capsys.readouterr()


def test_predictions_are_compared_with_the_repeats(named_file, tmp_path, capsys):
    words = ["--machine", str(named_file), "--app", "ep", "--class", "S", "--repeats", "2", "--json"]
    words += ["--store", str(tmp_path), "--predictor", "structural,hcf,simulate"]
    status, said = answers(capsys, *words)
    assert status == 0
    rows = json.loads(said.out)["results"]
    assert {row["predictor"] for row in rows} == {"structural", "hcf", "simulate"}
    # Where other work disturbs the messages of a local network, structural sees no rate, and says so.
    assert {row["predictor"] for row in rows if row["predicted_s"] is None} <= {"structural"}
    for row in (one for one in rows if one["predicted_s"] is not None):
        assert row["truth"] == "measurement"
        assert row["true_low_s"] <= row["simulated_s"] <= row["true_high_s"]
        assert row["in_repeats"] == (row["true_low_s"] <= row["predicted_s"] <= row["true_high_s"])
        assert row["evidence_node_s"] > 0
    # A second command takes everything from the store.
    assert json.loads(answers(capsys, *words)[1].out)["results"][0]["simulated_s"] == rows[0]["simulated_s"]


def test_without_permission_the_target_does_not_run(named_file, tmp_path, capsys):
    words = ["--machine", str(named_file), "--app", "ep", "--class", "S", "--repeats", "1", "--store", str(tmp_path)]
    status, said = answers(capsys, *words, "--no-target", "--json")
    assert status == 0
    (made,) = json.loads(said.out)["predictions"]
    assert made["prediction"]["time_s"] > 0
    assert all(len(one["host"]) < 4 for one in made["evidence"])


def test_a_plan_without_permission_has_no_run_of_the_target(named_file, capsys):
    words = ["--machine", str(named_file), "--app", "ep", "--class", "S", "--dry-run", "--no-store"]
    assert "1 of targets" in answers(capsys, *words)[1].out
    status, said = answers(capsys, *words, "--no-target")
    assert status == 0 and "of targets" not in said.out and "1 for evidence" in said.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--no-target"], "goes with --machine"),
        (["--machine", "m.toml", "--scenario", "grid4x2"], "does not go with --machine"),
        (["--machine", "m.toml", "--no-target", "--fail-above", "5"], "there is no truth"),
        (["--machine", "m.toml", "--no-target", "--energy"], "--energy: there are no tables"),
        (["--machine", "m.toml", "--jobs", "2"], "a machine makes one run at a time"),
        (["--machine", "nowhere.toml"], "nowhere.toml"),
    ],
)
def test_options_that_do_not_fit_are_one_line(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.toml").write_bytes((EXAMPLES / "machines" / "local.toml").read_bytes())
    status, printed = answers(capsys, *words)
    assert status == 2
    assert said in " ".join(printed.err.split())
    assert len(printed.err.strip().splitlines()) == 1


def test_the_share_of_evidence_counts_each_run_once():
    platform = machine_platform(read_machine(EXAMPLES / "machines" / "local.toml"))
    target = Target(problem("ep", "S"), platform, ("localhost",) * 2)
    plain = measured_record(Settings().spec(target), 2.0)
    how = Measured(
        "local", (2.0, 3.0, 1.0), (), 0, (0.0,) * 3, (0.0,) * 3, (-1,) * 3, (0.0,), 1, "MPI", ("mpirun",), "2026"
    )
    record = replace(plain, measured=how)
    assert (record.node_seconds, record.once_node_s) == (6.0, 2.0)
    evidence = Evidence(EvidenceRequest("run", target), record, "e", Cost(6.0, 7.0))
    # By hand: 2 of 6 node-seconds, as there were three repeats, over a run of 10 s on one node.
    made = Prediction(10.0, {"compute_s": 10.0}, cost=evidence.cost)
    said = " ".join(" ".join(answer_lines(Answer("own", target, made, None, (evidence,), 0.0))).split())
    assert "evidence costs 6.00 node-seconds, 20.0 % of the predicted run, each made once" in said
    assert "the evidence was gathered in 7" in said


def test_a_recording_of_a_machine_is_not_called_simulated():
    target = Target(
        problem("ep", "S"), machine_platform(read_machine(EXAMPLES / "machines" / "local.toml")), ("localhost",)
    )
    recording = Recording(events=(), counts=(), communicators=(), measured=True, held_node_s=20.0)
    evidence = Evidence(EvidenceRequest("recording", target, iterations=1), recording, "e", Cost(20.0, 7.0))
    made = Prediction(10.0, {"compute_s": 10.0}, cost=evidence.cost)
    said = " ".join(" ".join(answer_lines(Answer("own", target, made, None, (evidence,), 0.0))).split())
    assert "simulat" not in said
    assert "2.00 times the predicted run: making the run itself is cheaper" in said
