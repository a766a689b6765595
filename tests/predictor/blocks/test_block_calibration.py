"""Calibration of small platforms: shapes hold for held-out samples, and models refuse what they do not know."""

import csv
import json
import resource
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from apps.probes.blocks.measure import disks_of, measure_blocks
from platforms.errors import UserError
from platforms.grids.grid import Grid, GridCluster, WanLink, Wire
from platforms.grids.network import named_network
from platforms.grids.scenario import named_grid
from platforms.grids.xml import platform_xml
from platforms.model.platform import Power
from platforms.read.read import materialise
from platforms.system.convert import materialise_file
from predictor.base import OutOfRange
from predictor.blocks.calibrate_command import part_of
from predictor.blocks.calibration.calibrate import calibrate, read_calibration
from predictor.blocks.calibration.calibrated import Calibrated
from predictor.blocks.calibration.experiments import experiments, thread_counts
from predictor.blocks.calibration.table import cautions
from predictor.blocks.published.formulas import communication_time
from predictor.blocks.published.parameters import published_parameters
from predictor.blocks.setting import block_model
from tests.verbs import blocks as main

SPEED_FLOPS = 2e9
README = Path(__file__).parents[3] / "README.md"
SYSTEMS = README.parent / "examples" / "systems"


def grid():
    """Five nodes of two cores, 300 km from three others, on Gigabit Ethernet."""
    net = named_network("gigabit")
    power = Power(10.0, 30.0, epsilon_w=14.0)
    clusters = (
        GridCluster("c1", 5, SPEED_FLOPS, net.node, net.backbone, cores=2, power=power),
        GridCluster("c2", 3, 2 * SPEED_FLOPS, net.node, net.backbone),
    )
    return Grid("two", net.name, clusters, "mesh", (WanLink("c1", "c2", Wire(1e9, 1.5e-3)),), net.options)


@cache
def calibration():
    platform = materialise(grid())
    asked = experiments(platform)
    return calibrate(platform, asked, measure_blocks(asked.plan), failure_rate_per_s=1e-9)


def test_shapes_hold_for_sizes_and_processes_that_were_held_out():
    found = calibration()
    assert {fit.block for fit in found.shapes} == {"bcast", "scatter", "gather", "alltoall", "barrier"}
    for fit in found.shapes:
        assert fit.quality.mpe_pct < 2, fit
        assert fit.held_out is None or fit.held_out.mpe_pct < 5, fit
    assert all(fit.held_out.mpe_pct < 0.01 for fit in found.fits if fit.formula.startswith("p2p-lines"))
    assert cautions(found) == []


def test_table_1_has_another_shape():
    # Size factors and rendezvous make steps, which a line in units of D_tu cannot follow.
    assert all(row.quality.mpe_pct > 5 for row in calibration().table if row.block in ("p2p", "bcast", "alltoall"))


def test_computation_by_threads_and_power_are_those_of_the_platform():
    model = Calibrated(calibration(), "paper", "c1")
    expected = 1e6 / SPEED_FLOPS * np.array([1, 1, 1.5, 2])
    assert model.compute_s(1e6, [1, 2, 3, 4]) == pytest.approx(expected, rel=1e-9)
    # Idle 10 W, Epsilon 14 W, AllCores 30 W: 14 + 16 / 2 for one of two cores.
    assert model.power_w([0, 1, 2, 9]) == pytest.approx([10, 22, 30, 30], rel=1e-9)
    power = next(node.power for node in calibration().nodes if node.cluster == "c1")
    assert (power.parameters.PW_low_w, power.parameters.KW_low_w, power.idle_w) == pytest.approx((14, 8, 10), rel=1e-9)
    assert power.quality.r2 == pytest.approx(1)
    assert model.failure_rate_per_s == 1e-9


def test_the_slowest_cluster_computes_unless_another_is_named():
    model = Calibrated(calibration())
    assert model.compute_s(SPEED_FLOPS) == pytest.approx(1.0)
    assert model.of_cluster("c2").compute_s(SPEED_FLOPS) == pytest.approx(0.5)
    with pytest.raises(UserError, match="was not calibrated"):
        model.of_cluster("c3")


def test_formulas_of_the_family_paper_are_those_of_table_1():
    model = Calibrated(calibration(), "paper")
    row = next(row for row in calibration().table if row.block == "bcast")
    expected = communication_time("bcast", 5000.0, 16, T=row.coefficients["T_s"], K=row.coefficients["K"], D_tu=2048.0)
    assert model.communication_s("bcast", 5000, 16) == pytest.approx(float(expected))
    assert model.communication_s("bcast", 5000, 12800) > model.communication_s("bcast", 5000, 16)


