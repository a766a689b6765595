"""``gridval scale --simulate``: predicted and simulated curves side by side."""

import json
from pathlib import Path

import pytest

from apps.run import main as run_program
from validation.scale import main

ROOT = Path(__file__).parents[3]


def test_the_simulated_times_are_those_of_single_runs_and_the_graph_meets_them(capsys, tmp_path):
    words = "--app cg --class S --scenario grid2x4 --speeds 40,50".split()
    assert (
        main([*words, "--ranks", "2:8", "--store", str(tmp_path / "store"), "--json", "--out", str(tmp_path / "out")])
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert [row["ranks"] for row in found["rows"]] == [2, 4, 8]
    assert run_program([*words, "--ranks", "4", "--json"]) == 0
    single = json.loads(capsys.readouterr().out)
    assert found["rows"][1]["simulated_s"] == pytest.approx(single["time_s"], rel=1e-9)
    # The graph on the file's own network is within a few thousandths of SimGrid (docs/predictors/dpgraph.md).
    assert all(abs(row["error_pct"]) < 1 for row in found["rows"])
    times = {row["ranks"]: row["simulated_s"] for row in found["rows"]}
    assert found["simulated_best_ranks"] == min(times, key=times.get)
    assert found["rows"][2]["simulated_speed_up"] == pytest.approx(times[2] / times[8])
    assert "simulated_s" in (tmp_path / "out" / "scale.csv").read_text().splitlines()[0]


def test_text_has_both_curves(capsys, tmp_path):
    words = "--app ep --class S --scenario grid2x2 --speeds 1,2 --ranks 2,4 --store".split()
    assert main([*words, str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "more ranks help up to 4" in out and "largest error" in out and "simulated, 4 ranks are the fastest" in out
