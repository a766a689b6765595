"""Questions "what if": the time that a program would take if one link, node, cluster, call or computation were faster.

Each is made faster by a factor, one at a time, and the program evaluated again (sensitivity by perturbation).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from apps.spec.target import Target
from predictor.dpgraph.evaluate import execute
from predictor.dpgraph.instructions import COMPUTE, SEND
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import Program
from predictor.graph.faster import Network

MOST_OF_A_KIND = 100  # links, nodes, calls and computations that are tried: those with the most bytes or flops
_ENVELOPE_BYTES = 16  # of every message, in SimGrid


@dataclass(frozen=True)
class WhatIf:
    """One part of the platform or the program, made faster."""

    kind: str  # "link", "node", "cluster", "call" or "computation"
    name: str
    time_s: float  # of the program
    saved_s: float
    saved_share: float  # of the program's time as it is
    otherwise_saved_s: float | None = None  # of a link of unknown latency: with the least one that it may have


@dataclass(frozen=True)
class Answers:
    """The answers to all questions, the largest saving first, and how many parts of a kind were not tried."""

    factor: float
    time_s: float  # of the program as it is
    answers: tuple[WhatIf, ...]
    untried: Mapping[str, int]


@dataclass(frozen=True)
class Setting:
    """A program on a target."""

    program: Program
    target: Target
    network: Network
    places: Sequence[str | None]  # of the recording's paths of calls

    def time_s(
        self,
        *,
        program: Program | None = None,
        network: NetworkModel | None = None,
        s_per_flop: np.ndarray | None = None,
    ) -> float:
        """Return the time of the program, s, with parts of it replaced."""
        run = execute(
            self.program if program is None else program,
            self.network.model if network is None else network,
            self.target.placement,
            self.s_per_flop if s_per_flop is None else s_per_flop,
            [self.target.platform.host(host).cores for host in self.target.placement],
        )
        return float(run.end_s.max(initial=0.0))

    @property
    def s_per_flop(self) -> np.ndarray:
        """Seconds per flop of each process's node."""
        return np.array([1 / self.target.platform.host(host).speed_flops for host in self.target.placement])


def what_if(setting: Setting, factor: float, *, most: int = MOST_OF_A_KIND) -> Answers:
    """Return how much time each link, node, cluster, call and computation saves that becomes faster.

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
    network = setting.network.model
    now_s = setting.time_s(network=network)
    asked: dict[str, list[tuple[str, _Answer]]] = {
        "link": list(_links(setting, factor)),
        "node": list(_nodes(setting, network, factor, {host: [host] for host in _busiest(setting)})),
        "cluster": list(_nodes(setting, network, factor, _clusters(setting))),
        "call": list(_calls(setting, network, factor)),
        "computation": list(_computations(setting, network, factor)),
    }
    answers = []
    for kind, questions in asked.items():
        for name, answer in questions[:most]:
            time_s, *other = answer()
            otherwise_s = now_s - other[0] if other else None
            share = (now_s - time_s) / now_s if now_s else 0.0
            answers.append(WhatIf(kind, name, time_s, now_s - time_s, share, otherwise_s))
    answers.sort(key=lambda answer: -answer.saved_s)
    untried = {kind: len(questions) - most for kind, questions in asked.items() if len(questions) > most}
    return Answers(factor, now_s, tuple(answers), untried)


_Answer = Callable[[], tuple[float, ...]]  # the time of the program, s; of a link also that with its least latency
_Questions = Iterator[tuple[str, _Answer]]


def _links(setting: Setting, factor: float) -> _Questions:
    for name in setting.network.parts(_sent(setting)):
        yield (
            name,
            lambda name=name: tuple(  # type: ignore[misc]
                setting.time_s(network=network) for network in setting.network.faster(name, factor)
            ),
        )


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


def _nodes(setting: Setting, network: NetworkModel, factor: float, groups: Mapping[str, Sequence[str]]) -> _Questions:
    for name, hosts in groups.items():
        faster = np.isin(setting.target.placement, hosts)
        yield (
            name,
            lambda faster=faster: (  # type: ignore[misc]
                setting.time_s(
                    network=network, s_per_flop=np.where(faster, setting.s_per_flop / factor, setting.s_per_flop)
                ),
            ),
        )


def _by_place(setting: Setting, which: np.ndarray, amount: np.ndarray) -> dict[str, np.ndarray]:
    """Return the instructions of each place, that with the largest amount first."""
    site = np.zeros(len(which), np.int64) if setting.program.site is None else setting.program.site
    by_place: dict[str, list[int]] = {}
    for at in np.flatnonzero(which).tolist():
        place = setting.places[site[at] - 1] if 0 < site[at] <= len(setting.places) else None
        by_place.setdefault(place or "place not known", []).append(at)
    ranked = {place: np.array(rows) for place, rows in by_place.items()}
    return dict(sorted(ranked.items(), key=lambda item: -float(amount[item[1]].sum())))


def _calls(setting: Setting, network: NetworkModel, factor: float) -> _Questions:
    program = setting.program
    sends = program.code == SEND
    size = np.where(sends, program.size_bytes[np.where(sends, program.argument, 0)] if program.nmessages else 0, 0)
    for place, rows in _by_place(setting, sends, size).items():
        smaller = program.size_bytes.copy()
        smaller[program.argument[rows]] = np.round(smaller[program.argument[rows]] / factor).astype(np.int64)
        yield (
            place,
            lambda smaller=smaller: (  # type: ignore[misc]
                setting.time_s(network=network, program=replace(program, size_bytes=smaller)),
            ),
        )


def _computations(setting: Setting, network: NetworkModel, factor: float) -> _Questions:
    program = setting.program
    for place, rows in _by_place(setting, program.code == COMPUTE, program.value).items():
        fewer = program.value.copy()
        fewer[rows] /= factor
        yield (
            place,
            lambda fewer=fewer: (setting.time_s(network=network, program=replace(program, value=fewer)),),  # type: ignore[misc]
        )
