"""Table 1 fitted to blocks that are measured on a machine: ``gridval blocks calibrate --machine``."""

import csv
import json
from pathlib import Path

import pytest

from predictor.blocks import calibrate_command
from tests.machines import NO_MPI, open_mpi

LOCAL = str(Path(__file__).parents[3] / "examples" / "machines" / "local.toml")
PARAMETERS = ("T_min_s", "T_low_s", "T_hi_s", "K_hi_s")
pytestmark = pytest.mark.checkout


def test_a_dry_run_starts_nothing_on_the_machine(capsys, tmp_path):
    launcher, machine = tmp_path / "launcher.sh", tmp_path / "machine.toml"
    launcher.write_text('#!/bin/sh\ntouch "$0.started"\n')
    launcher.chmod(0o755)
    machine.write_text(Path(LOCAL).read_text().replace('"mpirun"', f'"{launcher}"'))
    assert calibrate_command.main(["--machine", str(machine), "--dry-run", "--no-store"]) == 0
    assert "1 measurement of blocks" in capsys.readouterr().out
    assert not list(tmp_path.glob("*.started"))


def test_the_cores_come_from_the_file_of_the_machine(capsys):
    assert calibrate_command.main(["--machine", LOCAL, "--cores", "4"]) == 2
    error = capsys.readouterr().err
    assert "--cores 4: does not go with --machine" in error and error.count("\n") == 1


@pytest.mark.machine
@pytest.mark.skipif(not open_mpi(), reason=NO_MPI)
def test_blocks_of_this_computer_are_measured_and_their_table_gives_the_same_fit(tmp_path):
    table, models = tmp_path / "blocks.csv", [tmp_path / "measured.json", tmp_path / "read.json"]
    measured = ["--machine", LOCAL, "--processes", "2", "--no-store", "--table", str(table), "--out", str(models[0])]
    assert calibrate_command.main(measured) == 0
    rows = [row for row in csv.DictReader(table.open()) if row["block"] == "compute"]
    assert {int(row["processes"]) for row in rows} >= {1, 2}
    assert all(float(row["time_s"]) > 0 for row in rows)
    assert calibrate_command.main(["--csv", str(table), "--cores", "2", "--out", str(models[1])]) == 0
    of_machine, of_table = ([json.loads(model.read_text())["compute"][name] for name in PARAMETERS] for model in models)
    assert of_machine == pytest.approx(of_table, rel=1e-6)
