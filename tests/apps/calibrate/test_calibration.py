"""The command ``gridval platform calibrate``, and the replay of a calibration in SMPI."""

import contextlib
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

from apps.calibrate.cli import main
from apps.probes.pointtopoint.measure import call_times
from apps.programs.problem import problem
from apps.runs.engines import run_identity
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.model.placement import block
from platforms.read.read import read_platform

EXAMPLE = Path(__file__).parents[3] / "examples" / "calibration" / "p2p-grid5000.csv"
DATA = Path(__file__).parents[1] / "data" / "calibration"
NODES = "--nodes 4 --cores 2 --core-gflops 10"


def calibrate(tmp_path, *words, file=DATA / "platform-calibration.csv", cluster="small"):
    out = tmp_path / "made.xml"
    return main(["--p2p", str(file), "--cluster", cluster, *NODES.split(), "--out", str(out), *words]), out


def hand_made(tmp_path, **options):
    """A platform of two hosts, one link of 1 us and 1 GB/s each way, and these options."""
    props = "".join(f'<prop id="{key}" value="{value}"/>' for key, value in options.items())
    file = tmp_path / "hand.xml"
    file.write_text(
        f'<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
        f'<config>{props}</config><zone id="z" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>'
        '<link id="l" bandwidth="1GBps" latency="1us" sharing_policy="FATPIPE"/>'
        '<route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>'
    )
    return read_platform(file)


def test_the_probe_times_each_call_as_smpi_models_it(tmp_path):
    options = {
        "smpi/lat-factor": "0:1", "smpi/bw-factor": "0:1", "network/crosstraffic": "0", "network/TCP-gamma": "0",
        "smpi/async-small-thresh": "2000", "smpi/send-is-detached-thresh": "5000",
        "smpi/os": "0:3e-6:0", "smpi/ois": "0:4e-6:1e-9", "smpi/or": "0:5e-6:0",
    }  # fmt: skip
    times = call_times(hand_made(tmp_path, **options), ("a", "b"), [1000, 3000, 8000])
    # By hand: the wire takes 1 us and a ns per byte, with SMPI's header of 16 bytes: 2.016, 4.016 and 9.016 us.
    assert times["send"] == pytest.approx((3e-6, 3e-6, 9.016e-6), abs=2e-9)  # os, os, rendezvous
    assert times["isend"] == pytest.approx((5e-6, 7e-6, 12e-6), abs=2e-9)  # 4 us and a ns per byte
    # Eager: or alone; detached: it travels first, then or; rendezvous: it travels.
    assert times["recv"] == pytest.approx((5e-6, 4.016e-6 + 5e-6, 9.016e-6), abs=2e-9)
    assert times["pingpong"] == pytest.approx((2 * 10.016e-6, 2 * 12.016e-6, 2 * 9.016e-6), abs=4e-9)


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """A folder with the files of a calibration, and what the command printed with --json."""
    folder, printed = tmp_path_factory.mktemp("calibrated"), io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert calibrate(folder, "--json")[0] == 0
    return folder, json.loads(printed.getvalue())


def test_a_platform_a_table_and_a_picture_are_written(calibrated):
    folder, shown = calibrated
    out = folder / "made.xml"
    assert shown["files"] == {
        "platform": str(out), "data": str(folder / "made.p2p.csv"), "picture": str(folder / "made.png"),
    }  # fmt: skip
    assert sorted(os.listdir(folder)) == ["made.p2p.csv", "made.png", "made.xml"]
    platform = read_platform(out)
    assert [host.name for host in platform.hosts] == [f"small-{i}" for i in range(4)]
    assert {(host.speed_flops, host.cores) for host in platform.hosts} == {(10e9, 2)}
    assert dict(platform.options) == shown["options"]
    assert "sha256" in out.read_text()
    # The file is made by hand: the wire takes 4 ns per byte there and back, for any size.
    assert shown["link"]["bandwidth_Bps"] == pytest.approx(5e8, rel=0.05)
    # All sizes are eager: the sends do not grow, and neither do the receives of messages that have arrived.
    assert shown["thresholds"]["async_small_bytes"] is None
    for call in ("send", "isend", "recv", "pingpong"):
        assert shown["calls"][call]["median_error"] < 0.02, call


