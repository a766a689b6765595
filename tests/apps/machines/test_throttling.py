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
    names = ['-DCOUNTERS="cpu*/count"', '-DFIRMWARE="firmware"']
    subprocess.run([*words, *names], check=True)
    return folder / "main"


def events(program, folder, name, before, after):
    """Return the events between two contents of a file."""
    place = folder / name
    place.parent.mkdir(exist_ok=True)
    place.write_text(before)
    with subprocess.Popen([program], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "ready\n"
        place.write_text(after)
        return int(running.communicate("\n")[0])


def test_the_counters_of_linux_are_subtracted(program, tmp_path):
    assert events(program, tmp_path, "cpu0/count", "7", "9") == 2


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
    assert events(program, tmp_path, "firmware", before, after) == expected


def test_without_either_file_nothing_is_known(program, tmp_path):
    assert events(program, tmp_path, "other", "1", "1") == -1
