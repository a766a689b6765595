"""Costs of blocks on machines, calculated by hand, and costs that machines do not know."""

import dataclasses

import pytest
from equal_nodes import HARDWARE, SYSTEM
from one_by_one import OneByOne, ToyMachine

from apps.programs.problem import problem
from platforms.errors import UserError
from platforms.system.convert import system_named
from predictor.base import OutOfRange
from predictor.blocks.application import Application
from predictor.blocks.evaluation.evaluate import evaluate
from predictor.blocks.evaluation.process_by_process import ProcessByProcess
from predictor.blocks.machines.machine import Group
from predictor.blocks.predictor import describe
from predictor.blocks.programs import (
    AllToAll,
    Barrier,
    Broadcast,
    Compute,
    Gather,
    Label,
    ReadDisk,
    Receive,
    Scatter,
    Send,
    WriteDisk,
)
from predictor.blocks.published.parameters import published_r2
from predictor.blocks.setting import Setting
from tests.verbs import blocks as main


def time_s(system, *labels, model="hardware"):
    application = Application("a", labels)
    return evaluate(application, Setting(application, system).machine(model)).time_s


# Thakur, Rabenseifner, Gropp 2005, section 4, for P = 4: two rounds, and (P - 1) / P of the bytes.
COLLECTIVES = {
    Broadcast(bytes=125_000): 2 * 1.1e-3,
    AllToAll(bytes=125_000): 3 * 1.1e-3,
    Barrier(): 2 * 1e-4,
    Scatter(bytes=125_000): 2e-4 + 0.75e-3,
    Gather(bytes=125_000): 2e-4 + 0.75e-3,
}


@pytest.mark.parametrize(("step", "expected_s"), COLLECTIVES.items(), ids=lambda one: getattr(one, "block", ""))
def test_collectives_on_hardware_are_those_of_mpich(system, step, expected_s):
    assert time_s(system(4), Label("p", 4, (step,))) == pytest.approx(expected_s)
    assert time_s(system(4), Label("p", 1, (step,)), Label("q", 3, (step,))) == pytest.approx(expected_s)
    # On one node all messages cross its link out and in, which has the same latency and bandwidth.
    assert time_s(system(1, 4), Label("p", 2, (step,)), Label("q", 2, (step,))) == pytest.approx(expected_s)
    assert time_s(system(1), Label("p", 1, (step,))) == 0


def test_a_published_model_has_its_own_collectives_and_disk():
    # Galera+, Table 3: a broadcast 1.7 us + 0.00188 us/B log2 P, for whole units of 2048 bytes; a disk 5200 us +
    # 0.00253 us/B, for 48829 units.
    grid = system_named("grid4x8")
    broadcast = Label("p", 4, (Broadcast(bytes=65536),))
    assert time_s(grid, broadcast, model="galera+") == pytest.approx(1e-6 * (1.7 + 0.00188 * 65536 * 2))
    disk = Label("p", 1, (ReadDisk(1e8),))
    assert time_s(grid, disk, model="galera+") == pytest.approx(1e-6 * (5200 + 0.00253 * 2048 * 48829))


def test_a_system_without_disks_has_no_time_for_them(system):
    with pytest.raises(OutOfRange, match=r"it has no disks\. Give a node `disks`"):
        time_s(system(1), Label("p", 1, (WriteDisk(1),)))


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ((), "no labels"),
        ((Label("p", 0, ()),), "no processes"),
        ((Label("p", 2**80, ()),), f"{2**80} processes. Give at most"),
        ((Label("p", 1, (3,)),), "label p, step 1: 3 is not a step"),
        ((Label("p", 1, (Broadcast(root="q", among=("p",)),)), Label("q", 1, ())), "its root q does not take part"),
        ((Label("p", 1, (Barrier(among=("q",)),)), Label("q", 1, ())), "p calls it but does not take part"),
    ],
)
def test_applications_that_mean_nothing_are_refused(system, labels, words):
    with pytest.raises(UserError, match=words):
        time_s(system(2), *labels)


