"""The predictor ``simulate``: the time of a run on a real machine, by simulating the run on the machine's platform.

Its platform should be a calibrated one (docs/platforms/calibration.md): the factors of SMPI decide its error.  Speeds
of nodes come from the platform, the share of them that the program sustains from a run on one node of each cluster.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.spec.target import Target
from platforms.model.placement import probe_placement
from predictor.base import Evidence, EvidenceRequest, OutOfRange, Prediction

NAME = "simulate"
_ABOVE_PEAK = 0.02  # relative: a probe that computes so much faster than the platform says may be chance


@dataclass(frozen=True)
class SimulationModel:
    """The simulations of all targets."""

    simulated: dict[Target, Evidence]
    probes: tuple[Evidence, ...]

    def predict(self, target: Target) -> Prediction:
        """Return the simulated time.

        Raises:
            OutOfRange: The program is the user's own, or computes faster on the machine than its platform allows.
        """
        _check(target)
        if target not in self.simulated:
            _efficiency(_probe_of(target, self.probes))  # raises the reason
        evidence = self.simulated[target]
        record, probe = evidence.record, _probe_of(target, self.probes)
        busiest = max(range(record.ranks), key=lambda rank: record.compute_s[rank])
        return Prediction(
            time_s=record.time_s,
            parts={"compute_s": record.compute_s[busiest], "comm_s": record.time_s - record.compute_s[busiest]},
            flags=_flags(target),
            evidence=(probe.id, evidence.id),
            cost=probe.cost + evidence.cost,
        )


@dataclass(frozen=True)
class Simulate:
    """The predictor: a probe per problem and platform, and a simulation of each target."""

    name: str = NAME

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return the requests for the probes."""
        known = [target for target in targets if target.problem.program is None]
        probes = dict.fromkeys(Target(t.problem, t.platform, probe_placement(t.platform)) for t in known)
        return [EvidenceRequest("run", probe) for probe in probes]

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        """Return the requests for the simulations, at the share of the speed that the probes show."""
        if any(piece.request.kind == "simulation" for piece in evidence):
            return []
        asked = []
        for target in targets:
            if target.problem.program is None:
                try:
                    share = _efficiency(_probe_of(target, evidence))
                except OutOfRange:  # predict raises it again
                    continue
                asked.append(EvidenceRequest("simulation", target, efficiency=share))
        return asked

    def fit(self, evidence: Sequence[Evidence]) -> SimulationModel:
        """Return the model from all evidence."""
        simulated = {piece.request.target: piece for piece in evidence if piece.request.kind == "simulation"}
        return SimulationModel(simulated, tuple(piece for piece in evidence if piece.request.kind == "run"))


def _check(target: Target) -> None:
    if target.problem.program is not None:
        raise OutOfRange(
            f"{NAME}, {target.problem}",
            "what a program of one's own computes between its calls is not known to a simulation",
            "Use a predictor that records it on the machine, such as dpgraph",
        )


def _probe_of(target: Target, evidence: Sequence[Evidence]) -> Evidence:
    for piece in evidence:
        asked = piece.request.target
        if piece.request.kind == "run" and asked.problem == target.problem and asked.platform is target.platform:
            return piece
    raise KeyError(str(target))


def _efficiency(probe: Evidence) -> float:
    """Return the share of the nodes' nominal speed that the program sustains, over all ranks of the probe.

    Raises:
        OutOfRange: It computes faster than the platform's nodes.
    """
    target, record = probe.request.target, probe.record
    nominal_s = sum(
        flops / target.platform.host(host).speed_flops
        for flops, host in zip(record.rank_flops, target.placement, strict=True)
    )
    took_s = sum(record.compute_s)
    share = nominal_s / took_s if took_s > 0 else 1.0
    if share > 1 + _ABOVE_PEAK:
        raise OutOfRange(
            f"{NAME}, {target.problem} on {target.platform.name}",
            f"the probe computes {share:.3g} times as fast as its nodes' nominal speed",
            "Raise gflops in the machine's file, and in its platform",
        )
    return min(share, 1.0)


def _flags(target: Target) -> tuple[str, ...]:
    if target.platform.calibrated:
        return ()
    return ("the platform is not calibrated: SMPI's factors are those of one old cluster",)


SIMULATE = Simulate()
