"""Processes that run simulations: they end, and what they said is kept."""

import subprocess

from apps import process


def test_a_keeper_that_does_not_end_is_killed(monkeypatch):
    monkeypatch.setattr(process, "_PATIENCE_S", 0.3)
    words = ["sh", "-c", "trap '' TERM; echo on; while :; do sleep 0.05; done"]
    keeper = subprocess.Popen(words, start_new_session=True, stdout=subprocess.PIPE)
    keeper.stdout.readline()
    process._end(keeper)
    keeper.stdout.close()
    assert keeper.returncode == -9


def test_output_that_found_no_room_is_none(tmp_path):
    assert process._kept(tmp_path / "none", 10, 10) == ""
