"""STREAM's triad: how bytes are counted, how large the arrays are, and runs of the program."""

import subprocess

import pytest

from apps.speed import COMMAND
from apps.stream import measure
from apps.stream.measure import Triad, cache_bytes, counts, elements_in_all, triads
from platforms.errors import UserError


def test_bytes_are_counted_as_stream_counts_them():
    # By hand: two processes with a million elements each move 48 MB, in the quicker repeat of 4 ms 12 GB/s.
    assert Triad(2, 1_000_000, (0.005, 0.004, 0.006)).bandwidth_Bps == pytest.approx(12e9)


def test_all_cores_are_measured_and_powers_of_two_below():
    assert [counts(cores) for cores in (1, 2, 6, 8)] == [[1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8]]


def test_arrays_are_four_times_the_caches_unless_memory_is_small():
    assert elements_in_all(100_000_000, 10**12) == 50_000_000  # 8 bytes of each
    assert elements_in_all(0, 10**12) == 10_000_000
    assert elements_in_all(10**9, 2_400_000_000) == 25_000_000  # a quarter of the memory holds three arrays
    with pytest.raises(UserError, match="memory are free"):
        elements_in_all(0, 900_000_000)


def test_the_last_caches_of_all_sockets_are_added(tmp_path):
    for cpu, shared in ((0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3")):
        for index, (level, size) in enumerate(((1, "32K"), (3, "16M"))):
            folder = tmp_path / f"cpu{cpu}" / "cache" / f"index{index}"
            folder.mkdir(parents=True)
            for name, text in (("level", str(level)), ("shared_cpu_list", shared), ("size", size)):
                (folder / name).write_text(text)
    assert cache_bytes(tmp_path) == 2 * 16 * 2**20
    assert cache_bytes(tmp_path / "nowhere") == 0


def test_the_program_checks_its_results_and_times_each_repeat():
    (one, two) = triads([1, 2], 100_000, repeats=3)
    assert (one.elements, two.elements) == (100_000, 50_000)
    assert all(len(made.times_s) == 3 and min(made.times_s) > 0 for made in (one, two))


def test_too_little_memory_is_refused_in_one_line(monkeypatch):
    ended = subprocess.CompletedProcess([], 3, "", "")
    monkeypatch.setattr(measure.subprocess, "run", lambda *_, **__: ended)
    with pytest.raises(UserError, match="not enough memory"):
        triads([1], 10)


def test_the_answer_names_the_bandwidth_of_all_cores(monkeypatch):
    made = [Triad(1, 2_000_000, (0.004,)), Triad(2, 1_000_000, (0.003,))]
    monkeypatch.setattr("apps.speed.memory_of_this_computer", lambda: (made, 8_000_000))
    reply = COMMAND.ask(memory=True)
    assert reply.to_json()["bandwidth_Bps"] == pytest.approx([12e9, 16e9])
    assert "gridval plan cores --memory 16" in reply.text() and "caution: less than 4 times" in reply.text()
