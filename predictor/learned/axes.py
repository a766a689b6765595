"""Axes of the grid of ranks that messages go along, and other rules for the grid that would explain them as well."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass

import numpy as np

from apps.recording.events import Kind, Recording
from predictor.learned.grids import GRIDS, Sides, coordinates, rivals
from predictor.learned.models import Numeric
from predictor.learned.partners import Offset, Transposed
from predictor.learned.structure import Structure

_OF_AXIS = re.compile(r"(?<![A-Za-z])(?:lo|hi|nb|l[pcdm]|k[lh]|r[fln]|[cdpesuvg])(\d)")  # of the names of features
_OF_ALL = re.compile(r"inner|[VATH][+-][+-]|c0=c1")
GRID = "grid of ranks"  # in Notes.assumed


def assumption(structure: Structure, nranks: int) -> dict[str, str]:
    """Return what is assumed about the grid at a number of ranks; empty if the recordings leave nothing open."""
    grid, seen = structure.space.grid, structure.seen
    sides = structure.space.sides(nranks)
    allowed = [rival for rival in rivals(grid, seen) if GRIDS[rival](nranks) != sides and len(sides) > 1]
    allowed = allowed or list(_others(structure, nranks))
    shown = " x ".join(map(str, sides))
    return {GRID: f"{shown} ({grid}); the recordings also allow {allowed[-1]}"} if allowed else {}


def between_neighbours(recordings: Sequence[Recording]) -> bool:
    """Return whether there is a rule for the grid by which all messages go to neighbours, diagonal ones included."""
    steps: dict[str, int] = dict.fromkeys(GRIDS, 0)
    for recording in recordings:
        for rank, events in enumerate(recording.events):
            peers = np.unique(events["peer"][events["kind"] == Kind.SEND].astype(np.int64))
            for grid, sides_of in GRIDS.items() if len(peers) else ():
                sides = sides_of(recording.nranks)
                here, there = (coordinates(sides, ranks) for ranks in (np.array([rank]), peers))
                by = (there - here) % np.array(sides)[:, None]
                steps[grid] = max(steps[grid], int(np.minimum(by, np.array(sides)[:, None] - by).max()))
    return min(steps.values()) <= 1


def _others(structure: Structure, nranks: int) -> Iterator[str]:
    """Yield the rules under which the axes in use are the same on all recordings, but not on ``nranks`` ranks.

    A program whose messages go along one axis alone does not show how many others there are.
    """
    used = _axes(structure)
    rule = GRIDS[structure.space.grid]
    for name, other in GRIDS.items():
        pairs = [(a, b) for a in used for b in range(len(other(nranks)))]
        alike = [(a, b) for a, b in pairs if all(_axis(rule(n), a) == _axis(other(n), b) for n in structure.seen)]
        if used <= {a for a, _ in alike} and any(_axis(rule(nranks), a) != _axis(other(nranks), b) for a, b in alike):
            yield name


def _axis(sides: Sides, axis: int) -> tuple[int, int]:
    """Return the side of an axis and the distance of neighbours along it, which give all coordinates."""
    return sides[axis], math.prod(sides[axis + 1 :])


def _axes(structure: Structure) -> set[int]:
    """Return the axes that occur in what was learned; all of them where neighbours are listed."""
    every = set(range(structure.space.axes))
    used: set[int] = set()
    if structure.lists:
        return every
    for part in _parts([list(structure.leaves.values()), list(structure.loops.values())]):
        if isinstance(part, str):
            if _OF_ALL.search(part):
                return every
            used |= {int(axis) for axis in _OF_AXIS.findall(part)}
        elif isinstance(part, Transposed):
            return every
        elif isinstance(part, Offset):
            used |= {axis for axis, steps in enumerate(part.steps) if steps}
        elif isinstance(axis := getattr(part, "axis", None), int):
            used.add(axis)
    used |= {axis for kind in structure.communicators.kinds if 0 < len(kind) < len(every) for axis in kind}
    return used & every


def _parts(value: object) -> Iterator[object]:
    """Yield all models, rules and names in a value."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, Numeric):
        value = [value.formulas[0]]
    if isinstance(value, list | tuple):
        for part in value:
            yield from _parts(part)
    elif is_dataclass(value):
        yield value
        for field in fields(value):
            yield from _parts(getattr(value, field.name))
    elif isinstance(value, str):
        yield value
