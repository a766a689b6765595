"""The predictor ``contention``: run times on a real cluster, from a few measured runs and a description of its network.

Evidence: measured runs, of the programs to predict and of others; and messages on the platform, which show its network.
Each run gives the time of one operation on a core (predictor/contention/core_times.py), with which the declared
structure takes the measured time on that network.  A target's operations take as long as in the runs with as many busy
cores per node.  No target's time is used, and none is simulated.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from apps.programs.problem import Problem
from apps.spec.target import Target
from predictor.base import Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.contention.core_times import CoreTime, CoreTimes, Observed, UnknownCoreTimeError
from predictor.contention.crowding import MANY, Crowding, Slowdown, messages_of, traffic_of
from predictor.contention.structure import Structure, operations, steps_of
from predictor.evidence.targets import in_range, one_per_platform
from predictor.network.survey import is_first, next_plan
from predictor.structural.schedule import sizes_sent

NAME = "contention"


def busy_cores(target: Target) -> int:
    """Return the number of ranks on the node that has most of them.

    Raises:
        OutOfRange: The program's traffic is not known, the nodes are of several clusters, or have more ranks than
            cores.
    """
    traffic_of(target.problem, target.nranks)
    return max(ranks_beside(target))


def ranks_beside(target: Target) -> list[int]:
    """Return for every rank the number of ranks on its node.

    Raises:
        OutOfRange: The nodes are of several clusters, or have more ranks than cores.
    """
    where = f"{NAME}, {target.problem.on(target.nranks)}"
    counts = Counter(target.placement)
    cores = target.platform.host(target.placement[0]).cores
    if len({target.platform.cluster_of(host).name for host in counts}) > 1:
        raise OutOfRange(where, "the nodes are in several clusters", "Use another predictor, such as structural")
    busy = max(counts.values())
    if busy > cores:
        raise OutOfRange(where, f"{busy} ranks share the {cores} cores of a node", "Use at most one rank per core")
    return [counts[host] for host in target.placement]


def relative_times(times: CoreTimes, target: Target) -> list[float]:
    """Return for every rank the time of an operation, relative to that on the node with the most ranks.

    Raises:
        OutOfRange: The measured runs do not give it.
    """
    beside = ranks_beside(target)
    of = {busy: core_time(times, target, busy).s_per_op for busy in set(beside)}
    return [of[busy] / of[max(beside)] for busy in beside]


@dataclass(frozen=True)
class ContentionModel:
    """The times of an operation and the crowding by platform (content hash), the structures by problem and platform."""

    times: Mapping[str, CoreTimes]
    crowding: Mapping[str, Crowding]
    few: Mapping[str, int]  # most all-to-all messages on the link of a node in the measured runs, by platform
    structures: Mapping[tuple[Problem, str], Structure]
    evidence: tuple[str, ...]
    cost: Cost

    def predict(self, target: Target) -> Prediction:
        """Return the time of the declared structure with the time of an operation from the measured runs.

        Raises:
            OutOfRange: As ``busy_cores``; or the measured runs do not give the time of an operation.
        """
        problem, platform = target.problem, target.platform.content_hash
        times = self.times.get(platform, CoreTimes(()))
        core, relative = core_time(times, target, busy_cores(target)), relative_times(times, target)
        structure = self.structures.get((problem, platform)) or Structure(problem, None, None)  # one rank alone
        messages, crowding = messages_of(target), self.crowding.get(platform, Crowding())
        factor, low, high = crowding.factors(messages)
        made = prediction(
            core,
            lambda asked: structure.times_s(target, asked, relative, factor),
            operations(problem, target.nranks),
        )
        if high > low and made.low_s is not None and made.high_s is not None:
            ends = [structure.times_s(target, [core.s_per_op], relative, end)[0] for end in (low, high)]
            made = replace(
                made,
                low_s=made.time_s - math.hypot(made.time_s - made.low_s, made.time_s - ends[0]),
                high_s=made.time_s + math.hypot(made.high_s - made.time_s, ends[1] - made.time_s),
            )
        known = max(crowding.most, self.few.get(platform, 0))
        if messages > MANY * known:
            made = replace(made, flags=(*made.flags, _crowded_flag(messages, known)))
        return replace(made, evidence=self.evidence, cost=self.cost)


def core_time(times: CoreTimes, target: Target, busy: int) -> CoreTime:
    """Return the time of an operation of a target, with this number of busy cores on every node.

    Raises:
        OutOfRange: The measured runs do not give it.
    """
    try:
        return times.of(target.problem.name, target.problem.preset, busy)
    except UnknownCoreTimeError as err:
        raise OutOfRange(f"{NAME}, {target}", str(err), "Measure one on a few nodes") from err


def prediction(core: CoreTime, times_s: Callable[[Sequence[float]], list[float]], most: float) -> Prediction:
    """Return the time with a time of an operation, and the interval by the scatter of measured runs.

    Args:
        core: The time of an operation.
        times_s: Returns the times of the run, s, for some times of an operation.
        most: The operations of the rank that has most of them.
    """
    factor = core.factor or 1.0
    time_s, low_s, high_s = times_s([core.s_per_op, core.s_per_op / factor, core.s_per_op * factor])
    compute_s = min(time_s, core.s_per_op * most)
    return Prediction(
        time_s=time_s,
        parts={"compute_s": compute_s, "comm_s": time_s - compute_s},
        flags=core.flags,
        low_s=None if core.factor is None else low_s,
        high_s=None if core.factor is None else high_s,
    )


@dataclass(frozen=True)
class Contention:
    """The predictor, which asks for the runs that were measured, except those that are to be predicted."""

    runs: tuple[Target, ...]
    name: str = field(default=NAME)

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return the requests for the measured runs and the networks."""
        known = _described(targets)
        platforms = {target.platform.content_hash for target in known}
        used = [run for run in self.runs if run.platform.content_hash in platforms and run not in targets]
        used = _described(used)
        networks = [together for together in one_per_platform([*known, *used]) if together.nodes > 1]
        plans = [next_plan(network.platform, network.placement, deep=False) for network in networks]
        asked = [EvidenceRequest("run", run) for run in used]
        return asked + [
            EvidenceRequest("exchange", network, plan=plan) for network, plan in zip(networks, plans, strict=True)
        ]

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        """Return the requests for messages of the programs' own sizes."""
        if any(_has_sizes(item) for item in evidence):
            return []
        asked = []
        for network in filter(_is_network, evidence):
            platform = network.request.target.platform
            runs = [item.request.target for item in evidence if item.request.kind == "run"]
            here = [t for t in [*_described(targets), *runs] if t.platform.content_hash == platform.content_hash]
            for problem in dict.fromkeys(target.problem for target in here):
                ranks = sorted({t.nranks for t in here if t.problem == problem and t.nranks > 1})
                with suppress(OutOfRange):  # predict raises it again
                    asked += _size_requests(network, problem, ranks)
        return asked

    def fit(self, evidence: Sequence[Evidence]) -> ContentionModel:
        """Return the model: the time of an operation in each measured run, by bisection on its structure."""
        networks = {_platform(item): item for item in evidence if _is_network(item)}
        sizes = {(item.request.target.problem, _platform(item)): item for item in evidence if _has_sizes(item)}
        platforms = {_platform(item) for item in evidence}
        problems = {(item.request.target.problem, _platform(item)) for item in evidence if item.request.kind == "run"}
        structures = {
            key: Structure(key[0], networks.get(key[1]), sizes.get(key)) for key in [*sorted(problems, key=str), *sizes]
        }
        runs = [item for item in evidence if item.request.kind == "run"]
        of = {platform: [item for item in runs if _platform(item) == platform] for platform in platforms}
        crowded = {platform: crowded_runs([item.request.target for item in items]) for platform, items in of.items()}
        times = {
            platform: CoreTimes(
                tuple(_observed(item, structures) for item in items if item.request.target not in crowded[platform])
            )
            for platform, items in of.items()
        }
        return ContentionModel(
            times,
            {
                platform: Crowding(
                    tuple(
                        _slowdown(item, structures, times[platform], crowded[platform][item.request.target])
                        for item in items
                        if item.request.target in crowded[platform]
                    )
                )
                for platform, items in of.items()
            },
            {
                platform: max((messages_of(i.request.target) for i in items), default=0)
                for platform, items in of.items()
            },
            structures,
            tuple(item.id for item in evidence),
            sum((item.cost for item in evidence), Cost()),
        )