def test_a_variable_that_is_no_expression_is_named():
    with pytest.raises(UserError, match=r"'a', variable y, expression '1 \+': not an arithmetic expression"):
        Application("a", (Label("p", 1, ()),), {"y": "1 +"})


def test_process_by_process_takes_the_time_of_the_simple_evaluation():
    # Computations with a size, messages to all others, and receivers that arrive later than their senders.
    application = Application(
        "a",
        (
            Label("p", 3, (Compute("size ** 2", "index + 1"), Send("q", "10 * index"))),
            Label("q", 2, (Compute("70 * index"), Receive("p"), Compute(3))),
        ),
    )
    groups = Group("p", 0, 1, 3, 1, 1, "unit", 0), Group("q", 0, 1, 2, 1, 1, "unit", 3)
    done = ProcessByProcess(application, ToyMachine(groups))
    done.run()
    assert done.ended_s == pytest.approx(OneByOne(application, ToyMachine(groups)).run())


def test_a_step_that_is_no_expression_is_refused():
    with pytest.raises(UserError, match=r"expression \[1\]: neither a number nor a string"):
        Compute([1])


@pytest.mark.parametrize(
    ("app", "ranks", "words"),
    [
        ("cg", 12 * 12 * 5, "it is not k R^2"),
        ("cg", 15 * 15, "steps of more than one odd prime"),
        ("mg", 37, "some ranks would have none of the 32 points"),
        ("lu", 7, "less than two of the 12 points"),
        ("ft", 65, "more than nz = 64 ranks"),
        ("ep", 257, "there are only 256 batches of pairs"),
    ],
)
def test_ranks_that_a_description_has_no_layout_for_are_refused(app, ranks, words):
    # Class S: 32^3 points (MG), 12^3 (LU), 64^3 (FT), 2^24 pairs in batches of 2^16 (EP).
    with pytest.raises(OutOfRange, match=words.replace("^", r"\^")):
        describe(problem(app, "S"), ranks)


def test_a_problem_without_what_its_description_needs_is_refused():
    with pytest.raises(OutOfRange, match="it has no parameter 'cgitmax', which its description needs"):
        describe(dataclasses.replace(problem("cg", "S"), params=()), 4)


def test_a_cluster_without_a_regression_has_no_r2():
    with pytest.raises(UserError, match="cluster 'tianhe': the paper has no regression for it"):
        published_r2("tianhe")


def test_a_block_s_failures_are_told(capsys):
    assert main("block --model galera+ --block bcast --size 65536 --processes 64".split()) == 0
    # lambda = 5.03372e-10 per second and node, 64 nodes for 1.7 us + 0.00188 us/B * 65536 B * 6.
    failure = 5.03372e-10 * 64 * 1e-6 * (1.7 + 0.00188 * 65536 * 6)
    assert f"success 1, failure {failure:.4g}" in capsys.readouterr().out


def test_an_application_s_success_and_idle_units_are_told(tmp_path, capsys):
    # One process runs on one of a node's two processors; the other takes its idle power all the time.
    path = tmp_path / "app.toml"
    path.write_text('[labels.p]\ncount = 1\nprogram = [{ compute = "2e9" }, { barrier = true }]\n')
    unit = '[[lan.node.unit]]\nname = "{}"\ncpu = "test"\n'
    hardware = tmp_path / "hardware.toml"
    hardware.write_text(HARDWARE)
    system = tmp_path / "system.toml"
    node = SYSTEM.format(nodes=1, slots=1).partition("slots")[0]
    system.write_text(f'{node}bus = "pcie3-x16"\n{unit.format("a")}{unit.format("b")}')
    options = ["--system", str(system), "--hardware", str(hardware), "--model", "hardware", "--failure-rate", "0.01"]
    assert main(["run", str(path), *options]) == 0
    said = capsys.readouterr().out
    assert "1 process on 1 unit ends at 2 s, 0.0111111 Wh" in said  # 20 W: one of two cores is busy
    assert "units of these nodes without a process: 0.00555556 Wh" in said  # 10 W
    assert "overall time 2 s" in said
    assert "probability of success 0.9801986733" in said  # exp(-0.01 * 2)
