"""Questions "what if": the time that a run would take if one link, node, cluster, call or computation were faster.

Each, and the whole network, is made faster by a factor, one at a time, and the program evaluated again (sensitivity by
perturbation).  The times are those of all iterations, where enough of them were recorded.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from apps.spec.target import Target
from predictor.dpgraph.evaluate import estimate, execute
from predictor.dpgraph.instructions import COMPUTE, SEND
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import Program, Sections
from predictor.graph.faster import WHOLE, Network
from predictor.series.pool import Kept, answers

MOST_OF_A_KIND = 100  # links, nodes, calls and computations that are tried: those with the most bytes or flops
MOST_APART = 10  # links whose bandwidth and latency are also changed alone: those that save most
MOST_EVALUATED = 8  # iterations of a changed program; the others are taken to save as much as the later ones of these
_UNKNOWN = "place not known"
_ENVELOPE_BYTES = 16  # of every message, in SimGrid


@dataclass(frozen=True)
class WhatIf:
    """One part of the platform or the program, made faster."""

    kind: str  # "network", "link", "node", "cluster", "call" or "computation"
    name: str
    time_s: float  # of the run
    saved_s: float
    saved_share: float  # of the run's time as it is
    otherwise_saved_s: float | None = None  # of a link of unknown latency: with the least one that it may have
    # Of the whole network, and of the links that save most: with more bandwidth alone, and with less latency alone.
    bandwidth_saved_s: float | None = None
    latency_saved_s: float | None = None


@dataclass(frozen=True)
class Answers:
    """The answers to all questions, the largest saving first, and how many parts of a kind were not tried."""

    factor: float
    time_s: float  # of the run as it is
    iterations: int  # of the run; 0: it has none
    answers: tuple[WhatIf, ...]
    untried: Mapping[str, int]


@dataclass(frozen=True)
class Setting:
    """A program on a target."""

    program: Program  # the recorded iterations
    target: Target
    network: Network
    places: Sequence[str | None]  # of the recording's paths of calls
    # The recorded iterations, from which those of the whole run are made; None: the run is the program.
    sections: Sections | None = None

    @property
    def iterations(self) -> int:
        """Number of iterations of the run that is asked about; 0 if it has none, or if only the recorded ones count."""
        return 0 if self.sections is None else self.target.iterations

    def time_s(self, *, network: NetworkModel | None = None, s_per_flop: np.ndarray | None = None) -> float:
        """Return the time of the run, s, on another network, or with other speeds of the hosts."""
        if self.sections is None:
            return self._executed_s(self.program, network, s_per_flop)
        return estimate(
            self.sections,
            self.target.iterations,
            self.network.model if network is None else network,
            self.target.placement,
            self.s_per_flop if s_per_flop is None else s_per_flop,
            self._cores,
        ).time_s

    def saved_s(self, changed: Callable[[Program], Program]) -> float:
        """Return the time of the run less that of the changed program, s.

        With more iterations than MOST_EVALUATED, each saves as much as one of the later half of that number.
        """
        if self.sections is None or not self.sections.iterations:
            return self._gain_s(self.program, changed)
        if self.target.iterations <= MOST_EVALUATED:
            return self._gain_s(self.sections.program(self.target.iterations), changed)
        half_s, all_s = (
            self._gain_s(self.sections.program(number), changed) for number in (MOST_EVALUATED // 2, MOST_EVALUATED)
        )
        each_s = (all_s - half_s) / (MOST_EVALUATED - MOST_EVALUATED // 2)
        return all_s + (self.target.iterations - MOST_EVALUATED) * each_s

    def _gain_s(self, program: Program, changed: Callable[[Program], Program]) -> float:
        return self._executed_s(program) - self._executed_s(changed(program))

    def _executed_s(
        self, program: Program, network: NetworkModel | None = None, s_per_flop: np.ndarray | None = None
    ) -> float:
        run = execute(
            program,
            self.network.model if network is None else network,
            self.target.placement,
            self.s_per_flop if s_per_flop is None else s_per_flop,
            self._cores,
        )
        return float(run.end_s.max(initial=0.0))

    @property
    def _cores(self) -> list[int]:
        return [self.target.platform.host(host).cores for host in self.target.placement]

    @property
    def s_per_flop(self) -> np.ndarray:
        """Seconds per flop of each process's node."""
        return np.array([1 / self.target.platform.host(host).speed_flops for host in self.target.placement])


