"""Programs that deadlock, abort, crash, grow, loop or print too much: one line says so, and nothing is left behind."""

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from apps.child.failure import failure
from apps.child.process import Finished, run_bounded
from apps.errors import SimulationError
from apps.run import main

FAULTY = Path(__file__).parent / "data" / "faulty.c"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("receive", "deadlock: rank 1 in MPI_Recv waits for messages that are never sent"),
        ("barrier", "deadlock: ranks 0 in MPI_Barrier and 1 in MPI_Barrier wait for messages"),
        ("synchronous", "deadlock: ranks 0 in MPI_Ssend, 1 in MPI_Ssend and 2 in MPI_Ssend wait"),
        ("abort", "the program called MPI_Abort with code 42 on rank 2 (c3-0)"),
        ("exit", "rank 2 (c3-0) ended with status 7"),
        ("return", "rank 1 (c2-0) ended with status 5"),
        ("crash", "the simulation crashed (SIGSEGV)"),
        ("divide", "the simulation crashed (SIGFPE)"),
        ("kill", "the simulation was killed (SIGKILL)"),
        ("give-up", "the simulation aborted"),
    ],
)
def test_what_a_program_does_wrong_is_named(faulty, how, said):
    with pytest.raises(SimulationError, match=re.escape(f"faulty on 3 ranks of grid4x2: {said}")):
        faulty(how)


@pytest.mark.parametrize("how", ["loop", "spin"])  # forever in simulated time, and without simulated time
def test_a_program_that_never_ends_reaches_the_limit_of_wall_time(faulty, how):
    with pytest.raises(SimulationError, match="time limit reached after"):
        faulty(how, time_limit_s=1.0)


def test_the_limit_has_a_default_and_can_be_taken_away(capsys):
    with pytest.raises(SystemExit):
        main(["--help-all"])
    assert "(default: 14400, four hours; 0: no limit)" in " ".join(capsys.readouterr().out.split())
    assert main("--app cg --scenario grid4x2 --wall-limit 0".split()) == 0
    assert main("--app cg --scenario grid4x2 --wall-limit nan".split()) == 2


def test_a_long_output_costs_neither_memory_nor_disk_and_the_run_succeeds(faulty):
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    record = faulty("shout 300000")  # 30 MB on each of standard output and error
    assert record.ranks == 3
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 20_000


@pytest.mark.slow
def test_gigabytes_of_output_are_bounded(faulty):
    assert faulty("shout 30000000", time_limit_s=300).ranks == 3  # 3 GB on each stream


def test_of_a_long_output_the_first_and_the_last_lines_are_kept(tmp_path):
    script = "for i in range(100_000): print(f'line {i:08}')"
    done = run_bounded([sys.executable, "-c", script], folder=tmp_path, time_limit_s=60, output_limit_bytes=100_000)
    lines = done.output.splitlines()
    assert lines[:2] == ["line 00000000", "line 00000001"] and lines[-1] == "line 00099999"
    # 65,536 bytes at the beginning and 100,000 at the end of 1,400,000 are kept.
    assert f"[{1_400_000 - 65_536 - 100_000} bytes left out]" in lines
    assert [int(line[5:]) for line in lines if len(line) == 13 and line > "line 00050000"][-7000:] == [
        *range(93_000, 100_000)
    ]
    assert (tmp_path / "stdout").stat().st_size == 165_536


def test_a_program_has_no_input_finds_its_files_and_leaves_none_behind(faulty, tmp_path, monkeypatch):
    (tmp_path / "input.txt").write_text("given")
    monkeypatch.chdir(tmp_path)
    assert faulty("files").ranks == 3
    assert os.listdir(tmp_path) == ["input.txt"]


@pytest.mark.parametrize(("how", "limit_s"), [("fork", 20.0), ("fork-and-loop", 0.5)])
def test_what_a_program_starts_ends_with_it(faulty, marked, monkeypatch, how, limit_s):
    for name, value in marked.environment.items():
        monkeypatch.setenv(name, value)
    if how == "fork":
        faulty(how)
    else:
        with pytest.raises(SimulationError, match="time limit"):
            faulty(how, time_limit_s=limit_s)
    assert marked.processes() == []


