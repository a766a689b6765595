"""Runs on a machine that are interrupted: their processes end, their jobs are cancelled, finished runs are kept."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from apps.errors import Stopped
from apps.machines.launch import launch
from apps.machines.machine_file import Launcher
from apps.machines.machine_platform import machine_platform
from apps.probes.network.measure import Exchange, NetworkPlan
from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from tests.waiting import until

WAIT_S = 60
SLEEPS = """
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  if (access("FOLDER/first", F_OK) == 0) { /* the second run never ends */
    (void)!symlink("anything", "FOLDER/second");
    sleep(86399);
  }
  MPI_Finalize();
  return 0;
}
"""


def running(words):
    """Return whether a process with these words in its command line runs."""
    return words in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


def running_with(mark):
    """Return the processes whose environment has this text: other tests may run the same programs."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark.encode() in path.read_bytes():
                found.append(path.parent.name)
    return found


@pytest.fixture
def hanging(local, tmp_path):
    """A machine whose launcher hangs, as a job that waits in a queue does, and notes its start and the cancelling."""
    script = f"touch {tmp_path}/started; exec sleep 86398"
    cancel = ("/bin/sh", "-c", f'echo "$0" >> {tmp_path}/cancelled', "{job}")
    return replace(local, launcher=Launcher(("/bin/sh", "-c", script, "{job}", "{program}"), cancel=cancel))


def record(runner, machine):
    target = Target(problem("ep", "S"), machine_platform(machine), machine.hosts)
    return runner.record(Settings(machine=machine, repeats=1).spec(target))


def recording(runner, machine):
    target = Target(problem("ep", "S"), machine_platform(machine), machine.hosts)
    return runner.recording(Settings(machine=machine).spec(target), 1)


def exchange(runner, machine):
    (host,) = machine.hosts
    plan = NetworkPlan(machine_platform(machine), ((Exchange(host, host, 1, 0),),), machine=machine)
    return runner.measure(plan)


@pytest.mark.parametrize("work", [record, recording, exchange])
def test_whatever_a_runner_does_on_a_machine_ends_when_the_runner_is_closed(hanging, tmp_path, work):
    raised = []

    def do(runner):
        try:
            work(runner, hanging)
        except Stopped as err:
            raised.append(err)

    with Runner(jobs=1) as runner:
        thread = threading.Thread(target=do, args=(runner,))
        thread.start()
        assert until((tmp_path / "started").exists, WAIT_S)
    thread.join(WAIT_S)
    assert len(raised) == 1
    assert not running("sleep 86398")
    assert (tmp_path / "cancelled").read_text().startswith("gridval-")


def test_an_interrupt_ends_mpirun_with_its_ranks_and_keeps_what_was_finished(local, tmp_path):
    source = tmp_path / "slow.c"
    source.write_text(SLEEPS.replace("FOLDER", str(tmp_path)))
    words = [
        sys.executable,
        "-m",
        "gridval",
        "program",
        "run",
        "--machine",
        str(local.path),
        "--program",
        str(source),
        "--repeats",
        "1",
    ]
    words += ["--store", str(tmp_path / "store"), "--ranks-per-host", "2"]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 0
    (tmp_path / "first").touch()
    marked = os.environ | {"INTERRUPTED": str(tmp_path)}
    with subprocess.Popen(words, env=marked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        assert until((tmp_path / "second").is_symlink, WAIT_S)
        assert len(running_with(f"INTERRUPTED={tmp_path}")) >= 4  # the command, mpirun, two ranks
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=WAIT_S)
    assert command.returncode == 130
    assert said.startswith("interrupted") and "Traceback" not in said
    assert not running_with(f"INTERRUPTED={tmp_path}")
    with Store(tmp_path / "store", read_only=True) as store:
        assert [entry.kind for entry in store.entries()] == ["measurement"]


def test_a_second_interrupt_does_not_reach_the_command_that_cancels(hanging, tmp_path):
    """A terminal sends Ctrl-C to all processes of the foreground group."""
    cancel = ("/bin/sh", "-c", f"ps -o sid= -p $$ > {tmp_path}/session", "{job}")
    machine = replace(hanging, launcher=replace(hanging.launcher, cancel=cancel))
    stop = threading.Event()

    def when_started():
        assert until((tmp_path / "started").exists, WAIT_S)
        stop.set()

    threading.Thread(target=when_started).start()
    with pytest.raises(Stopped):
        launch(machine, ("x",), machine.hosts, stop=stop)
    assert int((tmp_path / "session").read_text()) != os.getsid(0)