def _crowded_flag(messages: int, known: int) -> str:
    return (
        f"all-to-all: {messages} messages share the link of a node, {known} in the measured runs: a switch may take "
        "longer with this many; one such run of any program as evidence would show it"
    )


def crowded_runs(runs: Sequence[Target]) -> dict[Target, int]:
    """Return the runs that show the slowdown of all-to-all messages, with the most messages of the other runs.

    Others of the same program with as many busy cores have at most a MANYth of their messages on the link of a node.
    """
    messages = {run: messages_of(run) for run in runs}
    crowded = {}
    for run, count in messages.items():
        key = run.problem.name, run.problem.preset, busy_cores(run)
        fewer = [
            other_count
            for other, other_count in messages.items()
            if (other.problem.name, other.problem.preset, busy_cores(other)) == key and MANY * other_count <= count
        ]
        if count and fewer:
            crowded[run] = max(fewer)
    several = {run: fewer for run, fewer in crowded.items() if fewer}  # a run on one node has no message on a link
    return several


def _observed(item: Evidence, structures: Mapping[tuple[Problem, str], Structure]) -> Observed:
    run = item.request.target
    s_per_op, fits = structures[run.problem, _platform(item)].s_per_op(run, item.record.time_s)
    return Observed(run.problem.name, run.problem.preset, busy_cores(run), s_per_op, fits)


def _slowdown(
    item: Evidence, structures: Mapping[tuple[Problem, str], Structure], times: CoreTimes, fewer: int
) -> Slowdown:
    """Return the slowdown of all-to-all messages in a run, given the time of an operation from the others."""
    run, structure = item.request.target, structures[item.request.target.problem, _platform(item)]
    core = core_time(times, run, busy_cores(run))
    factor, low, high = (
        structure.crowding(run, core.s_per_op, item.record.time_s * by)
        for by in (1.0, 1.0 / (core.factor or 1.0), core.factor or 1.0)
    )
    return Slowdown(messages_of(run), fewer, factor, low, high)


def _described(targets: Sequence[Target]) -> list[Target]:
    return [target for target, _ in in_range(busy_cores, targets)]


def _size_requests(network: Evidence, problem: Problem, ranks: Sequence[int]) -> list[EvidenceRequest]:
    sizes, target = sizes_sent([steps_of(problem, nranks) for nranks in ranks]), network.request.target
    plan = next_plan(target.platform, target.placement, [network.measurement], deep=False, sizes=sizes)
    return [] if plan is None else [EvidenceRequest("exchange", replace(target, problem=problem), plan=plan)]


def _platform(evidence: Evidence) -> str:
    return evidence.request.target.platform.content_hash


def _has_sizes(evidence: Evidence) -> bool:
    return evidence.request.kind == "exchange" and not is_first(evidence.request.plan)


def _is_network(evidence: Evidence) -> bool:
    return is_first(evidence.request.plan)
