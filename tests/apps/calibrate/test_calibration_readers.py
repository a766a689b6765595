"""Readers of measured point-to-point times; the files in data/calibration are made by hand in the formats' forms."""

from pathlib import Path

import pytest

from apps.calibrate.readers import measured_of, read_samples
from platforms.errors import UserError

DATA = Path(__file__).parents[1] / "data" / "calibration"
HEADER = "call,size_bytes,time_s\n"
ENOUGH = "".join(f"pingpong,{2**i},1e-5\n" for i in range(8))


def read(*files, cluster="any"):
    paths = [str(file) for file in files]
    return measured_of(read_samples(paths, cluster), ", ".join(paths))


def of_size(points, size_bytes):
    return points.times_s[points.sizes.tolist().index(size_bytes)]


@pytest.mark.parametrize(
    ("file", "size_bytes", "one_way_s"),
    [
        ("osu_latency.txt", 4096, 4.99e-6),
        ("imb.txt", 4096, 4.80e-6),
        ("netpipe.txt", 4096, 62.5e-6),
        ("np.out", 8, 30.52e-6),
    ],
)
def test_a_benchmark_prints_half_a_round_trip(file, size_bytes, one_way_s):
    measured = read(DATA / file)
    assert list(measured) == ["pingpong"]
    assert of_size(measured["pingpong"], size_bytes) == pytest.approx(2 * one_way_s, rel=1e-9)


def test_other_sections_of_imb_are_left_out():
    assert len(read(DATA / "imb.txt")["pingpong"]) == 9


def test_platform_calibration_tells_a_late_receive_from_a_ping_pong():
    measured = read(DATA / "platform-calibration.csv")
    # Two repeats each, 0.2 us apart: the median is their mean.  A ping-pong is MPI_Send and the MPI_Recv of its date.
    assert of_size(measured["recv"], 1024) == pytest.approx(2.1e-6)
    assert of_size(measured["isend"], 1024) == pytest.approx(1.1e-6)
    assert of_size(measured["send"], 1024) == pytest.approx(1.1e-6)
    assert of_size(measured["pingpong"], 1024) == pytest.approx(1.1e-6 + 9e-6 + 4e-9 * 1024)


def test_rows_of_other_clusters_are_left_out(tmp_path):
    file = tmp_path / "two.csv"
    rows = "".join(f"{name},pingpong,{2**i},{time}\n" for i in range(8) for name, time in (("a", 1e-5), ("b", 2e-5)))
    file.write_text("# measured by hand\ncluster,call,size_bytes,time_s\n" + rows)
    assert set(read(file, cluster="b")["pingpong"].times_s) == {2e-5}


def test_a_table_of_benchmarks_has_half_round_trips_and_networks(tmp_path):
    (tmp_path / "t.csv").write_text(
        "# OSU\nnetwork,benchmark,size_bytes,time_us\nib,latency,8,1.5\nib,alltoall,8,20\nroce,latency,8,3\n"
    )
    (read,) = read_samples([str(tmp_path / "t.csv")], "ib")
    assert (read.call, read.size_bytes, read.time_s) == ("pingpong", 8, pytest.approx(3e-6))
    (tmp_path / "t.csv").write_text("benchmark,size_bytes,time_us\nalltoall,8,20\n")
    with pytest.raises(UserError, match="no rows of latency or pingpong"):
        read_samples([str(tmp_path / "t.csv")], "ib")


def test_several_files_add_up(tmp_path):
    sends = tmp_path / "sends.csv"
    sends.write_text(HEADER + "".join(f"send,{2**i},1e-6\n" for i in range(8)))
    assert list(read(sends, DATA / "osu_latency.txt")) == ["send", "pingpong"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "not a known format"),
        ("hello\n", "not a known format"),
        (HEADER, "no times of a ping-pong"),
        (HEADER + "pingpong,8,1e-6\n", "only 1 size of pingpong"),
        (HEADER + ENOUGH + "send,1,1e-6\n", "only 1 size of send"),
        (HEADER + "pong,8,1e-6\n", r":2: no call 'pong'. Known: send, isend, recv, pingpong"),
        (HEADER + "pingpong,-1,1e-6\n", ":2: the size is '-1'"),
        (HEADER + "pingpong,1.5,1e-6\n", ":2: the size is '1.5'"),
        (HEADER + "pingpong,1e12,1e-6\n", ":2: the size is '1e12'"),
        (HEADER + "pingpong,nan,1e-6\n", ":2: the size is 'nan'"),
        (HEADER + "pingpong,8,0\n", ":2: the time is '0'"),
        (HEADER + "pingpong,8,-1\n", ":2: the time is '-1'"),
        (HEADER + "pingpong,8,inf\n", ":2: the time is 'inf'"),
        (HEADER + "pingpong,8\n", ":2: the time is ''"),
        ("call,size_bytes\n", "no column time_s"),
        ("cluster," + HEADER + "dahu,pingpong,8,1e-6\n", "--cluster any: not in .* Known: dahu"),
        ("MPI_Send,8,0.1\n", ":1: 3 fields"),
        ("MPI_Send,8,0.1,1e-6\nMPI_Bcast,8,0.2,1e-6\n", ":2: no function 'MPI_Bcast'"),
        ("MPI_Send,8,0.1,fast\n", ":1: the time is 'fast'"),
        ("# OSU MPI Bandwidth Test v5.6\n# Size      Bandwidth (MB/s)\n1   2.0\n", "Give the output of osu_latency"),
        ("# OSU MPI Latency Test\n# Size  Latency (us)\n8\n", ":3: '8' is not SIZE LATENCY"),
        ("# Benchmarking Sendrecv\n", "only the benchmarks Sendrecv"),
        ("# Benchmarking PingPong\n#bytes #repetitions t[usec] Mbytes/sec\n8 1000\n", ":3: '8 1000' is not BYTES"),
        ("  0: 1 bytes 10 times --> 0.25 Mbps in 30 fortnights\n", ":1: no unit 'fortnights'"),
        ("1 0.25 0.00003052\n8 2000 0.00003052\n", ":2: not three numbers"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_in_one_line_that_names_the_place(tmp_path, content, said):
    file = tmp_path / "times"
    file.write_text(content)
    with pytest.raises(UserError, match=said) as err:
        read(file)
    assert "\n" not in str(err.value)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"call,size_bytes,time_s\n\x00"])
def test_a_file_that_is_no_text_is_refused(tmp_path, content):
    file = tmp_path / "times"
    file.write_bytes(content)
    with pytest.raises(UserError):
        read(file)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"none\.csv: cannot be read: No such file"):
        read(tmp_path / "none.csv")
