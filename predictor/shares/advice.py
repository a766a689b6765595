"""Advise shares: every node gets data in proportion to the speed that HCF's probe shows for its cluster.

HCF's factor, eq. (4) of its paper, is the speed of a cluster's node over that of the slowest one.  Shares in proportion
to it make eq. (5) equal on all nodes, so that none waits for another's computation.  Where messages take long, larger
blocks of fast nodes also send more, and shares between these and equal ones can be better: those in proportion to a
power of the speed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from apps.spec.target import Target
from apps.traffic import work_shares
from platforms.model.placement import core_parts
from predictor.answers.answers import Answer, predict
from predictor.base import EvidenceRequest, Gatherer, OutOfRange, Predictor
from predictor.hcf import HCF_CONSTANT, Probe, read_probe

if TYPE_CHECKING:  # slow to import, and needed for types only
    import numpy as np

_ROUNDING = 1e-12  # relative
BY_SPEED = 1.0
_SOFTER = (0.75, 0.5, 0.25, 0.0)  # exponents of the speed; 0: equal shares
# Softer shares are asked about only where messages take more than this part of the predicted time, because a predictor
# may ask for evidence about each.
_LONG_MESSAGES = 1 / 3


@dataclass(frozen=True)
class Advice:
    """The advised shares of a target, and what a predictor says of them."""

    equal: Answer  # of the target, divided evenly
    advised: Answer
    probe: Probe
    exponent: float = BY_SPEED  # the advised shares are in proportion to this power of the nodes' speed

    @property
    def shares(self) -> dict[str, float]:
        """Part of the work of each cluster, as the cuts of the data leave it."""
        return by_cluster(self.advised.target, work_shares(self.advised.target.problem, self.advised.target.nranks))

    def asked(self) -> dict[str, float]:
        """Return the part of each cluster before the data are cut, for --shares."""
        return by_cluster(self.advised.target, self.advised.target.problem.shares)


def by_cluster(target: Target, of_ranks: Sequence[float] | np.ndarray) -> dict[str, float]:
    """Return the sum over the ranks of each cluster in use."""
    sums: dict[str, float] = {}
    for host, value in zip(target.placement, of_ranks, strict=True):
        name = target.platform.cluster_of(host).name
        sums[name] = sums.get(name, 0.0) + float(value)
    return sums


def idle_s(target: Target, compute_s: Sequence[float]) -> dict[str, float]:
    """Return for each cluster how long its ranks wait, on average, for the one that computes longest, s."""
    ranks = Counter(target.platform.cluster_of(host).name for host in target.placement)
    longest_s = max(compute_s)
    waits_s = {name: longest_s - total / ranks[name] for name, total in by_cluster(target, compute_s).items()}
    return {name: wait_s if wait_s > _ROUNDING * longest_s else 0.0 for name, wait_s in waits_s.items()}


def compute_times(probe: Probe, target: Target) -> list[float]:
    """Return the predicted computation time of each rank, s: eq. (5), with the rank's share of the work."""
    parts = work_shares(target.problem, target.nranks)
    whole_s = probe.NCT  # times the probe's time of a cluster: the time that one of its nodes takes for all the work
    clusters = (target.platform.cluster_of(host).name for host in target.placement)
    cores = core_parts(target.platform, target.placement)
    return [
        float(part) * whole_s * probe.Tcp_s[name] / core
        for part, name, core in zip(parts, clusters, cores, strict=True)
    ]


def advised_target(target: Target, probe: Probe, exponent: float = BY_SPEED) -> Target:
    """Return the target with shares in proportion to a power of the speeds that the probe shows.

    Raises:
        OutOfRange: A rank of the probe computes nothing.
        KernelError: The kernel divides its data evenly only.
    """
    names = [target.platform.cluster_of(host).name for host in target.placement]
    idle = sorted(name for name in set(names) if not probe.Tcp_s[name] > 0)
    if idle:
        raise OutOfRange(
            f"shares, probe of {target.problem} on {target.platform.name}",
            f"its rank on cluster {idle[0]} computes nothing, so that the nodes' speed is unknown",
            "Give a larger problem, or --compute injected",
        )
    cores = core_parts(target.platform, target.placement)
    speeds = [core / probe.Tcp_s[name] for name, core in zip(names, cores, strict=True)]
    return replace(target, problem=target.problem.divided([speed**exponent for speed in speeds]))


def probe_request(target: Target) -> EvidenceRequest:
    """Return the request for the probe: a run on one node of each cluster, divided evenly."""
    return HCF_CONSTANT.requests([target])[0]


def advise(target: Target, model: Predictor, broker: Gatherer) -> Advice:
    """Return the advised shares of a target that is divided evenly: of those asked about, the ones predicted fastest.

    Args:
        target: The target.
        model: Predicts both times.
        broker: Gathers the evidence.

    Raises:
        UserError: As in ``advised_target``, or the evidence cannot be gathered.
    """
    target = replace(target, problem=target.problem.evenly)
    (evidence,) = broker.gather([probe_request(target)])
    probe = read_probe(evidence)
    equal, by_speed = predict(model, [target, advised_target(target, probe)], broker)
    if not _has_long_messages(by_speed):
        return Advice(equal, by_speed, probe)
    softer = predict(model, [advised_target(target, probe, exponent) for exponent in _SOFTER], broker)
    asked = [(BY_SPEED, by_speed), *zip(_SOFTER, softer, strict=True)]
    exponent, advised = min(
        asked, key=lambda candidate: candidate[1].prediction.time_s if candidate[1].prediction else math.inf
    )
    return Advice(equal, advised, probe, exponent)


def _has_long_messages(answer: Answer) -> bool:
    made = answer.prediction
    return made is not None and made.parts.get("comm_s", 0.0) > _LONG_MESSAGES * made.time_s


def lines_of_file(shares: Mapping[str, float]) -> str:
    """Return the text of a file for --shares.

    >>> print(lines_of_file({"left": 0.25, "right": 0.75}), end="")
    cluster,share
    left,0.25
    right,0.75
    """
    return "".join(["cluster,share\n", *(f"{name},{share:.6g}\n" for name, share in shares.items())])
