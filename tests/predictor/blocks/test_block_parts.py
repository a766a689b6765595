"""Parts of the processes' times: they are known by hand, and add up to the ends of the processes."""

import json
from dataclasses import astuple
from math import fsum

import pytest

from platforms.system.convert import system_named
from predictor.blocks.application import Application
from predictor.blocks.description import read_application
from predictor.blocks.evaluation.evaluate import evaluate
from predictor.blocks.programs import AllReduce, Barrier, Compute, If, Label, Receive, Repeat, Send, WriteDisk
from predictor.blocks.setting import Setting
from tests.verbs import blocks as main

CLUSTER = "examples/blocks/cluster.toml"
SECOND = 20.8e9  # operations of a core of the cluster


def result(application, evaluator, system=CLUSTER, model="simgrid"):
    setting = Setting(application, system_named(system))
    return evaluate(application, setting.machine(model), evaluator=evaluator, parts=True)


def times(label):
    return {one.step: astuple(one)[1:] for one in label.steps}


def late_sender(buffered=False):
    """The receiver computes for 1 s, the sender for 3 s; then a message, and 1 s more for the receiver."""
    return Application(
        "late",
        (
            Label("early", 1, (Compute(SECOND), Receive("late"), Compute(SECOND))),
            Label("late", 1, (Compute(3 * SECOND), Send("early", 10_000_000, buffered=buffered))),
        ),
    )


@pytest.mark.parametrize("evaluator", ["graph", "cohorts"])
def test_a_receiver_waits_for_its_sender_and_then_for_the_message(evaluator):
    early, late = result(late_sender(), evaluator).labels
    message_s = late.last_s - 3
    assert message_s > 0
    assert times(early) == {
        "step 1": pytest.approx((1, 0, 0, 0)),
        "step 2": pytest.approx((0, message_s, 2, 0)),
        "step 3": pytest.approx((1, 0, 0, 0)),
    }
    assert times(late) == {"step 1": pytest.approx((3, 0, 0, 0)), "step 2": pytest.approx((0, message_s, 0, 0))}


@pytest.mark.parametrize("evaluator", ["graph", "cohorts"])
def test_idle_is_the_time_after_the_own_end(evaluator):
    application = Application("uneven", (Label("rank", 4, (Compute(f"{SECOND} * (1 + index)"),)),))
    (label,) = result(application, evaluator).labels
    assert label.idle_s == pytest.approx(3 + 2 + 1)
    assert times(label) == {"step 1": pytest.approx((10, 0, 0, 0))}


@pytest.mark.parametrize("evaluator", ["graph", "cohorts"])
def test_a_disk_has_its_own_part(evaluator):
    application = Application("writing", (Label("rank", 2, (Compute(SECOND), WriteDisk(1e8))),))
    (label,) = result(application, evaluator).labels
    assert times(label)["step 2"] == pytest.approx((0, 0, 0, 2 * (label.last_s - 1)))


STENCIL = read_application("examples/blocks/stencil.toml")
SERVING = read_application("examples/blocks/master-slave.toml")
DIVIDING = read_application("examples/blocks/divide-and-conquer.toml")
TURNS = Application(
    "turns",
    (
        Label(
            "rank",
            8,
            (
                Repeat(
                    100,
                    (
                        Compute("1e7 * (1 + index)"),
                        If("index % 2 == 0", (Send("rank", 5e5, at="index + 1"),), (Receive("rank", at="index - 1"),)),
                        AllReduce(bytes=8),
                    ),
                ),
                Barrier(),
            ),
        ),
    ),
)


@pytest.mark.parametrize(
    ("application", "system", "evaluator", "model"),
    [
        (STENCIL, CLUSTER, "graph", "simgrid"),
        (STENCIL.changed(variables={"steps": 2000, "check": 100}), CLUSTER, "graph", "simgrid"),  # turns are skipped
        (SERVING.changed(counts={"slave1": 31}), "grid4x8", "graph", "simgrid"),
        (SERVING.changed(counts={"slave1": 31}, variables={"rounds": 1000}), "grid4x8", "cohorts", "simgrid"),
        (SERVING, "examples/systems/merpsys.toml", None, "galera+"),
        (DIVIDING, "grid4x8", "graph", "simgrid"),
        (DIVIDING, "grid4x8", "cohorts", "hardware"),
        (TURNS, CLUSTER, "graph", "simgrid"),
        (TURNS, CLUSTER, "graph", "hardware"),
        (TURNS, CLUSTER, "cohorts", "hardware"),
        (TURNS, "grid4x8", "cohorts", "simgrid"),
        (late_sender(buffered=True), CLUSTER, "graph", "simgrid"),
        (late_sender(buffered=True), CLUSTER, "cohorts", "simgrid"),
    ],
)
def test_the_parts_add_up_to_the_end_of_each_label(application, system, evaluator, model):
    found = result(application, evaluator, system, model)
    for label in found.labels:
        parts = fsum(one.time_s for one in label.steps)
        assert parts + label.idle_s == pytest.approx(label.processes * label.last_s, rel=1e-9)
        assert all(part >= 0 for one in label.steps for part in astuple(one)[1:])
    assert found.time_s == max(label.last_s for label in found.labels)


