"""Loops over the neighbours of a rank that lie inside the grid: their turns numbered by the list of all neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.recording.events import Kind
from predictor.learned.features import Space
from predictor.learned.grids import Sides, coordinates
from predictor.learned.nest import Node
from predictor.learned.parsing import Listed, Parse, Passes
from predictor.learned.rows import keys_of
from predictor.learned.skeleton import Symbol

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
