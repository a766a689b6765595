"""Programs in Python take the times of the same calls of MPI, and their errors are reported."""

import json
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from apps.errors import KernelError
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.programs.python_source import check_program
from apps.recording.events import EVENT, Kind, Mark
from apps.run import main
from apps.runs.engines import run_identity
from apps.runs.record_events import record_events
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.model.placement import block
from platforms.read.read import read_platform
from tests.waiting import processes_of, until

ROOT = Path(__file__).parents[3]
DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def platform():
    return read_platform(DATA / "platform-grid-ref.xml")


def record_of(path, platform, placement, *, arguments="", full=None, **settings):
    asked = own_problem(read_program(path, arguments, full))
    return simulate(Settings(**settings).spec(Target(asked, platform, placement)))


def run_json(capsys, *arguments):
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("other", "one_way_s"),
    [
        ("c1-1", {8: 0.00030244, 5600: 0.00034013, 65536: 0.00230402, 1000000: 0.01025104}),
        ("c2-0", {8: 0.00241785, 5600: 0.00231519, 65536: 0.01452980, 1000000: 0.02247682}),
    ],
)
def test_one_way_times_are_those_of_smpi(platform, tmp_path, other, one_way_s):
    # Measured under SMPI 3.32 with a ping-pong in C on this platform: half of the round trip, by bytes.
    (tmp_path / "pingpong.py").write_text(
        "def main(rank):\n"
        "    for size in map(int, rank.arguments[1:]):\n"
        "        if rank.rank == 0:\n"
        "            rank.send(1, size)\n"
        "            rank.recv(1)\n"
        "        else:\n"
        "            rank.recv(0)\n"
        "            rank.send(0, size)\n"
        "        rank.iteration()\n"
    )
    arguments = " ".join(["{iterations}", *map(str, one_way_s)])
    record = record_of(tmp_path / "pingpong.py", platform, ("c1-0", other), arguments=arguments, full=4)
    ends_s = (0, *record.iteration_s[0])
    for (begin_s, end_s), expected_s in zip(pairwise(ends_s), one_way_s.values(), strict=True):
        assert (end_s - begin_s) / 2 == pytest.approx(expected_s, abs=1e-8)  # the table has eight decimals


@pytest.mark.parametrize("hosts", ["12 ranks", "13 ranks", "two on each of 6 hosts"])
def test_every_kind_of_message_takes_the_time_it_takes_under_smpi(platform, hosts):
    placement = {
        "12 ranks": block(platform, 12),
        "13 ranks": block(platform, 13),
        "two on each of 6 hosts": block(platform, 6) * 2,
    }[hosts]
    smpi, s4u = (
        record_of(DATA / name, platform, placement, arguments="{iterations}", full=12, iterations="full")
        for name in ("steps.c", "steps.py")
    )
    assert len(s4u.iteration_s[0]) == 12
    for one, other in zip(s4u.iteration_s, smpi.iteration_s, strict=True):
        assert one == pytest.approx(other, rel=1e-9)
    for field in ("messages", "bytes", "self_messages", "self_bytes", "collectives", "rank_flops"):
        assert getattr(s4u, field) == getattr(smpi, field)
    assert s4u.compute_s == pytest.approx(smpi.compute_s, rel=1e-9)


def test_its_recording_is_that_of_the_same_calls_of_mpi(platform):
    recordings = []
    for name in ("steps.c", "steps.py"):
        asked = own_problem(read_program(DATA / name, "{iterations}", 12))
        recordings.append(record_events(Settings().spec(Target(asked, platform, block(platform, 13))), 12))
    smpi, s4u = recordings
    assert s4u.communicators == smpi.communicators
    for one, other in zip(s4u.events, smpi.events, strict=True):
        for field in EVENT.names:
            # The network of recordings is faster than the simulator's resolution of 1 ns; Python has no addresses.
            if field not in ("clock_s", "site"):
                assert one[field].tolist() == other[field].tolist()


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("    rank.compute(1)\n", [Mark.START, Mark.STOP]),
        ("    rank.iteration()\n", [Mark.START, Mark.ITERATION, Mark.STOP]),
        ("    rank.iteration(); rank.start(); rank.first_iteration()\n", [Mark.START, Mark.FIRST_ITERATION, Mark.STOP]),
    ],
)
def test_a_recording_has_one_timed_section_whatever_is_marked(platform, tmp_path, text, marks):
    (tmp_path / "program.py").write_text(f"def main(rank):\n{text}    rank.barrier()\n    int(rank.arguments[0])\n")
    asked = own_problem(read_program(tmp_path / "program.py", "{iterations}", 1))
    recording = record_events(Settings().spec(Target(asked, platform, block(platform, 2))), 1)
    for events in recording.events:
        found = events["op"][events["kind"] == Kind.MARK].tolist()
        # Iterations are marked where there are as many as were asked for.
        assert found == [mark for mark in marks if mark != Mark.FIRST_ITERATION or Mark.ITERATION in marks]


