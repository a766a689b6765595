"""Iterations that are all alike as one that is repeated: a third of the events, or fewer, for the same run.

A recording has three iterations, because the first and the last may differ from those between.  Where no rule for what
an iteration does depends on its number, one stands for all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from apps.recording.events import Kind, Mark, Recording
from predictor.dpgraph.program import Program, Sections, looped_once, matched
from predictor.learned.models import Formula, Numeric
from predictor.learned.nest import Node
from predictor.learned.structure import Structure

_ONCE = Numeric((Formula((), 1.0),))
# Features and statements of the outermost loop: ``i0``, ``2^-i0``, ``e(c1+j0):n``, ``kl1@m0``.
_OUTERMOST = re.compile(r"(?<![A-Za-z])[ijtn]0(?!\d)|@[mo]0(?!\d)")
_OUTERMOST_ROOTS = ("m0", "o0")


def folded(structure: Structure) -> Structure | None:
    """Return the structure with one iteration in place of all; None where they may differ, or none are marked."""
    children = structure.root.children
    for before, loop in pairwise(children):
        if loop.leaf or not any(_is_mark(structure, child, Mark.ITERATION) for child in loop.children):
            continue
        if not _is_mark(structure, before, Mark.START, Mark.FIRST_ITERATION) or loop in structure.lists:
            return None
        turns = structure.loops[loop]
        if not isinstance(turns, Numeric) or turns.formulas[0].terms or _varies(structure, loop):
            return None
        return replace(structure, loops={**structure.loops, loop: _ONCE})
    return None


def _is_mark(structure: Structure, node: Node, *marks: Mark) -> bool:
    return node.symbol is not None and structure.symbols[node.symbol].is_mark(*marks)


def _varies(structure: Structure, node: Node) -> bool:
    """Return whether anything inside a body depends on the turn of the outermost loop."""
    for child in node.children:
        if child.leaf:
            if depends_on_outermost(structure.leaves[child]):
                return True
        elif depends_on_outermost(structure.loops.get(child)) or _varies(structure, child):
            return True
    return False


def depends_on_outermost(model: object) -> bool:
    """Return whether a model depends on the turn of the outermost loop, or on their number."""
    if isinstance(model, str):
        return model in _OUTERMOST_ROOTS or _OUTERMOST.search(model) is not None
    if is_dataclass(model):
        if getattr(model, "loop", None) == 0:
            return True
        return any(depends_on_outermost(getattr(model, part.name)) for part in fields(model))
    if isinstance(model, Mapping):
        return any(map(depends_on_outermost, model.values()))
    return isinstance(model, tuple | list) and any(map(depends_on_outermost, model))


class FoldedSections(Sections):
    """The sections of a recording whose one iteration, which begins behind a mark, stands for all of them."""

    def __init__(self, recording: Recording):
        super().__init__(recording)
        marks = np.flatnonzero(self._all.events["kind"] == Kind.MARK)
        begins = marks[np.searchsorted(marks, self._ends[:, 0] - 1) - 1] + 1
        self._ends = np.column_stack([begins, self._ends])

    @property
    def repeats(self) -> bool:
        """True if the iteration can be repeated: no message goes from one to the next, and all are waited for."""
        return self._once is not None

    def looped(self, iterations: int) -> Program:
        """Return the program with a number of iterations, all of them a loop."""
        assert self._once is not None and self._once.loop is not None
        return replace(self._once, loop=self._once.loop._replace(copies=iterations))

    @cached_property
    def _once(self) -> Program | None:
        program, place = matched(self._all)
        return looped_once(program, place[self._ends[:, 0]], place[self._ends[:, 1]])
