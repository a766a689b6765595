"""Applications of blocks against their simulation, one rank per process."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from apps.runs.runner import Runner
from platforms.errors import UserError
from platforms.system.convert import system_named
from predictor.base import OutOfRange
from predictor.blocks.application import Application
from predictor.blocks.description import read_application
from predictor.blocks.programs import (
    AllToAll,
    Barrier,
    Broadcast,
    Compute,
    Gather,
    If,
    Label,
    ReadDisk,
    Receive,
    ReceiveAny,
    Repeat,
    Reply,
    Scatter,
    Send,
    WriteDisk,
)
from predictor.blocks.setting import Setting
from predictor.blocks.stream.expand import expand
from validation.blocks import cli
from validation.blocks.comparison import Comparison, compare, simulate
from validation.blocks.program import block_program

EXAMPLES = Path(__file__).parents[3] / "examples"
CLUSTER = EXAMPLES / "blocks" / "cluster.toml"


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    with Runner(jobs=1) as made:
        yield made


def compared(runner, application, system, policy="fastest", model="simgrid"):
    setting = Setting(application, system_named(str(system)), policy)
    return compare(setting, lambda one: one.machine(model), runner)


def master_slave(slaves, **variables):
    return read_application(EXAMPLES / "blocks" / "master-slave.toml").changed(
        counts={"slave1": slaves}, variables=variables
    )


def divide_and_conquer(levels):
    return read_application(EXAMPLES / "blocks" / "divide-and-conquer.toml").changed(variables={"levels": levels})


# SimGrid's clock is exact to about 1e-9 s; evaluations with its network model differ by less than 1e-4 %.
SAME = 1e-4  # %


@pytest.mark.parametrize(
    ("slaves", "system", "variables"),
    [
        (4, CLUSTER, {}),
        (16, "grid4x8", {"task_bytes": 1000}),
        (31, "grid4x8", {"task_bytes": 300_000, "operations": 1e7}),  # the slaves wait for the master
    ],
)
def test_a_master_and_its_slaves_take_the_simulated_time_and_energy(runner, slaves, system, variables):
    found = compared(runner, master_slave(slaves, **variables), system)
    assert found.processes == slaves + 1
    assert abs(found.error_pct) < SAME
    assert abs(found.energy_error_pct) < SAME
    for evaluated_s, simulated_s in found.labels.values():
        assert evaluated_s == pytest.approx(simulated_s, rel=1e-6)


@pytest.mark.parametrize(
    ("levels", "system", "policy"),
    [(1, CLUSTER, "fastest"), (5, CLUSTER, "fastest"), (4, None, "round-robin"), (5, "grid4x8", "fastest")],
)
def test_divide_and_conquer_takes_the_simulated_time_and_energy(runner, tmp_path, levels, system, policy):
    if system is None:  # four processes on each node, which are not neighbours
        system = tmp_path / "four.toml"
        system.write_text(CLUSTER.read_text().replace("count = 64", "count = 4"))
    found = compared(runner, divide_and_conquer(levels), system, policy)
    assert found.processes == 2**levels
    assert abs(found.error_pct) < SAME
    assert abs(found.energy_error_pct) < SAME


@pytest.mark.slow
@pytest.mark.parametrize("processes", [2, 4, 16, 64, 256])
def test_both_examples_agree_up_to_256_processes(runner, processes):
    slaves = compared(runner, master_slave(processes - 1), EXAMPLES / "systems" / "merpsys.toml")
    assert abs(slaves.error_pct) < 2
    workers = compared(runner, divide_and_conquer(processes.bit_length() - 1), CLUSTER)
    assert abs(workers.error_pct) < 2


def halo(buffered):
    """Return the steps of a 4 x 4 grid of processes that exchange their edges."""
    found = []
    for stride in (1, 4):
        for sign, condition in (("+", f"index // {stride} % 4 < 3"), ("-", f"index // {stride} % 4 > 0")):
            send = Send("p", 50_000, f"index {sign} {stride}", buffered)
            found.append((If(condition, (send,)), If(condition, (Receive("p", send.at),))))
    return (*(send for send, _ in found), *(receive for _, receive in found), Compute("1e6 * (1 + index % 3)"))


PATTERNS = {
    "stencil": (Label("p", 16, (Repeat(12, halo(True)),)),),
    "side by side": (
        Label("p", 16, (Repeat(9, halo(True)),)),
        Label("q", 6, (Repeat(10, (Compute("1e6 * (1 + index)"), AllToAll(("q",), 20_000), Barrier(("q",)))),)),
    ),
    "any source": (
        Label("q", 1, (Repeat(36, (ReceiveAny("p"), Compute(1e5), Reply(20_000))),)),
        Label("p", 12, (Repeat(3, (Send("q", 64), Receive("q"), Compute("1e6 * (1 + 5 * index % 7)"))),)),
    ),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_messages_that_meet_on_links_take_the_simulated_time_and_energy(runner, tmp_path, pattern):
    system = tmp_path / "four.toml"  # four processes on each node
    system.write_text(
        '[lan]\nnetwork = "gigabit-ethernet"\n[[lan.node]]\nname = "n"\ncount = 8\ncpu = "core-i7-2600k"\n'
        "slots = { p = 4, q = 2 }\n"
    )
    found = compared(runner, Application(pattern, PATTERNS[pattern]), system)
    assert found.evaluator == "graph"
    assert abs(found.error_pct) < 0.1
    assert abs(found.energy_error_pct) < 0.1


def test_messages_sent_at_once_share_the_way_out(runner):
    burst = Application(
        "burst",
        (
            Label("master", 1, (Send("slave", 40_000, buffered=True), Compute(1e6), Receive("slave"))),
            Label("slave", 6, (Receive("master"), Compute(1e6), Send("master", 3000, 0, "index % 2 == 0"))),
        ),
    )
    assert abs(compared(runner, burst, CLUSTER, "round-robin").error_pct) < SAME


def test_a_network_disk_is_asked_and_sends_what_is_read(runner, tmp_path):
    system = tmp_path / "store.toml"
    system.write_text(
        '[lan]\nnetwork = "gigabit-ethernet"\n[[lan.node]]\nname = "n"\ncount = 2\ncpu = "xeon-e5-1620"\n'
        '[[lan.node]]\nname = "store"\ncpu = "xeon-e5-1620"\nslots = {}\ndisks = ["hdd-7200"]\n'
    )
    application = Application("disk", (Label("p", 1, (ReadDisk(5e6), WriteDisk(100))),))
    assert abs(compared(runner, application, system).error_pct) < SAME
    own = compared(runner, application, CLUSTER)  # each node has one
    assert abs(own.error_pct) < SAME


NETWORK_DISK = """
[lan]
network = "gigabit-ethernet"
[[lan.node]]
name = "n"
count = {nodes}
cpu = "xeon-e5-1620"
{own}
[[lan.node]]
name = "store"
cpu = "xeon-e5-1620"
slots = {{}}
disks = ["ssd-sata"]
"""


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_processes_that_begin_together_share_a_network_disk(runner, tmp_path, nodes):
    # Four times 1e8 bytes take 0.741 s on the disk, and more than 2 s, divided by SimGrid's factor, on the network.
    system = tmp_path / "store.toml"
    system.write_text(NETWORK_DISK.format(nodes=nodes, own=f"slots = {{ '*' = {4 // nodes} }}"))
    for step in (ReadDisk(1e8), WriteDisk(1e8)):
        found = compared(runner, Application("disk", (Label("p", 4, (step,)),)), system)
        assert abs(found.error_pct) < 0.05  # the notes of one byte, sent together
        assert found.evaluated_s > 2 / 0.97 + 4e8 / 540e6


def test_processes_of_two_labels_share_their_nodes_disk(runner, tmp_path):
    # Two read 1e8 bytes and one 2e8, of one disk of 540e6 byte/s and 0.1 ms: the short ones are done when 3e8 bytes
    # have been read, the long one at 4e8.
    system = tmp_path / "own.toml"
    system.write_text(NETWORK_DISK.format(nodes=1, own='disks = ["ssd-sata"]'))
    labels = (Label("short", 2, (ReadDisk(1e8),)), Label("long", 1, (ReadDisk(2e8),)))
    found = compared(runner, Application("disk", labels), system)
    assert found.labels["short"] == pytest.approx([1e-4 + 3e8 / 540e6] * 2)
    assert found.labels["long"] == pytest.approx([1e-4 + 4e8 / 540e6] * 2)
    four = compared(runner, Application("disk", (Label("p", 4, (ReadDisk(1e8),)),)), system)
    assert four.evaluated_s == pytest.approx(four.simulated_s)
    assert four.evaluated_s == pytest.approx(1e-4 + 4e8 / 540e6)


def test_every_block_runs_and_is_recorded(runner):
    steps = (Barrier(), Broadcast(bytes=1000), Scatter(bytes=4000), Gather(bytes=4000), AllToAll(bytes=9))
    application = Application("all", (Label("a", 1, steps), Label("b", 3, steps)))
    record = simulate(Setting(application, system_named(str(CLUSTER))), runner)
    calls = {name: used["calls"] for name, used in record.collectives.items()}
    assert calls["bcast"] == calls["alltoall"] == 1
    assert record.collectives["alltoall"]["bytes"] == [4 * 9] * 4
    assert record.time_s > 0 and record.energy_j is not None


def test_turns_that_do_the_same_are_written_once():
    application = Application(
        "turns",
        (
            Label("a", 1, (Repeat(100, (Send("b", "i // 50"),), "i"),)),
            Label("b", 2, (Repeat(100, (Receive("a"), If("index == 1", (Compute(1),)))),)),
        ),
    )
    setting = Setting(application, system_named(str(CLUSTER)))
    program = block_program(application, setting.system, setting.schedule)
    assert program.programs == (
        "repeat 50\nsend 1 2 0\nagain\nrepeat 50\nsend 1 2 1\nagain\nend",
        "repeat 100\nreceive 0 1\nagain\nend",
        "repeat 100\nreceive 0 1\ncompute 1\nagain\nend",
    )
    assert program.program_of_rank == (0, 1, 2)


def test_what_mpi_cannot_send_is_refused():
    application = Application(
        "large", (Label("a", 1, (Send("b", 2**31),)), Label("b", 1, (Receive("a"),)))
    )  # fmt: skip
    setting = Setting(application, system_named(str(CLUSTER)))
    with pytest.raises(UserError, match="label a, step 1: 2147483648 bytes in one message"):
        block_program(application, setting.system, setting.schedule)


def test_the_command_compares_a_series(capsys):
    arguments = [str(EXAMPLES / "blocks" / "master-slave.toml"), "--system", "grid4x8", "--no-store", "--jobs", "1"]
    arguments += ["--failure-rate", "1e-6"]
    assert cli.main([*arguments, "--vary", "slave1=1,3", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["comparisons"]
    assert [row["processes"] for row in rows] == [2, 4]
    assert [row["varied"] for row in rows] == [{"slave1": "1"}, {"slave1": "3"}]
    assert all(abs(row["error_pct"]) < SAME and row["simulation_wall_s"] > 0 for row in rows)
    for row, nodes in zip(rows, (2, 4), strict=True):
        assert 1 - row["success"] == pytest.approx(1e-6 * nodes * row["evaluated_s"], rel=1e-3)
    assert cli.main([*arguments, "--vary", "slave=1"]) == 2
    assert "no label or variable 'slave'" in capsys.readouterr().err


def test_a_series_is_told_as_a_table(capsys):
    arguments = [str(EXAMPLES / "blocks" / "master-slave.toml"), "--system", "grid4x8", "--no-store", "--jobs", "1"]
    assert cli.main([*arguments, "--model", "kask", "--vary", "slave1=1"]) == 0
    title, _, heading, row = capsys.readouterr().out.splitlines()
    assert title.endswith(" on grid4x8, model kask")
    assert heading.split()[:2] == ["slave1", "processes"] and row.split()[:2] == ["1", "2"]
    assert row.split()[-1] == "-"  # kask has no parameters for power
    assert "success" not in heading


def program_of(*labels):
    application = Application("a", labels)
    setting = Setting(application, system_named("grid4x8"))
    return block_program(application, setting.system, setting.schedule)


def test_messages_among_equals_leave_out_oneself():
    made = program_of(Label("p", 3, (If("1", (), (Send("p", 8, buffered=True),)), Send("p", 8, buffered=True))))
    assert made.programs == ("post 1 2 8\nend", "post 0 1 8\npost 2 1 8\nend", "post 0 2 8\nend")


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((Send("p", 8, 5),), "step 1, expression '5': process 0 of p names process 5 of p, which has 2. Count from 0"),
        ((ReadDisk(8),), "system grid4x8: it has no disks"),
    ],
)
def test_what_no_program_can_do_is_refused(steps, words):
    with pytest.raises((UserError, OutOfRange), match=words):
        program_of(Label("p", 2, steps))


def test_programs_are_bounded():
    with pytest.raises(UserError, match="20000 processes, but a simulation has one rank for each"):
        application = Application("a", (Label("p", 20_000, ()),))
        block_program(application, system_named("grid4x8"), None)
    application = Application("a", (Label("p", 1, (Repeat(11, (Compute("i"),), "i"),)),))
    with pytest.raises(UserError, match=r"label p, step 1: more than 10 instructions. Take fewer"):
        expand(application, most=10)


def test_an_error_of_nothing_is_none():
    comparison = Comparison(
        "a", "s", "m", 1, {}, evaluated_s=0.0, simulated_s=0.0, labels={}, evaluated_j=None, simulated_j=1.0,
        evaluation_wall_s=0.0, simulation_wall_s=0.0, messages=0,
    )  # fmt: skip
    assert comparison.error_pct == 0 and comparison.energy_error_pct is None
    assert replace(comparison, evaluated_s=1.0).error_pct == float("inf")


def test_a_series_has_no_empty_values(capsys):
    arguments = [str(EXAMPLES / "blocks" / "master-slave.toml"), "--system", "grid4x8"]
    assert cli.main([*arguments, "--vary", "slave1=1,,2"]) == 2
    assert "--vary slave1=1,,2: an empty value" in capsys.readouterr().err
