"""Costs and emissions of runs, predicted beside simulated, against SimGrid's plugin host_energy."""

import csv
import json

import pytest

from validation.entrance.main import main

RUN = ("run", "--scenario", "grid4x2", "--app", "cg", "--class", "S", "--predictor", "dpgraph:known")


def test_emissions_are_the_joules_that_simgrid_counts_times_the_intensity(capsys, tmp_path):
    words = (*RUN, "--carbon", "c1=250,*=250", "--pue", "1.3", "--embodied", "7", "--price", "0.5")
    assert main([*words, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["results"]
    # energy_simulated_j is that of SimGrid's plugin (apps/results/energy.py).
    embodied_g = 7 * 8 * row["simulated_s"] / 3600
    expected_g = row["energy_simulated_j"] / 3.6e6 * 1.3 * 250 + embodied_g
    assert row["carbon_simulated_g"] == pytest.approx(expected_g, rel=1e-9)
    assert row["carbon_predicted_g"] == pytest.approx(expected_g, rel=1e-3)
    assert row["cost_simulated"] == pytest.approx(8 * 0.5 * row["simulated_s"] / 3600, rel=1e-12)
    assert row["currency"] == "EUR"

    assert main([*words, "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "Costs and emissions" in shown and "predicted EUR" in shown
    with (tmp_path / "results.csv").open() as file:
        (kept,) = csv.DictReader(file)
    assert float(kept["carbon_simulated_g"]) == pytest.approx(expected_g, rel=1e-9)


def test_a_host_without_a_price_makes_the_cost_unknown(capsys):
    assert main([*RUN, "--price", "c1=0.5"]) == 0
    shown = capsys.readouterr().out
    assert "unknown" in shown and "no price for c2-0 and 5 more hosts" in shown


@pytest.mark.slow
def test_the_page_of_a_run_and_that_of_kept_results_have_them(capsys, tmp_path):
    words = (*RUN, "--price", "0.5", "--out", str(tmp_path), "--report", str(tmp_path / "page.html"))
    assert main([*words]) == 0
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "again.html")]) == 0
    for name in ("page.html", "again.html"):
        assert "Costs and emissions" in (tmp_path / name).read_text()