def what_if(setting: Setting, factor: float, *, most: int = MOST_OF_A_KIND) -> Answers:
    """Return how much time the network, and each link, node, cluster, call and computation saves that becomes faster.

    A faster link has ``factor`` times the bandwidth and 1 / ``factor`` of the latency; where the network was measured,
    links are those that messages show (predictor.graph.faster).  A faster node computes ``factor`` times as fast.
    The messages of a faster call have 1 / ``factor`` of the bytes, those inside a collective too.  A faster computation
    has 1 / ``factor`` of the flops.

    Args:
        setting: The program on its target.
        factor: How many times as fast; > 0, and below 1 slower.
        most: Largest number of links, of nodes, of calls and of computations to try.

    Raises:
        UserError: The program cannot end.
    """
    now_s = setting.time_s()
    asked: dict[str, list[tuple[str, _Answer]]] = {
        "network": [(WHOLE, partial(_network_saves, setting, now_s, WHOLE, factor, factor))],
        "link": [
            (name, partial(_network_saves, setting, now_s, name, factor, factor))
            for name in setting.network.parts(_sent(setting))
        ],
        "node": list(_nodes(setting, now_s, factor, {host: [host] for host in _busiest(setting)})),
        "cluster": list(_nodes(setting, now_s, factor, _clusters(setting))),
        "call": list(_calls(setting, factor)),
        "computation": list(_computations(setting, factor)),
    }
    chosen = [(kind, name, answer) for kind, questions in asked.items() for name, answer in questions[:most]]
    saved = _answered([(name, answer) for _, name, answer in chosen])
    found = []
    for (kind, name, _), (saved_s, *other) in zip(chosen, saved, strict=True):
        share = saved_s / now_s if now_s else 0.0
        found.append(WhatIf(kind, name, now_s - saved_s, saved_s, share, other[0] if other else None))
    found.sort(key=lambda answer: -answer.saved_s)
    untried = {kind: len(questions) - most for kind, questions in asked.items() if len(questions) > most}
    return Answers(factor, now_s, setting.iterations, tuple(_apart(setting, now_s, factor, found)), untried)


def _apart(setting: Setting, now_s: float, factor: float, found: Sequence[WhatIf]) -> Iterator[WhatIf]:
    """Yield the answers, that of the network and the first links with the savings of bandwidth and latency alone."""
    links = [answer for answer in found if answer.kind == "link"][:MOST_APART]
    chosen = [answer for answer in found if answer.kind == "network" or answer in links]
    factors = ((factor, 1.0), (1.0, factor))
    questions = [
        (one.name, partial(_network_saves, setting, now_s, one.name, *both)) for one in chosen for both in factors
    ]
    saved = iter(_answered(questions))
    for answer in found:
        if answer in chosen:
            (bandwidth_s, *_), (latency_s, *_) = next(saved), next(saved)
            yield replace(answer, bandwidth_saved_s=bandwidth_s, latency_saved_s=latency_s)
        else:
            yield answer


_Answer = Callable[[], tuple[float, ...]]  # the saving, s; of a link also that with its least latency
_Questions = Iterator[tuple[str, _Answer]]
_asked: list[_Answer] = []  # questions of this process: those that it forks inherit them, as they cannot be pickled


def _answered(questions: Sequence[tuple[str, _Answer]]) -> list[tuple[float, ...]]:
    """Return the answers to named questions; several processes make them if that takes long."""
    _asked[:] = [answer for _, answer in questions]
    names, numbers = [name for name, _ in questions], range(len(questions))
    kept = Kept("prediction", tuple, None)
    jobs = len(os.sched_getaffinity(0))
    made = []
    for answer in answers(numbers, _answer_to, [{}] * len(names), kept, jobs=jobs, names=names):
        if isinstance(answer, Exception):
            raise answer
        made.append(answer)
    return made


def _answer_to(number: int) -> tuple[float, ...]:
    return _asked[number]()


