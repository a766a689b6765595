"""Predictions that are compared with runs on a real machine: this computer, under three names."""

import json

import pytest

from validation.run import main


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
    for row in rows:
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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--no-target"], "goes with --machine"),
        (["--machine", "m.toml", "--scenario", "grid4x2"], "does not go with --machine"),
        (["--machine", "m.toml", "--no-target", "--fail-above", "5"], "there is no truth"),
        (["--machine", "nowhere.toml"], "nowhere.toml"),
    ],
)
def test_options_that_do_not_fit_are_one_line(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.toml").write_text("")
    status, printed = answers(capsys, *words)
    assert status == 2
    assert said in printed.err or words[:1] == ["--machine"]
    assert len(printed.err.strip().splitlines()) == 1
