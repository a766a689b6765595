"""Loops over the neighbours of a rank that lie inside the grid: their turns numbered by the list of all neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apps.recording.events import Kind
from predictor.learned.features import Space
from predictor.learned.grids import Sides, coordinates
from predictor.learned.nest import Node
from predictor.learned.parsing import Index, Parse
from predictor.learned.skeleton import Symbol

Step = tuple[int, ...]


def listed_loops(root: Node, parsed: Parse, symbols: Sequence[Symbol], space: Space) -> dict[Node, list[Step]]:
    """Return the steps to all neighbours of each loop over neighbours, whose turns are renumbered in ``parsed``."""
    found: dict[Node, list[Step]] = {}

    def visit(node: Node) -> None:
        for child in node.children:
            if not child.leaf:
                visit(child)
                steps = _listed(child, node, parsed, symbols, space)
                if steps:
                    found[child] = steps

    visit(root)
    return found


def inside(steps: Sequence[Step], sides: Sides, rank: int) -> list[Step]:
    """Return the steps that lead from a rank to another rank of the grid."""
    here = coordinates(sides, np.array([rank]))[:, 0].tolist()
    return [step for step in steps if all(0 <= h + d < s for h, d, s in zip(here, step, sides, strict=True))]


@dataclass(frozen=True)
class _Repeats:
    """Executions of a loop over neighbours, in which the turns of the loop around may have been read as its own."""

    times: int
    steps: list[Step]


def _listed(loop: Node, parent: Node, parsed: Parse, symbols: Sequence[Symbol], space: Space) -> list[Step]:
    if not all(leaf.leaf for leaf in loop.children):
        return []
    talking = [
        leaf
        for leaf in loop.children
        if leaf.symbol is not None and symbols[leaf.symbol].kind in (Kind.SEND, Kind.RECV)
    ]
    if len(talking) != 1:
        return []
    lists = _steps_taken(talking[0], parsed, space)
    unlike = [row for row in lists.values() if len(set(row)) == len(row)]
    longest = max(unlike, key=len, default=[])
    if not longest or all(len(row) == len(longest) for row in lists.values()):
        return []
    if len({parsed.traces[number].rank for number, _ in lists}) == 1:
        return []  # one rank goes round all others
    for number, index in parsed.passes[parent]:
        trace = parsed.traces[number]
        if (number, index) not in lists and inside(longest, space.sides(trace.nranks), trace.rank):
            return []  # a rank that has neighbours does not go round
    outer = parsed.loops[parent].turns if parent.loop else {}
    repeats: dict[tuple[int, Index], _Repeats] = {}
    for (number, index), row in lists.items():
        trace = parsed.traces[number]
        steps = inside(longest, space.sides(trace.nranks), trace.rank)
        times, rest = divmod(len(row), len(steps)) if steps else (0, 1)
        if rest or row != steps * times or (times > 1 and outer.get((number, index[:-1])) != 1):
            return []
        repeats[number, index] = _Repeats(times, steps)
    _renumber(loop, parent, parsed, longest, repeats)
    return longest


def _steps_taken(leaf: Node, parsed: Parse, space: Space) -> dict[tuple[int, Index], list[Step]]:
    lists: dict[tuple[int, Index], list[Step]] = {}
    steps: dict[tuple[int, int], Step] = {}  # by trace and partner
    peers: dict[int, list[int]] = {}
    for number, event, index in parsed.leaves[leaf]:
        trace = parsed.traces[number]
        if number not in peers:
            peers[number] = trace.events["peer"].tolist()
        peer = peers[number][event]
        if (number, peer) not in steps:
            here, there = coordinates(space.sides(trace.nranks), np.array([trace.rank, peer])).T
            steps[number, peer] = tuple((there - here).tolist())
        lists.setdefault((number, index[:-1]), []).append(steps[number, peer])
    return lists


def _renumber(
    loop: Node, parent: Node, parsed: Parse, longest: list[Step], repeats: dict[tuple[int, Index], _Repeats]
) -> None:
    place = {step: at for at, step in enumerate(longest)}

    def moved(number: int, index: Index) -> Index:
        steps = repeats[number, index[:-1]].steps
        if repeats[number, index[:-1]].times > 1:
            return (*index[:-2], index[-1] // len(steps), place[steps[index[-1] % len(steps)]])
        return (*index[:-1], place[steps[index[-1]]])

    began, parsed.loops[loop].began = parsed.loops[loop].began, {}
    listed = parsed.listed[loop] = {}
    for (number, index), row in repeats.items():
        for turn in range(row.times):
            key = (number, (*index[:-1], turn) if row.times > 1 else index)
            listed[key] = [place[step] for step in row.steps]
            parsed.loops[loop].began[key] = began[number, index]
        if row.times > 1:
            parsed.passes[parent] += [(number, (*index[:-1], turn)) for turn in range(1, row.times)]
            parsed.loops[parent].turns[number, index[:-1]] = row.times
    parsed.passes[loop] = [(number, moved(number, index)) for number, index in parsed.passes[loop]]
    for leaf in loop.children:
        parsed.leaves[leaf] = [(number, at, moved(number, index)) for number, at, index in parsed.leaves[leaf]]
