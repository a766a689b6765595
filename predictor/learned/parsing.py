"""Traces parsed by the loop nest of their program: every event is a leaf at indices of the loops around it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from predictor.learned.nest import Node
from predictor.learned.rows import Rows
from predictor.learned.skeleton import Trace

Index = tuple[int, ...]
Place = tuple[int, Index]  # a trace and the indices of the loops
Cuts = dict[tuple[int, int], Node]  # by trace and event: the loop that goes on, and not one inside it


@dataclass(eq=False)
class Executions:
    """Executions of a loop: by place, its number of turns and the index of the event that it began with."""

    turns: dict[Place, int] = field(default_factory=dict)
    began: dict[Place, int] = field(default_factory=dict)


@dataclass(eq=False)
class Parse:
    """All traces by the nest."""

    traces: Sequence[Trace]
    leaves: dict[Node, list[tuple[int, int, Index]]]  # trace, event, indices of the loops around
    loops: dict[Node, Executions]
    passes: dict[Node, list[Place]]  # every execution of a body
    # Of a loop over the neighbours inside the grid: by execution, the places of its turns in the list of all.
    listed: dict[Node, dict[Place, list[int]]] = field(default_factory=dict)
    aligned: dict[Node, str] = field(default_factory=dict)  # loops whose turns are alike on all ranks (module levels)

    def copy(self) -> Parse:
        """Return a copy whose loops over neighbours can be renumbered."""
        loops = {loop: Executions(dict(runs.turns), dict(runs.began)) for loop, runs in self.loops.items()}
        passes = defaultdict(list, {node: list(places) for node, places in self.passes.items()})
        leaves, runs = defaultdict(list, self.leaves), defaultdict(Executions, loops)
        return Parse(self.traces, leaves, runs, passes, aligned=dict(self.aligned))

    @cached_property
    def nranks(self) -> np.ndarray:
        """Number of ranks, by trace."""
        return np.array([trace.nranks for trace in self.traces])

    @cached_property
    def ranks(self) -> np.ndarray:
        """Rank, by trace."""
        return np.array([trace.rank for trace in self.traces])

    def rows(self, node: Node) -> Rows:
        """Return the rows of the executions of a body, in the order of ``passes``."""
        loops = (*node.around, node) if node.loop else node.around
        passes = self.passes[node]
        trace = np.array([number for number, _ in passes], np.int64)
        index = np.array([index for _, index in passes], np.int64).reshape(len(passes), len(loops))
        turns, turn = np.empty_like(index), index.copy()
        for at, loop in enumerate(loops):
            places = [(number, index[:at]) for number, index in passes]
            if loop in self.listed:
                lists = [self.listed[loop][place] for place in places]
                turns[:, at] = [len(row) for row in lists]
                turn[:, at] = [row.index(i[at]) for row, (_, i) in zip(lists, passes, strict=True)]
            else:
                turns[:, at] = [self.loops[loop].turns[place] for place in places]
        levels = tuple(f"{self.aligned[loop]}{at}" for at, loop in enumerate(loops) if self.aligned.get(loop))
        return Rows(self.nranks[trace], self.ranks[trace], index, turns, turn, levels)


def parse(root: Node, traces: Sequence[Trace], position: np.ndarray, cuts: Cuts | None = None) -> Parse:
    """Parse every trace by the nest."""
    made = Parse(traces, defaultdict(list), defaultdict(Executions), defaultdict(list))
    leaf_at: dict[int, Node] = {}

    def collect(node: Node) -> None:
        for child in node.children:
            if child.leaf:
                leaf_at[child.low] = child
            else:
                collect(child)

    collect(root)
    for number, trace in enumerate(traces):
        made.passes[root].append((number, ()))
        _parse_trace(made, leaf_at, number, position[trace.symbols].tolist(), cuts or {})
    return made


def _parse_trace(made: Parse, leaf_at: dict[int, Node], number: int, places: list[int], cuts: Cuts) -> None:
    open_loops: list[Node] = []
    index: list[int] = []
    before = -1

    def close(keep: int) -> None:
        while len(open_loops) > keep:
            turns = index.pop() + 1
            made.loops[open_loops.pop()].turns[number, tuple(index)] = turns

    for at, place in enumerate(places):
        leaf = leaf_at[place]
        if place > before:
            keep = 0
            while keep < len(open_loops) and open_loops[keep].high >= place:
                keep += 1
            close(keep)
        else:  # the innermost open loop that holds both goes on
            keep = len(open_loops)
            while open_loops[keep - 1].low > place:
                keep -= 1
            if (number, at) in cuts:
                keep = open_loops.index(cuts[number, at]) + 1
            close(keep)
            index[keep - 1] += 1
            made.passes[open_loops[-1]].append((number, tuple(index)))
        for node in leaf.around[len(open_loops) :]:
            made.loops[node].began[number, tuple(index)] = at
            open_loops.append(node)
            index.append(0)
            made.passes[node].append((number, tuple(index)))
        made.leaves[leaf].append((number, at, tuple(index)))
        before = place
    close(0)
