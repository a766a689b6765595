"""Traces parsed by the loop nest of their program: every event is a leaf in a turn of each of the loops around it.

All that is known of the parse are arrays with a row for each execution of a body, a turn of a loop or the whole
program, or for each event, so that a million events are parsed at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from predictor.learned.nest import Node
from predictor.learned.rows import Rows
from predictor.learned.skeleton import Trace


class Passes(NamedTuple):
    """Executions of a body, by trace and in the order of time; those added later come last."""

    trace: np.ndarray  # i8, by pass
    turn: np.ndarray  # i8, passes x loops, those around and its own: the place of the turn
    outer: np.ndarray  # i8, by pass: row of the pass of the body around that it is in


class Executions(NamedTuple):
    """Executions of a loop, by pass of the body around."""

    turns: np.ndarray  # i8: number of turns; 0: it is not executed
    began: np.ndarray  # i8: the event that it began with, -1: none


class Events(NamedTuple):
    """Events of a leaf, in the order of time."""

    row: np.ndarray  # i8: the pass of the body around
    event: np.ndarray  # i8: its place in the events of all traces, one trace behind the other


class Listed(NamedTuple):
    """Turns of a loop over the neighbours inside the grid, by its pass, whose index is a place in the list of all."""

    turns: np.ndarray  # i8
    turn: np.ndarray  # i8


class Cut(NamedTuple):
    """Events at which this loop, and no loop inside it, begins its next turn."""

    loop: Node
    events: np.ndarray


@dataclass
class Parse:
    """All traces by the nest.  Its arrays are replaced, and never changed."""

    root: Node
    traces: Sequence[Trace]
    leaves: dict[Node, Events]
    loops: dict[Node, Executions]
    passes: dict[Node, Passes]
    listed: dict[Node, Listed] = field(default_factory=dict)
    aligned: dict[Node, str] = field(default_factory=dict)  # loops whose turns are alike on all ranks (module levels)

    def copy(self) -> Parse:
        """Return a copy whose loops over neighbours can be renumbered."""
        return replace(
            self,
            leaves=dict(self.leaves),
            loops=dict(self.loops),
            passes=dict(self.passes),
            listed={},
            aligned=dict(self.aligned),
        )

    @cached_property
    def nranks(self) -> np.ndarray:
        """Number of ranks, by trace."""
        return np.array([trace.nranks for trace in self.traces])

    @cached_property
    def ranks(self) -> np.ndarray:
        """Rank, by trace."""
        return np.array([trace.rank for trace in self.traces])

    @cached_property
    def columns(self) -> np.ndarray:
        """Kind, partner, tag and size of all events, one trace behind the other."""
        names = ["kind", "peer", "tag", "size_bytes"]
        return np.concatenate([trace.events[names] for trace in self.traces])

    def body(self, node: Node) -> Node:
        """Return the loop whose body a node is in, or the whole program."""
        return node.around[-1] if node.around else self.root

    def add(self, body: Node, more: Passes) -> None:
        """Add passes of a body, in which no loop is executed so far."""
        self.passes[body] = Passes(*map(np.concatenate, zip(self.passes[body], more, strict=True)))
        none = np.zeros(len(more.trace), np.int64)
        for loop in (child for child in body.children if not child.leaf):
            turns, began = self.loops[loop]
            self.loops[loop] = Executions(np.concatenate([turns, none]), np.concatenate([began, none - 1]))

    def rows(self, node: Node) -> Rows:
        """Return the rows of the executions of a body, in the order of ``passes``."""
        loops = (*node.around, node) if node.loop else node.around
        trace, index, _ = self.passes[node]
        turns, turn = np.empty_like(index), index.copy()
        row = np.arange(len(trace))  # of the loop
        for at, loop in reversed(list(enumerate(loops))):
            if loop in self.listed:
                turns[:, at], turn[:, at] = (column[row] for column in self.listed[loop])
            row = self.passes[loop].outer[row]
            if loop not in self.listed:
                turns[:, at] = self.loops[loop].turns[row]
        levels = tuple(f"{self.aligned[loop]}{at}" for at, loop in enumerate(loops) if self.aligned.get(loop))
        return Rows(self.nranks[trace], self.ranks[trace], index, turns, turn, levels)


def parse(root: Node, traces: Sequence[Trace], position: np.ndarray, cuts: Sequence[Cut] = ()) -> Parse:
    """Parse every trace by the nest."""
    lengths = [len(trace.symbols) for trace in traces]
    first = np.cumsum([0, *lengths[:-1]])
    none = np.empty(0, np.int64)
    place = position[np.concatenate([none, *(trace.symbols for trace in traces)])]
    turns = _turns(root, place, first, cuts)
    made = Parse(root, traces, {}, {}, {root: Passes(np.arange(len(traces)), np.empty((len(traces), 0), int), none)})
    began_by_trace = np.repeat(np.arange(len(traces)), lengths)
    by_place = np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place, minlength=root.high + 1))[:-1])

    def visit(node: Node, begins: np.ndarray) -> None:
        for child in node.children:
            if child.leaf:
                events = by_place[child.low]
                made.leaves[child] = Events(_row(begins, events), events)
                continue
            inside = (place >= child.low) & (place <= child.high)
            depth = len(child.around)
            starts = np.flatnonzero((turns.opens[depth] | turns.goes_on[depth]) & inside)
            index = np.column_stack([turns.turn[at][starts] for at in range(depth + 1)]).astype(np.int64)
            outer = _row(begins, starts)
            made.passes[child] = Passes(began_by_trace[starts], index, outer)
            opened = np.flatnonzero(turns.opens[depth] & inside)
            began = np.full(len(begins), -1)
            began[_row(begins, opened)] = opened
            made.loops[child] = Executions(np.bincount(outer, minlength=len(begins)), began)
            visit(child, starts)

    visit(root, first)
    return made


def _row(begins: np.ndarray, events: np.ndarray) -> np.ndarray:
    """Return the pass that each event is in; ``begins``: the event that each pass begins with."""
    return np.searchsorted(begins, events, side="right") - 1


class _Turns(NamedTuple):
    """By depth of the loops that are open at each event."""

    opens: list[np.ndarray]  # whether the loop begins
    goes_on: list[np.ndarray]  # whether its next turn begins
    turn: list[np.ndarray]  # i4: its turn


def _turns(root: Node, place: np.ndarray, first: np.ndarray, cuts: Sequence[Cut]) -> _Turns:
    """Return the turns of the loops around each event: where a trace goes back, the innermost that holds both goes on.

    ``first``: the first event of each trace.
    """
    depth, kept = _loops_kept(root)
    before, here = place[:-1], place[1:]
    keep, back = np.zeros(len(place), np.int8), np.zeros(len(place), bool)  # the loops that stay open at an event
    keep[1:], back[1:] = kept[before, here], here <= before
    for cut in cuts:
        keep[cut.events] = len(cut.loop.around) + 1
    begins = first[first < len(place)]
    keep[begins], back[begins] = 0, False
    made = _Turns([], [], [])
    for level in range(int(depth.max(initial=0))):
        made.opens.append((keep <= level) & (depth[place] > level))
        made.goes_on.append(back & (keep == level + 1))
        count = np.cumsum(made.goes_on[level], dtype=np.int32)
        made.turn.append(count - np.maximum.accumulate(np.where(made.opens[level], count, 0)))
    return made


def _loops_kept(root: Node) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of loops around each place, and how many stay open on the way from a place to another."""
    around: dict[int, tuple[Node, ...]] = {}

    def collect(node: Node) -> None:
        for child in node.children:
            if child.leaf:
                around[child.low] = child.around
            else:
                collect(child)

    collect(root)
    depth = np.array([len(around[at]) for at in range(len(around))])
    to = np.arange(len(around))
    kept = np.zeros((len(around), len(around)), np.int8)
    for at, loops in around.items():
        for loop in loops:
            kept[at] += np.where(to > at, loop.high >= to, loop.low <= to)
    return depth, kept