def test_the_threshold_of_detached_messages_is_honoured(platform):
    higher = (("smpi/send-is-detached-thresh", "180000"),)  # fewer sends wait
    smpi, s4u, default = (
        record_of(DATA / name, platform, block(platform, 6), arguments="12", options=options)
        for name, options in (("steps.c", higher), ("steps.py", higher), ("steps.py", ()))
    )
    assert s4u.time_s == pytest.approx(smpi.time_s, rel=1e-9)
    assert min(s4u.comm_s) < min(default.comm_s)


def test_collectives_hand_values_on(platform, tmp_path):
    (tmp_path / "values.py").write_text(
        "def main(rank):\n"
        "    assert rank.allreduce(8, value=rank.rank + 1) == 15\n"  # 1 + 2 + 3 + 4 + 5
        "    assert rank.allreduce(8, value=rank.rank, op=max) == 4\n"
        "    joined = rank.reduce(1, root=2, value='abcde'[rank.rank])\n"
        "    assert joined == ('abcde' if rank.rank == 2 else None), joined\n"
        "    assert rank.bcast(8, root=3, payload='x' if rank.rank == 3 else None) == 'x'\n"
        "    assert rank.allreduce(8) is None\n"
    )
    assert record_of(tmp_path / "values.py", platform, block(platform, 5)).collectives["allreduce"]["calls"] == 3


def test_flops_are_counted_and_take_their_time(platform, tmp_path):
    # By hand: rank r computes (r + 1) Gflop on c1 (40 Gflop/s) and c2 (50); without network nothing else takes time.
    (tmp_path / "work.py").write_text("def main(rank):\n    rank.compute(1e9 * (rank.rank + 1))\n")
    record = record_of(tmp_path / "work.py", platform, ("c1-0", "c2-0"))
    assert record.compute_s == pytest.approx((1 / 40, 2 / 50), rel=1e-12)
    assert record.rank_flops == (1e9, 2e9)
    assert record.comm_s == pytest.approx((0, 0), abs=1e-15)
    assert record_of(tmp_path / "work.py", platform, ("c1-0", "c2-0"), compute="none").time_s == 0


def test_the_example_goes_round_as_often_as_it_is_told(capsys):
    arguments = ["--program", ROOT / "examples" / "ring.py", "--program-args", "{iterations}", "--ranks", 4]
    arguments += ["--program-iterations", 20, "--scenario", "grid4x2"]
    steady, full = (run_json(capsys, *arguments, "--iterations", policy) for policy in ("steady", "full"))
    assert full["messages"] == [20] * 4
    assert full["bytes"] == [20 * 100_000] * 4
    assert full["rank_flops"] == [20 * 2e6] * 4
    assert steady["extrapolation"] is None  # programs in Python are not compared by iterations
    assert steady["time_s"] == pytest.approx(full["time_s"], rel=1e-6)
    for field in ("messages", "bytes", "rank_flops", "collectives"):
        assert steady[field] == full[field]


def test_a_program_that_marks_no_iterations_is_run_in_full(platform, tmp_path):
    (tmp_path / "plain.py").write_text(
        "def main(rank):\n    for _ in range(int(rank.arguments[0])):\n        rank.barrier()\n"
    )
    record = record_of(tmp_path / "plain.py", platform, block(platform, 3), arguments="{iterations}", full=30)
    assert record.collectives["barrier"]["calls"] == 30
    assert record.extrapolation is None


def test_modules_beside_a_program_belong_to_its_identity(platform, tmp_path):
    (tmp_path / "program.py").write_text("from parts import main\n")
    (tmp_path / "parts.py").write_text("import numbers_of_it as n\ndef main(rank):\n    rank.compute(n.FLOPS)\n")
    (tmp_path / "numbers_of_it.py").write_text("FLOPS = 1e9\n")

    def identity():
        asked = own_problem(read_program(tmp_path / "program.py"))
        return run_identity(Settings().spec(Target(asked, platform, ("c1-0",))))

    before = identity()
    assert before["engine"] == "s4u"
    assert simulate(
        Settings().spec(Target(own_problem(read_program(tmp_path / "program.py")), platform, ("c1-0",)))
    ).time_s == pytest.approx(1 / 40)
    (tmp_path / "numbers_of_it.py").write_text("FLOPS = 2e9\n")
    assert identity() != before


