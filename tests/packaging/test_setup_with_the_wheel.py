"""The set-up of a checkout takes SimGrid's wheel where it is in dist/ and no SimGrid is installed."""

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout
ROOT = Path(__file__).parents[2]
TOOLS = ("sh", "find", "head", "uname", "id", "grep", "true")


@pytest.mark.parametrize("wheel", [True, False])
def test_with_the_wheel_no_simgrid_is_asked_of_the_distribution(tmp_path, wheel):
    (tmp_path / "bin").mkdir()
    for name in TOOLS:
        (tmp_path / "bin" / name).symlink_to(subprocess.check_output(["which", name], text=True).strip())
    for name in ("apt-get", "dpkg-query", "sudo", "env"):  # nothing is installed, and installing fails
        (tmp_path / "bin" / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "dist").mkdir()
    if wheel:
        machine = subprocess.check_output(["uname", "-m"], text=True).strip()
        (tmp_path / "dist" / f"gridval_simgrid-4.1-py3-none-manylinux_2_31_{machine}.whl").touch()
    done = subprocess.run(
        ["sh", ROOT / "setup.sh"], cwd=tmp_path, env={"PATH": str(tmp_path / "bin")}, capture_output=True, text=True
    )
    assert done.returncode == 1
    asked = done.stdout.partition("setup: installing ")[2].split()
    simgrid = [] if wheel else ["libsimgrid-dev", "python3-simgrid"]
    assert asked == [*simgrid, "python3-venv", "gcc", "g++", "gfortran"]
