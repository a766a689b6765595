"""Loops read as one whose bodies follow each other with nothing between: their partners, tags and sizes repeat.

A rank inside a pipeline receives and sends in a loop, and does so again in the next iteration.  Nothing tells where the
one ends and the next begins, but that the partners, tags and sizes begin again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from apps.recording.events import Kind
from predictor.learned.nest import Node
from predictor.learned.parsing import Cut, Parse, parse
from predictor.learned.rows import keys_of
from predictor.learned.skeleton import Symbol

_TALK = (Kind.SEND, Kind.RECV, Kind.COLLECTIVE)


def parse_by_period(parsed: Parse, position: np.ndarray, symbols: Sequence[Symbol]) -> Parse:
    """Return the traces parsed again, with a loop around each loop in which what is sent and received repeats.

    Where other ranks show that the loop around has one more turn for each repetition, it is that loop's.
    """
    cuts: list[Cut] = []
    for loop, parent in _innermost(parsed.root):
        if any(symbols[leaf.symbol].kind == Kind.MARK for leaf in loop.children if leaf.symbol is not None):
            continue
        periods = _periods(loop, parsed)
        if periods is not None:
            outer = (
                parent if parent.loop and _is_of_parent(loop, parent, parsed, periods) else _put_around(loop, parent)
            )
            cuts.append(Cut(outer, _repeats(loop, parsed, periods)))
    return parse(parsed.root, parsed.traces, position, cuts) if cuts else parsed


def _innermost(node: Node) -> list[tuple[Node, Node]]:
    """Return the loops that hold no other loop, each with what is around it."""
    found = []
    for child in node.children:
        if not child.leaf:
            inner = _innermost(child)
            found += inner or [(child, node)]
    return found


def _periods(loop: Node, parsed: Parse) -> np.ndarray | None:
    """Return the number of turns after which the executions of a loop repeat; None if there is no clear repetition.

    By pass of the body around; 0 where the loop is not executed.
    """
    if not _varies(loop, parsed):
        return None
    trace, _, outer = parsed.passes[loop]
    content = np.full((len(trace), len(loop.children)), -1)  # of a turn, by leaf
    for at, leaf in enumerate(loop.children):
        content[parsed.leaves[leaf].row, at] = _messages(leaf, parsed)
    _, what = np.unique(keys_of(content), return_inverse=True)
    lengths = parsed.loops[loop].turns
    begins, known = np.searchsorted(outer, np.arange(len(lengths))), dict[bytes, int]()
    periods = np.zeros_like(lengths)
    for place in np.flatnonzero(lengths).tolist():
        row = what[begins[place] : begins[place] + lengths[place]]
        key = row.tobytes()
        if key not in known:
            known[key] = _period(row.tolist())
        periods[place] = known[key]
    nranks = np.zeros_like(lengths)
    nranks[outer] = parsed.nranks[trace]
    made = periods.copy()
    earnest = (periods > 1) & (periods < lengths)
    if not earnest.any():
        return None
    for count in np.unique(nranks[earnest]).tolist():
        usual = Counter(periods[earnest & (nranks == count)].tolist()).most_common(1)[0][0]
        made[nranks == count] = usual
    some = lengths > 0
    repeats = (lengths % np.maximum(made, 1) == 0) & (made % np.maximum(periods, 1) == 0)
    return np.where(some, np.where(repeats, made, lengths), 0)


def _messages(leaf: Node, parsed: Parse) -> np.ndarray:
    """Return a number for each event of a leaf, equal for the same partner, tag and size."""
    events = parsed.columns[parsed.leaves[leaf].event]
    return keys_of(np.column_stack([events[name].astype(np.int64) for name in ("peer", "tag", "size_bytes")]))


def _varies(loop: Node, parsed: Parse) -> bool:
    """Return whether a rank sends to or receives from different partners in a loop, or with different tags or sizes."""
    for leaf in loop.children:
        row, event = parsed.leaves[leaf]
        if not len(event) or parsed.columns["kind"][event[0]] not in _TALK:
            continue
        execution, messages = parsed.passes[loop].outer[row], _messages(leaf, parsed)
        if bool(((messages[1:] != messages[:-1]) & (execution[1:] == execution[:-1])).any()):
            return True
    return False


def _period(row: Sequence[Hashable]) -> int:
    """Return the least period of a row that divides its length (Knuth, Morris and Pratt 1977).

    >>> _period("abcabc"), _period("abcab"), _period("aaa")
    (3, 5, 1)
    """
    border = [0] * len(row)
    for at in range(1, len(row)):
        length = border[at - 1]
        while length and row[at] != row[length]:
            length = border[length - 1]
        border[at] = length + (row[at] == row[length])
    period = len(row) - border[-1]
    return period if len(row) % period == 0 else len(row)


def _is_of_parent(loop: Node, parent: Node, parsed: Parse, periods: np.ndarray) -> bool:
    """Return whether ranks show the repetitions as turns of the loop around: it has as many on all ranks.

    Where one turn is to be several, it holds nothing else.
    """
    outer, turns = parsed.passes[parent].outer, parsed.loops[parent].turns
    beside = np.zeros(len(turns), bool)  # by execution of the loop around
    for leaf, (row, _) in parsed.leaves.items():
        if parent in leaf.around and loop not in leaf.around:
            for node in reversed(leaf.around[len(parent.around) + 1 :]):
                if node in parsed.passes:  # it was not put there
                    row = parsed.passes[node].outer[row]
            beside[outer[row]] = True
    there = np.flatnonzero(periods)
    repeats = np.zeros_like(turns)
    np.add.at(repeats, outer[there], parsed.loops[loop].turns[there] // periods[there])
    trace, index, _ = parsed.passes[parsed.body(parent)]
    _, group = np.unique(keys_of(np.column_stack([parsed.nranks[trace], index])), return_inverse=True)
    most = np.zeros(len(group), np.int64)
    np.maximum.at(most, group, np.where(repeats > 0, turns, 0))
    if (((repeats > 0) & (repeats != most[group])) | ((repeats > turns) & beside)).any():
        return False
    return bool(((turns == repeats) & (turns > 1)).any())


def _put_around(loop: Node, parent: Node) -> Node:
    outer = Node(loop.low, loop.high, [loop], loop=True, around=loop.around)
    parent.children[parent.children.index(loop)] = outer
    loop.around = (*loop.around, outer)
    for leaf in loop.children:
        leaf.around = (*loop.around, loop)
    return outer


def _repeats(loop: Node, parsed: Parse, periods: np.ndarray) -> np.ndarray:
    """Return the events at which the outer loop goes on instead of the inner one."""
    _, index, outer = parsed.passes[loop]
    first = np.full(len(outer), len(parsed.columns))
    for leaf in loop.children:
        row, event = parsed.leaves[leaf]
        first[row] = np.minimum(first[row], event)
    turn = index[:, -1]
    cuts: np.ndarray = first[(turn > 0) & (turn % np.maximum(periods[outer], 1) == 0)]
    return cuts
