"""Placement in slots, compared with a scheduler that handles processes one by one."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from platforms.errors import PlatformError
from platforms.grids.grid import Wire
from platforms.system.description import read_system
from platforms.system.model import System
from platforms.system.parts import ANY, ComputeUnit, Level, Node
from platforms.system.scheduler import POLICIES, schedule
from tests.counting import lines_run

EXAMPLE = Path(__file__).parents[3] / "examples" / "systems" / "merpsys.toml"
WIRE = Wire(1e9, 1e-6)


def system_of(*groups):
    """A LAN of such groups: (count, speed in flop/s, price, slots by label)."""
    nodes = []
    for i, (count, speed, price, slots) in enumerate(groups):
        unit = ComputeUnit("cpu", "cpu", "toy", speed, slots=tuple(slots.items()), price_usd=price)
        nodes.append(Node(f"n{i}", count, (unit,), WIRE))
    return System("toy", Level("lan", "lan", nodes=tuple(nodes)))


def one_by_one(system, counts, policy):
    """The host of every rank, found process by process and unit by unit; None if there are too few slots."""
    units = [(group, i) for group in system.groups for i in range(group.units)]
    free = {(group.name, i, label): number for group, i in units for label, number in group.unit.slots}
    hosts = []

    def take(group, i, label):
        """Take a slot of the label, else one for any label; return whether there was one."""
        for key in ((group.name, i, label), (group.name, i, ANY)):
            if free.get(key, 0) > 0:
                free[key] -= 1
                return True
        return False

    for label, count in counts.items():
        slots = {group.name: sum(dict(group.unit.slots).get(one, 0) for one in {label, ANY}) for group, _ in units}
        open_units = [(group, i) for group, i in units if slots[group.name]]
        if policy == "fastest":
            open_units.sort(key=lambda one: -one[0].unit.speed_flops)
        elif policy == "cheapest":
            open_units.sort(key=lambda one, slots=slots: one[0].unit.price_usd / slots[one[0].name])
        dealt = []
        if policy == "round-robin":
            while len(dealt) < count:
                before = len(dealt)
                for group, i in open_units:
                    if len(dealt) < count and take(group, i, label):
                        dealt.append(group.host(i))
                if len(dealt) == before:
                    return None
        else:
            for group, i in open_units:
                while len(dealt) < count and take(group, i, label):
                    dealt.append(group.host(i))
            if len(dealt) < count:
                return None
        hosts += dealt
    return tuple(hosts)


SLOTS = st.dictionaries(st.sampled_from(["a", "b", ANY]), st.integers(1, 4), max_size=3)
GROUPS = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from([1e9, 2e9, 3e9]), st.sampled_from([10.0, 20.0]), SLOTS),
    min_size=1, max_size=4,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(GROUPS, st.integers(0, 20), st.integers(0, 20), st.sampled_from(sorted(POLICIES)))
def test_a_schedule_is_what_one_gets_process_by_process(groups, a, b, policy):
    system, counts = system_of(*groups), {"a": a, "b": b}
    wanted = one_by_one(system, counts, policy)
    if wanted is None:
        with pytest.raises(PlatformError, match="slots"):
            schedule(system, counts, policy)
        return
    plan = schedule(system, counts, policy)
    assert plan.placement() == wanted
    members = [(label, member) for label in counts for member in range(counts[label])]
    places = [plan.place(label, member) for label, member in members]
    assert tuple(group.host(unit) for group, unit in places) == wanted
    for label, several in plan.placed.items():
        numbers = np.arange(counts[label])
        held = [one.has(numbers) for one in several]
        assert (sum(mask.astype(int) for mask in held) == 1).all() if several else not counts[label]
        for one, mask in zip(several, held, strict=True):
            assert mask.sum() == one.processes
            assert [one.group.host(unit) for unit in one.unit_of(numbers[mask])] == [
                plan.place(label, member)[0].host(plan.place(label, member)[1]) for member in numbers[mask]
            ]
    # Loads contain every unit once, with as many processes of each label as the placement.
    by_host = {}
    for load in plan.loads():
        for unit in range(load.first, load.first + load.units):
            assert by_host.setdefault(load.group.host(unit), load.processes) is load.processes
            assert load.threads == wanted.count(load.group.host(unit))
    assert len(by_host) == sum(group.units for group in system.groups)
    per_label = [(label, host) for (label, _), host in zip(members, wanted, strict=True)]
    for host, processes in by_host.items():
        assert dict(processes) == {
            label: per_label.count((label, host)) for label in counts if per_label.count((label, host))
        }


def test_the_three_policies_by_hand():
    groups = [(1, 1e9, 10.0, {"a": 2}), (2, 3e9, 90.0, {"a": 3})]
    assert schedule(system_of(*groups), {"a": 4}, "fastest").placement() == ("n1-0", "n1-0", "n1-0", "n1-1")
    assert schedule(system_of(*groups), {"a": 4}, "round-robin").placement() == ("n0-0", "n1-0", "n1-1", "n0-0")
    # 10 / 2 and 90 / 3 USD per process.
    assert schedule(system_of(*groups), {"a": 4}, "cheapest").placement() == ("n0-0", "n0-0", "n1-0", "n1-0")


def test_labels_come_in_the_order_of_their_counts_and_share_slots_of_any_label():
    system = system_of((2, 1e9, 1.0, {ANY: 2}))
    assert schedule(system, {"b": 3, "a": 1}).placement() == ("n0-0", "n0-0", "n0-1", "n0-1")
    with pytest.raises(PlatformError, match="label 'a': 2 processes, but 1 free slots"):
        schedule(system, {"b": 3, "a": 2})


def test_a_label_that_has_used_its_own_slots_goes_on_with_those_of_any():
    system = system_of((1, 1e9, 1.0, {"a": 4, ANY: 2}))
    plan = schedule(system, {"a": 6})
    assert plan.placement() == ("n0-0",) * 6
    assert schedule(system, {"a": 5, "b": 1}).counts == {"a": 5, "b": 1}
    with pytest.raises(PlatformError, match="label 'b': 1 processes, but 0 free slots"):
        schedule(system, {"a": 6, "b": 1})
    with pytest.raises(PlatformError, match="label 'b': 3 processes, but 2 free slots"):  # four are only for a
        schedule(system, {"b": 3})


def test_where_nobody_has_slots_it_is_said():
    with pytest.raises(PlatformError, match=r"no unit has slots for any label\. Give units slots"):
        schedule(system_of((2, 1e9, 1.0, {})), {"a": 1})


def test_the_slaves_of_the_papers_figure_2_are_two_values_at_most():
    plan = schedule(read_system(EXAMPLE), {"master": 1, "slave1": 12799})
    assert [(one.group.name, one.first, one.units, one.per_unit, one.index) for one in plan.placed["slave1"]] == [
        ("slave", 0, 3199, 4, 0),
        ("slave", 3199, 1, 3, 12796),
    ]
    assert len(plan.placement()) == 12800
    assert plan.place("slave1", 12798)[1] == 3199


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_ten_million_processes_are_placed_as_quickly_as_ten_thousand(policy):
    system = system_of(
        (12_800, 2e9, 100.0, {"slave": 700}), (6_400, 1e9, 80.0, {"slave": 300}), (1, 1e9, 1.0, {"master": 1})
    )

    def placed(slaves):
        plan = schedule(system, {"master": 1, "slave": slaves}, policy)
        return plan, plan.loads()

    _, few_lines = lines_run(lambda: placed(10_000))
    (plan, loads), lines = lines_run(lambda: placed(10_000_000))
    assert lines < 2 * few_lines
    assert sum(load.units * load.threads for load in loads) == 10_000_001
    assert sum(len(several) for several in plan.placed.values()) < 10
    with pytest.raises(PlatformError, match="10000001 processes are too many to simulate"):
        plan.placement()


@pytest.mark.parametrize(
    ("counts", "policy", "said"),
    [
        ({"a": 9}, "fastest", "label 'a': 9 processes, but 8 free slots. Give more nodes or slots, or fewer processes"),
        ({"c": 1}, "fastest", "label 'c': no unit has slots for it. Known: a, b"),
        ({"a": -1}, "fastest", "-1 processes"),
        ({"a": 1}, "slowest", "no such policy. Known: fastest, round-robin, cheapest"),
        ({"b": 1}, "cheapest", "unit n1: its price is not known"),
    ],
)
def test_what_cannot_be_placed_is_refused(counts, policy, said):
    system = system_of((2, 1e9, 1.0, {"a": 4}), (1, 1e9, None, {"b": 1}))
    with pytest.raises(PlatformError) as error:
        schedule(system, counts, policy)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_member_that_is_not_there_is_refused():
    plan = schedule(system_of((2, 1e9, 1.0, {"a": 4})), {"a": 3})
    for label, member, said in (("a", 3, "Give one from 0 to 2"), ("b", 0, "no such label. Known: a")):
        with pytest.raises(PlatformError, match=said):
            plan.place(label, member)


def test_hosts_are_found_by_name():
    system = read_system(EXAMPLE)
    for group, i in itertools.product(system.groups, (0,)):
        assert system.find(group.host(i)) == (group, i)
    assert system.find("slave-3199")[1] == 3199
    for wrong in ("slave-3200", "slave-03", "slave", "slaves-1", "slave-1-cpu"):
        with pytest.raises(PlatformError, match="no host"):
            system.find(wrong)
