"""Equal processes together give the same times as every process by itself."""

from collections import defaultdict, deque
from dataclasses import dataclass
from math import ceil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from platforms.errors import UserError
from predictor.blocks.application import (
    AllToAll,
    Application,
    Barrier,
    Broadcast,
    Compute,
    Gather,
    If,
    Label,
    ReadDisk,
    Receive,
    Repeat,
    Scatter,
    Send,
    WriteDisk,
    members_of,
)
from predictor.blocks.evaluation import steady
from predictor.blocks.evaluation.execution import Execution
from predictor.blocks.evaluation.process_by_process import ProcessByProcess
from predictor.blocks.machines.machine import ALONE, ALONE_AT_DISK, Group, Traffic


@dataclass(frozen=True)
class ToyMachine:
    """Costs that differ wherever they may."""

    groups: tuple
    name: str = "toy"
    failure_rate_per_s: float | None = None

    def _speed(self, group):
        return 1.0 + 0.5 * self.groups.index(group)

    def compute_s(self, group, operations):
        return operations / self._speed(group)

    def message_s(self, source, target, size_bytes, *, same_node=False, traffic=ALONE):
        latency_s = 0.25 if same_node else 1.0 + 0.125 * self.groups.index(source) + 0.0625 * self.groups.index(target)
        return latency_s + 0.01 * size_bytes * traffic.burst

    def collective_s(self, block, size_bytes, members, root):
        return len(block) + 0.02 * size_bytes * sum(group.count for group in members)

    def disk_server(self, group):
        return None

    def disk_s(self, group, block, size_bytes, *, sharing=ALONE_AT_DISK):
        return 2.0 + 0.05 * size_bytes


class OneByOne:
    """What the aggregated evaluation has to agree with, simple and slow.

    Every process is a generator that yields what it waits for, and is told when that has happened.
    """

    def __init__(self, application, machine):
        self.application, self.machine = application, machine
        self.counts, self.numbers = application.counts(), application.numbers()
        self.group = {(g.label, m): g for g in machine.groups for m in g.members}
        self.clock = dict.fromkeys(self.group, 0.0)
        self.compute_s = defaultdict(float)
        self.queues = defaultdict(deque)  # of messages, by (sender, receiver)

    def run(self):
        """The time at which each process ends, by (label, member)."""
        waiting = {}
        for label, index in self.group:
            program = self.application.label(label).program
            waiting[label, index] = self.steps((label, index), program, {**self.numbers, "index": index})
        wants = {process: next(generator, None) for process, generator in waiting.items()}
        moved = True
        while moved:
            moved = False
            for process in wants:
                if wants[process] is not None and wants[process][0] == "collective":
                    self.collect(wants[process], wants)
                if wants[process] is not None and self.met(process, wants[process]):
                    moved = True
                    wants[process] = next(waiting[process], None)
        assert all(want is None for want in wants.values()), "deadlock"
        assert not any(self.queues.values()), "a message is left"
        return self.clock

    def steps(self, me, steps, scope):
        for step in steps:
            yield from self.step(me, step, scope)

    def step(self, me, step, scope):
        def value(expression):
            return expression.value(scope, "here")

        if isinstance(step, Repeat):
            for turn in range(int(value(step.times))):
                yield from self.steps(me, step.steps, {**scope, step.variable: turn} if step.variable else scope)
        elif isinstance(step, If):
            yield from self.steps(me, step.steps if value(step.condition) else step.otherwise, scope)
        elif isinstance(step, Compute):
            inner = scope if step.size is None else {**scope, "size": value(step.size)}
            took_s = self.machine.compute_s(self.group[me], step.operations.value(inner, "here"))
            self.clock[me] += took_s
            self.compute_s[self.group[me]] += took_s
        elif isinstance(step, ReadDisk | WriteDisk):
            block = "disk_read" if isinstance(step, ReadDisk) else "disk_write"
            self.clock[me] += self.machine.disk_s(self.group[me], block, ceil(value(step.bytes)))
        elif isinstance(step, Send):
            others = self.others(me, step.to, None if step.at is None else value(step.at))
            for other in others:
                message = [self.clock[me], ceil(value(step.bytes)), len(others) if step.at is None else 1, False]
                self.queues[me, other].append(message)
                if not value(step.buffered):
                    message[2] = 1
                    yield ("sent", message)
        elif isinstance(step, Receive):
            for other in self.others(me, step.sender, None if step.at is None else value(step.at)):
                yield ("receive", other)
        else:
            yield ("collective", step, ceil(value(step.bytes)) if hasattr(step, "bytes") else 0)

    def others(self, me, label, at):
        if at is not None:
            return [(label, int(at))]
        return [(label, i) for i in range(self.counts[label]) if (label, i) != me]

    def met(self, me, want):
        if want[0] == "sent":
            if want[1][3] is not False:
                self.clock[me] = want[1][3]
                return True
        elif want[0] == "receive":
            queue = self.queues[want[1], me]
            if queue:
                message = queue.popleft()
                source, target = self.group[want[1]], self.group[me]
                same = source.node(want[1][1]) == target.node(me[1])
                traffic = Traffic(burst=message[2])
                took_s = self.machine.message_s(source, target, message[1], same_node=same, traffic=traffic)
                self.clock[me] = message[3] = max(self.clock[me], message[0]) + took_s
                return True
        elif want[0] == "let go":
            self.clock[me] = want[1]
            return True
        return False

    def collect(self, want, wants):
        step, size_bytes = want[1:]
        members = members_of(step, self.application)
        processes = [process for process in self.group if process[0] in members]
        at = [wants[process] for process in processes]
        if all(one is not None and one[0] == "collective" and one[1] == step for one in at):
            groups = [g for g in self.machine.groups if g.label in members]
            end_s = max(self.clock[process] for process in processes)
            end_s += self.machine.collective_s(step.block, size_bytes, groups, groups[0])
            for process in processes:
                wants[process] = ("let go", end_s)


