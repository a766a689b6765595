"""A network disk's calibration against the simulation of an application that uses it."""

import json

import pytest

from tests.verbs import blocks
from validation.blocks.cli import main as validate

SYSTEM = """
[lan]
network = "gigabit-ethernet"
[[lan.node]]
name = "n"
count = 2
cpu = "core-i7-2600k"
[[lan.node]]
name = "storage"
cpu = "core-i7-2600k"
slots = {}
disks = ["hdd-7200"]
"""
APPLICATION = """
[labels.one]
count = 1
program = [{ read_disk = 1000 }, { write_disk = "1e7" }]
"""


def test_a_slow_disk_is_as_slow_in_its_calibration_as_in_a_run(tmp_path, capsys):
    system, application, model = (tmp_path / name for name in ("lab.toml", "application.toml", "lab.json"))
    system.write_text(SYSTEM)
    application.write_text(APPLICATION)
    calibrate = ["--scenario", str(system), "--only", "n", "--no-store", "--out", str(model), "--json"]
    assert blocks(["calibrate", *calibrate]) == 0
    fits = json.loads(capsys.readouterr().out)["fits"]
    (T_s,) = (one["coefficients"]["T_s"] for one in fits if (one["block"], one["formula"]) == ("disk_read", "table 1"))
    # 12.7 ms is the disk's time to the first byte; request and data cross 100 us of Ethernet each, which SimGrid's
    # factor for short messages, 2.01467, makes longer.
    assert T_s == pytest.approx(12.7e-3 + 2 * 2.01467 * 100e-6, rel=0.01)
    compare = ["--system", str(system), "--model", str(model), "--no-store", "--json"]
    assert validate([str(application), *compare]) == 0
    (row,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert row["simulated_s"] > 2 * 12.7e-3 + 1e7 / 150e6
    assert row["evaluated_s"] == pytest.approx(row["simulated_s"], rel=1e-4)
