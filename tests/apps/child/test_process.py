"""Processes that run simulations: they end, and their output is kept."""

import os
import signal
import subprocess

import pytest

from apps.child import process
from apps.child.process import run_bounded
from apps.errors import SimulationError


def test_a_keeper_that_does_not_end_is_killed(tmp_path, monkeypatch):
    keeper = tmp_path / "keeper"
    keeper.write_text("#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 0.05; done\n")
    keeper.chmod(0o755)
    monkeypatch.setattr(process, "keeper_program", lambda: keeper)
    monkeypatch.setattr(process, "_PATIENCE_S", 0.3)  # else the test takes 10 s
    with pytest.raises(SimulationError, match="its keeper process ended with status -9"):
        run_bounded(["true"], folder=tmp_path, time_limit_s=0.3)


def test_output_that_could_not_be_written_is_empty(tmp_path):
    done = run_bounded(["echo", "lost"], folder=tmp_path / "none", time_limit_s=None, working_folder=tmp_path)
    assert (done.status, done.output, done.log) == (0, "", "")
    assert done.lost == os.strerror(2)


def test_a_signal_at_the_moment_when_a_keeper_has_started_ends_it(tmp_path, monkeypatch):
    started = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            started.append(self.pid)
            os.kill(os.getpid(), signal.SIGINT)  # before the caller knows the process

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_bounded(["sleep", "20"], folder=tmp_path, time_limit_s=20)
    with pytest.raises(ProcessLookupError):  # ended, and waited for
        os.kill(started[0], 0)
