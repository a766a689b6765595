"""The order of the ranks on chosen nodes, as part of the choice: which host each rank runs on.

Models of a configuration know how many ranks each node has, and not which.  The graph of the recorded program does: it
is evaluated for a few orders, and the fastest is taken.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from apps.spec.target import Target
from platforms.model.placement import Placement
from platforms.model.platform import Platform
from predictor.answers.answers import predict
from predictor.base import Cost
from predictor.evidence.broker import Broker
from predictor.registry import predictor

AS_CHOSEN = "cluster by cluster"
_GRAPH = "dpgraph:known"


@dataclass(frozen=True)
class RankOrder:
    """An order of ranks with its time."""

    name: str
    placement: Placement
    time_s: float  # by the graph


@dataclass(frozen=True)
class RankOrders:
    """Orders of the ranks of a choice, by increasing time."""

    orders: tuple[RankOrder, ...]
    cost: Cost

    @property
    def best(self) -> RankOrder:
        """The fastest order; the chosen one where no other is faster."""
        return self.orders[0]

    def __str__(self) -> str:
        usual_s = next(order.time_s for order in self.orders if order.name == AS_CHOSEN)
        best, number = self.best, len(self.orders)
        if best.name == AS_CHOSEN:
            return f"ranks: {best.name}, the fastest of {number} orders by {_GRAPH}"
        gain = 100 * (usual_s / best.time_s - 1)
        return f"ranks: {best.name}; {AS_CHOSEN} takes {gain:.3g} % longer by {_GRAPH} ({number} orders tried)"


def rank_orders(platform: Platform, placement: Placement) -> dict[str, Placement]:
    """Return orders of the ranks of a placement, with as many on each host; those that are equal once.

    >>> from types import SimpleNamespace as S
    >>> a, b = (S(name=name, speed_flops=speed) for name, speed in (("a", 1), ("b", 2)))
    >>> sorted(rank_orders(S(host={"a": a, "b": b}.get), ("a", "a", "b")))
    ['cluster by cluster', 'clusters in reverse', 'in turn over the nodes']
    """
    ranks = Counter(placement)
    turns = [host for turn in range(max(ranks.values())) for host in ranks if ranks[host] > turn]
    fastest = sorted(ranks, key=lambda host: -platform.host(host).speed_flops)
    found: dict[Placement, str] = {}
    for name, order in (
        (AS_CHOSEN, list(placement)),
        ("clusters in reverse", [host for host in reversed(ranks) for _ in range(ranks[host])]),
        ("in turn over the nodes", turns),
        ("fastest nodes first", [host for host in fastest for _ in range(ranks[host])]),
        ("slowest nodes first", [host for host in reversed(fastest) for _ in range(ranks[host])]),
        ("in turn over the clusters", _over_clusters(ranks)),
    ):
        found.setdefault(tuple(order), name)
    return {name: order for order, name in found.items()}


def _over_clusters(ranks: Mapping[str, int]) -> list[str]:
    """Return the hosts with ranks of the first and the last node, of the second and the last but one, and so on."""
    hosts = list(ranks)
    pairs = [host for pair in zip(hosts, reversed(hosts), strict=True) for host in pair]
    return [host for host in dict.fromkeys(pairs) for _ in range(ranks[host])]


def ordered(target: Target, broker: Broker) -> RankOrders:
    """Return the orders of a target's ranks with their times.

    Raises:
        UserError: The program cannot be recorded, so that there is no graph.
    """
    orders = rank_orders(target.platform, target.placement)
    targets = [Target(target.problem, target.platform, order) for order in orders.values()]
    answers = predict(predictor(_GRAPH), targets, broker)
    for answer in answers:
        if answer.error is not None:
            raise answer.error
    timed = [
        RankOrder(name, order, answer.prediction.time_s)
        for (name, order), answer in zip(orders.items(), answers, strict=True)
        if answer.prediction is not None
    ]
    # An order that differs by less than the graph's own tolerance is no reason to change.
    ranked = sorted(timed, key=lambda order: (float(f"{order.time_s:.3g}"), order.name != AS_CHOSEN))
    spent = {piece.id: piece.cost for answer in answers for piece in answer.evidence}
    return RankOrders(tuple(ranked), sum(spent.values(), Cost()))
