"""Table 1 fitted to measured blocks: ``gridval blocks calibrate --csv``."""

import csv
import json

import pytest

from predictor.blocks import block_command, calibrate_command
from predictor.blocks.measured.fitted import MeasuredBlock, Samples, fit_samples, read_samples
from predictor.blocks.published.formulas import published
from predictor.blocks.published.parameters import published_parameters
from predictor.blocks.setting import block_model

HEAD = "block,size_bytes,processes,time_s,node_power_w"


def galera_plus(path):
    """A file with the times and watts of Table 3's formulas for Galera+."""
    model, printed = published("galera+"), published("galera+", power_law="printed")
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEAD.split(","))
        writer.writerow(["idle", 0, 0, 0.01, 78])
        for threads in range(1, 49):
            times = model.compute_s(11e6, threads), printed.power_w(threads)
            writer.writerow(["compute", 11e6, threads, *times])
        for block in ("p2p", "bcast", "scatter", "gather", "alltoall", "disk_read", "disk_write"):
            counts = {"p2p": (2,), "disk_read": (1,), "disk_write": (1,)}.get(block, (2, 4, 16, 64))
            for size in (1, 4096, 65536, 2**24):
                for processes in counts:
                    writer.writerow([block, size, processes, model.communication_s(block, size, processes), ""])
        for processes in (2, 8, 64):
            writer.writerow(["barrier", 0, processes, model.communication_s("barrier", 0, processes), ""])
    return path


def test_the_fits_find_table_3_in_measured_blocks(tmp_path, capsys):
    path, out = galera_plus(tmp_path / "blocks.csv"), tmp_path / "model.json"
    asked = ["--csv", str(path), "--cores", "12", "--threads", "24", "--out", str(out), "--json"]
    assert calibrate_command.main([*asked, "--plot", str(tmp_path / "figures")]) == 0
    made, paper = json.loads(capsys.readouterr().out), published_parameters("galera+")
    for name, value in vars(paper.compute).items():
        assert made["compute"][name] == pytest.approx(value, rel=1e-6)
    for name, value in vars(paper.power).items():
        assert made["power"][name] == pytest.approx(value, rel=1e-6)
    for block, line in paper.lines.items():
        assert made["lines"][block]["K"] == pytest.approx(line.K, rel=1e-6)
        assert made["lines"][block]["T_s"] == pytest.approx(line.T_s, rel=1e-4)
    assert all(fit["quality"]["mpe_pct"] < 1e-3 and fit["mse"] < 1e-12 for fit in made["fits"])
    assert {figure.name for figure in (tmp_path / "figures").iterdir()} == {
        "compute.png", "messages.png", "bcast.png", "collectives.png",
    }  # fmt: skip
    # The file is a model for every command: 11e6 operations of 25 threads take (0.329 + 25 x 0.0796) ns each.
    assert block_command.main(f"--model {out} --block compute --operations 11e6 --threads 25 --json".split()) == 0
    assert json.loads(capsys.readouterr().out)["time_s"] == pytest.approx(11e6 * 2.319e-9)
    assert block_model(str(out)).measured_operations


def test_mpe_and_mse_of_a_fit_by_hand():
    # Times 1, 2 and 5 s of 0, 2048 and 4096 bytes: least squares give t = 2/3 + 2 d / 2048, errors -1/3, 2/3, -1/3.
    sizes = ((0, 1.0), (2048, 2.0), (4096, 5.0))
    samples = Samples("by hand", tuple(MeasuredBlock("p2p", size, 2, time_s) for size, time_s in sizes))
    made = fit_samples(samples, error="mse")
    (fit,) = made.fits
    assert made.lines["p2p"].T_s == pytest.approx(2 / 3) and pytest.approx(2 / 2048) == made.lines["p2p"].K
    assert fit.mse == pytest.approx((1 / 9 + 4 / 9 + 1 / 9) / 3)
    assert fit.quality.mpe_pct == pytest.approx(100 * (1 / 3 + 1 / 3 + 1 / 15) / 3)


def test_the_cores_are_the_threads_that_are_as_fast_as_one():
    times = {1: 1.0, 2: 1.01, 3: 1.5, 4: 2.0}
    samples = Samples("node", tuple(MeasuredBlock("compute", 1e9, n, time_s) for n, time_s in times.items()))
    made = fit_samples(samples)
    assert (made.compute.P_low, made.compute.P_hi) == (2, 2)
    assert made.compute.T_hi_s + 4 * made.compute.K_hi_s == pytest.approx(2e-9)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["p2p,1,2,x,"], ".csv:2: time_s is 'x'"),
        (["p2q,1,2,1,"], ".csv:2: no block 'p2q'"),
        (["p2p,1,2.5,1,"], "processes is 2.5"),
        (["compute,0,1,1,"], "a computation without operations"),
        (["p2p,1,2,1,"], "one size and number alone"),
        ([], "no measured blocks"),
    ],
)
def test_wrong_files_are_refused_in_one_line(rows, said, tmp_path, capsys):
    path = tmp_path / "blocks.csv"
    path.write_text("\n".join([HEAD, *rows, ""]))
    assert calibrate_command.main(["--csv", str(path)]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--scenario", "grid4x2"], "--scenario: does not go with --csv"),
        (["--machine", "m.toml"], "--machine: does not go with --csv"),
        (["--threads", "1", "--cores", "2"], "--threads 1: fewer than the 2 cores"),
        (["--unit-bytes", "fit"], "does not go with --csv"),
    ],
)
def test_options_that_do_not_go_together_are_refused(more, said, tmp_path, capsys):
    path = galera_plus(tmp_path / "blocks.csv")
    assert calibrate_command.main(["--csv", str(path), *more]) == 2
    assert said in capsys.readouterr().err


def test_samples_that_a_calibration_has_written_can_be_read_again(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(
        "block,size_bytes,processes,where,use,time_s,node_power_w\np2p,1,2,near,fit,1,\np2p,1,2,far,fit,2,\n"
        "p2p,9,2,far,lines,3,\np2p,4096,2,far,check,4,\nsend,1,2,far,lines,1,\n"
    )
    samples = read_samples(str(path), "again")
    assert [(sample.amount, sample.time_s, sample.held_out) for sample in samples.blocks] == [
        (1, 2, False),
        (4096, 4, True),
    ]