RUN = """
import sys
from pathlib import Path
from apps.child.process import run_bounded
run_bounded(["sh", "-c", "(setsid sh -c 'trap \\"\\" TERM HUP; while :; do sleep 1; done' &) ; sleep 300"],
            folder=Path(sys.argv[1]), time_limit_s=None)
"""


@pytest.mark.parametrize("whom", ["parent", "guard"])
def test_nothing_is_left_when_the_parent_is_killed(marked, until, tmp_path, whom):
    """This includes the command's child in a session of its own, also if the keeper's guard is killed."""
    parent = subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path)], env=marked.environment, stderr=subprocess.PIPE
    )
    assert until(lambda: len(marked.processes()) >= 5)  # parent, guard, keeper, and two sleeping processes
    if whom == "parent":
        parent.kill()
    else:
        (guard,) = (int(one) for one in Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split())
        os.kill(guard, 9)
    parent.communicate(timeout=20)
    assert marked.gone()


# --- memory ---


def simulated_with(limit, faulty_program, folder):
    """Return the result of the growing program after this limit is set in a shell."""
    (folder / "hosts").write_text("c1-0\n")
    platform = Path(__file__).parents[1] / "apps" / "data" / "platform-grid-ref.xml"
    command = f"{limit} exec smpirun -np 1 -hostfile hosts -platform {platform} -no-privatize {faulty_program} grow"
    return run_bounded(["sh", "-c", command], folder=folder, time_limit_s=60)


@pytest.fixture
def faulty_program():
    from platforms.simgrid.compiling import compile_once

    return compile_once("faulty", [FAULTY], compiler=["smpicc"])


def test_memory_that_is_refused_is_named(faulty_program, tmp_path):
    failed = failure(simulated_with("ulimit -v 300000;", faulty_program, tmp_path))
    assert re.match(r"memory ran out: Memory allocation of \d+ bytes failed, when \d+ MB were in use", failed.text)


def test_the_systems_killing_for_lack_of_memory_is_named(faulty_program, tmp_path):
    version_1 = Path("/sys/fs/cgroup/memory")
    group = (version_1 if version_1.is_dir() else Path("/sys/fs/cgroup")) / f"faults-{os.getpid()}"
    try:
        group.mkdir()
        (group / ("memory.limit_in_bytes" if version_1.is_dir() else "memory.max")).write_text("100000000")
    except OSError as err:
        if group.is_dir():
            group.rmdir()
        pytest.skip(f"no control group with a limit of memory can be made: {err}")
    try:
        done = simulated_with(f"echo $$ > {group}/cgroup.procs;", faulty_program, tmp_path)
    finally:
        group.rmdir()
    assert done.memory_ran_out
    assert failure(done).text.startswith("memory ran out: the system killed the simulation when ")


@pytest.mark.parametrize(
    "log",
    [
        "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc",
        "[c1-0:0:(1) 0.0] ./src/xbt/exception.cpp:48: [xbt_exception/CRITICAL] Uncaught exception std::bad_alloc: it",
        "Traceback (most recent call last):\nMemoryError",
        "out of memory",
    ],
)
def test_every_way_to_say_that_memory_ran_out_is_understood(log):
    done = Finished(status=134, output="", log=log, wall_s=1.0, peak_memory_bytes=2_000_000)
    assert failure(done).text.startswith("memory ran out: ") and "2 MB were in use" in failure(done).text


def test_a_command_that_is_killed_for_lack_of_memory_dies_before_who_started_it(tmp_path):
    own = int(Path("/proc/self/oom_score_adj").read_text())
    done = run_bounded(["cat", "/proc/self/oom_score_adj"], folder=tmp_path, time_limit_s=60)
    assert int(done.output) == min(1000, own + 500)
