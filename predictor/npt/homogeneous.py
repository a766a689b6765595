"""Runs that NP-T predictors measure: smaller problems of the program on a single cluster of the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apps.spec.target import Target
from platforms.errors import UserError
from platforms.model.placement import configured
from platforms.model.platform import Platform
from predictor.allocation.configuration import Configuration
from predictor.base import EvidenceRequest, OutOfRange
from predictor.npt.fit import fit
from predictor.npt.smaller import Sized, program_equations, size_of, smaller
from predictor.npt.terms import Term, columns

# Limit of the numbers of PEs that are measured on a cluster, spread from 2 to all of its nodes.  NP-T equations have up
# to three functions of P, and every run is charged for.
MOST_NUMBERS_OF_PES = 6


@dataclass(frozen=True)
class HomogeneousRun:
    """A run on a single cluster."""

    N: int
    pes: int
    processes: int
    request: EvidenceRequest

    @property
    def configuration(self) -> Configuration:
        """The configuration, of this cluster only."""
        return Configuration(((self.pes, self.processes),))


def shares(target: Target) -> dict[int, tuple[int, int]]:
    """Return P_i and M_i of each cluster that the target uses, by the cluster's number from 0.

    Raises:
        OutOfRange: The nodes of a cluster have different numbers of ranks, which no configuration describes.
    """
    ranks: dict[str, int] = {}
    for host in target.placement:
        ranks[host] = ranks.get(host, 0) + 1
    by_cluster = {}
    for i, cluster in enumerate(target.platform.clusters):
        counts = [ranks[host.name] for host in cluster.hosts if host.name in ranks]
        if len(set(counts)) > 1:
            raise OutOfRange(
                str(target),
                f"{min(counts)} ranks on some nodes of {cluster.name} and {max(counts)} on others, which is no "
                "configuration (P_1, M_1, P_2, M_2, ...)",
                "Give all nodes of a cluster equally many ranks, or use another predictor",
            )
        if counts:
            by_cluster[i] = len(counts), counts[0]
    return by_cluster


def one_pe(target: Target, cluster: int, processes: int) -> list[HomogeneousRun]:
    """Return runs for an N-T model, with all ranks on one node of the cluster.

    Raises:
        OutOfRange: The program has too few smaller sizes for its equation.
    """
    where, form = _where(target, cluster, processes), program_equations(target.problem).nt
    runs = _runs(target, cluster, processes, [1])
    _check_sizes(target, where, runs)
    _check(columns(form, _N(runs), np.ones(len(runs))), form, where)
    return runs


def several_pes(target: Target, cluster: int, processes: int, *, form: str) -> list[HomogeneousRun]:
    """Return runs for a "npt" or "npt:pt..." model, on two and more nodes of a cluster with M_i ranks on each.

    Raises:
        OutOfRange: The cluster has too few nodes, or the program too few smaller sizes, for its equation.
    """
    where, equations = _where(target, cluster, processes), program_equations(target.problem)
    most = len(target.platform.clusters[cluster].hosts)
    if most < 2:
        raise OutOfRange(where, "one node, and so nothing to measure P > M_i on", "Use another predictor")
    # A P-T model needs an N-T model for every P.
    least_sizes = len(equations.nt) if form.startswith("npt:pt") else 1
    sized = smaller(target.problem)
    possible = [pes for pes in range(2, most + 1) if sum(size.fits(pes * processes) for size in sized) >= least_sizes]
    runs = _runs(target, cluster, processes, spread(possible))
    _check_sizes(target, where, runs)
    N, P = _N(runs), np.array([run.pes * run.processes for run in runs])
    if form.startswith("npt:pt"):
        for ranks in np.unique(P):
            _check(columns(equations.nt, N[ranks == P], np.ones(np.count_nonzero(ranks == P))), equations.nt, where)
        _check(columns(equations.pt, N, P, N), equations.pt, where)  # the reference time grows with N
    else:
        _check(columns(equations.npt, N, P), equations.npt, where)
    return runs


def spread(values: Sequence[int], most: int = MOST_NUMBERS_OF_PES) -> list[int]:
    """Return at most ``most`` of the values, with the first and the last, and closer together at the beginning."""
    if len(values) <= most:
        return list(values)
    places = np.unique(np.round(np.geomspace(1, len(values), most)).astype(int)) - 1
    # Rounding merges the first places; the places that this frees go to the next values from the front.
    free = [place for place in range(len(values)) if place not in places]
    return [values[place] for place in sorted([*places, *free[: most - len(places)]])]


def _runs(target: Target, cluster: int, processes: int, pes: Sequence[int]) -> list[HomogeneousRun]:
    return [
        HomogeneousRun(
            size.N, number, processes, EvidenceRequest("run", _on(size, target.platform, cluster, number, processes))
        )
        for size in smaller(target.problem)
        for number in pes
        if size.fits(number * processes)
    ]


def _N(runs: Sequence[HomogeneousRun]) -> np.ndarray:
    return np.array([run.N for run in runs], float)


def _check_sizes(target: Target, where: str, runs: Sequence[HomogeneousRun]) -> None:
    if not runs:
        sizes = ", ".join(str(size.N) for size in smaller(target.problem)) or "none"
        problem = f"too few sizes below N = {size_of(target.problem)} to measure: {sizes}"
        raise OutOfRange(where, problem, "Predict a larger problem, or use another predictor")


def _check(design: np.ndarray, form: tuple[Term, ...], where: str) -> None:
    """Raise OutOfRange where measurements cannot separate the terms, which depends on N and P only."""
    try:
        fit(design, np.ones(len(design)), [term.name for term in form], where=where)
    except UserError as err:
        remedy = "That takes more smaller sizes, or more nodes in the cluster: use another predictor"
        raise OutOfRange(err.where, err.problem, remedy) from None


def _on(size: Sized, platform: Platform, cluster: int, pes: int, processes: int) -> Target:
    configuration = [(pes, processes) if i == cluster else (0, 0) for i in range(len(platform.clusters))]
    return Target(size.problem, platform, configured(platform, configuration))


def _where(target: Target, cluster: int, processes: int) -> str:
    name = target.platform.clusters[cluster].name
    ranks = "a rank" if processes == 1 else f"{processes} ranks"
    return f"{target.problem} on {target.platform.name}, models of cluster {name} with {ranks} on a node"