def check(application, groups):
    machine = ToyMachine(tuple(groups))
    expected = OneByOne(application, machine)
    clocks = expected.run()
    done = Execution(application, machine)
    done.run()
    for group in machine.groups:
        ended = [one.clock for one in done.ended if one.group is group]
        assert sum(clock.count for clock in ended) == group.count
        times = sorted(t for clock in ended for t in clock.values())
        assert times == pytest.approx(sorted(clocks[group.label, m] for m in group.members), rel=1e-9)
        assert done.compute_s[group] == pytest.approx(expected.compute_s[group], rel=1e-9)
    return done


# --- random applications: phases in which labels take part without ever waiting in a circle ---

LABELS = ("a", "b", "c")
numbers = st.integers(0, 40)
operations = st.one_of(
    numbers.map(str),
    st.sampled_from(("index", "3 * index + 1", "(index * 7) % 5", "10 - index % 3", "index // 2", "2 ** (index % 4)")),
)
conditions = st.sampled_from(
    ("index % 2 == 0", "index < 3", "index % 3 == 1", "index == 2", "index // 2 % 2 == 1", "index >= 1 and index % 2")
)
buffers = st.sampled_from((False, True, "index % 2 == 0"))
labels = st.sampled_from(LABELS)


@st.composite
def phases(draw, depth=0):
    """Steps of each label."""
    kinds = [
        "compute",
        "branch",
        "each",
        "collect",
        "cross",
        "shift",
        "pipeline",
        "mirror",
        "tree",
        "own",
        "all",
        "disk",
    ]
    kinds += ["collective", "loop"] if depth == 0 else []
    kind = draw(st.sampled_from(kinds))
    one, other = draw(labels), draw(labels)
    size, buffered = draw(st.one_of(numbers.map(str), st.just("index % 3 + 5"))), draw(buffers)
    if kind == "compute":
        return {one: (Compute(draw(operations)),)}
    if kind == "branch":
        return {one: (If(draw(conditions), (Compute(draw(operations)),), (Compute(draw(operations)),)),)}
    if kind == "disk":
        return {one: (ReadDisk(draw(numbers)), WriteDisk(size))}
    if kind in ("each", "collect", "cross") and one != other:
        if kind == "each":  # process 0 of one label to every process of the other, and back
            first = If("index == 0", (Send(other, size, buffered=buffered),))
            second = If("index == 0", (Receive(other),))
            return {
                one: (first, second),
                other: (Receive(one, 0), Compute(draw(operations)), Send(one, size, 0, buffered)),
            }
        if kind == "collect":  # member by member, the last first
            turn = Repeat(other, (Receive(other, f"{other} - 1 - i"), Compute(draw(numbers))), "i")
            return {one: (If("index == 0", (turn,)),), other: (Send(one, size, 0, buffered),)}
        return {one: (Send(other, size, buffered=buffered),), other: (Receive(one),)}
    if kind in ("shift", "pipeline"):
        by = draw(st.integers(1, 4))
        send = If(f"index + {by} < {one}", (Send(one, size, f"index + {by}", buffered),))
        receive = If(f"index >= {by}", (Receive(one, f"index - {by}"),))
        return {one: (send, receive) if kind == "shift" else (receive, Compute(draw(operations)), send)}
    if kind == "mirror":
        return {
            one: (
                If(
                    f"index < {one} // 2",
                    (Send(one, size, f"{one} - 1 - index", buffered), Receive(one, f"{one} - 1 - index")),
                    (
                        If(
                            f"index >= ({one} + 1) // 2",
                            (Receive(one, f"{one} - 1 - index"), Send(one, 3, f"{one} - 1 - index")),
                        ),
                    ),
                ),
            )
        }  # fmt: skip
    if kind == "tree":
        up = If(
            "index % 2**(k + 1) == 0",
            (If(f"index + 2**k < {one}", (Receive(one, "index + 2**k"), Compute(draw(operations)))),),
            (If("index % 2**k == 0", (Send(one, size, "index - 2**k", buffered),)),),
        )
        return {one: (Repeat(4, (up,), "k"),)}
    if kind == "own":
        return {one: (If("index == 0", (Receive(one),), (Send(one, size, 0, buffered),)),)}
    if kind == "all":
        return {one: (Send(one, size, buffered=True), Receive(one))}
    if kind == "collective":
        made = draw(
            st.sampled_from((Barrier(), AllToAll(bytes=4), Broadcast(bytes=9), Scatter(bytes=5), Gather(bytes=6)))
        )
        among = draw(st.sampled_from(((), ("a",), ("a", "c"), ("b", "c"))))
        made = type(made)(**{**{key: getattr(made, key) for key in made.__dataclass_fields__}, "among": among})
        return dict.fromkeys(among or LABELS, (made,))
    if kind == "loop":
        inner = draw(st.lists(phases(depth=1), min_size=1, max_size=3))
        times = draw(st.integers(0, 3))
        return {label: (Repeat(times, steps),) for label, steps in together(inner).items() if steps}
    return {one: (Compute(draw(operations)),)}


