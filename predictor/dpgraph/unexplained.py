"""Cautions about sharing that the links found do not explain, where it matters for the program."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from predictor.dpgraph.network import NetworkModel

LEAST_REL = 0.05  # by which the time of a program may be longer without a word


def unexplained(
    network: NetworkModel,
    pairs: Collection[tuple[str, str]],
    time_s: float,
    time_on: Callable[[NetworkModel], float],
) -> Iterator[str]:
    """Yield a caution for each cluster in which a program may take longer because of such sharing.

    Messages between all nodes of a cluster at once take longer there than the links found say.  A program whose
    messages inside the cluster were all that much slower would take the longest time that this may mean.

    Args:
        network: The measured network.
        pairs: Hosts of which the first sends to the second.
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
    """Return the same cautions for whatever program."""
    return tuple(
        f"{cluster.cluster}: the links found inside it do not explain all sharing: messages between all its nodes at "
        f"once take {100 * cluster.excess_rel:.0f} % longer"
        for cluster in network.unexplained
    )
