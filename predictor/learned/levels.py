"""Loops over the levels of a problem on some of which ranks drop out: their turns numbered alike on all ranks.

In a multigrid a rank without points on a coarse level leaves its turn out, the last one on the way down, and the first
one on the way up.  Which turns belong together is shown by the messages: both ends of each are in the same turn,
counted from the first one or from the last one.  The ranks that leave turns out then have them as well, with nothing
in them.  Calls are told apart by their tags as well there, so that what is done along one axis and not along another is
at a place of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from predictor.learned.nest import Node
from predictor.learned.pairs import Pairs, pairs_of
from predictor.learned.parsing import Executions, Index, Parse, Place

FROM_FIRST, FROM_LAST = "i", "j"  # ways to count turns, as features name them


def aligned(root: Node, parsed: Parse) -> Parse:
    """Return the traces with the turns of loops over levels numbered alike on all ranks; the same where there are none.

    The ways in which turns are counted are in ``aligned`` of what is returned.
    """
    pairs = pairs_of(parsed.traces)
    made = parsed.copy()
    for loop in _loops(root):
        parent = _parent(root, loop)
        way = _way(loop, made, pairs)
        if way is not None:
            _count_alike(loop, parent, made, way)
    return made if made.aligned else parsed


def _loops(node: Node) -> list[Node]:
    """Return the loops, those around others first."""
    return [found for child in node.children if not child.leaf for found in (child, *_loops(child))]


def _parent(root: Node, loop: Node) -> Node:
    return loop.around[-1] if loop.around else root


def _way(loop: Node, parsed: Parse, pairs: Pairs) -> str | None:
    """Return how the turns of a loop are counted so that both ends of each message are in the same one.

    None if ranks leave no turns out, or if they are the same in neither way.
    """
    runs = parsed.loops[loop].turns
    most: defaultdict[tuple[int, Index], set[int]] = defaultdict(set)
    for (number, index), turns in runs.items():
        most[int(parsed.nranks[number]), index].add(turns)
    if all(len(turns) == 1 for turns in most.values()) or not len(pairs.sends):
        return None
    depth = len(loop.around)
    first = np.cumsum([0, *(len(trace.events) for trace in parsed.traces)])
    from_first, from_last = np.full(first[-1], -1), np.full(first[-1], -1)
    for leaf, events in parsed.leaves.items():
        if loop not in leaf.around:
            continue
        for number, at, index in events:
            from_first[first[number] + at] = index[depth]
            from_last[first[number] + at] = runs[number, index[:depth]] - 1 - index[depth]
    for way, turn in ((FROM_FIRST, from_first), (FROM_LAST, from_last)):
        sent, received = turn[pairs.sends], turn[pairs.receives]
        if bool((sent == received).all()) and bool((sent >= 0).any()):
            return way
    return None


def _count_alike(loop: Node, parent: Node, parsed: Parse, way: str) -> None:
    """Give all ranks the turns of a loop that some rank has."""
    runs = parsed.loops[loop].turns
    most: dict[tuple[int, Index], int] = {}
    for (number, index), turns in runs.items():
        key = int(parsed.nranks[number]), index
        most[key] = max(turns, most.get(key, 0))

    def in_all(place: Place) -> int:
        return most.get((int(parsed.nranks[place[0]]), place[1]), 0)

    def moved(place: Place, turn: int) -> int:
        return turn if way == FROM_FIRST else turn + in_all(place) - runs[place]

    _renumber(loop, parent, parsed, moved, in_all)
    parsed.aligned[loop] = way


def _renumber(
    loop: Node,
    parent: Node,
    parsed: Parse,
    moved: Callable[[Place, int], int],
    turns: Callable[[Place], int],
) -> None:
    """Number the turns of a loop anew, and give all executions of what is around as many of them."""
    depth = len(loop.around)

    def at(number: int, index: Index) -> Index:
        return (*index[:depth], moved((number, index[:depth]), index[depth]), *index[depth + 1 :])

    for leaf, events in parsed.leaves.items():
        if loop in leaf.around:
            parsed.leaves[leaf] = [(number, event, at(number, index)) for number, event, index in events]
    for node in [loop, *_loops(loop)]:
        parsed.passes[node] = [(number, at(number, index)) for number, index in parsed.passes[node]]
        if node is not loop:
            runs = parsed.loops[node]
            parsed.loops[node] = Executions(
                {(number, at(number, index)): value for (number, index), value in runs.turns.items()},
                {(number, at(number, index)): value for (number, index), value in runs.began.items()},
            )
    there = set(parsed.passes[loop])
    for number, index in parsed.passes[parent]:
        parsed.loops[loop].turns[number, index] = turns((number, index))
        new = [(number, (*index, turn)) for turn in range(turns((number, index)))]
        parsed.passes[loop] += [place for place in new if place not in there]
