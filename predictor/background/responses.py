"""The time of a run as a function of the remaining capacity of its nodes and wide-area links, from a fitted model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from apps.spec.target import Target
from platforms.background.draws import Draw
from platforms.background.site import Loadable, loaded_grid
from predictor.background.networks import loaded_network, stretches
from predictor.base import Model, OutOfRange, Prediction
from predictor.dpgraph.predictors import GraphModel

TimeOf = Callable[[tuple[float, ...]], float]  # by rank the share of its host's speed; the time of the whole run, s


class Response(Protocol):
    """A model's answer to load."""

    @property
    def waits(self) -> int:
        """Rough number of times that the nodes wait for one another during a run; 1 means at its end only."""

    def under(self, draw: Draw) -> TimeOf:
        """Return the time of the run as a function of the shares of its nodes, on the links of this draw.

        Raises:
            OutOfRange: The model cannot follow the load.
        """


def response(model: Model, target: Target, grid: Loadable, quiet: Prediction) -> Response:
    """Return how a fitted model answers to load.

    Args:
        model: The model, fitted to evidence on the quiet grid.
        target: The target on the quiet grid.
        grid: The quiet grid.
        quiet: The model's prediction there.

    Raises:
        OutOfRange: The model's prediction has no computation of each node apart from the messages.
    """
    if isinstance(model, GraphModel):
        return GraphResponse(model, target, grid)
    if quiet.loads is None or "comm_s" not in quiet.parts:
        problem = "its predictions do not say how long each node computes, and how long the messages take"
        raise OutOfRange(f"predictor on {target}", problem, "Use hcf, hcf:constant, dpgraph or dpgraph:known")
    return AdditiveResponse(target, grid, quiet)


@dataclass(frozen=True)
class AdditiveResponse:
    """Computation of the slowest node plus messages, as HCF adds them: eq. (6) and (8) of its paper.

    Each node's computation is divided by the share of its speed.  All messages become slower as those between the two
    clusters whose way has changed most.
    """

    target: Target
    grid: Loadable
    quiet: Prediction

    @property
    def waits(self) -> int:
        """One in each iteration, because the model knows no messages."""
        return self.target.iterations if self.target.problem.iterative else 1

    def under(self, draw: Draw) -> TimeOf:
        """Return the time as a function of the shares."""
        loads, platform = self.quiet.loads or {}, self.target.platform
        ranks = Counter(self.target.placement)
        alone_s = [loads[host].core_s / min(ranks[host], platform.host(host).cores) for host in self.target.placement]
        used = {platform.cluster_of(host).name for host in ranks}
        changed = stretches(self.grid, loaded_grid(self.grid, draw))
        most = max((by.most for ends, by in changed.items() if used.issuperset(ends)), default=1.0)
        comm_s = self.quiet.parts["comm_s"] * most

        def time_of(shares: tuple[float, ...]) -> float:
            return comm_s + max(time_s / share for time_s, share in zip(alone_s, shares, strict=True))

        return time_of


@dataclass(frozen=True)
class GraphResponse:
    """The recorded program, evaluated again with other speeds on a loaded network."""

    model: GraphModel
    target: Target
    grid: Loadable

    @property
    def waits(self) -> int:
        """Number of messages of a process; 1 without iterations, because all messages may then be at the end."""
        if not self.target.problem.iterative:
            return 1
        sections = self.model.sections(self.target)
        recorded = max(1, sections.iterations)
        return sections.program().nmessages * self.target.iterations // (recorded * self.target.nranks)

    def under(self, draw: Draw) -> TimeOf:
        """Return the time as a function of the shares."""
        # Imported here because it is slow to import.
        from predictor.dpgraph.evaluate import estimate

        target, loaded = self.target, loaded_grid(self.grid, draw)
        sections = self.model.sections(target)
        if self.model.measures(target):
            network = loaded_network(self.model.network(target), self.grid, loaded)
        else:
            network = self.model.network(target, loaded.routes)
        hosts = [target.platform.host(host) for host in target.placement]
        cores = [host.cores for host in hosts]

        def time_of(shares: tuple[float, ...]) -> float:
            s_per_flop = [1 / (host.speed_flops * share) for host, share in zip(hosts, shares, strict=True)]
            return estimate(sections, target.iterations, network, target.placement, s_per_flop, cores).time_s

        return time_of


def shares_between(draw: Draw, placement: Sequence[str], from_s: float, until_s: float) -> tuple[float, ...]:
    """Return the mean share of each rank's host between two moments."""
    means = {
        host: draw.nodes[host].mean(from_s, until_s) if host in draw.nodes else 1.0 for host in dict.fromkeys(placement)
    }
    return tuple(means[host] for host in placement)
