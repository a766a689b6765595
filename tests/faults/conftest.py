"""Fixtures of the tests of faults: a program that misbehaves, marked processes, and a small disk."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from tests.waiting import until

MARK = "GRID_VALIDATOR_FAULT_MARK"
FAULTY = Path(__file__).parent / "data" / "faulty.c"


@pytest.fixture
def faulty():
    """``faulty(how, time_limit_s=20)`` simulates the program of data/faulty.c on three ranks of grid4x2."""

    def run(how, *, time_limit_s=20.0):
        platform = materialise(named_grid("grid4x2"))
        asked = own_problem(read_program(FAULTY, how, None))
        return simulate(RunSpec(Target(asked, platform, block(platform, 3))), time_limit_s=time_limit_s)

    return run


class Marked:
    """Processes that inherit a mark in their environment, independent of their sessions and parents."""

    def __init__(self, mark):
        self.environment = {**os.environ, MARK: mark}
        self._wanted = f"{MARK}={mark}".encode()

    def processes(self):
        found = []
        for entry in os.listdir("/proc"):
            try:
                environment = Path(f"/proc/{entry}/environ").read_bytes() if entry.isdecimal() else b""
                if self._wanted in environment.split(b"\0") and int(entry) != os.getpid():
                    found.append(int(entry))
            except OSError:  # the process has ended
                continue
        return found

    def gone(self, limit_s=20.0):
        return until(lambda: not self.processes(), limit_s)


@pytest.fixture
def marked(tmp_path):
    return Marked(str(tmp_path))


@pytest.fixture(name="until")
def _until():
    return until


@pytest.fixture
def disk(tmp_path):
    """``disk(megabytes)``: a new disk of that size, removed after the test; skips the test if it cannot be mounted."""
    mounted = []

    def mount(megabytes, *options):
        place = tmp_path / f"disk-{len(mounted)}"
        place.mkdir()
        words = ",".join([f"size={megabytes * 1024}k", *options])
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", words, "tmpfs", str(place)], capture_output=True, text=True
        )
        if done.returncode != 0:
            pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
        mounted.append(place)
        return place

    if shutil.which("mount") is None:
        pytest.skip("there is no mount")
    yield mount
    for place in mounted:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk, *, but_bytes=0):
    """Fill a disk except for a number of bytes."""
    with open(disk / "ballast", "wb") as file:
        room = os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize
        file.write(b"x" * max(0, room - but_bytes))


@pytest.fixture(name="fill")
def _fill():
    return fill
