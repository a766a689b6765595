"""Choice of the models that drive a search where the user names none: npt for what it can see, else the graph.

The models of npt are made from runs on each cluster alone, and take the network between clusters to be like the one
within (docs/planning/allocation.md).
"""

from dataclasses import dataclass
from itertools import combinations

from platforms.model.platform import Cluster, Platform, Route
from platforms.read.routes import routes_between
from platforms.terminal.quantities import significant
from predictor.nodes.graph_groups import PREDICTOR
from predictor.nodes.options import SearchOptions
from predictor.nodes.study import Study
from predictor.npt.tables import names_with_equations, turns

NPT, MESSAGES = "npt", "npt:messages"
MODEL_OPTIONS = (
    *("construction", "fit", "weights", "drop", "glitches", "outliers", "bootstrap", "noise", "seed"),
    *("measurements", "unpredictable", "terms"),
)
_MOST_CORES = 2  # of a node: npt measures every number of nodes with every number of processes
_ALIKE = 0.01  # relative difference of bandwidths that count as equal
_FARTHER = 2.0  # ratio of latencies from which on a cluster is far away
_BIT = 8


@dataclass(frozen=True)
class Chosen:
    """The models that drive a search, and why."""

    name: str
    why: str  # a sentence; empty: the user has named them


def chosen_models(request: SearchOptions, study: Study) -> Chosen:
    """Return the models that --predictor names, else those that can see what matters on the platform."""
    if request.predictor is not None:
        return Chosen(request.predictor, "")
    if any(getattr(request, name) not in (None, ()) for name in MODEL_OPTIONS) or request.search != "exhaustive":
        return Chosen(NPT, "npt was asked because options about its models are given")
    unseen = _unseen(study, 1 if request.size is None else request.size)
    if unseen is not None:
        return Chosen(PREDICTOR, f"{PREDICTOR} was asked because {unseen}")
    like = "the network between the clusters is like the one inside them"
    if study.app in names_with_equations() and study.equations.beside_exchanges:
        why = f"{like}, and {study.app} exchanges everything, for which npt has no classes of message sizes"
        return Chosen(MESSAGES, f"{MESSAGES} was asked because {why}")
    return Chosen(NPT, f"npt was asked because {like}")


def _unseen(study: Study, size: int) -> str | None:
    """Return what the models of npt cannot see; None: nothing."""
    if study.fixed is not None:
        return "it takes any program from a recording, and npt needs runs at several sizes"
    cores = max(cluster.cores for cluster in study.platform.clusters)
    if cores > _MOST_CORES:
        return f"nodes have up to {cores} cores, and npt would measure every number of processes on them"
    if (said := _in_turns(study)) is not None or (said := _unmeasurable(study, size)) is not None:
        return said
    split = split_network(study.platform)
    return None if split is None else f"{split}, which npt, made from runs on each cluster alone, cannot see"


def _in_turns(study: Study) -> str | None:
    """Return what ranks do one after another on nodes of unlike speed; None: nothing, or all speeds are alike."""
    said, speeds_flops = turns(study.app), [cluster.speed_flops for cluster in study.platform.clusters]
    if not said or min(speeds_flops) > (1 - _ALIKE) * max(speeds_flops):
        return None
    return f"{said}, and npt would take them all at the speed of the slowest node"


def _unmeasurable(study: Study, size: int) -> str | None:
    """Return a number of processes of a node that no run on its cluster alone can have; None: there is none."""
    problem = study.problem(size)
    for cluster, pes, most in zip(study.platform.clusters, study.limits.pes, study.limits.processes, strict=True):
        for processes in range(1, most + 1):
            if pes and not any(problem.allows(number * processes) for number in range(1, pes + 1)):
                return (
                    f"{study.app} runs on cluster {cluster.name} alone with no number of nodes that have {processes} "
                    "processes each, which npt would measure"
                )
    return None


def split_network(platform: Platform) -> str | None:
    """Return how the network between two clusters differs from the one inside them; None: it does not."""
    pairs = [
        pair
        for c, d in combinations(platform.clusters, 2)
        for pair in ((c.hosts[0], d.hosts[0]), (c.hosts[-1], d.hosts[-1]), *_inside(c), *_inside(d))
    ]
    asked = list(dict.fromkeys((a.name, b.name) for a, b in pairs))
    routes = dict(zip(asked, routes_between(platform, asked), strict=True))
    for c, d in combinations(platform.clusters, 2):
        said = _difference(c, d, routes)
        if said is not None:
            return said
    return None


def _inside(cluster: Cluster) -> list[tuple]:  # type: ignore[type-arg]
    return [(cluster.hosts[0], cluster.hosts[1])] if len(cluster.hosts) > 1 else []


def _difference(c: Cluster, d: Cluster, routes: dict[tuple[str, str], Route]) -> str | None:
    between = routes[c.hosts[0].name, d.hosts[0].name]
    others = routes[c.hosts[-1].name, d.hosts[-1].name]
    inside = [routes[a.name, b.name] for a, b in (*_inside(c), *_inside(d))]
    names = f"clusters {c.name} and {d.name}"
    if not inside or not between.links:
        return None
    slowest_Bps = min(route.bandwidth_Bps for route in inside)
    if between.bandwidth_Bps < (1 - _ALIKE) * slowest_Bps:
        return f"{names} are joined by {_gbit(between.bandwidth_Bps)}, their nodes by {_gbit(slowest_Bps)}"
    nodes = min(len(c.hosts), len(d.hosts))
    known = {name for route in inside for name in route.link_names}
    for link in between.links:
        shared = link.name in others.link_names and link.name not in known and nodes > 1
        if shared and link.bandwidth_Bps < (1 - _ALIKE) * nodes * slowest_Bps:
            return (
                f"between {names} {nodes} nodes with {_gbit(slowest_Bps)} each share a link of "
                f"{_gbit(link.bandwidth_Bps)}"
            )
    farther = between.latency_s / max(max(route.latency_s for route in inside), 1e-12)
    if farther > _FARTHER:
        return f"the latency between {names} is {significant(farther)} times the one inside them"
    return None


def _gbit(rate_Bps: float) -> str:
    return f"{significant(_BIT * rate_Bps / 1e9)} Gbit/s"
