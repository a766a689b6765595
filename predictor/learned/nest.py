"""The loop nest of a program, and the order of its places in its text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise

import numpy as np

from apps.recording.events import Mark
from predictor.learned.skeleton import Pairs, Symbol, Text, Trace, pairs_of

Path = tuple[int, ...]
_BLOCKS = (1, 2, 3, 4, 6, 8, 10, 12, 16)  # lengths of the blocks that are moved
_CLEARER = 1e3  # times as much as a step by analogy a step counts that was seen
_SECTIONS_STAY = 1e9  # cost of a step to an earlier section
_ALIKE = 0.9  # share of the passes of an inner loop that have the symbols of the pass before
_MOST_PASSES = 50
_MOST_PARTS = 2  # intervals that are left out at once


def positions(traces: Sequence[Trace], symbols: Sequence[Symbol], text: Text, *, by_call: bool = False) -> np.ndarray:
    """Return the position of each symbol in the text; ``text``: the calls by path, as far as they are known.

    ``by_call``: what is done in the same call of a function is tried together first.
    """
    rows = [np.frombuffer(row, np.int64) for row in {trace.symbols.tobytes() for trace in traces}]
    steps = np.zeros((len(symbols), len(symbols)))
    for row in rows:
        np.add.at(steps, (row[:-1], row[1:]), 1.0)
    np.fill_diagonal(steps, 0.0)
    section = np.array([symbol.section for symbol in symbols])
    steps[section[:, None] != section[None, :]] = 0.0
    ends = [symbol.is_mark(Mark.ITERATION) for symbol in symbols]
    steps[ends] = 0.0  # the text begins again behind the end of an iteration
    if by_call:
        steps = _CLEARER * steps + _by_analogy(steps, symbols)
    met = _as_met(rows)
    unknown = {symbol.path: tuple(("", address, "") for address in symbol.path) for symbol in symbols}
    by_line = sorted(met, key=lambda at: (text.get(symbols[at].path, unknown[symbols[at].path]), symbols[at].kind))
    starts = [sorted(start, key=lambda symbol: section[symbol]) for start in (by_line, met)]
    steps += _SECTIONS_STAY * (section[:, None] < section[None, :])
    if by_call:
        starts.insert(0, _together(starts[-1], symbols, steps))
    line = min((_improved(start, steps) for start in starts), key=lambda line: _cost(line, steps))
    position = np.empty(len(symbols), np.int64)
    position[line] = np.arange(len(line))
    return position


def _as_met(rows: Sequence[np.ndarray]) -> list[int]:
    """Return the symbols in the order of the richest trace, those of the others after their predecessors."""
    line: list[int] = []
    for row in sorted(rows, key=lambda row: (-len(np.unique(row)), len(row))):
        first = np.sort(np.unique(row, return_index=True)[1])
        for at in first.tolist():
            if int(row[at]) not in line:
                line.insert(line.index(int(row[at - 1])) + 1 if at else 0, int(row[at]))
    return line


def _by_analogy(steps: np.ndarray, symbols: Sequence[Symbol]) -> np.ndarray:
    """Return a step between two symbols for each seen between the same calls with tags that are as far apart.

    Along one axis no rank may send both ways, as along another.
    """
    places = [(symbol.kind, symbol.path, symbol.op, symbol.mode, symbol.section) for symbol in symbols]
    number = {place: at for at, place in enumerate(dict.fromkeys(places))}
    place, tag = (np.array(row) for row in ([number[place] for place in places], [symbol.tag for symbol in symbols]))
    kind = (place[:, None] * len(number) + place) * (2 * int(tag.max()) + 5) + tag - tag[:, None]
    likely: np.ndarray = np.isin(kind, kind[steps > 0]) & (steps == 0) & (tag >= 0) & (tag[:, None] >= 0)
    return likely.astype(float)


def calls(symbols: Sequence[Symbol]) -> list[tuple[int, Path]]:
    """Return the call that each symbol is in, by section, at the depth at which the paths of the section part."""
    depths: dict[int, int] = {}
    for section in {symbol.section for symbol in symbols}:
        paths = [symbol.path for symbol in symbols if symbol.section == section]
        depths[section] = next((n for n in range(max(map(len, paths))) if len({path[:n] for path in paths}) > 1), 0)
    return [(symbol.section, symbol.path[: depths[symbol.section]]) for symbol in symbols]


def _together(line: Sequence[int], symbols: Sequence[Symbol], steps: np.ndarray) -> list[int]:
    """Return the symbols of a line with those together that are in the same call."""
    call = calls(symbols)
    groups: dict[tuple[int, Path], list[int]] = {}
    for symbol in line:
        groups.setdefault(call[symbol], []).append(symbol)
    parts = [_improved(part, steps) for part in groups.values()]
    between = np.array([[steps[np.ix_(a, b)].sum() for b in parts] for a in parts])
    np.fill_diagonal(between, 0.0)
    return [symbol for at in _improved(list(range(len(parts))), between) for symbol in parts[at]]


def _cost(line: Sequence[int], steps: np.ndarray) -> float:
    return float(np.tril(steps[np.ix_(line, line)]).sum())


def _improved(line: list[int], steps: np.ndarray) -> list[int]:
    """Return the line after moves of blocks, until none lowers the number of steps back."""
    gained = True
    while gained:
        gained = False
        for length in _BLOCKS:
            for at in range(len(line) - length + 1):
                block, rest = line[at : at + length], line[:at] + line[at + length :]
                out = steps[np.ix_(block, rest)].sum(axis=0)  # a step back for what is before the block
                into = steps[np.ix_(rest, block)].sum(axis=1)  # a step back for what is behind it
                cost = np.concatenate([[0.0], np.cumsum(out)]) + np.concatenate([np.cumsum(into[::-1])[::-1], [0.0]])
                best = int(np.argmin(cost))
                if cost[best] < cost[at] - 0.5:
                    line = rest[:best] + block + rest[best:]
                    gained = True
    return line


Interval = tuple[int, int]  # first and last position


@dataclass(eq=False)
class Node:
    """A loop, the whole program, or a leaf: one place of the text."""

    low: int
    high: int  # the last position
    children: list[Node] = field(default_factory=list)
    loop: bool = False
    symbol: int | None = None  # of a leaf
    around: tuple[Node, ...] = ()  # the loops around a leaf or a loop, the outermost first

    @property
    def leaf(self) -> bool:
        """True if the node is one place of the text."""
        return self.symbol is not None

    @property
    def first(self) -> Node:
        """The first leaf."""
        return self if self.leaf else self.children[0].first


def loop_nest(
    traces: Sequence[Trace], position: np.ndarray, symbols: Sequence[Symbol], *, by_call: bool = False
) -> Node:
    """Return the nest of all traces; ``by_call``: a loop has all of a call, or is inside it, as its messages tell."""
    rows = [np.frombuffer(row, np.int64) for row in {position[trace.symbols].tobytes() for trace in traces}]
    iteration = _marked_loop(position, symbols)
    if iteration is not None:  # no other loop crosses the end of a marked iteration
        parts = [part for row in rows for part in np.split(row, np.flatnonzero(row == iteration[1]) + 1) if len(part)]
        rows = [np.frombuffer(row, np.int64) for row in {part.tobytes() for part in parts}]
    steps: list[set[Interval]] = []
    for row in rows:
        back = np.flatnonzero(row[1:] <= row[:-1])
        steps.append(set(zip(row[back + 1].tolist(), row[back].tolist(), strict=True)))
    intervals = _without_shortened(steps)
    if by_call:
        intervals = _of_whole_calls(intervals, position, symbols)
    intervals = possible = _laminar(intervals)
    for inner in sorted(intervals, key=_length):
        outer = [o for o in intervals if _holds(o, inner)]
        nested = [i for i in intervals if _holds(inner, i)]
        if outer and not _is_inner(rows, inner, min(outer, key=_length), nested):
            intervals = intervals - {inner}
    intervals = _without_parts_of_turns(traces, position, intervals)
    if by_call:
        intervals = _as_messages_tell(traces, position, intervals, possible)
    if iteration is not None:
        intervals = _laminar(intervals | {iteration})
    return _nested(intervals, position)


def _of_whole_calls(intervals: set[Interval], position: np.ndarray, symbols: Sequence[Symbol]) -> set[Interval]:
    """Return the intervals, those that are not inside one call of a function extended to all of each call."""
    call = [of for _, of in sorted(zip(position.tolist(), calls(symbols), strict=True))]
    first = [at if not at or call[at] != call[at - 1] else -1 for at in range(len(call))]
    begins = np.maximum.accumulate(first)
    ends = np.array([int(np.searchsorted(begins, begin, side="right")) - 1 for begin in begins])
    return {(low, high) if call[low] == call[high] else (int(begins[low]), int(ends[high])) for low, high in intervals}


def _marked_loop(position: np.ndarray, symbols: Sequence[Symbol]) -> Interval | None:
    ends = [at for at, symbol in enumerate(symbols) if symbol.is_mark(Mark.ITERATION)]
    if not ends:
        return None
    body = symbols[ends[0]].section
    inside = [
        int(position[at])
        for at, symbol in enumerate(symbols)
        if symbol.section == body and not symbol.is_mark(Mark.START, Mark.FIRST_ITERATION)
    ]
    return min(inside), int(position[ends[0]])


def _without_shortened(steps: Sequence[Collection[Interval]]) -> set[Interval]:
    """Return all intervals but those that are a loop whose start or end some ranks leave out.

    In a wave front with a barrier behind the lines of each sweep the first rank goes back from the barrier to a send,
    in an interval that overlaps that of the lines.  Ranks that have the whole loop have its lines, but not the former.

    Args:
        steps: The intervals of each trace.
    """
    every = set().union(*steps)
    for a, b in [(a, b) for a in every for b in every if a[0] < b[0] <= a[1] < b[1] and (a[0], b[1]) in every]:
        whole = [some for some in steps if (a[0], b[1]) in some]
        with_a, with_b = (any(part in some for some in whole) for part in (a, b))
        if with_a != with_b:
            every = every - {b if with_a else a}
    return every


def _laminar(intervals: set[Interval]) -> set[Interval]:
    """Return the intervals, the longer of two that overlap made to hold the shorter one."""
    while True:
        overlap = next(
            ((a, b) for a in sorted(intervals) for b in sorted(intervals) if a[0] < b[0] <= a[1] < b[1]), None
        )
        if overlap is None:
            return intervals
        longer = max(overlap, key=_length)
        intervals = (intervals - {longer}) | {(overlap[0][0], overlap[1][1])}


def _holds(outer: Interval, inner: Interval) -> bool:
    return outer != inner and outer[0] <= inner[0] and inner[1] <= outer[1]


def _is_inner(rows: Sequence[np.ndarray], inner: Interval, outer: Interval, nested: Sequence[Interval]) -> bool:
    """Return whether an interval is a loop of its own: its passes are alike inside a pass of the outer one.

    ``nested``: the loops inside it, whose steps back do not end a pass.
    """
    alike = seen = 0
    apart = False
    for row in rows:
        back = np.flatnonzero(row[1:] <= row[:-1])
        within = back[(row[back + 1] >= inner[0]) & (row[back] <= inner[1])]
        for low, high in nested:
            within = within[(row[within + 1] < low) | (row[within] > high)]
        inside = (row >= inner[0]) & (row <= inner[1])
        edges = np.flatnonzero(np.diff(np.concatenate([[0], inside.view(np.int8), [0]])))
        for begin, end in zip(edges[::2].tolist()[:_MOST_PASSES], edges[1::2].tolist()[:_MOST_PASSES], strict=True):
            bounds = [begin, *(at + 1 for at in within.tolist() if begin <= at < end - 1), end]
            passes = [frozenset(row[p:q].tolist()) for p, q in pairwise(bounds)]
            if len(passes) < 2:
                continue
            seen += len(passes) - 1
            alike += sum(a == b for a, b in pairwise(passes))
            beside = row[max(0, begin - 1) : begin].tolist() + row[end : end + 1].tolist()
            apart |= any(outer[0] <= place <= outer[1] for place in beside)
    return seen > 0 and apart and alike >= _ALIKE * seen


def _without_parts_of_turns(traces: Sequence[Trace], position: np.ndarray, intervals: set[Interval]) -> set[Interval]:
    """Return the intervals without those that only come of turns of the loop around whose start or end is left out.

    A rank that is the root of several broadcasts in a row does not receive, and goes back to where it sends, as in a
    loop of its own.  Without such intervals the loop around has as many turns on all ranks, and with them it has not.
    """
    rows: defaultdict[int, set[bytes]] = defaultdict(set)
    for trace in traces:
        rows[trace.nranks].add(position[trace.symbols].tobytes())
    by_count = [[np.frombuffer(row, np.int64) for row in alike] for alike in rows.values()]
    for outer in sorted(intervals, key=_length, reverse=True):
        inside = sorted((inner for inner in intervals if _holds(outer, inner)), key=_length, reverse=True)
        if outer not in intervals or not inside or _turns_alike(by_count, outer, inside):
            continue
        for parts in (p for some in range(1, _MOST_PARTS + 1) for p in combinations(inside, some)):
            left = [inner for inner in inside if inner not in parts]
            if _turns_alike(by_count, outer, left) and _are_in_turns(by_count, outer, left, parts):
                intervals = intervals - set(parts)
                break
    return intervals


def _as_messages_tell(
    traces: Sequence[Trace], position: np.ndarray, intervals: set[Interval], possible: set[Interval]
) -> set[Interval]:
    """Return the intervals with which both ends of a message are in the same turn where ranks leave turns out.

    ``possible``: all that may be loops, none of which overlap.
    """
    pairs = pairs_of(traces)
    row = np.concatenate([position[trace.symbols] for trace in traces])
    begins = np.cumsum([0, *(len(trace.symbols) for trace in traces)])[:-1]
    for outer in sorted(intervals, key=_length, reverse=True):
        options = sorted((i for i in possible if _holds(outer, i)), key=_length, reverse=True)
        if outer not in intervals or not options or _same_turns(row, begins, pairs, outer, intervals & set(options)):
            continue
        for changed in (c for some in range(1, _MOST_PARTS + 1) for c in combinations(options, some)):
            inside = (intervals & set(options)) ^ set(changed)
            if _same_turns(row, begins, pairs, outer, inside):
                intervals = (intervals - set(options)) | inside
                break
    return intervals


def _same_turns(
    row: np.ndarray, begins: np.ndarray, pairs: Pairs, outer: Interval, inside: Collection[Interval]
) -> bool:
    """Return whether both ends of all messages in an interval are in the same turn, from the first or from the last."""
    run, from_first, from_last = _turns(row, begins, outer, inside)
    sends, receives = (end[(run[pairs.sends] >= 0) & (run[pairs.receives] >= 0)] for end in pairs)
    return any(bool((turns[sends] == turns[receives]).all()) for turns in (from_first, from_last))


def _turns(
    row: np.ndarray, begins: np.ndarray, outer: Interval, inside: Collection[Interval]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the execution of an interval that each event is in (-1: none), and its turns from first and last."""
    held = (row >= outer[0]) & (row <= outer[1])
    new = np.zeros(len(row), bool)
    new[begins] = True
    new[1:] |= ~held[:-1]
    new &= held
    back = np.zeros(len(row), bool)
    back[1:] = (row[1:] <= row[:-1]) & held[1:] & held[:-1]
    for low, high in inside:
        back[1:] &= (row[1:] < low) | (row[:-1] > high)
    run = np.cumsum(new)
    turn = np.cumsum(back & ~new)
    first = np.flatnonzero(new)
    from_first = np.where(held, turn - np.append(0, turn[first])[run], 0)
    most = np.maximum.reduceat(from_first, first) if len(first) else from_first[:0]
    from_last = np.append(0, most)[run] - from_first
    return np.where(held, run, -1), from_first, from_last


