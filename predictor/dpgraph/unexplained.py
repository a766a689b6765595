"""Cautions about sharing that the links found do not explain, where it matters for the program."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from predictor.dpgraph.network import NetworkModel

LEAST_REL = 0.05  # relative: no caution if the time may be longer by less than this


def unexplained(
    network: NetworkModel,
    pairs: Collection[tuple[str, str]],
    time_s: float,
    time_on: Callable[[NetworkModel], float],
) -> Iterator[str]:
    """Yield a caution for each cluster whose unexplained sharing may slow the program down.

    Simultaneous messages between all nodes of such a cluster take longer than by the links found.  The upper bound
    assumes that all messages of the program inside the cluster are slowed down as much.

    Args:
        network: The measured network.
        pairs: Pairs of hosts; the first sends to the second.
        time_s: The time of the program on it.
        time_on: Returns the time of the program on another network.
    """
    for cluster in network.unexplained:
        longer_rel = time_on(network.slower_inside(cluster, pairs)) / time_s - 1 if time_s > 0 else 0.0
        if longer_rel > LEAST_REL:
            yield (
                f"{cluster.cluster}: the links found inside it do not explain all sharing: messages between all its "
                f"nodes at once take {100 * cluster.excess_rel:.0f} % longer, which may make the run up to "
                f"{100 * longer_rel:.0f} % longer"
            )


def unexplained_anywhere(network: NetworkModel) -> tuple[str, ...]:
    """Return the same cautions without a program."""
    return tuple(
        f"{cluster.cluster}: the links found inside it do not explain all sharing: messages between all its nodes at "
        f"once take {100 * cluster.excess_rel:.0f} % longer"
        for cluster in network.unexplained
    )
