"""Energies in result columns, tables and figures."""

import csv
import json

import pytest

from validation.nodes.cli import main as optimize
from validation.run import main

COLUMNS = ["energy_predicted_j", "energy_simulated_j", "energy_error_pct", "edp_predicted_js", "edp_simulated_js"]
PREDICT = "--scenario grid4x2 --app mg --class S --predictor hcf:constant".split()


def test_energies_stand_in_the_results_and_are_drawn_where_asked_for(capsys, tmp_path):
    assert main([*PREDICT, "--energy", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "Energies" in shown and "EDP J s" in shown and "probe T_cp" not in shown
    said = " ".join(shown.split())
    assert "Energies rest on default watts, in proportion to the nodes' speeds, not those of a machine." in said
    assert max(map(len, shown.splitlines())) <= 80
    with open(tmp_path / "results.csv", newline="") as file:
        (row,) = csv.DictReader(file)
    predicted_j, simulated_j, error_pct, edp_predicted_js, edp_simulated_js = (float(row[name]) for name in COLUMNS)
    assert error_pct == pytest.approx(100 * (predicted_j / simulated_j - 1))
    assert edp_predicted_js == pytest.approx(predicted_j * float(row["predicted_s"]))
    assert edp_simulated_js == pytest.approx(simulated_j * float(row["simulated_s"]))
    # By hand: 2 nodes of each kind, 0.1 W per Gflop/s idle and 0.6 W busy; the energy lies between these limits.
    gflops, time_s = 2 * (40 + 50 + 60 + 70), float(row["simulated_s"])
    assert 0.1 * gflops * time_s < simulated_j < 0.6 * gflops * time_s
    drawn = {path.name for path in tmp_path.iterdir() if path.suffix == ".png"}
    assert drawn == {"times-mg.png", "energy-mg.png", "edp-mg.png"}


def test_the_table_of_times_is_as_narrow_as_ever(capsys, tmp_path):
    assert main([*PREDICT, "--out", str(tmp_path)]) == 0
    assert " J" not in capsys.readouterr().out
    assert {path.name for path in tmp_path.glob("*.png")} == {"times-mg.png"}


def test_a_platform_without_watts_has_no_energies(capsys, tmp_path):
    (tmp_path / "dark.xml").write_text(
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
        '<cluster id="c" prefix="c-" suffix="" radical="0-3" speed="1Gf" bw="125MBps" lat="50us"/></platform>'
    )
    arguments = f"--platform {tmp_path}/dark.xml --app ep --class S --predictor hcf:constant --json --no-store".split()
    assert main(arguments) == 0
    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert [row[name] for name in COLUMNS] == [None] * 5
    assert main([*arguments[:-2], "--energy", "--no-store"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "Energies No energy: the platform gives no watts for c-0 and 3 more hosts (property wattage_per_state)." in said
    )


def test_a_lower_frequency_takes_longer(capsys):
    times_s = []
    for options in ([], ["--frequency", "min"]):
        assert main([*PREDICT, *options, "--json", "--no-store"]) == 0
        (row,) = json.loads(capsys.readouterr().out)["results"]
        times_s.append(row["simulated_s"])
    assert times_s[0] < times_s[1]


@pytest.mark.parametrize(("objective", "unit"), [("energy", "J"), ("edp", "J s")])
def test_a_search_for_little_energy_rests_on_computing_and_waiting_apart(capsys, tmp_path, objective, unit):
    # Idle nodes of c2 take nearly as much power as busy ones, so time times full power would give another choice.
    (tmp_path / "own.toml").write_text(
        "[[clusters]]\nnodes = 2\nspeed_gflops = 40\npower = { idle_w = 1, full_w = 100 }\n"
        "[[clusters]]\nnodes = 2\nspeed_gflops = 40\npower = { idle_w = 40, full_w = 50 }\n"
    )
    arguments = f"--scenario {tmp_path}/own.toml --app himeno --size 16 --param niter=4 --processes 1,1 --no-store"
    arguments += f" --predictor dpgraph:known --objective {objective} --json"
    assert optimize(arguments.split()) == 0
    judged = json.loads(capsys.readouterr().out)
    assert (judged["objective"], judged["unit"]) == (objective, unit)
    assert judged["configurations"] == 8
    assert judged["epsilon"] == pytest.approx(0, abs=1e-3)
    # By hand: between idle and full power of the chosen nodes.
    pes = [int(number) for number in judged["chosen"].strip("()").split(",")][::2]
    each = judged["simulated_s"] ** (2 if objective == "edp" else 1)
    full_w = (pes[0] * 100 + pes[1] * 50) * (1 + 1e-9)
    assert (pes[0] * 1 + pes[1] * 40) * each < judged["chosen_value"] <= full_w * each