def _length(interval: Interval) -> int:
    return interval[1] - interval[0]


def _are_in_turns(
    by_count: Sequence[Sequence[np.ndarray]], outer: Interval, inside: Sequence[Interval], parts: Sequence[Interval]
) -> bool:
    """Return whether what is beside intervals that are left out comes in most turns of the loop around, on some rank.

    A barrier behind the lines of a sweep comes once for all of them: the lines are then no turns of its loop.
    """
    beside = np.zeros(outer[1] + 1, bool)
    beside[outer[0] :] = True
    for low, high in (*inside, *parts):
        beside[low : high + 1] = False
    often = np.zeros(outer[1] + 1, bool)
    for row in (row for rows in by_count for row in rows):
        times = np.bincount(row[row <= outer[1]], minlength=outer[1] + 1)
        often |= 2 * times > _backs(row, outer, inside)
    return bool(often[beside].all())


def _backs(row: np.ndarray, outer: Interval, inside: Sequence[Interval]) -> int:
    """Return how often a row goes back in an interval, outside the intervals that it contains."""
    here, there = row[:-1], row[1:]
    back = (there <= here) & (there >= outer[0]) & (here <= outer[1])
    for low, high in inside:
        back &= (there < low) | (here > high)
    return int(back.sum())


def _turns_alike(by_count: Sequence[Sequence[np.ndarray]], outer: Interval, inside: Sequence[Interval]) -> bool:
    """Return whether an interval has as many turns on all ranks of each number of ranks that have it."""
    for rows in by_count:
        turns = set()
        for row in rows:
            if ((row >= outer[0]) & (row <= outer[1])).any():
                turns.add(_backs(row, outer, inside))
        if len(turns) > 1:
            return False
    return True