def test_arrays_are_broadcast_and_numbers_stay_numbers():
    model = Calibrated(calibration())
    table = model.communication_s("scatter", [[100.0], [200000.0]], [1, 2, 8])
    assert table.shape == (2, 3)
    assert (table[:, 0] == 0).all()
    assert isinstance(model.communication_s("alltoall", 100, 4), float)
    assert table[1, 2] == pytest.approx(model.communication_s("scatter", 200000, 8))
    assert model.communication_s("p2p", [1, 2, 3]).shape == (3,)


def test_messages_between_clusters_and_within_one_differ():
    # By hand: SimGrid's factor of small messages is 2.01467; 150 us within a cluster, 300 us and 1.5 ms between two.
    model = Calibrated(calibration())
    assert model.message_s(0, far=False) == pytest.approx(2.01467 * 150e-6, rel=1e-3)
    assert model.message_s(0, far=True) == pytest.approx(2.01467 * 1700e-6, rel=1e-2)
    assert model.communication_s("p2p", 0) == model.message_s(0, far=True)


def test_what_is_not_known_is_refused():
    model = Calibrated(calibration())
    with pytest.raises(OutOfRange, match="calibrated on 8 hosts"):
        model.communication_s("bcast", 100, 9)
    with pytest.raises(OutOfRange, match="no disks"):
        model.communication_s("disk_read", 100)
    with pytest.raises(OutOfRange, match="disk_read"):
        Calibrated(calibration(), "paper").communication_s("disk_read", 100)
    with pytest.raises(OutOfRange, match="SMPI has no all-to-all"):
        model.communication_s("alltoall", 600_000, 5)
    with pytest.raises(UserError, match="not a whole number"):
        model.communication_s("bcast", 100, 2.5)


def test_a_calibration_is_read_back_as_it_was(tmp_path):
    path = tmp_path / "two.json"
    calibration().write(path)
    assert read_calibration(path) == calibration()
    assert block_model(str(path)).communication_s("bcast", 1e5, 7) == Calibrated(calibration()).communication_s(
        "bcast", 1e5, 7
    )
    assert block_model(str(path), family="paper").family == "paper"


def test_files_that_are_no_calibration_are_refused_in_one_line(tmp_path, capsys):
    path = tmp_path / "x.json"
    path.write_text('{"format": 1}')
    calibration().write(tmp_path / "good.json")
    for model in ([str(path)], [str(tmp_path / "none.json")], [str(tmp_path / "good.json"), "--shapes", "blue"]):
        assert main(["block", "--model", *model, "--block", "barrier"]) == 2
    said = capsys.readouterr().err
    assert said.count("error: ") == 3 and "x.json: of format 1, not 3. Make it by" in said


def test_thread_counts_are_dense_around_the_cores():
    assert thread_counts(1) == list(range(1, 9))
    assert thread_counts(12) == list(range(1, 29))
    many = thread_counts(128)
    assert len(many) <= 40
    assert {1, 128, 129, 260} <= set(many)


@pytest.mark.parametrize(
    ("system", "cluster", "published"),
    [
        ("galera-plus", "galera", "galera+"),
        ("galera", "galera", "galera"),
        ("kask", "kask", "kask"),
    ],
)
def test_calibration_finds_table_3_again_on_systems_with_a_network_disk(system, cluster, published):
    whole = materialise_file(SYSTEMS / f"{system}.toml")
    (disk,) = disks_of(whole)
    platform = part_of(whole, [cluster])
    asked = experiments(platform, disks=(disk,), most_processes=2)
    found = calibrate(platform, asked, measure_blocks(asked.plan))
    paper = published_parameters(published)
    sizes = np.array([1.0, 1e3, 1e5, 1e7])
    for block in ("p2p", "disk_read", "disk_write"):
        line = paper.lines[block]
        # T + K d.  Exact, up to the envelope of 16 bytes and the note of one that SMPI and the probe add.
        expected = line.T_s + line.K * sizes
        assert Calibrated(found).communication_s(block, sizes) == pytest.approx(expected, rel=2e-5, abs=0.04e-6)
        (row,) = (row for row in found.table if row.block == block)
        assert abs(row.coefficients["K"] / line.K - 1) < 0.01
        if block != "p2p":  # T of p2p compensates for the units of 2048 bytes in short messages
            assert row.coefficients["T_s"] == pytest.approx(line.T_s, rel=0.05)
            assert row.quality.r2 > 0.9999
    (node,) = found.nodes
    assert node.compute.parameters.P_low == paper.compute.P_low
    if paper.power is not None:
        # SimGrid has no hardware threads: 12 threads, 78 + 12 x 4.84 W, are its most.
        assert (node.power.idle_w, node.power.parameters.PW_max_w) == pytest.approx((78, 136.08))


def test_a_lone_host_has_computation_alone():
    cluster = GridCluster("c1", 1, SPEED_FLOPS, Wire(1e9, 1e-5), Wire(1e9, 1e-5))
    platform = materialise(Grid("one", "made up", (cluster,), "mesh", ()))
    asked = experiments(platform)
    model = Calibrated(calibrate(platform, asked, measure_blocks(asked.plan)))
    assert model.compute_s(SPEED_FLOPS, 3) == pytest.approx(3.0)
    with pytest.raises(OutOfRange, match="one host"):
        model.communication_s("bcast", 1, 2)


