"""Cautions about properties of a platform that the measurements of ``dpgraph`` do not show.

One measurement stands for all nodes of a cluster and for both directions; in a torus, in an unequal tree, or where the
way back differs, paths are not alike.  Links shared between clusters are found only among the messages of one pair of
clusters, or of one cluster with all others.  The platform file is read for these cautions alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from platforms.model.platform import Platform, Route
from platforms.read.routes import routes_between
from predictor.network.layout import layout

_ALIKE = 0.02  # relative: latencies and bandwidths that differ by less are the same

Pair = tuple[str, str]


def unmeasured(
    platform: Platform,
    placement: Sequence[str],
    partners: Iterable[tuple[int, int]],
    measured_as: Mapping[Pair, Pair] | None = None,
) -> tuple[str, ...]:
    """Return the cautions for a program; none on generated platforms, whose nodes are equal by construction.

    Args:
        platform: The platform.
        placement: The host of each rank.
        partners: Pairs of ranks that send messages to each other.
        measured_as: The pair of hosts that was measured in the place of another one.  Others, or all if None: the first
            hosts of their clusters.
    """
    if platform.network is not None:
        return ()
    classes = layout(platform, placement).classes
    ends = {(placement[a], placement[b]) for a, b in partners}
    pairs = sorted({pair for a, b in ends if a != b for pair in ((a, b), (b, a))})
    clusters = {(a, b): (platform.cluster_of(a).name, platform.cluster_of(b).name) for a, b in pairs}
    stands = {pair: classes.get((c, d)) or classes[d, c] for pair, (c, d) in clusters.items()} | {
        pair: there for pair, there in (measured_as or {}).items() if pair in clusters
    }
    asked = sorted({*pairs, *(pair for a, b in stands.values() for pair in ((a, b), (b, a)))})
    routes = dict(zip(asked, routes_between(platform, asked), strict=True))
    return (*_unlike_path(routes, stands), *_unseen_link(routes, clusters))


def _unlike_path(routes: Mapping[Pair, Route], stands: Mapping[Pair, Pair]) -> Iterator[str]:
    """Yield a caution about the path that differs most from the one that was measured in its place."""
    worst, unlike = _ALIKE, None
    for pair, there in stands.items():
        for what, ratio in _ratios(routes[pair], routes[there], routes[there[::-1]]).items():
            difference = max(ratio, 1 / ratio) - 1 if ratio > 0 else float("inf")
            if difference > worst:
                worst, unlike = difference, (pair, there, what, ratio)
    if unlike is not None:
        (a, b), (e, f), what, ratio = unlike
        yield f"{a} to {b} has {ratio:.3g} times the {what} of {e} to {f} and back, measured for all such pairs"


def _ratios(route: Route, there: Route, back: Route) -> dict[str, float]:
    """Return latency and bandwidth of a route relative to those that a ping-pong on the two others shows.

    The ping-pong shows the mean of the latencies and the smaller bandwidth.  Equal values are left out.
    """
    ratios = {}
    latency_s = (there.latency_s + back.latency_s) / 2
    if latency_s != route.latency_s:
        ratios["latency"] = route.latency_s / latency_s if latency_s > 0 else float("inf")
    bandwidth_Bps = min(there.bandwidth_Bps, back.bandwidth_Bps)
    if bandwidth_Bps != route.bandwidth_Bps:
        ratios["bandwidth"] = route.bandwidth_Bps / bandwidth_Bps
    return ratios


def _unseen_link(routes: Mapping[Pair, Route], clusters: Mapping[Pair, Pair]) -> Iterator[str]:
    """Yield a caution about the link that most pairs of clusters share without having a cluster in common."""
    users: dict[str, set[frozenset[str]]] = {}
    for pair, names in clusters.items():
        for link in routes[pair].links:
            if link.sharing != "fatpipe":
                users.setdefault(link.name, set()).add(frozenset(names))
    unseen = {name: len(used) for name, used in users.items() if len(used) > 1 and not frozenset.intersection(*used)}
    if unseen:
        name = max(unseen, key=unseen.__getitem__)
        yield f"link {name!r} carries messages of {unseen[name]} pairs of clusters, which were not measured together"