def _nested(intervals: set[Interval], position: np.ndarray) -> Node:
    root = Node(0, int(position.max()))
    stack = [root]
    for low, high in sorted(intervals, key=lambda interval: (interval[0], -interval[1])):
        while not (stack[-1].low <= low and high <= stack[-1].high):
            stack.pop()
        node = Node(low, high, loop=True)
        stack[-1].children.append(node)
        stack.append(node)
    _fill(root, np.argsort(position), ())
    return root


def _fill(node: Node, symbol_at: np.ndarray, around: tuple[Node, ...]) -> None:
    node.around = around
    inner = (*around, node) if node.loop else around
    children, at = [], node.low
    for child in [*node.children, Node(node.high + 1, node.high)]:
        children += [Node(p, p, symbol=int(symbol_at[p]), around=inner) for p in range(at, child.low)]
        children.append(child)
        at = child.high + 1
    node.children = children[:-1]
    for child in node.children:
        if not child.leaf:
            _fill(child, symbol_at, inner)


def shown(node: Node, symbols: Sequence[Symbol], indent: int = 0) -> str:
    """Return the nest as text, a line for each leaf."""
    lines = []
    for child in node.children:
        if child.symbol is not None:
            lines.append("  " * indent + str(symbols[child.symbol]))
        else:
            lines += ["  " * indent + "loop", shown(child, symbols, indent + 1)]
    return "\n".join(lines)
