"""Success and failure of simulations; no process is left running."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from apps.child.process import run_bounded
from apps.child.verdict import final_record
from apps.errors import OptionError, SimulationError, Stopped
from platforms.simgrid.compiling import compile_once
from tests.waiting import processes_of, until

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def program():
    return compile_once("misbehave", [DATA / "misbehave.c"], compiler=["smpicc"])


def smpirun(program, how, folder, time_limit_s=60.0, options=(), **more):
    (folder / "hosts").write_text("c1-0\nc1-1\n")
    command = ["smpirun", "-np", "2", "-hostfile", "hosts", "-platform", str(DATA / "platform-grid-ref.xml")]
    return run_bounded(
        [*command, "-no-privatize", *options, str(program), how], folder=folder, time_limit_s=time_limit_s, **more
    )


def test_the_final_line_is_the_record(program, tmp_path):
    assert final_record(smpirun(program, "well", tmp_path), "it") == {"ranks": 2}


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("deadlock", "it: deadlock"),
        ("abort", "it: the program called MPI_Abort"),
        ("crash", "it: the simulation crashed"),
        ("silent", "it: ended without a record"),
    ],
)
def test_failures_are_named(program, tmp_path, how, message):
    with pytest.raises(SimulationError, match=message):
        final_record(smpirun(program, how, tmp_path), "it")


def test_a_deadlock_ends_with_status_0_which_therefore_proves_nothing(program, tmp_path):
    assert smpirun(program, "deadlock", tmp_path).status == 0


def test_unknown_simgrid_options_are_bad_input(program, tmp_path):
    with pytest.raises(OptionError, match="no/such"):
        final_record(smpirun(program, "well", tmp_path, options=["--cfg=no/such:1"]), "it")


def simulates(process_number):
    """Return whether a process is a simulator; smpirun and its subshells name the program too."""
    try:
        return Path(f"/proc/{process_number}/cmdline").read_bytes().partition(b"\0")[0].endswith(b"smpimain")
    except OSError:
        return False


@pytest.fixture
def own_program(program, tmp_path):
    """The program under a name of this test, which distinguishes its processes from others."""
    own = tmp_path / "misbehave-here"
    own.symlink_to(program)
    return own


def test_a_time_limit_leaves_no_process(own_program, tmp_path):
    done = smpirun(own_program, "loop", tmp_path, time_limit_s=1.0)
    with pytest.raises(SimulationError, match="time limit"):
        final_record(done, "it")
    assert until(lambda: not processes_of(str(own_program)))


def test_a_signal_to_stop_ends_the_child_and_leaves_no_process(own_program, tmp_path):
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    with pytest.raises(Stopped, match="ended"):
        smpirun(own_program, "loop", tmp_path, time_limit_s=300.0, stop=stop)
    assert until(lambda: not processes_of(str(own_program)))


def test_nothing_is_started_after_a_signal_to_stop(tmp_path):
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped, match="not started"):
        run_bounded(["touch", str(tmp_path / "started")], folder=tmp_path, time_limit_s=None, stop=stop)
    assert not (tmp_path / "started").exists()


def test_endless_output_is_bounded(own_program, tmp_path):
    done = smpirun(own_program, "shout", tmp_path, time_limit_s=1.0, output_limit_bytes=1 << 20)
    with pytest.raises(SimulationError, match="time limit"):
        final_record(done, "it")
    assert done.output.startswith("aaaa") and done.output.rstrip().endswith("a") and "bytes left out]" in done.output
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2 << 20
    assert until(lambda: not processes_of(str(own_program)))


@pytest.mark.parametrize("death", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_or_killed_parent_leaves_no_process(own_program, tmp_path, death):
    """smpirun starts the simulator as a child process, which would survive a kill of smpirun alone."""
    script = (
        "import sys; from pathlib import Path; from apps.child.process import run_bounded\n"
        "from platforms.simgrid.child import die_with_parent\n"
        "import shlex; program, folder, platform = sys.argv[1:]\n"
        "wrapper = ['-wrapper', shlex.join(die_with_parent())]\n"
        "run_bounded(['smpirun', *wrapper, '-np', '2', '-hostfile', 'hosts', '-platform', platform, '-no-privatize',\n"
        "             program, 'loop'], folder=Path(folder), time_limit_s=None)\n"
    )
    (tmp_path / "hosts").write_text("c1-0\nc1-1\n")
    arguments = [str(own_program), str(tmp_path), str(DATA / "platform-grid-ref.xml")]
    parent = subprocess.Popen([sys.executable, "-c", script, *arguments], stderr=subprocess.DEVNULL)
    try:
        assert until(lambda: any(map(simulates, processes_of(str(own_program)))))
        os.kill(parent.pid, death)
        parent.wait(timeout=20)
        assert until(lambda: not processes_of(str(own_program)))
    finally:
        parent.kill()


def test_peak_memory_is_that_of_the_child_however_large_its_parent(tmp_path):
    import numpy as np

    ballast = np.ones(60_000_000)  # 480 MB here
    script = "import time; x = bytearray(50_000_000); x[::4096] = b'x' * len(x[::4096]); time.sleep(0.3)"
    done = run_bounded([sys.executable, "-c", script], folder=tmp_path, time_limit_s=60)
    assert 50e6 < done.peak_memory_bytes < 120e6
    assert ballast[0] == 1
