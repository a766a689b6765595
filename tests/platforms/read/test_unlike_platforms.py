"""The platforms that benchmarks/unlike_platforms.py draws for the calibration of intervals."""

import subprocess
import sys
from pathlib import Path

import pytest

from platforms.read.read import read_platform

ROOT = Path(__file__).parents[3]
KINDS = "fattree dragonfly torus backbone fatpipe asymmetric vivaldi nested multicore unequal speeds".split()


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """The folders of two draws with the same seed."""
    folders = [tmp_path_factory.mktemp(name) for name in ("first", "again")]
    for folder in folders:
        command = [
            sys.executable,
            ROOT / "benchmarks" / "unlike_platforms.py",
            "--seed",
            "501",
            "--count",
            "11",
            "--out",
        ]
        subprocess.run([*command, folder], check=True)
    return folders


def test_equal_seeds_give_equal_files_of_every_kind(drawn):
    first, again = ({path.name: path.read_text() for path in folder.iterdir()} for folder in drawn)
    assert first == again
    assert set(first) == {f"{kind}-501-{number}.xml" for number, kind in enumerate(KINDS)} | {
        "campaign.toml",
        "cores.toml",
    }


def test_simgrid_reads_them_and_they_have_what_they_are_named_after(drawn):
    made = {kind: read_platform(drawn[0] / f"{kind}-501-{number}.xml") for number, kind in enumerate(KINDS)}
    assert all(4 <= len(platform.hosts) <= 24 for platform in made.values())
    speeds = sorted({host.speed_flops for host in made["speeds"].hosts})
    assert speeds[1] == pytest.approx(100 * speeds[0])
    assert all(host.cores > 1 for host in made["multicore"].hosts)
    assert len({host.speed_flops for host in made["unequal"].hosts}) > 1
    assert len(made["nested"].clusters) == 4