def together(parts):
    return {label: tuple(step for part in parts for step in part.get(label, ())) for label in LABELS}


@st.composite
def placements(draw, label, count, first_node):
    """Groups of a label: a few rows of nodes, on nodes that other labels may use too."""
    groups, first = [], 0
    while first < count:
        here = draw(st.integers(1, count - first))
        per_unit = draw(st.integers(1, 3))
        cyclic = draw(st.booleans()) and here % per_unit == 0
        node = first_node + draw(st.integers(0, 3))
        groups.append(Group(label, first, 1, here, per_unit, per_unit, "unit", node, cyclic=cyclic))
        first += here
    return groups


@st.composite
def cases(draw):
    counts = {label: draw(st.integers(1, 9)) for label in LABELS}
    programs = together(draw(st.lists(phases(), min_size=1, max_size=6)))
    application = Application("random", tuple(Label(name, counts[name], programs[name]) for name in LABELS))
    groups = [one for i, name in enumerate(LABELS) for one in draw(placements(name, counts[name], 2 * i))]
    return application, groups


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(cases())
def test_random_applications_take_the_same_time_as_process_by_process(case):
    check(*case)


@settings(max_examples=16, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(cases())
def test_turns_that_are_skipped_take_the_time_of_all_turns(case):
    application, groups = case
    labels = tuple(Label(one.name, one.count, (Repeat(20, one.program),)) for one in application.labels)
    SKIPPED.append(check(Application("turns", labels), groups).skipped)


SKIPPED = []


def test_some_turns_were_skipped():
    assert not SKIPPED or sum(skipped > 0 for skipped in SKIPPED) >= len(SKIPPED) // 4


# --- by hand ---


def row(label, count, first_node=0):
    """Each on a node of its own."""
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
    # Results are sent at 10 i, a message takes 1.125 + 0.5 s: all but the first find the master waiting.
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
    assert {one.clock.first: one.clock.count for one in done.ended} == {
        float(k + 1): 2 ** (levels - 1 - k) + (k == levels - 1) for k in range(levels)
    }


def test_a_process_has_its_own_number_of_turns():
    application = Application("", (Label("p", 4, (Repeat("index + 1", (Compute(3),)),)),))
    assert ended(application, row("p", 4)) == {"p": pytest.approx([3, 6, 9, 12])}


@pytest.mark.parametrize("rounds", [10, 1000, 10**9])
def test_a_turn_costs_the_same_however_many_there_are(rounds):
    # As above: the master's three sends take 2.0625 s each, the tasks 2 s, the three results 1.625 s each.  The last
    # result is there when it is wanted, from the second turn on as in the first: 11.0625 s for every turn.
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
    rounds = 2000
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
    # To and fro 1.0625 + 1 and 1.125 s; at the end one message more, 1.125 s.
    assert times["last"] == pytest.approx([rounds * 3.1875 + 1.125], rel=1e-12)


@pytest.mark.parametrize(
    ("variable", "amount", "words"),
    [
        ("k", "k", "step 1: 1000000000 turns that differ, since they use 'k'"),
        (None, "1", "step 1: 1000000000 turns, of which the first 100 have not become alike"),
    ],
)
def test_turns_that_never_become_alike_are_refused(monkeypatch, variable, amount, words):
    monkeypatch.setattr(steady, "PATIENCE_TURNS", 100)
    # The sender is faster: more and more messages are under way.
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
        ((Receive("p"), Send("p", 1)), "step 1: process 1 of p waits for a message of process 0 of p that never comes"),
        ((Send("p", 1), Receive("p")), "process 1 of p never receives, which waits itself for what it sends at"),
        ((If("index == 0", (Send("p", 1, 1, True),)),), "step 1.1: process 0 of p sends a message that process 1"),
        ((If("index == 0", (Barrier(),), (AllToAll(),)),), "another collective"),
        ((If("index == 0", (Barrier(),)),), "waits for others that never come"),
        ((Send("p", 1, "index + 1"),), "no process 2 of p, which has 2"),
        ((Send("p", 1, "index"),), "process 0 of p with itself"),
        ((Send("p", "-1", "1 - index"),), "-1 bytes"),
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
    with pytest.raises(UserError, match=r"step 1\.else\.1: another collective than at .*, label p, step 1\.1,"):
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
