"""Applications in blocks on a machine of known costs: times calculated by hand, and programs that do not end."""

from collections import Counter

import pytest
from one_by_one import ToyMachine

from platforms.errors import UserError
from predictor.blocks.application import Application
from predictor.blocks.evaluation import steady
from predictor.blocks.evaluation.execution import Execution
from predictor.blocks.evaluation.process_by_process import ProcessByProcess
from predictor.blocks.machines.machine import Group
from predictor.blocks.programs import (
    AllToAll,
    Barrier,
    Broadcast,
    Compute,
    If,
    Label,
    ReadDisk,
    Receive,
    ReceiveAny,
    Repeat,
    RepeatUntil,
    Reply,
    Scatter,
    Send,
    Set,
    Step,
    Wait,
    While,
    WriteDisk,
)
from predictor.blocks.steps import StepActions


def row(label, count, first_node=0):
    """A group with each process on its own node."""
    return Group(label, 0, 1, count, 1, 1, "unit", first_node)


def ended(application, *groups):
    done = Execution(application, ToyMachine(groups))
    done.run()
    return {
        group.label: [t for one in done.ended if one.group is group for t in one.clock.values()] for group in groups
    }


def test_a_master_serves_its_slaves_one_after_the_other():
    # Speeds 1 (master) and 1.5; a message takes 1 + 0.125 (from group 0) ... + 0.0625 (to group 1) + 0.01 per byte:
    # master to slave 1.0625 + 1 = 2.0625 s, slave to master 1.125 + 0.5 = 1.625 s; a task takes 3 / 1.5 = 2 s.
    # Task i arrives at 2.0625 (i + 1), result i is sent at 2.0625 (i + 1) + 2; the master is free at 3 * 2.0625 =
    # 6.1875, when the first two results wait (4.0625 and 6.125), and the third one comes at 8.1875:
    # 6.1875 + 1.625 = 7.8125, + 1.625 = 9.4375, + 1.625 = 11.0625.
    application = Application(
        "",
        (
            Label("master", 1, (Send("slave", 100), Receive("slave"))),
            Label("slave", 3, (Receive("master"), Compute(3), Send("master", 50))),
        ),
    )
    times = ended(application, row("master", 1), row("slave", 3, 1))
    assert times == {"master": [11.0625], "slave": pytest.approx([7.8125, 9.4375, 11.0625])}


def test_who_comes_after_the_queue_is_worked_off_is_served_at_once():
    # Results are sent at 10 i s, and a message takes 1.125 + 0.5 s: the master waits for all but the first.
    application = Application(
        "", (Label("master", 1, (Receive("slave"),)), Label("slave", 4, (Compute("15 * index"), Send("master", 50))))
    )
    times = ended(application, row("master", 1), row("slave", 4, 1))
    assert times["slave"] == pytest.approx([1.625, 11.625, 21.625, 31.625])


def test_a_buffered_message_does_not_hold_its_sender():
    application = Application(
        "",
        (
            Label("one", 1, (Send("other", 100, buffered=True), Compute(1))),
            Label("other", 1, (Compute(15), Receive("one"))),
        ),
    )
    # The receiver computes 15 / 1.5 s; only then does the message move, 1.0625 + 1 s.
    assert ended(application, row("one", 1), row("other", 1, 1)) == {"one": [1.0], "other": [12.0625]}


def test_the_processes_of_a_million_are_a_few_cohorts():
    levels = 20
    application = Application(
        "",
        (
            Label(
                "p",
                "2**levels",
                (
                    Repeat(
                        "levels",
                        (
                            If(
                                "index % 2**(k + 1) == 0",
                                (Receive("p", "index + 2**k"),),
                                (If("index % 2**k == 0", (Send("p", 0, "index - 2**k"),)),),
                            ),
                        ),
                        "k",
                    ),
                ),
            ),
        ),
        {"levels": levels},
    )
    done = Execution(application, ToyMachine((row("p", 2**levels),)))
    done.run()
    # Level k ends at k + 1 messages of 1 s between nodes; 2**(19 - k) of its senders are then done.
    assert len(done.ended) <= levels + 1
    counts = Counter()
    for one in done.ended:
        assert one.clock.step == 0
        counts[one.clock.first] += one.count
    assert counts == {float(k + 1): 2 ** (levels - 1 - k) + (k == levels - 1) for k in range(levels)}


