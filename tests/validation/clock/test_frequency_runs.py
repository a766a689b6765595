"""``gridval plan clock --simulate``: predictions at every frequency against simulations."""

import csv
import json
from types import SimpleNamespace

import pytest

from apps.programs.problem import problem
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from validation.clock import compare as frequencies
from validation.clock.cli import main

SCENARIO = """
[[clusters]]
nodes = 2
speed_gflops = 40
frequencies = { max_ghz = 2.5, min_ghz = 1.3, step_ghz = 0.6 }
[[clusters]]
nodes = 2
speed_gflops = 70
frequencies = { max_ghz = 3.0, min_ghz = 1.0, step_ghz = 1.0 }
"""


@pytest.fixture
def asked(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(SCENARIO)
    options = "--network infiniband --app mg --class S --predictor dpgraph:known --time-limit 1.3 --no-store --optimum"
    return ["--scenario", str(path), *options.split()]


def test_predictions_from_the_highest_frequencies_are_those_of_the_simulation(asked, capsys):
    assert main([*asked, "--json"]) == 0
    (study,) = json.loads(capsys.readouterr().out)["studies"]
    rows = study["compared"]
    # By hand: highest, lowest, 2 x 2 levels of a cluster alone, and the best if it is not one of these.
    assert len({row["frequency"] for row in rows}) == 6 + (
        rows[-1]["frequency"] not in {r["frequency"] for r in rows[:-1]}
    )
    assert max(abs(row["time_error_pct"]) for row in rows) < 0.01
    assert max(abs(row["energy_error_pct"]) for row in rows) < 0.01
    assert study["optimum"]["choices"] == 9
    # The choice is the best of all simulated ones, or nearly so because of the model's small errors.
    assert -1e-6 <= study["optimum"]["loss_pct"] < 0.1
    best = next(row for row in rows if row["choice"] == "best")
    highest = next(row for row in rows if row["choice"] == "highest")
    assert best["energy_simulated_j"] < highest["energy_simulated_j"]
    assert best["simulated_s"] < 1.301 * highest["simulated_s"]


def test_tables_and_figures_are_written(asked, capsys, tmp_path):
    assert main([*asked, "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "largest errors: time" in shown and "optimum of 9 simulated choices" in shown
    with open(tmp_path / "out" / "frequencies.csv", newline="") as file:
        names = [row["choice"] for row in csv.DictReader(file)]
    assert {"highest", "lowest", "best", "c1", "c2"} <= set(names)
    assert {path.name for path in (tmp_path / "out").glob("*.png")} == {"frequency-mg.png"}


def test_a_folder_that_cannot_be_written_is_said_before_anything_runs(asked, refused):
    refused(main, [*asked, "--out", "/proc/nowhere"], "cannot be written")


@pytest.fixture
def target():
    platform = materialise(named_grid("grid4x2"))
    return Target(problem("cg", "S"), platform, block(platform, 4))


def test_all_choices_of_frequencies_may_be_too_many_to_simulate():
    levels = SimpleNamespace(frequencies=[SimpleNamespace(levels_hz=range(60))] * 3)
    with pytest.raises(UserError, match="--optimum: 216000 choices to simulate, but at most 50000 are allowed"):
        frequencies.optimum(SimpleNamespace(levels=levels), None, None, limit=2.0, objective="energy")


def test_frequencies_need_watts(record_of, target):
    runner = SimpleNamespace(start=list, record=lambda spec: record_of(target, 1.0, 1.0))
    levels = SimpleNamespace(frequencies=[], clusters=[], grid=named_grid("grid4x2"), target=target)  # a single choice
    study = SimpleNamespace(levels=levels)
    with pytest.raises(UserError, match="platform grid4x2: it has no watts for the hosts in use"):
        frequencies.optimum(study, Settings(), runner, limit=2.0, objective="energy")