@pytest.mark.parametrize("evaluator", ["graph", "cohorts"])
def test_skipped_turns_have_their_parts(evaluator):
    """A turn of the pairs takes as long as the slower process computes, and the message."""
    pairs = Application("pairs", (Label("a", 1, (Repeat(1000, (Compute(SECOND), Send("b", 1000))),)),
                                  Label("b", 1, (Repeat(1000, (Receive("a"),)),))))  # fmt: skip
    a, b = result(pairs, evaluator).labels
    message_s = a.last_s - 1000
    assert 0 < message_s < 1
    assert times(a)["step 1.1"] == pytest.approx((1000, 0, 0, 0))
    assert times(b)["step 1.1"] == pytest.approx((0, message_s, 1000, 0))


def test_both_evaluators_find_the_same_parts():
    graph, cohorts = (result(DIVIDING, evaluator, "grid4x8").labels[0] for evaluator in ("graph", "cohorts"))
    assert [one.step for one in graph.steps] == [one.step for one in cohorts.steps]
    for one, other in zip(graph.steps, cohorts.steps, strict=True):
        assert astuple(one)[1:] == pytest.approx(astuple(other)[1:], rel=1e-9, abs=1e-9)


def test_run_prints_the_parts_and_their_sums(capsys):
    assert main(f"run examples/blocks/stencil.toml --system {CLUSTER} --parts".split()) == 0
    last = capsys.readouterr().out.splitlines()[-1].split()
    assert last[:2] == ["process", "all"]
    assert sum(map(float, last[2:-1])) == pytest.approx(float(last[-1]), rel=1e-3)
    assert float(last[-1]) == pytest.approx(3.623, abs=1e-3)


def test_a_timeline_shows_every_process_and_its_whole_time(tmp_path, capsys):
    path = tmp_path / "made.json"
    assert main(f"run examples/blocks/divide-and-conquer.toml --system grid4x8 --timeline {path}".split()) == 0
    assert "shows the whole run" in capsys.readouterr().err
    events = json.loads(path.read_text())["traceEvents"]
    spans = [one for one in events if one["ph"] in "BE"]
    shown_us = sum(one["ts"] * (1 if one["ph"] == "E" else -1) for one in spans)
    (label,) = result(DIVIDING, "graph", "grid4x8").labels
    assert shown_us == pytest.approx(1e6 * (label.processes * label.last_s - label.idle_s), rel=1e-6)
    assert {"computation", "send", "receive", "waiting"} <= {one.get("name") for one in spans}
    assert len({one["tid"] for one in spans}) == label.processes
    assert sum(one["ph"] == "s" for one in events) == 30  # 15 parts are handed out and come back


def test_a_timeline_is_made_message_by_message(tmp_path, capsys):
    path = tmp_path / "made.paje"
    words = f"run examples/blocks/master-slave.toml --system grid4x8 --count slave1=4 --timeline {path}".split()
    assert main(words) == 0  # without a timeline this is evaluated as cohorts
    assert "evaluated as a graph of messages" in capsys.readouterr().out and path.exists()
    for more, problem in (
        ("--evaluator cohorts", "cohorts of equal processes have no timeline. Leave out --evaluator."),
        ("--model galera+", "of which there is no timeline. Use --model simgrid or hardware."),
    ):
        assert main([*words, *more.split()]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"error: --timeline {path}: ") and said.endswith(f"{problem}\n")
    large = f"run examples/blocks/master-slave.toml --system examples/systems/galera-plus.toml --timeline {path}"
    assert main([*large.split(), "--count", "slave1=2000000"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
