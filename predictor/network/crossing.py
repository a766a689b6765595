"""The experiments that find links shared inside a cluster whose pairs of hosts are not all equally far apart."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from apps.probes.network.measure import Exchange
from platforms.addons import is_there, provided
from predictor.network.distances import Distances
from predictor.network.shared_links import Flow, SharingExperiment, SharingTimes, Structure, packed

# Add-ons: functions that return the structure that distances show, or None; the first that knows one is taken.
_KINDS = ("predictor.network.tree:tree_of", "predictor.network.mesh:mesh_of")
_CHECKS = 3  # experiments in which all hosts send at the same moment, to check what was found
_SEED = 1

Experiment = tuple[Exchange, ...]


def structure_of(distances: Distances) -> Structure | None:
    """Return the kind of structure that the distances in a cluster show; None if none is known."""
    if not distances.few:
        return None
    shown = (provided(kind)(distances) for kind in _KINDS if is_there(kind))
    return next((structure for structure in shown if structure is not None), None)


@dataclass(frozen=True)
class Check:
    """Messages of all hosts of a cluster at the same moment, and their times."""

    flows: tuple[Flow, ...]
    times_s: tuple[float, ...]


class Crossing:
    """Rounds of experiments, until the shared links inside the clusters are known.

    Attributes:
        structures: By cluster: its links, where its pairs differ and the structure is known.
        checks: By cluster: the experiments against which the links found are to be checked.
        size_bytes: By cluster: the size of the messages, whose time is long against latencies.
    """

    def __init__(
        self,
        distances: Mapping[str, Distances],
        size_bytes: Callable[[str, float], int],
        alone_s: Callable[[Flow, int], float],
    ):
        made = {c: structure_of(of_cluster) for c, of_cluster in distances.items()}
        self.structures: dict[str, Structure] = {c: structure for c, structure in made.items() if structure is not None}
        self.size_bytes = {c: size_bytes(c, structure.latencies) for c, structure in self.structures.items()}
        self.checks: dict[str, list[Check]] = {}
        self._found, self._alone_s = distances, alone_s
        self._open: dict[str, list[list[SharingExperiment]]] = {}
        self._next_round()

    def experiments(self) -> list[Experiment]:
        """Return the experiments of the next round; none if all is known."""
        if self._open:
            return [
                self.exchanges(c, [flow for question in batch for flow in question.flows])
                for c, batches in self._open.items()
                for batch in batches
            ]
        return [self.exchanges(c, flows) for c, flows in self._to_check()]

    def take(self, times_s: Sequence[Sequence[float]]) -> None:
        """Take the times of a round."""
        times = iter(times_s)
        if not self._open:
            for (c, flows), of_check in zip(self._to_check(), times, strict=True):
                self.checks.setdefault(c, []).append(Check(tuple(flows), tuple(of_check)))
            return
        for c, batches in self._open.items():
            answers = {}
            for batch in batches:
                of_batch = iter(next(times))
                for question in batch:
                    answers[question] = self._answer(c, question, tuple(next(of_batch) for _ in question.flows))
            self.structures[c].take([answers[question] for question in self._asked[c]])
        self._next_round()

    def _answer(self, c: str, question: SharingExperiment, times_s: tuple[float, ...]) -> SharingTimes:
        alone = (self._alone_s(flow, self.size_bytes[c]) for flow in question.flows)
        return SharingTimes(
            question, times_s, tuple(time / alone_s for time, alone_s in zip(times_s, alone, strict=True))
        )

    def _next_round(self) -> None:
        asked = {c: structure.questions() for c, structure in self.structures.items()}
        self._asked = {c: questions for c, questions in asked.items() if questions}
        self._open = {c: packed(questions) for c, questions in self._asked.items()}

    def exchanges(self, c: str, flows: Sequence[Flow]) -> Experiment:
        """Return the messages of an experiment inside a cluster."""
        return tuple(Exchange(a, b, self.size_bytes[c], 0) for a, b in flows)

    def _to_check(self) -> list[tuple[str, list[Flow]]]:
        """Return the messages that remain to be sent for checks: from each host to another one, by chance."""
        return [
            (c, flows) for c in self.structures if c not in self.checks for flows in _permutations(self._found[c].hosts)
        ]


def _permutations(hosts: Sequence[str]) -> list[list[Flow]]:
    """Return messages from each host to one other host, to two and so on, never both ways between two hosts."""
    chance = random.Random(_SEED)
    rounds = []
    for several in range(1, _CHECKS + 1):
        flows: dict[frozenset[str], Flow] = {}
        for _ in range(several):
            order = list(hosts)
            chance.shuffle(order)
            for flow in zip(order, order[1:] + order[:1], strict=True):
                flows.setdefault(frozenset(flow), flow)
        rounds.append(list(flows.values()))
    return rounds
