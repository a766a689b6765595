"""Simulated times and energies are those of SimGrid 3.32, whichever SimGrid runs the tests (faults.md)."""

import csv
import runpy
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NUMBERS = ("simulated_s", "time_s", "energy_j")
QUICK = ("grid4x2", "gigabit")
record_of = runpy.run_path(str(HERE / "times.py"))["record_of"]


def rows():
    with open(HERE / "times-3.32.csv", newline="") as file:
        for row in csv.DictReader(file):
            name = "-".join(row[key] for key in ("app", "problem", "scenario", "network", "engine"))
            slow = () if (row["scenario"], row["network"]) == QUICK else pytest.mark.slow
            yield pytest.param(row, id=name, marks=slow)


@pytest.mark.parametrize("row", list(rows()))
def test_times_and_energies_are_those_of_simgrid_3_32(row):
    record = record_of(row)
    assert len(record.host) == int(row["ranks"])
    made = {"simulated_s": record.simulated_s, "time_s": record.time_s, "energy_j": record.used_energy_j}
    assert made == pytest.approx({name: float(row[name]) for name in NUMBERS}, rel=1e-9)
