"""Measurements on emulated grids; they need root, /dev/net/tun and Open MPI (make test-machine)."""

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from apps.emulate.running import check_machine
from platforms.errors import UserError
from tests.waiting import until

HERE = Path(__file__).parent
PEERS = [sys.executable, str(HERE / "peers.py")]
FREE_GRID = "examples/emulation/free.toml"
EMULATE = [sys.executable, "-m", "gridval", "platform", "emulate"]


def reason_not_to():
    try:
        check_machine()
    except UserError as err:
        return str(err)
    return "" if shutil.which("mpicc") and shutil.which("mpirun") else "Open MPI is not installed"


pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(bool(reason_not_to()), reason=reason_not_to() or "-"),
]


def run(*words, grid=FREE_GRID):
    done = subprocess.run([*EMULATE, grid, *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def measured(*words, grid=FREE_GRID):
    return json.loads(run("--", *PEERS, *words, grid=grid))


def compiled(folder, name):
    program = folder / name
    subprocess.run(["mpicc", "-O1", "-o", program, HERE / f"{name}.c", "-ldl"], check=True)
    return str(program)


def in_one_of_three(check):
    """Let a check of times fail twice: other work on this computer disturbs times, but cannot make wrong ones right."""

    @functools.wraps(check)
    def checked(*args, **kwargs):
        for _ in range(2):
            with suppress(AssertionError):
                return check(*args, **kwargs)
        return check(*args, **kwargs)

    return checked


# --- the network ---


@pytest.fixture
def far(tmp_path):
    """Two clusters of two nodes, 20 Mbit/s and 20 ms apart, in a mesh whose link has one direction for each way."""
    path = tmp_path / "far.toml"
    path.write_text("""
[[clusters]]
nodes = 2
speed_gflops = 1
node = { bandwidth_gbit_s = 0.04, latency_us = 5000 }
backbone = { bandwidth_gbit_s = 10, latency_us = 0 }
[[clusters]]
nodes = 2
speed_gflops = 2
node = { bandwidth_gbit_s = 0.04, latency_us = 5000 }
backbone = { bandwidth_gbit_s = 10, latency_us = 0 }
[wan]
duplex = true
bandwidth_gbit_s = 0.02
latency_us = 20000
""")
    return str(path)


@in_one_of_three
def test_a_byte_takes_the_sum_of_the_delays(far):
    # By hand: 5 + 5 ms within a cluster, 5 + 20 + 5 ms between clusters, and some microseconds for the bits.
    near, across = (measured("latency", "c1-0", host, grid=far)[0]["s"] for host in ("c1-1", "c2-1"))
    assert near == pytest.approx(10e-3, rel=0.05)
    assert across == pytest.approx(30e-3, rel=0.05)


@in_one_of_three
def test_one_flow_gets_the_rate_and_two_flows_over_one_link_half_of_it_each(far):
    # TCP's headers take 0.6 % of packets of 9000 bytes; the flow begins slowly.
    (alone,) = measured("rate", "c1-0", "c2-0", grid=far)
    assert 8 * alone["bytes"] / alone["s"] == pytest.approx(20e6, rel=0.05)
    for flow in measured("rate", "c1-0", "c2-0", "c1-1", "c2-1", grid=far):
        assert 8 * flow["bytes"] / flow["s"] == pytest.approx(10e6, rel=0.1)


@in_one_of_three
def test_nodes_that_serve_connections_in_turn_have_the_same_rates(far):
    # The queue of the node serves one connection as if it came first; headers as above.
    (alone,) = json.loads(run("--queues", "turns", "--", *PEERS, "rate", "c1-0", "c2-0", grid=far))
    assert 8 * alone["bytes"] / alone["s"] == pytest.approx(20e6, rel=0.05)


# --- the speeds ---


@in_one_of_three
def test_counted_operations_take_the_time_of_the_node(tmp_path):
    # By hand: 2 x 10^9 operations on nodes of 2, 2.5, 3 and 3.5 Gflop/s.
    validity = tmp_path / "validity.json"
    took = run("--validity", str(validity), "--", "mpirun", compiled(tmp_path, "paced"), "2e9").split()
    expected = [2 / speed for speed in (2, 2, 2.5, 2.5, 3, 3, 3.5, 3.5)]
    assert list(map(float, took)) == pytest.approx(expected, rel=0.01)
    said = json.loads(validity.read_text())
    gates = {gate["name"]: gate["passed"] for gate in said["gates"]}
    assert gates["short"] and gates["untold"]
    assert [rank["operations_told"] for rank in said["ranks"]] == [50] * 8


@in_one_of_three
def test_uncounted_computing_before_the_timed_section_is_no_falling_behind(tmp_path):
    validity = tmp_path / "validity.json"
    run("--validity", str(validity), "--", "mpirun", compiled(tmp_path, "paced"), "2e9", "0.2")
    short = next(gate for gate in json.loads(validity.read_text())["gates"] if gate["name"] == "short")
    assert short["passed"]  # 8 ranks of 0.2 s in turn, before a second of counted operations


@in_one_of_three
def test_cpu_time_takes_the_time_of_the_node_at_the_free_pace(tmp_path):
    # By hand: 50 ms on nodes that have 2/40, 2.5/40, 3/40 and 3.5/40 of a core.
    took = run("--pace", "free", "--core-gflops", "40", "--", "mpirun", compiled(tmp_path, "busy"), "0.05").split()
    expected = [0.05 * 40 / speed for speed in (2, 2, 2.5, 2.5, 3, 3, 3.5, 3.5)]
    assert list(map(float, took)) == pytest.approx(expected, rel=0.05)


# --- beginning and end ---


def test_the_command_s_own_exit_status_is_passed_on_and_nodes_have_their_names():
    done = subprocess.run(
        [*EMULATE, FREE_GRID, "--", "sh", "-c", "hostname; $GRIDVAL_ENTER c3-1 hostname; exit 7"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (7, "front\nc3-1\n")


def test_nothing_is_visible_outside():
    inside = run("--", "sh", "-c", "ls /dev/shm /sys/class/net").split()
    assert "c1-0.net" in inside
    assert not Path("/dev/shm/c1-0.net").exists()
    assert "c1-0" not in Path("/etc/hosts").read_text()
    assert "tun0" not in os.listdir("/sys/class/net")


def namespaces():
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        for kind in ("net", "pid", "uts"):
            with suppress(OSError):  # it has ended
                found.add(os.readlink(process / "ns" / kind))
    return found


def descendants(process):
    """Return the processes that a process has started, and theirs."""
    found = []
    for line in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        found += [int(line), *descendants(int(line))]
    return found


@pytest.fixture
def start():
    """Start commands on a grid; end those that a failed test leaves."""
    started = []

    def begin(*words, **options):
        started.append(subprocess.Popen([*EMULATE, FREE_GRID, "--", *words], **options))
        return started[-1]

    yield begin
    for one in started:
        one.kill()
        one.wait()


@pytest.mark.parametrize("victim", ["command", "first", "keeper", "router"])
def test_kill_9_leaves_nothing(tmp_path, start, victim):
    before = namespaces()
    sign = tmp_path / "runs"
    command = ["sh", "-c", f"$GRIDVAL_ENTER c2-0 'touch {sign}; exec sleep 1000'"]
    started = start(*command, stderr=subprocess.PIPE, text=True)
    assert until(sign.exists, 60)
    assert until(lambda: len(descendants(started.pid)) == 5, 60)  # and the shell, and the command in the node
    first, keeper, router, *_ = family = descendants(started.pid)
    assert namespaces() - before
    os.kill({"command": started.pid, "first": first, "keeper": keeper, "router": router}[victim], signal.SIGKILL)
    status = started.wait(10)
    assert until(lambda: not any(Path(f"/proc/{process}").exists() for process in family), 60)
    assert until(lambda: namespaces() <= before, 60)
    shown = [line for line in started.stderr if not line.startswith("caution: ")]  # this computer may be too slow
    if victim == "command":
        assert status == -signal.SIGKILL
    elif victim == "router":
        assert status == 2 and shown[0].startswith("error: emulated grid: the router has ended")
    else:
        assert status == 1 and shown == ["error: the emulated grid was killed before its command had ended\n"]


def test_an_interrupt_ends_the_grid(tmp_path, start):
    sign = tmp_path / "runs"
    started = start("sh", "-c", f"touch {sign}; sleep 1000")
    assert until(sign.exists, 60)
    family = descendants(started.pid)
    started.send_signal(signal.SIGINT)
    assert started.wait(10) == 130
    assert until(lambda: not any(Path(f"/proc/{process}").exists() for process in family), 60)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="each grid needs a processor")
def test_two_grids_at_a_time_do_not_meet():
    command = [*EMULATE, FREE_GRID, "--", *PEERS, "latency", "c1-0", "c2-0"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for one in both:
        said = json.loads(one.communicate(timeout=60)[0])
        assert one.returncode == 0
        assert 2.5e-3 < said[0]["s"] < 5e-3  # 2.5 ms of delays
