"""STREAM's triad: how bytes are counted, how large the arrays are, and runs of the program."""

import subprocess

import pytest

from apps.speed import COMMAND
from apps.stream import measure
from apps.stream.measure import NodeMemory, Triad, counts, sizes, triads
from platforms.errors import UserError


def test_bytes_are_counted_as_stream_counts_them():
    # By hand: two processes with a million elements each move 48 MB, in the quicker repeat of 4 ms 12 GB/s.
    assert Triad(2, 1_000_000, (0.005, 0.004, 0.006)).bandwidth_Bps == pytest.approx(12e9)


def test_all_cores_are_measured_and_powers_of_two_below():
    assert [counts(cores) for cores in (1, 2, 6, 8)] == [[1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8]]


def caches(folder, size):
    """The system's folder of four processors, each two of which share a last cache of this size."""
    for cpu, shared in ((0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3")):
        for index, (level, text) in enumerate(((1, "32K"), (3, size))):
            place = folder / f"cpu{cpu}" / "cache" / f"index{index}"
            place.mkdir(parents=True)
            for name, value in (("level", level), ("shared_cpu_list", shared), ("size", text)):
                (place / name).write_text(f"{value}\n")
    return folder


def test_arrays_are_four_times_the_caches_of_all_sockets_unless_memory_is_small(tmp_path):
    large, nowhere = caches(tmp_path / "large", "48M"), tmp_path / "nowhere"
    assert sizes(large, 10**12) == (96 * 2**20, 48 * 2**20)  # 8 bytes of each element
    assert sizes(nowhere, 10**12) == (0, 10_000_000)
    assert sizes(large, 1_200_000_000) == (96 * 2**20, 12_500_000)  # a quarter of the memory holds three arrays
    with pytest.raises(UserError, match="memory are free"):
        sizes(nowhere, 900_000_000)


def test_the_program_checks_its_results_and_times_each_repeat():
    (one, two) = triads([1, 2], 100_000, repeats=3)
    assert (one.elements, two.elements) == (100_000, 50_000)
    assert all(len(made.times_s) == 3 and min(made.times_s) > 0 for made in (one, two))


def test_too_little_memory_is_refused_in_one_line(monkeypatch):
    measure._program()  # compiled before subprocesses are replaced
    ended = subprocess.CompletedProcess([], 3, "", "")
    monkeypatch.setattr(measure.subprocess, "run", lambda *_, **__: ended)
    with pytest.raises(UserError, match="not enough memory"):
        triads([1], 10)


def test_the_answer_names_the_bandwidth_of_all_cores(monkeypatch):
    made = NodeMemory("here", 8_000_000, (Triad(1, 2_000_000, (0.004,)), Triad(2, 1_000_000, (0.003,))))
    monkeypatch.setattr("apps.speed.memory_of_this_computer", lambda: made)
    reply = COMMAND.ask(memory=True)
    assert reply.to_json()["bandwidth_Bps"] == pytest.approx([12e9, 16e9])
    assert "gridval plan cores --memory 16" in reply.text() and "caution: less than 4 times" in reply.text()
