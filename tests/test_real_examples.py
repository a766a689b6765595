"""The examples of real machines, on a few small rows."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest

from apps.calibrate.model import model_of
from apps.calibrate.platform_file import Cluster, platform_file, smpi_options
from apps.calibrate.points import points_of

DAHU = Path(__file__).parents[1] / "examples" / "real" / "dahu.py"
P2P = DAHU.parents[1] / "calibration" / "p2p-grid5000.csv"
HEADER = "study,n,block,p,q,bcast,depth,swap,pfact,rfact,runs,time_mean_s,time_std_s\n"


def dahu(folder, *options):
    command = [sys.executable, str(DAHU), "--out", str(folder / "out"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_given_rows_are_predicted_and_kept(tmp_path):
    # By hand: 2/3 n^3 operations on 8 cores of 25.4 Gflop/s take 0.35 s; the times given here are twice that.
    (tmp_path / "rows.csv").write_text(
        f"# made up\n{HEADER}tiny,4750,128,2,4,0,0,1,,,1,0.7,0\ntiny,4750,128,4,2,,,,,,1,0.7,0\n"
    )
    done = dahu(tmp_path, "--rows", "rows.csv")
    assert done.returncode == 0, done.stderr
    assert "tiny         factor 1.000  rows   2" in done.stdout
    with (tmp_path / "out" / "predictions.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["bcast"], row["depth"], row["swap"]) for row in rows] == [("0", "0", "1"), ("2", "1", "0")]
    assert all(0.35 < float(row["predicted_s"]) < 0.7 for row in rows)
    assert (tmp_path / "out" / "dahu.png").stat().st_size > 10_000
    again = dahu(tmp_path, "--rows", "rows.csv")
    assert again.stdout == done.stdout


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("tiny,4750,128,2,4,9,0,1,,,1,0.7,0", "row 1: is not a run of HPL"),
        ("tiny,many,128,2,4,0,0,1,,,1,0.7,0", "row 1: is not a run of HPL"),
        ("tiny,4750,128,64,64,0,0,1,,,1,0.7,0", "Dahu has 1024 cores"),
    ],
)
def test_a_row_that_is_no_run_of_hpl_is_refused_in_one_line(tmp_path, row, words):
    (tmp_path / "rows.csv").write_text(f"{HEADER}{row}\n")
    done = dahu(tmp_path, "--rows", "rows.csv")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and words in done.stderr and done.stderr.count("\n") == 1


def test_what_is_followed_agrees_with_smpi_on_the_calibrated_platform(tmp_path):
    measured: dict[str, list[tuple[int, float]]] = {}
    with P2P.open() as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            if row["cluster"] == "dahu":
                measured.setdefault(row["call"], []).append((int(row["size_bytes"]), float(row["time_s"])))
    model = model_of({call: points_of(values) for call, values in measured.items()})
    cluster = Cluster("dahu", nodes=8, cores=1, core_flops=26e9)
    platform = tmp_path / "dahu.xml"
    platform.write_bytes(platform_file(cluster, model, smpi_options(model, "ompi"), [], {}))
    command = [sys.executable, str(DAHU.with_name("dahu_smpi.py")), "--platform", str(platform), "--rows", "2"]
    command += ["--size", "2000", "--block", "64", "--broadcast", "long", "--depth", "0", "--columns"]
    done = subprocess.run([*command, "4"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = re.search(r"SMPI ([\d.]+) s, followed ([\d.]+) s, difference ([-+][\d.]+) %", done.stdout)
    assert found, done.stdout
    # By hand: 2/3 n^3 operations on 8 hosts of 26 Gflop/s take 0.026 s.
    assert 0.026 < float(found[1]) < 0.052
    assert abs(float(found[3])) < 1
    refused = subprocess.run([*command, "5"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: ") and refused.stderr.count("\n") == 1
