"""Loops over the levels of a problem on some of which ranks drop out: their turns numbered alike on all ranks.

In a multigrid a rank without points on a coarse level leaves its turn out, the last one on the way down, and the first
one on the way up.  Which turns belong together is shown by the messages: both ends of each are in the same turn,
counted from the first one or from the last one.  The ranks that leave turns out then have them as well, with nothing
in them.  Calls are told apart by their tags as well there, so that what is done along one axis and not along another is
at a place of its own.
"""

from __future__ import annotations

import numpy as np

from predictor.learned.nest import Node
from predictor.learned.pairs import Pairs, pairs_of
from predictor.learned.parsing import Executions, Parse, Passes
from predictor.learned.rows import keys_of

FROM_FIRST, FROM_LAST = "i", "j"  # ways to count turns, as features name them


def aligned(parsed: Parse) -> Parse:
    """Return the traces with the turns of loops over levels numbered alike on all ranks; the same where there are none.

    The ways in which turns are counted are in ``aligned`` of what is returned.
    """
    loops = [loop for loop in _loops(parsed.root) if (_most(loop, parsed) != parsed.loops[loop].turns).any()]
    if not loops:
        return parsed
    pairs = pairs_of(parsed.traces)
    made = parsed.copy()
    for loop in _loops(parsed.root):
        way = _way(loop, made, pairs)
        if way is not None:
            _count_alike(loop, made, way)
    return made if made.aligned else parsed


def _loops(node: Node) -> list[Node]:
    """Return the loops, outer ones first."""
    return [found for child in node.children if not child.leaf for found in (child, *_loops(child))]


def _most(loop: Node, parsed: Parse) -> np.ndarray:
    """Return, for each pass around a loop, the most turns at these indices on any rank of the same number of ranks."""
    trace, index, _ = parsed.passes[parsed.body(loop)]
    _, group = np.unique(keys_of(np.column_stack([parsed.nranks[trace], index])), return_inverse=True)
    most = np.zeros(len(group), np.int64)
    np.maximum.at(most, group, parsed.loops[loop].turns)
    found: np.ndarray = most[group]
    return found


def _way(loop: Node, parsed: Parse, pairs: Pairs) -> str | None:
    """Return how the turns of a loop are counted so that both ends of each message are in the same one.

    None if ranks leave no turns out, or if they are the same in neither way.
    """
    turns = parsed.loops[loop].turns
    some = turns > 0
    if bool((_most(loop, parsed) == turns)[some].all()) or not len(pairs.sends):
        return None
    depth = len(loop.around)
    from_first, from_last = (np.full(sum(len(trace.events) for trace in parsed.traces), -1) for _ in range(2))
    for leaf, events in parsed.leaves.items():
        if loop not in leaf.around:
            continue
        row, index = events.row, parsed.passes[leaf.around[-1]].turn[events.row, depth]
        for around in reversed(leaf.around[depth:]):
            row = parsed.passes[around].outer[row]
        from_first[events.event] = index
        from_last[events.event] = turns[row] - 1 - index
    for way, turn in ((FROM_FIRST, from_first), (FROM_LAST, from_last)):
        sent, received = turn[pairs.sends], turn[pairs.receives]
        if bool((sent == received).all()) and bool((sent >= 0).any()):
            return way
    return None


def _count_alike(loop: Node, parsed: Parse, way: str) -> None:
    """Give all ranks the turns of a loop that some rank has, at all executions of what is around."""
    parent, depth = parsed.body(loop), len(loop.around)
    most, turns = _most(loop, parsed), parsed.loops[loop].turns
    moved_by = 0 * most if way == FROM_FIRST else most - turns
    for node in [loop, *_loops(loop)]:
        trace, index, outer = parsed.passes[node]
        row = np.arange(len(trace))
        for around in reversed((*node.around[depth:], node)):
            row = parsed.passes[around].outer[row]
        index = index.copy()
        index[:, depth] += moved_by[row]
        parsed.passes[node] = Passes(trace, index, outer)
    trace, index, outer = parsed.passes[loop]
    missing = np.repeat(np.arange(len(most)), most)  # the passes of the parent
    turn = np.arange(len(missing)) - np.repeat(np.cumsum(most) - most, most)
    shift = np.int64(most.max(initial=0) + 1)
    new = ~np.isin(missing * shift + turn, outer * shift + index[:, depth])
    missing, turn = missing[new], turn[new]
    there = parsed.passes[parent]
    new_index = np.column_stack([there.turn[missing], turn])
    parsed.add(loop, Passes(there.trace[missing], new_index, missing))
    parsed.loops[loop] = Executions(most, parsed.loops[loop].began)
    parsed.aligned[loop] = way
