"""Curves of learned programs: recorded numbers of ranks, learned ones, and advice on further recordings."""

import json
from pathlib import Path

import pytest

from predictor.base import CallCertainty
from predictor.scale.cli import main
from predictor.scale.learning import advice

HALO = Path(__file__).parents[1] / "learned" / "data" / "halo3d.c"
ASKED = [
    *f"--scenario bwUniCluster --ranks-per-host 4 --program {HALO} --program-iterations 4 --program-args".split(),
    "8 {iterations}",
]


def answered(capsys, *words):
    assert main([*ASKED, *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_curve_has_the_recorded_numbers_of_ranks_and_what_was_learned_beyond_them(capsys, tmp_path):
    plot, store = tmp_path / "curve.svg", str(tmp_path / "store")
    words = ["--predictor", "learned:known", "--recorded", "6,8,12", "--ranks", "32,64", "--plot", str(plot)]
    found = answered(capsys, *words, "--advise", "--store", store)
    assert [(row["ranks"], row["source"]) for row in found["rows"]] == [
        (6, "recorded"), (8, "recorded"), (12, "recorded"), (32, "exact"), (64, "exact"),
    ]  # fmt: skip
    known = answered(capsys, "--ranks", "6,8,12,32,64", "--store", store)
    for row, true in zip(found["rows"], known["rows"], strict=True):
        assert row["time_s"] == pytest.approx(true["time_s"], rel=1e-9)
        assert row["critical_part"] == true["critical_part"]
    assert "recorded; the others are learned from these" in plot.read_text() and found["recorded"] == [6, 8, 12]
    assert found["advice"] == ["all 10 call paths are exact: no further recording is needed"]


def test_a_refusal_names_the_numbers_of_ranks_that_are_missing(capsys, tmp_path):
    words = ["--predictor", "learned:known", "--recorded", "4,8,16", "--ranks", "32", "--store", str(tmp_path)]
    assert main([*ASKED, *words, "--json"]) == 2
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert "none of the numbers of ranks has a factor 3: try --recorded 4,6,8,16" in rows[-1]["refused"]


def test_advice_says_what_a_recording_would_do():
    calls = [
        CallCertainty("SEND at a.c:1", "exact", "", None),
        CallCertainty("SEND at a.c:2", "fitted", "flops -1 to 2 %", 64),
        CallCertainty("SEND at a.c:3", "assumed", "a grid", 18),
    ]
    first, second, last = advice(calls, [4, 8, 16])
    assert first == "SEND at a.c:2 is fitted: flops -1 to 2 %; a recording on 64 ranks would narrow its range"
    assert second.endswith("a recording on 18 ranks would settle it")
    assert last == "record these too: --recorded 4,8,16,18,64"


def test_advice_goes_with_a_predictor_that_learns(capsys):
    assert main([*ASKED, "--ranks", "4,8", "--advise"]) == 2
    assert "goes with a predictor that learns from recordings" in capsys.readouterr().err
