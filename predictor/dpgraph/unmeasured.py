"""What measuring a pair of nodes for each pair of clusters does not tell of a platform (predictor ``dpgraph``).

Of the nodes of a cluster, and of both directions, one measurement stands for all; a torus, an unequal tree or a route
that comes back another way is not like that.  Between clusters, what shares a link is looked for among the messages of
one pair of clusters, or of one cluster with all others.  The platform file is looked at for these cautions alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from platforms.platform import Platform, Route
from platforms.routes import routes_between
from predictor.dpgraph.survey import layout

_ALIKE = 0.02  # relative: latencies and bandwidths that differ by less are the same

Pair = tuple[str, str]


def unmeasured(platform: Platform, placement: Sequence[str], partners: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    """Cautions for a program whose ranks ``partners`` send to each other; none on generated platforms, whose nodes are
    equal by their making.
    """
    if platform.network is not None:
        return ()
    classes = layout(platform, placement).classes
    ends = {(placement[a], placement[b]) for a, b in partners}
    pairs = sorted({pair for a, b in ends if a != b for pair in ((a, b), (b, a))})
    measured = {pair for a, b in classes.values() for pair in ((a, b), (b, a))}
    asked = sorted({*pairs, *measured})
    routes = dict(zip(asked, routes_between(platform, asked), strict=True))
    clusters = {(a, b): (platform.cluster_of(a).name, platform.cluster_of(b).name) for a, b in pairs}
    return (*_unlike_path(routes, clusters, classes), *_unseen_link(routes, clusters))


def _unlike_path(
    routes: Mapping[Pair, Route], clusters: Mapping[Pair, Pair], classes: Mapping[Pair, Pair]
) -> Iterator[str]:
    """Of the path that differs most from the one that was measured in its place."""
    worst, found = _ALIKE, None
    for pair, (c, d) in clusters.items():
        there = classes.get((c, d)) or classes[d, c]
        for what, ratio in _ratios(routes[pair], routes[there], routes[there[::-1]]).items():
            difference = max(ratio, 1 / ratio) - 1 if ratio > 0 else float("inf")
            if difference > worst:
                worst, found = difference, (pair, there, what, ratio)
    if found is not None:
        (a, b), (e, f), what, ratio = found
        yield f"{a} to {b} has {ratio:.3g} times the {what} of {e} to {f} and back, measured for all such pairs"


def _ratios(route: Route, there: Route, back: Route) -> dict[str, float]:
    """Of the route to what a ping-pong on the two others shows: the mean of the latencies, the rate of the slower."""
    found = {}
    latency_s = (there.latency_s + back.latency_s) / 2
    if latency_s != route.latency_s:
        found["latency"] = route.latency_s / latency_s if latency_s > 0 else float("inf")
    bandwidth_Bps = min(there.bandwidth_Bps, back.bandwidth_Bps)
    if bandwidth_Bps != route.bandwidth_Bps:
        found["bandwidth"] = route.bandwidth_Bps / bandwidth_Bps
    return found


def _unseen_link(routes: Mapping[Pair, Route], clusters: Mapping[Pair, Pair]) -> Iterator[str]:
    """Of the link that most pairs of clusters share without having a cluster in common."""
    users: dict[str, set[frozenset[str]]] = {}
    for pair, names in clusters.items():
        for link in routes[pair].links:
            if link.sharing != "fatpipe":
                users.setdefault(link.name, set()).add(frozenset(names))
    unseen = {name: len(used) for name, used in users.items() if len(used) > 1 and not frozenset.intersection(*used)}
    if unseen:
        name = max(unseen, key=unseen.__getitem__)
        yield f"link {name!r} carries messages of {unseen[name]} pairs of clusters, which were not measured together"
