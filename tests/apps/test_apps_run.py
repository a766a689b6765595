"""The command that runs one kernel, and an installed wheel of the project."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from apps.errors import KernelError
from apps.run import main
from apps.speed import kernel_flops
from platforms.files.caching import cache_folder

ROOT = Path(__file__).parents[2]


def run_json(capsys, arguments):
    assert main([*arguments.split(), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_record_is_one_json_object(capsys):
    record = run_json(capsys, "--app mg --class S --ranks 6 --scenario grid4x2 --mode verify")
    assert record["verified"] is True
    assert record["host"] == ["c1-0", "c1-1", "c2-0", "c2-1", "c3-0", "c4-0"]
    for name in ("compute_s", "comm_s", "messages", "bytes", "self_messages", "self_bytes", "host", "iteration_s"):
        assert len(record[name]) == 6
    assert [len(ends) for ends in record["iteration_s"]] == [4] * 6
    elapsed = [compute + comm for compute, comm in zip(record["compute_s"], record["comm_s"], strict=True)]
    assert record["time_s"] == pytest.approx(max(elapsed), rel=1e-12)
    assert record["wall_s"] > 0
    assert record["peak_memory_bytes"] > 1e6


def test_computation_takes_its_flops_over_the_sustained_speed(capsys):
    # By hand: CG S counts 66.654e6 flop (NPB 3.3.1); one rank at 4.1 % of 40 Gflop/s.
    record = run_json(capsys, "--app cg --class S --ranks 1 --scenario grid4x2")
    assert record["time_s"] == pytest.approx(66.654e6 / (0.041 * 40e9), rel=1e-6)
    assert record["messages"] == [0]


def test_efficiency_scales_computation(capsys):
    record = run_json(capsys, "--app cg --class S --ranks 1 --scenario grid4x2 --efficiency 0.5")
    assert record["time_s"] == pytest.approx(66.654e6 / (0.5 * 40e9), rel=1e-6)


def test_no_computation_takes_no_time(capsys):
    record = run_json(capsys, "--app cg --class S --ranks 1 --scenario grid4x2 --compute none")
    assert record["communication_time_s"] == 0 and "time_s" not in record


def test_two_ranks_on_one_core_take_twice_as_long(tmp_path, capsys):
    # Limit of a program like EP: on one host each of two ranks has half the core.  In CG each of two ranks has half the
    # work.
    (tmp_path / "hosts").write_text("c1-0\nc1-0\n")
    shared = run_json(capsys, f"--app cg --class S --scenario grid4x2 --hostfile {tmp_path}/hosts --network ideal")
    # Only to three digits, because a rank that waits for a message leaves the core to the other rank.
    assert shared["time_s"] == pytest.approx(66.654e6 / (0.041 * 40e9), rel=1e-3)


def test_simgrid_options_reach_the_simulation(capsys):
    slow = run_json(capsys, "--app mg --class S --ranks 8 --scenario grid4x2 --compute none")
    fast = run_json(capsys, "--app mg --class S --ranks 8 --scenario grid4x2 --compute none --cfg smpi/lat-factor:0:1")
    # The default factor of small messages is 2.01 (SimGrid 3.32): without it latencies halve.
    assert fast["communication_time_s"] < 0.6 * slow["communication_time_s"]
    assert fast["options"] == {"smpi/lat-factor": "0:1"}


def test_fewer_iterations_are_run_when_asked(capsys):
    record = run_json(capsys, "--app lu --class S --ranks 4 --scenario grid4x2 --iterations 6")
    assert [len(ends) for ends in record["iteration_s"]] == [6] * 4
    assert record["extrapolation"]["simulated"] == 6
    # The record is of all 50 iterations, and all iterations of LU send the same messages.
    assert record["messages"] == [50 * n for n in record["iteration_messages"]]
    assert record["flops"] == pytest.approx(102.298408e6, rel=1e-9)  # NPB 3.3.1
    assert record["verified"] is None


def test_a_failed_verification_is_status_1(capsys, monkeypatch):
    from apps.programs import problem as catalog

    wrong = catalog.Problem("cg", (*catalog.problem("cg", "S").params[:-1], ("zeta", 8.6)), "S")
    monkeypatch.setattr("apps.run.problem_from_request", lambda *_, **__: wrong)
    assert main("--app cg --class S --ranks 2 --scenario grid4x2 --mode verify".split()) == 1
    captured = capsys.readouterr()
    assert "FAILED" in captured.out
    assert "verification failed" in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--app xx --scenario grid4x2", "Known: bt, "),
        ("--app cg --class Q --scenario grid4x2", "Known: S, W"),
        ("--app cg --scenario grid4x2 --ranks 9", "do not fit"),
        ("--app cg --scenario grid4x2 --mode both", "skeleton, verify"),
        ("--app lu --scenario grid4x2 --ranks 7", "points per direction"),
        ("--app cg --scenario grid4x2 --efficiency fast", "reference or measured"),
        ("--app cg --scenario grid4x2 --time-limit -1", "not a time"),
        ("--app cg --scenario grid4x2 --cfg smpi/os:$(id)", "cannot pass"),
        ("--app cg --platform /no/such.xml", "no such file"),
    ],
)
def test_bad_input_gets_one_line_and_status_2(arguments, message, capsys):
    assert main(arguments.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert message in captured.err


def test_measured_efficiency_asks_for_calibration_first(capsys, tmp_path, monkeypatch):
    (tmp_path / "compiled").symlink_to(cache_folder() / "compiled")  # but no measured values
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path))
    assert main("--app cg --scenario grid4x2 --efficiency measured".split()) == 2
    assert "gridval program speed" in capsys.readouterr().err


def test_a_program_that_is_no_benchmark_is_not_timed():
    with pytest.raises(KernelError, match="app sendmodes: it has no problem to be timed"):
        kernel_flops("sendmodes")


@pytest.mark.slow
def test_a_wheel_installed_elsewhere_runs(tmp_path):
    site, elsewhere = tmp_path / "site packages", tmp_path / "else where"
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    copy = tmp_path / "source"  # setuptools would leave its files in the checkout
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__", "tests"))
    # Builds a wheel and installs that.
    subprocess.run([*pip, "install", "--no-deps", "--no-compile", "--target", site, copy], check=True, cwd=tmp_path)
    assert not (site / "tests").exists()
    elsewhere.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(site), "GRID_VALIDATOR_CACHE": str(tmp_path / "new cache")}
    arguments = "-m gridval program run --app cg --class S --ranks 4 --scenario grid4x2 --mode verify --json".split()
    done = subprocess.run(
        [sys.executable, *arguments], cwd=elsewhere, env=environment, capture_output=True, text=True, check=True
    )
    record = json.loads(done.stdout)
    assert record["verified"] is True
    assert any("new cache" in word for word in record["command"])