def test_the_command_writes_what_it_is_asked_for(tmp_path, capsys):
    platform = tmp_path / "two.xml"
    platform.write_bytes(platform_xml(grid()))
    asked = ["--only", "c2", "--unit-bytes", "fit", "--error", "mpe", "--no-store", "--json"]
    asked += ["--out", str(tmp_path / "c.json"), "--table", str(tmp_path / "c.csv"), "--plot", str(tmp_path / "plots")]
    assert main(["calibrate", "--platform", str(platform), *asked]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["hosts"] == [3]
    assert found["D_tu_bytes"] in [2**power for power in range(17)]
    assert {fit["error"] for fit in found["fits"] if fit["formula"] == "table 1"} == {"mpe"}
    assert {"compute", "power"} <= {fit["block"] for fit in found["fits"]}
    with open(tmp_path / "c.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["block"] for row in rows} >= {"compute", "idle", "p2p", "bcast", "barrier"}
    assert {row["block"] for row in rows if row["node_power_w"]} == {"compute", "idle"}
    assert all(float(row["time_s"]) >= 0 for row in rows)
    names = {path.stem for path in (tmp_path / "plots").glob("*.png")}
    assert names == {"compute", "messages", "bcast", "collectives"}  # there is no disk
    assert main(["block", "--model", str(tmp_path / "c.json"), "--block", "barrier", "--processes", "3"]) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        ["--processes", "1"],
        ["--unit-bytes", "zero"],
        ["--error", "abs"],
        ["--failure-rate", "-1"],
        ["--only", "c9"],
        ["--cfg", "network/model:CM02"],
        ["--out", "/nowhere/c.json"],
        ["--table", "/nowhere/c.csv"],
        ["--plot", ""],
        ["--plot", "README.md"],
        ["--plot", "README.md/figures"],
    ],
)
def test_bad_input_is_refused_in_one_line_before_anything_is_measured(wrong, capsys, monkeypatch):
    monkeypatch.setattr("apps.probes.blocks.measure.mpi_plan", lambda *_: pytest.fail("measured"))
    monkeypatch.chdir(README.parent)
    assert main(["calibrate", "--scenario", "grid4x2", "--no-store", *wrong]) == 2
    assert capsys.readouterr().err.count("\n") == 1


OUTPUTS = {"--out": "c.json", "--table": "c.csv", "--plot": "plots/compute.png"}


@pytest.fixture
def files_end_early(monkeypatch):
    """Let every file that is written after the fits fail at 1000 bytes within the context, as on a full disk."""
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)

    @contextmanager
    def limited():
        try:
            yield
        finally:  # before pytest writes what became of the test, perhaps to a file
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)

    def fitted(*given, **options):
        found = calibrate(*given, **options)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, unlimited[1]))
        return found

    monkeypatch.setattr("predictor.blocks.calibration.calibrate.calibrate", fitted)
    # Python would keep the first 1000 bytes of what it compiles, which no other test could import.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return limited


@pytest.mark.parametrize(
    ("option", "old"), [*((option, b"the old one") for option in OUTPUTS), (next(iter(OUTPUTS)), None)]
)
def test_a_file_that_fails_half_way_leaves_the_old_one(files_end_early, tmp_path, capsys, option, old):
    path = tmp_path / OUTPUTS[option]
    given = path.parent if option == "--plot" else path
    path.parent.mkdir(exist_ok=True)
    if old is not None:
        path.write_bytes(old)
    asked = ["--scenario", "grid4x2", "--processes", "2", "--no-store", option, str(given)]
    with files_end_early():
        assert main(["calibrate", *asked]) == 2
    assert f"error: {option} {path}: cannot be written: File too large" in capsys.readouterr().err
    assert (path.read_bytes() if path.exists() else None) == old
    assert [found.name for found in path.parent.iterdir()] == ([path.name] if old is not None else [])


def test_other_algorithms_are_warned_of(capsys):
    asked = ["--scenario", "grid4x2", "--processes", "3", "--no-store", "--cfg", "smpi/coll-selector:mpich"]
    assert main(["calibrate", *asked]) == 0
    assert "caution: smpi/coll-selector is mpich" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "network"),
    [("grid4x8", "gigabit"), ("grid3x16", "metro"), ("grid4x8", "infiniband"), ("galera+", None)],
)
def test_shapes_are_right_within_ten_per_cent(scenario, network):
    platform = materialise(named_grid(scenario, network))
    asked = experiments(platform)
    for fit in calibrate(platform, asked, measure_blocks(asked.plan)).shapes:
        assert fit.quality.mpe_pct < 10
        assert fit.held_out is None or fit.held_out.mpe_pct < 10