def test_a_process_has_its_own_number_of_turns():
    application = Application("", (Label("p", 4, (Repeat("index + 1", (Compute(3),)),)),))
    assert ended(application, row("p", 4)) == {"p": pytest.approx([3, 6, 9, 12])}


@pytest.mark.parametrize("rounds", [10, 1000, 10**9])
def test_a_turn_costs_the_same_however_many_there_are(rounds):
    # As above, the master's three sends take 2.0625 s each, the tasks 2 s, and the three results 1.625 s each.  In
    # every turn the last result arrives when the master is ready for it, so that each turn takes 11.0625 s.
    application = Application(
        "",
        (
            Label("master", 1, (Repeat(rounds, (Send("slave", 100), Receive("slave"))),)),
            Label("slave", 3, (Repeat(rounds, (Receive("master"), Compute(3), Send("master", 50))),)),
        ),
    )
    times = ended(application, row("master", 1), row("slave", 3, 1))
    assert times["master"] == pytest.approx([11.0625 * rounds], rel=1e-12)


def test_loops_that_only_compute_take_one_turn():
    steps = (Repeat(10**9, (Repeat("index + 1", (Compute(2),)), If("index == 1", (Compute(1),)))),)
    application = Application("", (Label("p", 2, steps),))
    done = Execution(application, ToyMachine((row("p", 2),)))
    done.run()
    assert sorted(t for one in done.ended for t in one.clock.values()) == [2e9, 5e9]
    assert done.compute_s[row("p", 2)] == 7e9


def test_short_turns_after_a_long_time_are_not_taken_for_alike():
    # 1e10 s: the clocks have steps of 2e-6 s, and turns of 1e-3 s (a computation) differ by rounding.
    rounds = 500
    application = Application(
        "",
        (
            Label("one", 1, (Compute(1e10), Barrier(), Repeat(rounds, (Compute(1e-3), Send("other", 0, 0, True))))),
            Label("other", 1, (Barrier(), Repeat(rounds, (Receive("one"),)))),
        ),
    )
    done = Execution(application, ToyMachine((row("one", 1), row("other", 1, 1))))
    done.run()
    assert done.skipped == 0
    assert done.compute_s[row("one", 1)] == pytest.approx(1e10 + rounds * 1e-3, rel=1e-12)


def test_who_waits_for_the_end_of_the_turns_stays_where_it_is():
    rounds = 10**7
    application = Application(
        "",
        (
            Label("one", 1, (Repeat(rounds, (Send("other", 100), Receive("other"))), Send("last", 0))),
            Label("other", 1, (Repeat(rounds, (Receive("one"), Send("one", 0))),)),
            Label("last", 1, (Compute(2), Receive("one"))),
        ),
    )
    times = ended(application, row("one", 1), row("other", 1, 1), row("last", 1, 2))
    # The messages there and back take 1.0625 + 1 s and 1.125 s; the message at the end takes 1.125 s.
    assert times["last"] == pytest.approx([rounds * 3.1875 + 1.125], rel=1e-12)


