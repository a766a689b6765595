"""The layer's account of processors that were slowed for heat or power, from files like those of Linux."""

import shutil
import subprocess
from pathlib import Path

import pytest

HOST = Path(__file__).parents[3] / "apps" / "measuring" / "layer" / "host.c"
PROGRAM = """
#include <stdio.h>
#include "layer.h"
int main(void)
{
  Throttling before = layer_throttling();
  puts("ready");
  fflush(stdout);
  getchar();
  printf("%ld\\n", layer_throttled_since(before));
  return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if shutil.which("mpicc") is None:
        pytest.skip("there is no mpicc here: apt-get install libopenmpi-dev")
    folder = tmp_path_factory.mktemp("throttling")
    (folder / "main.c").write_text(PROGRAM)
    words = ["mpicc", "-o", folder / "main", folder / "main.c", HOST, f"-I{HOST.parent}"]
    names = ['-DCPUS="cpu*"', '-DFIRMWARE="firmware"']
    subprocess.run([*words, *names], check=True)
    return folder / "main"


def events(program, folder, before, after):
    """Return the events between two states of files, given by their names."""
    write(folder, before)
    with subprocess.Popen([program], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "ready\n"
        write(folder, after)
        return int(running.communicate("\n")[0])


def write(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(f"{content}\n")


def processor(number, *, package, core, core_count=None, package_count=None):
    """Return the files of a processor, as Linux has them below /sys/devices/system/cpu."""
    shown = {
        "topology/physical_package_id": package,
        "topology/core_id": core,
        "thermal_throttle/core_throttle_count": core_count,
        "thermal_throttle/package_throttle_count": package_count,
    }
    return {f"cpu{number}/{name}": value for name, value in shown.items() if value is not None}


def two_packages(first, second, packages):
    """Return files of 2 packages with 2 cores each and 2 hyperthreads per core; counts by package and core."""
    files = {}
    for number in range(8):
        package, core = number // 2 % 2, number % 2  # hyperthreads of a core are 4 apart
        count = (first, second)[package][core]
        files |= processor(number, package=package, core=core, core_count=count, package_count=packages[package])
    return files


def test_the_counter_of_a_core_is_counted_once_for_all_its_hyperthreads(program, tmp_path):
    before, after = two_packages((7, 0), (1, 0), (0, 0)), two_packages((9, 0), (1, 4), (0, 0))
    assert events(program, tmp_path, before, after) == 2 + 4


def test_the_counter_of_a_package_is_counted_once_for_all_its_processors(program, tmp_path):
    before, after = two_packages((0, 0), (0, 0), (5, 2)), two_packages((0, 1), (0, 0), (6, 5))
    assert events(program, tmp_path, before, after) == 1 + 1 + 3


def test_of_the_counts_of_one_core_the_largest_holds(program, tmp_path):
    # The second hyperthread was offline meanwhile and has missed what the first one has seen.
    before = processor(0, package=0, core=0, core_count=3) | processor(1, package=0, core=0, core_count=1)
    after = processor(0, package=0, core=0, core_count=8) | processor(1, package=0, core=0, core_count=6)
    assert events(program, tmp_path, before, after) == 5


def test_processors_without_a_known_core_are_counted_each(program, tmp_path):
    before = {"cpu0/thermal_throttle/core_throttle_count": 1, "cpu1/thermal_throttle/core_throttle_count": 1}
    after = {"cpu0/thermal_throttle/core_throttle_count": 2, "cpu1/thermal_throttle/core_throttle_count": 4}
    assert events(program, tmp_path, before, after) == 1 + 3


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [  # bits as the firmware's documentation has them: 1 and 2 now, 17 and 18 since the start
        ("0", "0", 0),
        ("0", "40000", 1),
        ("0", "60006", 2),
        ("60006", "60006", 1),  # slowed all the time
        ("60006", "60000", 1),
        ("60000", "60004", 1),
        ("60000", "60000", 0),
    ],
)
def test_the_firmware_of_a_raspberry_pi_tells_events_or_that_it_goes_on(program, tmp_path, before, after, expected):
    assert events(program, tmp_path, {"firmware": before}, {"firmware": after}) == expected


def test_without_either_file_nothing_is_known(program, tmp_path):
    assert events(program, tmp_path, {"cpu0/other": 1}, {"cpu0/other": 1}) == -1
