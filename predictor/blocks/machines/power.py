"""Energy of processes by a rule that says which of a node's threads count as active, and of the interconnect.

idle-waiting    A thread is active while it computes; sending, receiving, disks and waiting count as idle.  Nodes count
                until the overall end.  A unit whose n processes compute C seconds together takes
                P(0) T + (P(n) - P(0)) C / n in T seconds.
active-waiting  A thread is active from the start to its own end, because a process that waits for a message polls for
                it.  Then it is idle; nodes count until the overall end.
paper           J. Proficz, P. Czarnul, "Performance and Power-Aware Modeling of MPI Applications for Cluster
                Computing", section 4: the power depends on the number of active threads, not on what they do.  Threads
                are active from the start to their own end, and a node counts until its last process ends, as in Figure
                2 of the paper.

Where the active threads of a unit change over time, each stretch takes the power of the threads that are active in it.

Energy of the interconnect of the nodes in use: adapters, and their ports on switches, at constant power.

The watts are those of the hardware database, which has them only where a data sheet, a manual or a study says them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from platforms.system import System
from platforms.system.scheduler import Schedule
from predictor.blocks.machines.machine import Group, Machine, covered

_JOULES_PER_WH = 3600.0


@dataclass(frozen=True)
class Ends:
    """End times of some processes of a group."""

    group: Group
    members: range  # indices within the label
    times: Callable[[], np.ndarray]  # the end of each member, s
    least_s: float
    most_s: float
    total_s: float  # their sum

    @staticmethod
    def of(group: Group, ended_s: np.ndarray) -> Ends:
        """Return the ends of all members of a group, s."""
        least_s, most_s, total_s = (float(number) for number in (ended_s.min(), ended_s.max(), ended_s.sum()))
        return Ends(group, group.members, lambda: ended_s, least_s, most_s, total_s)


def energies(
    rule: str, machine: Machine, *, compute_s: Mapping[Group, float], ends: Iterable[Ends], time_s: float
) -> tuple[dict[Group, float], float]:
    """Return the energy of each group's share of its units, and that of other units of nodes in use, J.

    Args:
        rule: One of POWER_RULES.
        machine: The machine that the processes ran on.
        compute_s: Computation time of each group, summed over its processes, s.
        ends: End times of all processes.
        time_s: Overall time, s.

    Raises:
        OutOfRange: The machine does not know the power.
    """
    if rule == "idle-waiting":
        return _while_computing(machine, compute_s, time_s), machine.others_idle_w * time_s
    energies_j = _until_the_end(machine, list(ends), None if rule == "paper" else time_s)
    return energies_j, 0.0 if rule == "paper" else machine.others_idle_w * time_s


def _while_computing(machine: Machine, compute_s: Mapping[Group, float], time_s: float) -> dict[Group, float]:
    energies_j = {}
    for group, busy_s in compute_s.items():
        idle_w, busy_w = machine.power_w(group, 0), machine.power_w(group, group.threads)
        share = group.count / group.threads  # of units (or nodes), each divided among all its processes
        energies_j[group] = share * idle_w * time_s + (busy_w - idle_w) * busy_s / group.threads
    return energies_j


def _until_the_end(machine: Machine, ends: Sequence[Ends], time_s: float | None) -> dict[Group, float]:
    """Return the energies with threads that are active until they end; units count until ``time_s`` if it is given."""
    energies_j: dict[Group, float] = {}
    mixed: list[Ends] = []
    for group, group_ends in _by_group(ends).items():
        end_s = max(end.most_s for end in group_ends)
        alone = group.threads == group.per_unit and group.count == group.units * group.per_unit
        if alone and min(end.least_s for end in group_ends) == end_s:  # all at once, without a list of the processes
            after_s = 0.0 if time_s is None else time_s - end_s
            idle_j = machine.power_w(group, 0) * after_s if after_s else 0.0
            energies_j[group] = group.units * (machine.power_w(group, group.threads) * end_s + idle_j)
        else:
            mixed += group_ends
    return energies_j | (_stretches(machine, mixed, time_s) if mixed else {})


def _by_group(ends: Sequence[Ends]) -> dict[Group, list[Ends]]:
    by_group: dict[Group, list[Ends]] = {}
    for end in ends:
        by_group.setdefault(end.group, []).append(end)
    return by_group


def _stretches(machine: Machine, ends: Sequence[Ends], time_s: float | None) -> dict[Group, float]:
    """Return the energies of groups, stretch by stretch between the ends of the processes of each unit.

    The power of a stretch is divided equally among the threads that are active in it; that of the idle unit after all
    ends among all its processes.
    """
    groups = list(dict.fromkeys(end.group for end in ends))
    number = {group: i for i, group in enumerate(groups)}
    of_group = np.concatenate([np.full(len(end.members), number[end.group]) for end in ends])
    place = np.concatenate([_places(machine, end, ends) for end in ends])
    end_s = np.concatenate([end.times() for end in ends])
    order = np.lexsort((end_s, place))
    of_group, place, end_s = of_group[order], place[order], end_s[order]
    first = np.flatnonzero(np.r_[True, place[1:] != place[:-1]])  # of each unit
    counts = np.diff(np.r_[first, len(place)])
    start = np.repeat(first, counts)
    active = np.repeat(counts, counts) - (np.arange(len(place)) - start)
    before_s = np.where(np.arange(len(place)) == start, 0.0, np.r_[0.0, end_s[:-1]])
    host = of_group[start]  # the group whose power law holds for the unit
    each_w = _watts(machine, groups, host, active) / active
    sums_j = np.cumsum(each_w * (end_s - before_s))
    own_j = sums_j - np.repeat(np.r_[0.0, sums_j[first[1:] - 1]], counts)
    if time_s is not None:
        idle_w = _watts(machine, groups, host, np.zeros_like(active))
        last_s = np.repeat(end_s[first + counts - 1], counts)
        own_j = own_j + idle_w * (time_s - last_s) / np.repeat(counts, counts)
    total_j = np.bincount(of_group, weights=own_j, minlength=len(groups))
    return {group: float(total_j[i]) for group, i in number.items()}


def _places(machine: Machine, group_ends: Ends, ends: Sequence[Ends]) -> np.ndarray:
    """Return a number for the unit (or node) of each member."""
    group = group_ends.group
    place = (
        np.arange(group_ends.members.start, group_ends.members.stop, group_ends.members.step) - group.first
    ) // group.stride
    unit = place % group.units if group.cyclic else place // group.per_unit
    if machine.whole_nodes:
        return np.asarray(group.first_node + unit)
    kinds = {kind: i for i, kind in enumerate(dict.fromkeys(other.group.unit for other in ends))}
    return np.asarray((group.first_unit + unit) * len(kinds) + kinds[group.unit])


def _watts(machine: Machine, groups: Sequence[Group], host: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Return the power of units with these numbers of active threads, W; each pair is asked for once."""
    most = int(active.max()) + 1
    distinct, which = np.unique(host * most + active, return_inverse=True)
    watts = np.array([machine.power_w(groups[key // most], key % most) for key in distinct.tolist()])
    return np.asarray(watts[which.reshape(-1)])


@dataclass(frozen=True)
class Interconnect:
    """The interconnect's energy over a run, J; None where no watts are known of some network in use."""

    nodes: int
    adapters_j: float | None
    switches_j: float | None  # of the ports in use

    def line(self) -> str:
        """Return the energies as a line of text."""

        def shown(name: str, joules: float | None) -> str:
            return f"{name} of unknown watts" if joules is None else f"{name} {joules / _JOULES_PER_WH:.6g} Wh"

        parts = f"{shown('adapters', self.adapters_j)}, {shown('switch ports', self.switches_j)}"
        return f"  interconnect of these nodes, beside the total: {parts}"


def interconnect(system: System, schedule: Schedule, time_s: float) -> Interconnect:
    """Return the energy of the adapters and switch ports of the nodes that have processes, for a time.

    Args:
        system: The system.
        schedule: Placement of the processes.
        time_s: Duration of the run.
    """
    used: dict[int, list[range]] = {}
    for rows in schedule.placed.values():
        for row in rows:
            used.setdefault(id(row.group.node), []).append(range(row.first, row.first + row.units))
    nodes, adapters_w, switches_w = 0, [], []
    for lan in system.top.lans():
        here = sum(covered(used.get(id(node), [])) for node in lan.nodes)
        if not here:
            continue
        nodes += here
        hardware = lan.hardware
        adapter_w = None if hardware is None else hardware.adapter_w
        port_w = None
        if hardware is not None and hardware.switch_w is not None and hardware.switch_ports is not None:
            port_w = hardware.switch_w / hardware.switch_ports
        adapters_w.append(None if adapter_w is None else here * adapter_w)
        switches_w.append(None if port_w is None else here * port_w)
    return Interconnect(nodes, _energy(adapters_w, time_s), _energy(switches_w, time_s))


def _energy(watts: list[float | None], time_s: float) -> float | None:
    known = [watt for watt in watts if watt is not None]
    return sum(known) * time_s if watts and len(known) == len(watts) else None