def _network_saves(setting: Setting, now_s: float, part: str, bandwidth: float, latency: float) -> tuple[float, ...]:
    networks = setting.network.faster(part, bandwidth, latency)
    return tuple(now_s - setting.time_s(network=network) for network in networks)


def _sent(setting: Setting) -> Counter[tuple[str, str]]:
    """Return the bytes between each two hosts; an empty message counts as its envelope."""
    program, sent = setting.program, Counter[tuple[str, str]]()
    for source, destination, size in zip(
        program.source.tolist(), program.destination.tolist(), program.size_bytes.tolist(), strict=True
    ):
        sent[setting.target.placement[source], setting.target.placement[destination]] += size + _ENVELOPE_BYTES
    return sent


def _busiest(setting: Setting) -> list[str]:
    program = setting.program
    rank = np.repeat(np.arange(program.nranks), np.diff(program.first))
    flops = np.bincount(rank, np.where(program.code == COMPUTE, program.value, 0.0), program.nranks)
    busy_s: Counter[str] = Counter()
    for host, each_s in zip(setting.target.placement, (flops * setting.s_per_flop).tolist(), strict=True):
        busy_s[host] += each_s
    return [host for host, _ in busy_s.most_common()]


def _clusters(setting: Setting) -> dict[str, list[str]]:
    clusters: dict[str, list[str]] = {}
    for host in dict.fromkeys(setting.target.placement):
        clusters.setdefault(setting.target.platform.cluster_of(host).name, []).append(host)
    return clusters


def _nodes(setting: Setting, now_s: float, factor: float, groups: Mapping[str, Sequence[str]]) -> _Questions:
    def saves(hosts: Sequence[str]) -> tuple[float, ...]:
        faster = np.isin(setting.target.placement, hosts)
        s_per_flop = np.where(faster, setting.s_per_flop / factor, setting.s_per_flop)
        return (now_s - setting.time_s(s_per_flop=s_per_flop),)

    for name, hosts in groups.items():
        yield name, partial(saves, hosts)


def _by_place(setting: Setting, which: np.ndarray, amount: np.ndarray) -> list[str]:
    """Return the places of some instructions of the recorded iterations, that with the largest amount first."""
    amounts = {place: float(amount[which & _is_at(setting, setting.program, place)].sum()) for place in _names(setting)}
    used = {place for place in amounts if (which & _is_at(setting, setting.program, place)).any()}
    return sorted(used, key=lambda place: (-amounts[place], place))


def _names(setting: Setting) -> list[str]:
    return list(dict.fromkeys([_UNKNOWN, *(place for place in setting.places if place is not None)]))


def _is_at(setting: Setting, program: Program, place: str) -> np.ndarray:
    """Return whether each instruction is at a place."""
    if program.site is None:
        return np.full(len(program.code), place == _UNKNOWN)
    known = np.array([path for path, name in enumerate(setting.places, 1) if name is not None], np.int64)
    if place == _UNKNOWN:
        return ~np.isin(program.site, known)
    return np.isin(program.site, [path for path, name in enumerate(setting.places, 1) if name == place])


def _calls(setting: Setting, factor: float) -> _Questions:
    def saves(place: str) -> tuple[float, ...]:
        def changed(program: Program) -> Program:
            smaller = program.size_bytes.copy()
            sent = program.argument[(program.code == SEND) & _is_at(setting, program, place)]
            smaller[sent] = np.round(smaller[sent] / factor).astype(np.int64)
            return replace(program, size_bytes=smaller)

        return (setting.saved_s(changed),)

    program = setting.program
    sends = program.code == SEND
    size = np.where(sends, program.size_bytes[np.where(sends, program.argument, 0)] if program.nmessages else 0, 0)
    for place in _by_place(setting, sends, size):
        yield place, partial(saves, place)


def _computations(setting: Setting, factor: float) -> _Questions:
    def saves(place: str) -> tuple[float, ...]:
        def changed(program: Program) -> Program:
            fewer = program.value.copy()
            fewer[(program.code == COMPUTE) & _is_at(setting, program, place)] /= factor
            return replace(program, value=fewer)

        return (setting.saved_s(changed),)

    program = setting.program
    for place in _by_place(setting, program.code == COMPUTE, program.value):
        yield place, partial(saves, place)
