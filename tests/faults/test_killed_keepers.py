"""A keeper that is killed leaves no process of its command, not even one in a session of its own."""

import os
import signal
import threading
from pathlib import Path

import pytest

from apps.child.process import run_bounded
from apps.errors import SimulationError

COMMAND = ["sh", "-c", "setsid sleep 300 & setsid sh -c 'sleep 301; true' & sleep 302"]


def keepers(processes):
    """Return the guard and the keeper: the keeper is the guard's child."""
    found = {}
    for number in processes:
        if os.path.basename(os.readlink(f"/proc/{number}/exe")).startswith("keeper-"):
            found[number] = int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
    guard = next(number for number, parent in found.items() if parent not in found)
    return guard, next(number for number in found if number != guard)


@pytest.mark.parametrize("victim", ["guard", "keeper"])
def test_whichever_is_killed_the_other_ends_all_processes(tmp_path, marked, until, victim):
    ended = []

    def run():
        try:
            done = run_bounded(COMMAND, folder=tmp_path, time_limit_s=60.0, environment=marked.environment)
            ended.append(done.status)
        except SimulationError as err:
            ended.append(str(err))

    thread = threading.Thread(target=run)
    thread.start()
    assert until(lambda: len(marked.processes()) >= 7)  # both keepers, two shells, three sleepers
    guard, keeper = keepers(marked.processes())
    os.kill(guard if victim == "guard" else keeper, signal.SIGKILL)
    thread.join(20)
    assert not thread.is_alive()
    assert marked.gone()
    shown = -signal.SIGKILL if victim == "guard" else f"sh: its keeper process ended with status {128 + signal.SIGKILL}"
    assert ended == [shown]
