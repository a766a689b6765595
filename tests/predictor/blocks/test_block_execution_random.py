"""Random applications: processes evaluated together take the same times as processes evaluated one by one."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from one_by_one import OneByOne, ToyMachine

from predictor.blocks.application import Application
from predictor.blocks.evaluation.execution import Execution
from predictor.blocks.machines.machine import Group
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
    Repeat,
    Scatter,
    Send,
    WriteDisk,
)


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


# Random applications: phases in which labels take part without ever waiting in a circle.

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
    """Groups of a label on a few rows of nodes, which other labels may use too."""
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


def test_turns_that_are_skipped_take_the_time_of_all_turns():
    skipped = []

    @settings(max_examples=16, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(cases())
    def twenty_turns(case):
        application, groups = case
        labels = tuple(Label(one.name, one.count, (Repeat(20, one.program),)) for one in application.labels)
        skipped.append(check(Application("turns", labels), groups).skipped)

    twenty_turns()
    assert len(skipped) >= 16
    assert sum(turns > 0 for turns in skipped) >= len(skipped) // 4
