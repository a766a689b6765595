"""The network as the platform file and SimGrid's documentation describe it (predictor ``dpgraph:known``).

SimGrid's network model SMPI (manual, "Configuring SimGrid"; constants of SimGrid 3.32): a message of n bytes moves
n + 16 bytes.  Its size determines factors by which latency and bandwidth are multiplied.  A flow's rate is at most the
bandwidth of the narrowest link of its route, and at most network/TCP-gamma / (2 latency).  With cross traffic, a flow
uses 5 % of its rate on the way back.  Flows share links in proportion to 1 / (latency + sum of weight-S / bandwidth).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate

import numpy as np

from apps.traffic.collectives import SELECTOR
from platforms.errors import UserError
from platforms.model.platform import Link, Route, RouteTable
from platforms.simgrid.installed import under_smpi_names
from predictor.base import OutOfRange
from predictor.dpgraph.expanding import ranges
from predictor.dpgraph.instructions import Paths, Polling
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.ways import Ways
from predictor.network.value import DirectedPath, Protocol, Timing

DEFAULTS = {
    "smpi/bw-factor": "65472:0.940694;15424:0.697866;9376:0.58729;5776:1.08739;3484:0.77493;1426:0.608902;"
    "732:0.341987;257:0.338112;0:0.812084",
    "smpi/lat-factor": "65472:11.6436;15424:3.48845;9376:2.59299;5776:2.18796;3484:1.88101;1426:1.61075;"
    "732:1.9503;257:1.95341;0:2.01467",
    "network/TCP-gamma": "4194304",
    "network/crosstraffic": "yes",
    "network/weight-S": "8775",
    "smpi/send-is-detached-thresh": "65536",
    "smpi/async-small-thresh": "0",
    "smpi/coll-selector": SELECTOR,
    "smpi/test": "1e-4",
    "smpi/iprobe": "1e-4",
    "smpi/grow-injected-times": "yes",
    "smpi/os": "0:0:0:0:0",
    "smpi/or": "0:0:0:0:0",
    "smpi/ois": "0:0:0:0:0",
}
_BACKWARD = 0.05  # acknowledgements: share of a flow's rate
_YES = {"yes", "on", "true", "1"}
_UNBOUNDED_Bps = 1e30  # finite, because the fluid model divides by it
_NOT_REPRESENTED = ("wifi", "nonlinear")
_PRECISION = {"surf/precision": 1e-9, "precision/timing": 1e-9}  # names in SimGrid 3.32 and 4.1, with the default, s
_ONLY_DEFAULT = ("smpi/coll-selector", "smpi/os", "smpi/or", "smpi/ois")


def known_network(routes: Iterable[Route], options: Mapping[str, str]) -> NetworkModel:
    """Return the network of these routes under SimGrid's options.

    Args:
        routes: The routes; each pair of hosts in both directions.
        options: The options that differ from SimGrid's defaults.

    Raises:
        OutOfRange: The model does not represent an option (CPU costs of messages, other collectives) or the kind of a
            link.
        UserError: The value of an option cannot be read.
    """
    by_pair = {(route.source, route.destination): route for route in routes}
    crossed = [link for route in by_pair.values() for link in route.links]
    names = [link.name for link in crossed]
    links = dict(zip(names, crossed, strict=True))
    number = {name: at for at, name in enumerate(links)}
    table = RouteTable(
        latency_s=[route.latency_s for route in by_pair.values()],
        first=[0, *accumulate(len(route.links) for route in by_pair.values())],
        link=[number[name] for name in names],
        links=tuple(links.values()),
    )
    return known_table(list(by_pair), table, options)


def known_table(pairs: Sequence[tuple[str, str]], routes: RouteTable, options: Mapping[str, str]) -> NetworkModel:
    """Like ``known_network``, from a table of routes; each pair must be present in both directions.

    A message over a route without links, as in Vivaldi zones, arrives as soon as its latency is over.  The penalty of a
    flow is 1 s without latency, because a flow in SimGrid gets its penalty only once its latency has passed.

    Args:
        pairs: The pairs.
        routes: Their routes.
        options: As for ``known_network``, with the same errors.
    """
    chosen, gamma, weight_S, back = _chosen(options)
    latency_s = np.array(routes.latency_s, float)
    first, link = np.array(routes.first), np.array(routes.link, np.int64)
    for number, used in enumerate(routes.links):
        if used.sharing in _NOT_REPRESENTED:
            pair = int(np.searchsorted(first, np.flatnonzero(link == number)[0], side="right")) - 1
            raise _not_represented(used, *pairs[pair])
    bandwidth_Bps = np.array([used.bandwidth_Bps for used in routes.links], float)
    route = np.repeat(np.arange(len(pairs)), np.diff(first))
    bound_Bps, length = np.full(len(pairs), _UNBOUNDED_Bps), np.diff(first)
    if gamma:
        limited = (latency_s > 0) & (length > 0)
        bound_Bps[limited] = gamma / (2 * latency_s[limited])
    np.minimum.at(bound_Bps, route, bandwidth_Bps[link])
    slower_s = np.bincount(route, weight_S / bandwidth_Bps[link], minlength=len(pairs))
    index = {pair: place for place, pair in enumerate(pairs)}
    reverse = np.array([index[b, a] for a, b in pairs], np.int64)
    way, crossed, weight = route, link, np.ones(len(link))
    if back:
        returned = ranges(first[reverse], first[reverse + 1])
        way = np.concatenate([way, np.repeat(np.arange(len(pairs)), length[reverse])])
        crossed = np.concatenate([crossed, link[returned]])
        weight = np.concatenate([weight, np.full(len(returned), back)])
    shared = np.array([used.sharing != "fatpipe" for used in routes.links], bool)
    kept = shared[crossed]
    key, begin, at = np.unique(way[kept] * len(routes.links) + crossed[kept], return_index=True, return_inverse=True)
    used_share = np.bincount(at, weight[kept], minlength=len(key))  # integers if there are none
    in_route = np.lexsort((begin, key // max(1, len(routes.links))))  # links in the order of their routes
    way, crossed = np.divmod(key[in_route], max(1, len(routes.links)))
    capacity = {used.name: used.bandwidth_Bps for used in routes.links if used.sharing != "fatpipe"}
    latencies, timing_class = np.unique(latency_s, return_inverse=True)
    paths = Paths(
        bound_Bps=bound_Bps,
        penalty=np.where(latency_s > 0, latency_s + slower_s, 1.0),
        first=np.searchsorted(way, np.arange(len(pairs) + 1)).astype(np.int64),
        link=(np.cumsum(shared) - 1)[crossed].astype(np.int32),
        weight=used_share.astype(float)[in_route],
        capacity_Bps=np.array(list(capacity.values())),
    )
    return _model(chosen, Ways(pairs, timing_class, paths, list(capacity)), capacity, latencies)


def _chosen(options: Mapping[str, str]) -> tuple[dict[str, str], float, float, float]:
    """Return the options with SimGrid's defaults, the TCP window, the weight of links, the share of acknowledgements.

    Raises:
        OutOfRange: As ``known_network``.
    """
    chosen = {**DEFAULTS, **{key: value for key, value in under_smpi_names(options).items() if key in DEFAULTS}}
    for key in _ONLY_DEFAULT:
        if chosen[key] != DEFAULTS[key] and not _is_zero(chosen[key]):
            problem = "the graph predictor does not model this option"
            remedy = "Leave it out, or use dpgraph or learned, which measure the network"
            raise OutOfRange(f"{key}:{chosen[key]}", problem, remedy)
    back = _BACKWARD if chosen["network/crosstraffic"].lower() in _YES else 0.0
    return chosen, float(chosen["network/TCP-gamma"]), float(chosen["network/weight-S"]), back


def _model(
    chosen: Mapping[str, str],
    ways: Mapping[tuple[str, str], DirectedPath],
    capacity_Bps: Mapping[str, float],
    latencies_s: np.ndarray,
) -> NetworkModel:
    protocol = Protocol(float(chosen["smpi/send-is-detached-thresh"]), float(chosen["smpi/async-small-thresh"]))
    return NetworkModel(ways, capacity_Bps, _timing(chosen, latencies_s), protocol, polling=polling(chosen))


def polling(options: Mapping[str, str]) -> Polling:
    """Return the durations of polls under SimGrid's options."""
    chosen = {**DEFAULTS, **options}
    grows = chosen["smpi/grow-injected-times"].lower() in _YES
    return Polling(float(chosen["smpi/test"]), float(chosen["smpi/iprobe"]), grows)