def test_the_kernels_are_chosen_by_the_option(capsys):
    record = run_json(capsys, "--app", "ep", "--engine", "s4u", "--ranks", 4, "--scenario", "grid4x2")
    assert record["engine"] == "s4u"
    assert "--engine s4u --app ep --class S" in " ".join(record["command"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--app is --engine s4u", "is is not among its kernels. Known: bt, cg, ep, ft, himeno, lu, mg, sp"),
        ("--app cg --engine s5u", "Known: smpi, s4u"),
        ("--app cg --engine s4u --mode verify", "skeletons"),
        ("--app cg --engine s4u --cfg smpi/os:0:1e-6:0", "acts on calls of MPI"),
        ("--app cg --engine s4u --cfg smpi/send-is-detached-thresh:x", "not a number of bytes"),
        ("--app cg --engine s4u --cfg no/such:1", "no such option"),
        ("--program {} --engine smpi", "It needs --engine s4u"),
        ("--program {} --compute measured --host-speed 1", "is not timed"),
        ("--program {} --efficiency 0.5", "itself states its computation"),
        ("--program {}/no.py", "no such file"),
    ],
)
def test_what_cannot_be_run_gets_one_line_and_status_2(options, message, tmp_path, capsys):
    (tmp_path / "program.py").write_text("def main(rank):\n    pass\n")
    arguments = options.format(tmp_path / "program.py").split()
    assert main([*arguments, "--ranks", "4", "--scenario", "grid4x2"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert message in said.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def main(rank:\n", "program.py:1: not Python"),
        ("def begin(rank):\n    pass\n", "no function main"),
        ("def main():\n    pass\n", "program.py:1: main does not take one argument"),
        ("def main(rank, size):\n    pass\n", "program.py:1: main does not take one argument"),
    ],
)
def test_what_is_no_program_is_found_before_it_runs(text, message, tmp_path, capsys):
    (tmp_path / "program.py").write_text(text)
    assert main(["--program", str(tmp_path / "program.py"), "--ranks", "2", "--scenario", "grid4x2"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "    rank.recv(1 - rank.rank, tag=7)\n",
            "rank 0 waits for the message from rank 1 with tag 7, and 1 more wait",
        ),
        ("    if rank.rank == 1: rank.barrier()\n", "rank 1 waits for the message from rank 0 of a collective"),
        ("    if rank.rank == 0: rank.send(1, 10**6)\n", "rank 0 waits for the message to rank 1 with tag 0"),
        ("    rank.send(2, 8)\n", "rank 0, program.py:2: ValueError: there is no rank 2 among 2"),
        ("    rank.send(1, -8)\n", "program.py:2: ValueError: a message of -8 bytes"),
        ("    rank.send(1, 1.5)\n", "program.py:2: ValueError: a message of 1.5 bytes"),
        ("    rank.bcast(8, root=-1)\n", "program.py:2: ValueError: there is no rank -1 among 2"),
        ("    rank.compute(-1)\n", "program.py:2: ValueError: -1 flops"),
        ("    rank.isend(1, 8, tag='c')\n", "program.py:2: ValueError: tag 'c': give an integer"),
        ("    1 / rank.rank\n", "rank 0, program.py:2: ZeroDivisionError"),
        ("    raise SystemExit\n", "rank 0, program.py:2: SystemExit"),
        ("    pass\nimport no_such_module\n", "program.py:3: ModuleNotFoundError"),
    ],
)
def test_what_goes_wrong_is_said_with_its_place_and_no_traceback(text, message, tmp_path, capsys):
    (tmp_path / "program.py").write_text(f"def main(rank):\n{text}")
    assert main(["--program", str(tmp_path / "program.py"), "--ranks", "2", "--scenario", "grid4x2"]) == 1
    said = capsys.readouterr().err
    assert message in said.splitlines()[0]
    assert "Traceback" not in said


def endless(tmp_path):
    (tmp_path / "endless.py").write_text("def main(rank):\n    while True:\n        rank.barrier()\n")
    return ["--program", str(tmp_path / "endless.py"), "--ranks", "4", "--scenario", "grid4x2"]


def test_a_time_limit_ends_the_simulation(tmp_path, monkeypatch, capsys):
    arguments = endless(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main([*arguments, "--time-limit", "1"]) == 1
    assert "time limit" in capsys.readouterr().err


@pytest.mark.parametrize("death", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_or_killed_command_leaves_no_process(tmp_path, death):
    parent = subprocess.Popen(
        [sys.executable, "-m", "gridval", "program", "run", *endless(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        stderr=subprocess.DEVNULL,
    )
    try:
        # The command, the simulation and its keeper.
        assert until(lambda: len(processes_of(str(tmp_path))) >= 3, 60)
        time.sleep(0.5)
        os.kill(parent.pid, death)
        parent.wait(timeout=20)
        assert until(lambda: not processes_of(str(tmp_path)))
    finally:
        parent.kill()


def test_python_that_is_nested_too_deep_is_no_program(tmp_path):
    path = tmp_path / "deep.py"
    path.write_text("x = " + "-" * 20_000 + "1\n")
    with pytest.raises(KernelError, match=r"deep\.py.*: not Python: "):
        check_program(path)
