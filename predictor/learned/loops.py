"""Loops whose turns are numbered alike on all ranks: over levels, over neighbours, and of bodies in sequence.

In a multigrid a rank without points on a coarse level leaves its turn out, the last one on the way down, and the first
one on the way up.  Which turns belong together is shown by the messages: both ends of each are in the same turn,
counted from the first one or from the last one.  The ranks that leave turns out then have them as well, with nothing
in them.  Calls are told apart by their tags as well there, so that what is done along one axis and not along another is
at a place of its own.

Loops read as one whose bodies follow each other with nothing between: their partners, tags and sizes repeat.

A rank inside a pipeline receives and sends in a loop, and does so again in the next iteration.  Nothing tells where the
one ends and the next begins, but that the partners, tags and sizes begin again.
"""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from apps.recording.events import Kind
from predictor.learned.features import Space
from predictor.learned.grids import Sides, coordinates
from predictor.learned.nest import Node
from predictor.learned.parsing import Cut, Executions, Listed, Parse, Passes, parse
from predictor.learned.rows import keys_of
from predictor.learned.skeleton import Pairs, Symbol, pairs_of

FROM_FIRST, FROM_LAST = "i", "j"  # ways to count turns, as features name them
_TALK = (Kind.SEND, Kind.RECV, Kind.COLLECTIVE)


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


Step = tuple[int, ...]


def listed_loops(parsed: Parse, symbols: Sequence[Symbol], space: Space) -> dict[Node, list[Step]]:
    """Return the steps to all neighbours of each loop over neighbours, whose turns are renumbered in ``parsed``."""
    found: dict[Node, list[Step]] = {}

    def visit(node: Node) -> None:
        for child in node.children:
            if not child.leaf:
                visit(child)
                steps = _listed(child, parsed, symbols, space)
                if steps:
                    found[child] = steps

    visit(parsed.root)
    return found


def inside(steps: Sequence[Step], sides: Sides, rank: int) -> list[Step]:
    """Return the steps that lead from a rank to another rank of the grid."""
    here = coordinates(sides, np.array([rank]))[:, 0].tolist()
    return [step for step in steps if all(0 <= h + d < s for h, d, s in zip(here, step, sides, strict=True))]


def _listed(loop: Node, parsed: Parse, symbols: Sequence[Symbol], space: Space) -> list[Step]:
    if not all(leaf.leaf for leaf in loop.children):
        return []
    talking = [
        leaf
        for leaf in loop.children
        if leaf.symbol is not None and symbols[leaf.symbol].kind in (Kind.SEND, Kind.RECV)
    ]
    if len(talking) != 1:
        return []
    trace, index, outer = parsed.passes[loop]
    row, event = parsed.leaves[talking[0]]
    if len(row) < len(trace):
        return []  # a turn without its message
    steps, step = _steps_taken(parsed.columns["peer"][event], trace, parsed, space)
    lengths = parsed.loops[loop].turns
    longest = _longest(step, outer, lengths)
    if not len(longest) or bool((lengths[lengths > 0] == len(longest)).all()):
        return []
    if len(np.unique(parsed.ranks[trace])) == 1:
        return []  # one rank goes round all others
    # The steps of each trace that lead to another rank of the grid, as places in the longest list.
    each = [
        [longest.tolist().index(at) for at in longest.tolist() if steps[at] in there]
        for there in (
            set(inside([steps[at] for at in longest], space.sides(nranks), rank))
            for nranks, rank in zip(parsed.nranks.tolist(), parsed.ranks.tolist(), strict=True)
        )
    ]
    number = np.array([len(places) for places in each])
    around = parsed.passes[parsed.body(loop)]
    if bool((number[around.trace[lengths == 0]] > 0).any()):
        return []  # a rank that has neighbours does not go round
    times, rest = np.divmod(lengths, np.maximum(number[around.trace], 1))
    executed = lengths > 0
    if bool((rest[executed] > 0).any()) or not bool(number[around.trace[executed]].all()):
        return []
    table = np.zeros((len(each), len(longest)), np.int64)
    for at, places in enumerate(each):
        table[at, : len(places)] = places
    place = table[trace, index[:, -1] % number[trace]]
    repeated = np.flatnonzero(times > 1)
    if not np.array_equal(longest[place], step) or (len(repeated) and not _is_once(loop, parsed, repeated)):
        return []
    _renumber(loop, parsed, place, number[trace], times)
    return [steps[at] for at in longest]


def _steps_taken(peer: np.ndarray, trace: np.ndarray, parsed: Parse, space: Space) -> tuple[list[Step], np.ndarray]:
    """Return the different steps to partners, and that of each turn as an index of them."""
    taken = np.empty((len(peer), space.axes), np.int64)
    nranks = parsed.nranks[trace]
    for count in np.unique(nranks).tolist():
        some, sides = nranks == count, space.sides(count)
        taken[some] = (coordinates(sides, peer[some]) - coordinates(sides, parsed.ranks[trace[some]])).T
    _, first, step = np.unique(keys_of(taken), return_index=True, return_inverse=True)
    return [tuple(row) for row in taken[first].tolist()], step


def _longest(step: np.ndarray, outer: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the steps of the longest execution of a loop in which none is taken twice; empty if there is none."""
    taken, count = np.unique(outer * (step.max(initial=0) + 1) + step, return_counts=True)
    unlike = lengths.copy()
    unlike[taken[count > 1] // (step.max(initial=0) + 1)] = 0
    longest = int(np.argmax(unlike)) if len(unlike) else 0
    return step[outer == longest] if unlike.any() else step[:0]


def _is_once(loop: Node, parsed: Parse, rows: np.ndarray) -> bool:
    """Return whether the loop around goes round once in these of its passes: its turns may have been read as others."""
    parent = parsed.body(loop)
    return parent.loop and bool((parsed.loops[parent].turns[parsed.passes[parent].outer[rows]] == 1).all())


def _renumber(loop: Node, parsed: Parse, place: np.ndarray, number: np.ndarray, times: np.ndarray) -> None:
    """Number the turns of a loop by their places in the list; ``times``: the turns of the loop around that it shows."""
    parent = parsed.body(loop)
    trace, index, outer = parsed.passes[loop]
    turn, index, outer = index[:, -1], index.copy(), outer.copy()
    parsed.listed[loop] = Listed(number, turn % number)
    index[:, -1] = place
    if (times > 1).any():
        more = np.maximum(times - 1, 0)
        first = len(times) + np.cumsum(more) - more  # of the new passes of the loop around
        again = turn // number
        moved = again > 0
        index[:, -2] += again
        outer[moved] = (first[outer] + again - 1)[moved]
        source = np.repeat(np.arange(len(times)), more)
        again_of = np.arange(len(source)) - np.repeat(np.cumsum(more) - more, more) + 1
        there = parsed.passes[parent]
        new_index = np.column_stack([there.turn[source, :-1], again_of])
        parsed.add(parent, Passes(there.trace[source], new_index, there.outer[source]))
        runs, changed = parsed.loops[parent], times > 1
        turns = runs.turns.copy()
        turns[parsed.passes[parent].outer[: len(times)][changed]] = times[changed]
        parsed.loops[parent] = runs._replace(turns=turns)
    parsed.passes[loop] = Passes(trace, index, outer)


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