@pytest.mark.parametrize(
    ("variable", "amount", "words"),
    [
        ("k", "k", "step 1: more than 2000000 instructions"),
        (None, "1", "step 1: 1000000000 turns, of which the first 100 did not become periodic"),
    ],
)
def test_turns_that_never_become_alike_are_refused(monkeypatch, variable, amount, words):
    monkeypatch.setattr(steady, "PATIENCE_TURNS", 100)
    # The sender is faster, so that more and more messages are in flight.
    sends = Repeat(10**9, (Compute(amount), Send("other", 0, buffered=True)), variable)
    application = Application(
        "",
        (Label("one", 1, (sends,)), Label("other", 1, (Repeat(10**9, (Receive("one"), Compute(9))),))),
    )
    with pytest.raises(UserError) as caught:
        ended(application, row("one", 1), row("other", 1, 1))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((Receive("p"), Send("p", 1)), "process 1 of p waits for a message of process 0 of p that is never sent"),
        ((Send("p", 1), Receive("p")), "process 1 of p never receives, which waits until its own message, sent at"),
        ((If("index == 0", (Send("p", 1, 1, True),)),), "step 1.1: process 0 of p sends a message that process 1"),
        ((If("index == 0", (Barrier(),), (AllToAll(),)),), "not the same collective"),
        ((If("index == 0", (Barrier(),)),), "waits for others that never call"),
        ((Send("p", 1, "index + 1"),), "process 1 of p names process 2 of p, which has 2"),
        ((Send("p", 1, "index"),), "process 0 of p names process 0 of p"),
        ((Send("p", "-1", "1 - index"),), "below 0. Give 0 or more bytes"),
        ((Compute("index - 1"),), "below 0"),
        ((Broadcast(at=5),), "no process 5 of p"),
    ],
)
def test_a_program_that_cannot_go_on_is_refused_with_the_step(steps, words):
    application = Application("faulty", (Label("p", 2, steps),))
    with pytest.raises(UserError, match="application 'faulty', label p, step 1") as caught:
        ended(application, row("p", 2))
    assert words in str(caught.value)


@pytest.mark.parametrize("evaluation", [Execution, ProcessByProcess])
@pytest.mark.parametrize("other", [Broadcast(bytes=4, at=1), Broadcast(bytes=5), Scatter(bytes=4)])
def test_a_collective_that_is_called_otherwise_is_refused(evaluation, other):
    steps = (If("index == 0", (Broadcast(bytes=4),), (other,)),)
    machine = ToyMachine((row("p", 2),))
    with pytest.raises(UserError, match=r"step 1\.else\.1: not the same collective as at .*, label p, step 1\.1,"):
        evaluation(Application("faulty", (Label("p", 2, steps),)), machine).run()


def test_loops_take_the_same_time_process_by_process():
    # 100 turns: process 0 computes 2 + 3 and sends in 1 s (0.25 s within a node), process 1 waits for it.
    steps = (
        Repeat(
            100,
            (
                Repeat(3, (Compute(1),)),
                If("index == 0", (Compute(2), Send("p", 0, 1)), (Receive("p", 0),)),
            ),
        ),
    )
    done = ProcessByProcess(Application("", (Label("p", 2, steps),)), ToyMachine((row("p", 2),)))
    done.run()
    assert done.ended_s == {("p", 0): 600.0, ("p", 1): 600.0}
    assert done.compute_s == {("p", 0): 500.0, ("p", 1): 300.0}


@pytest.mark.parametrize(
    ("kind", "steps"),
    [
        ("compute", [Compute(1)]),
        ("message", [Send("p", 1), Receive("p")]),
        ("collective", [Barrier(), AllToAll(), Broadcast(), Scatter()]),
        ("disk", [ReadDisk(1), WriteDisk(1)]),
        ("repeat", [Repeat(1, ())]),
        ("branch", [If(1, ())]),
        ("set", [Set("x", 1)]),
        ("loop", [While(0), RepeatUntil(1)]),
        ("loose", [ReceiveAny(), Reply(1), Wait()]),
    ],
)
def test_each_kind_of_step_has_its_action(kind, steps):
    kinds = ("compute", "message", "collective", "disk", "repeat", "branch", "set", "loop", "loose")
    actions = StepActions(**{name: lambda who, step, where, name=name: (name, who, step, where) for name in kinds})
    for step in steps:
        assert actions.do("me", step, "here") == (kind, "me", step, "here")
    with pytest.raises(TypeError, match=r"here: .* is not a step of any kind"):
        actions.do("me", Step(), "here")
