"""The measured share of this machine's speed that kernels sustain, its storage, and --efficiency measured."""

import json
import platform as machine
import re

import pytest

from apps import speed as calibrate
from apps.errors import KernelError, OptionError
from apps.programs.problem import problem
from apps.spec import machine_speed
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The folder of calibrations; compiled kernels stay in the usual cache."""
    monkeypatch.setattr(machine_speed, "cache_folder", lambda: tmp_path)
    return tmp_path


def test_a_kernel_s_share_is_its_speed_over_that_of_the_product_of_matrices(kept, monkeypatch, capsys):
    monkeypatch.setattr(calibrate, "dgemm_flops", lambda: 1e12)
    monkeypatch.setattr(calibrate, "kernel_names", lambda: ("himeno", "sendmodes"))  # sendmodes is no benchmark
    monkeypatch.setattr(calibrate, "_RUNS", 1)
    assert calibrate.main([]) == 0
    said = capsys.readouterr().out
    speed_gops, share = (float(text) for text in re.search(r"himeno (\S+) Gop/s, (\S+) of dgemm", said).groups())
    assert share == pytest.approx(speed_gops / 1000, rel=0.05) and "sendmodes" not in said  # two digits are printed
    host = materialise(named_grid("grid1x1", speeds_flops=[1e9]))
    target = Target(calibrate.calibrated_problem("himeno"), host, block(host, 1))
    assert Settings(efficiency="measured").spec(target).efficiency == pytest.approx(share, rel=0.05)


def test_a_program_that_is_no_benchmark_is_not_timed():
    with pytest.raises(KernelError, match="app sendmodes: it has no problem to be timed"):
        calibrate.kernel_flops("sendmodes")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "nothing was measured yet"),
        ("{", "has no number for cg"),
        (json.dumps({"machine": "mine", "efficiency": {}}), "has no number for cg"),
        (json.dumps({"machine": "another", "efficiency": {"cg": 0.1}}), "was measured on another machine"),
        (json.dumps({"machine": "mine", "efficiency": {"cg": 1.5}}), "says 1.5 for cg"),
    ],
)
def test_a_calibration_that_says_nothing_of_this_machine_is_not_taken(kept, monkeypatch, content, said):
    monkeypatch.setattr(machine_speed, "_machine", lambda: "mine")
    if content is not None:
        (kept / "efficiency.json").write_text(content)
    platform = materialise(named_grid("grid4x2"))
    with pytest.raises(OptionError, match=f"--efficiency measured: .*{said}. Run gridval program speed first"):
        Settings(efficiency="measured").spec(Target(problem("cg", "S"), platform, block(platform, 2)))


def test_the_speed_of_this_computer_is_measured_once(kept, monkeypatch):
    monkeypatch.setattr(machine_speed, "_DGEMM", machine_speed._DGEMM.replace("2000", "200"))
    speed_flops = machine_speed.host_speed_flops()
    assert 0 < speed_flops < float("inf")
    known = json.loads((kept / "host-speed.json").read_text())
    assert known == {"machine": f"{machine.node()} {machine.machine()}", "dgemm_flops": speed_flops}
    monkeypatch.setattr(machine_speed, "_DGEMM", "raise SystemExit('asked again')")
    assert machine_speed.host_speed_flops() == speed_flops