def test_the_table_that_is_written_gives_the_same_platform_again(calibrated, tmp_path, capsys):
    folder, _ = calibrated
    status, out = calibrate(tmp_path, file=folder / "made.p2p.csv")
    assert status == 0
    assert read_platform(out).options == read_platform(folder / "made.xml").options


def test_two_calibrations_write_the_same_bytes(calibrated, tmp_path, capsys):
    folder, _ = calibrated
    calibrate(tmp_path)
    written = [{path.name: path.read_bytes() for path in one.iterdir()} for one in (folder, tmp_path)]
    assert written[0] == written[1]


def test_the_factors_are_part_of_the_identity_of_a_run(calibrated, tmp_path):
    out = calibrated[0] / "made.xml"
    identities = []
    for file in (out, tmp_path / "other.xml"):
        if file != out:
            file.write_text(out.read_text().replace('"smpi/or" value="0:2', '"smpi/or" value="0:3'))
            assert file.read_text() != out.read_text()
        platform = read_platform(file)
        spec = RunSpec(Target(problem("cg", "S"), platform, block(platform, 2)))
        identities.append(run_identity(spec))
    assert identities[0]["platform_hash"] != identities[1]["platform_hash"]


def test_a_ping_pong_of_a_benchmark_is_enough(tmp_path, capsys):
    status, _ = calibrate(tmp_path, "--json", file=DATA / "osu_latency.txt")
    assert status == 0
    shown = json.loads(capsys.readouterr().out)
    assert list(shown["calls"]) == ["pingpong"]
    assert not any(key in shown["options"] for key in ("smpi/os", "smpi/or", "smpi/ois"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--nodes 1", "--nodes 1: out of range. Give a number from 2"),
        ("--cores 0", "--cores 0: out of range"),
        ("--core-gflops nan", "--core-gflops nan: out of range"),
        ("--hold-out 1", "--hold-out 1: out of range"),
        ("--cluster a/b", "--cluster a/b: not a name that SimGrid can use"),
        ("--out made.toml", "--out made.toml: its name does not end with .xml"),
        ("--out nowhere/made.xml", "--out nowhere/made.xml: cannot be written"),
        ("--async-small-thresh 9 --send-is-detached-thresh 8", "above --send-is-detached-thresh 8"),
        ("--p2p none.csv", "none.csv: cannot be read"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_refused_and_nothing_is_written(tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    status, _ = calibrate(tmp_path, *words.split())
    assert status == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert os.listdir(tmp_path) == []


def test_the_measured_times_are_never_replaced(tmp_path, capsys):
    own = tmp_path / "made.p2p.csv"
    own.write_bytes((DATA / "platform-calibration.csv").read_bytes())
    assert calibrate(tmp_path, file=own)[0] == 2
    assert "it would replace" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["made.p2p.csv"]


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["dahu", "gros", "paravance", "pyxis"])
def test_real_clusters_are_replayed_within_ten_percent_at_sizes_that_were_not_fitted(tmp_path, capsys, cluster):
    # Measured on Grid'5000 (the file names its source).  The times of MPI_Isend scatter by up to a factor of four.
    assert calibrate(tmp_path, "--json", file=EXAMPLE, cluster=cluster)[0] == 0
    calls = json.loads(capsys.readouterr().out)["calls"]
    for call in ("send", "recv", "pingpong"):
        assert calls[call]["median_error"] < 0.10, call
    # Nine in ten of the 4 x 49 held-out times lie in intervals made from the other sizes.
    assert 0.85 <= np.mean([calls[call]["inside_interval"] for call in calls]) <= 0.95
    assert np.all([calls[call]["held_out_sizes"] == 49 for call in calls])
