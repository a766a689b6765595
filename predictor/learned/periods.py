"""Loops read as one whose bodies follow each other with nothing between: their partners, tags and sizes repeat.

A rank inside a pipeline receives and sends in a loop, and does so again in the next iteration.  Nothing tells where the
one ends and the next begins, but that the partners, tags and sizes begin again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

import numpy as np

from apps.recording.events import Kind
from predictor.learned.nest import Node
from predictor.learned.parsing import Cuts, Index, Parse, Place, parse
from predictor.learned.skeleton import Symbol

_TALK = (Kind.SEND, Kind.RECV, Kind.COLLECTIVE)


def parse_by_period(root: Node, parsed: Parse, position: np.ndarray, symbols: Sequence[Symbol]) -> Parse:
    """Return the traces parsed again, with a loop around each loop in which what is sent and received repeats.

    Where other ranks show that the loop around has one more turn for each repetition, it is that loop's.
    """
    cuts: Cuts = {}
    for loop, parent in _innermost(root):
        if any(symbols[leaf.symbol].kind == Kind.MARK for leaf in loop.children if leaf.symbol is not None):
            continue
        periods = _periods(loop, parsed)
        if periods:
            outer = (
                parent if parent.loop and _is_of_parent(loop, parent, parsed, periods) else _put_around(loop, parent)
            )
            cuts |= _cuts(loop, outer, parsed, periods)
    return parse(root, parsed.traces, position, cuts) if cuts else parsed


def _innermost(node: Node) -> list[tuple[Node, Node]]:
    """Return the loops that hold no other loop, each with what is around it."""
    found = []
    for child in node.children:
        if not child.leaf:
            inner = _innermost(child)
            found += inner or [(child, node)]
    return found


def _periods(loop: Node, parsed: Parse) -> dict[Place, int]:
    """Return the number of turns after which the executions of a loop repeat; empty if none does in earnest."""
    if not _varies(loop, parsed):
        return {}
    turns: defaultdict[Place, defaultdict[int, list[Hashable]]] = defaultdict(lambda: defaultdict(list))
    columns: dict[int, list[tuple[int, int, int]]] = {}
    for leaf in loop.children:
        for number, at, index in parsed.leaves[leaf]:
            if number not in columns:
                events = parsed.traces[number].events
                columns[number] = list(
                    zip(*(events[name].tolist() for name in ("peer", "tag", "size_bytes")), strict=True)
                )
            turns[number, index[:-1]][index[-1]].append((leaf.low, *columns[number][at]))
    lengths = {place: len(rows) for place, rows in turns.items()}
    periods = {place: _period([tuple(rows[at]) for at in range(lengths[place])]) for place, rows in turns.items()}
    usual: dict[int, int] = {}
    for nranks in dict.fromkeys(parsed.nranks.tolist()):
        known = Counter(
            period
            for place, period in periods.items()
            if parsed.traces[place[0]].nranks == nranks and 1 < period < lengths[place]
        )
        if known:
            usual[nranks] = known.most_common(1)[0][0]
    if not usual:
        return {}
    made = {}
    for place, length in lengths.items():
        period = usual.get(parsed.traces[place[0]].nranks, periods[place])
        repeats = length % period == 0 and period % periods[place] == 0
        made[place] = period if repeats else length
    return made


def _varies(loop: Node, parsed: Parse) -> bool:
    """Return whether a rank sends to or receives from different partners in a loop, or with different tags or sizes."""
    for leaf in loop.children:
        seen: dict[Place, tuple[int, int, int]] = {}
        for number, at, index in parsed.leaves[leaf]:
            event = parsed.traces[number].events[at]
            if event["kind"] not in _TALK:
                break
            what = (int(event["peer"]), int(event["tag"]), int(event["size_bytes"]))
            if seen.setdefault((number, index[:-1]), what) != what:
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


def _is_of_parent(loop: Node, parent: Node, parsed: Parse, periods: dict[Place, int]) -> bool:
    """Return whether ranks show the repetitions as turns of the loop around: it has as many on all ranks.

    Where one turn is to be several, it holds nothing else.
    """
    depth = len(parent.around)
    beside = {
        (number, index[:depth])
        for leaf, events in parsed.leaves.items()
        if parent in leaf.around and loop not in leaf.around
        for number, _, index in events
    }
    repeats: Counter[Place] = Counter()  # by execution of the loop around
    for (number, index), period in periods.items():
        repeats[number, index[:-1]] += parsed.loops[loop].turns[number, index] // period
    shown = False
    for place, turns in parsed.loops[parent].turns.items():
        mine = repeats[place]
        alike = [
            parsed.loops[parent].turns[other]
            for other in repeats
            if other[1] == place[1] and parsed.traces[other[0]].nranks == parsed.traces[place[0]].nranks
        ]
        if (mine and mine != max(alike)) or (mine > turns and place in beside):
            return False
        shown |= turns == mine and turns > 1
    return shown


def _put_around(loop: Node, parent: Node) -> Node:
    outer = Node(loop.low, loop.high, [loop], loop=True, around=loop.around)
    parent.children[parent.children.index(loop)] = outer
    loop.around = (*loop.around, outer)
    for leaf in loop.children:
        leaf.around = (*loop.around, loop)
    return outer


def _cuts(loop: Node, outer: Node, parsed: Parse, periods: dict[Place, int]) -> Cuts:
    """Return the events at which the outer loop goes on instead of the inner one."""
    first: dict[tuple[int, Index], int] = {}
    for leaf in loop.children:
        for number, at, index in parsed.leaves[leaf]:
            first[number, index] = min(at, first.get((number, index), at))
    return {
        (number, at): outer
        for (number, index), at in first.items()
        if index[-1] and index[-1] % periods[number, index[:-1]] == 0
    }