def declared_cautions(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the cautions about ignored options that change times only slightly."""
    return tuple(
        f"{key}:{options[key]} is not followed: events within {default:g} s of each other count as simultaneous"
        for key, default in _PRECISION.items()
        if key in options and not _is_number(options[key], default)
    )


def _is_number(text: str, number: float) -> bool:
    try:
        return float(text) == number
    except ValueError:
        return False


def _not_represented(link: Link, source: str, destination: str) -> OutOfRange:
    where = f"dpgraph:known, link {link.name!r} from {source} to {destination}"
    problem = f"its sharing is {link.sharing}, which the fluid model does not cover"
    return OutOfRange(where, problem, "Use dpgraph, which measures the network, or another predictor")


def _timing(chosen: Mapping[str, str], latency_s: np.ndarray) -> Timing:
    above_bytes, slower, factor = _factors(chosen["smpi/lat-factor"], chosen["smpi/bw-factor"])
    return Timing(above_bytes, latency_s[:, None] * slower, np.broadcast_to(factor, (len(latency_s), len(above_bytes))))


@lru_cache(maxsize=16)  # thousands of platforms may have the same options
def _factors(of_latency: str, of_bandwidth: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the segments of sizes, as in ``Timing``, and the two factors of each."""
    lat, bw = _steps(of_latency, "smpi/lat-factor"), _steps(of_bandwidth, "smpi/bw-factor")
    above_bytes = np.unique(np.concatenate([[-1.0], lat[0], bw[0]]))

    def at(table: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """Return the factor of each segment; it is 1 below the first threshold."""
        return np.concatenate([[1.0], table[1]])[np.searchsorted(table[0], above_bytes, side="right")]

    return above_bytes, at(lat), at(bw)


def _steps(text: str, key: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the ascending thresholds and the factors of ``65472:0.94;0:0.81``, or of a single number."""
    try:
        parts = [part.split(":") for part in text.split(";")]
        pairs = [(0.0, float(part[0])) if len(part) == 1 else (float(part[0]), float(part[1])) for part in parts]
    except (ValueError, IndexError):
        raise UserError(f"{key}:{text}", "not a list of THRESHOLD:FACTOR", "Write for example 0:1;65536:3") from None
    return np.array([p[0] for p in sorted(pairs)]), np.array([p[1] for p in sorted(pairs)])


def _is_zero(text: str) -> bool:
    """Return whether all CPU costs are zero, such as 0:0:0."""
    parts = [part for piece in text.split(";") for part in piece.split(":")[1:]]
    return bool(parts) and all(float(part or 0) == 0 for part in parts)
