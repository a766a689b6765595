"""Communicators at any number of ranks: lines, planes and the whole of the grid of ranks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from apps.recording.events import Recording
from predictor.learned.errors import CannotContinue
from predictor.learned.features import Space
from predictor.learned.grids import coordinates

Kind = tuple[int, ...]  # axes along which the members of a communicator differ


class Communicators:
    """The communicators of a program, in the order in which a rank gets them; number 0 has all ranks.

    Raises:
        CannotContinue: The members of a communicator are no part of the grid.
    """

    def __init__(self, space: Space, recordings: Sequence[Recording]):
        self.space = space
        axes = range(space.axes)
        self._all = [kind for n in range(space.axes, -1, -1) for kind in itertools.combinations(axes, n)]
        self._places: dict[tuple[int, int], list[int]] = {}  # by number of ranks and rank: its communicators
        possible: list[set[Kind]] = []
        for recording in recordings:
            fits = [self._kinds(recording.nranks, members) for members in recording.communicators]
            for rank in range(recording.nranks):
                mine = [at for at, members in enumerate(recording.communicators) if rank in members]
                self._places[recording.nranks, rank] = mine
                for place, at in enumerate(mine):
                    if place == len(possible):
                        possible.append(set(self._all))
                    possible[place] &= fits[at]
        if not all(possible):
            raise CannotContinue("the members of a communicator follow no rule")
        self.kinds = [next(kind for kind in self._all if kind in kinds) for kinds in possible]

    def _kinds(self, nranks: int, members: Sequence[int]) -> set[Kind]:
        return {kind for kind in self._all if self._members(kind, nranks, members[0]) == tuple(members)}

    def _members(self, kind: Kind, nranks: int, rank: int) -> tuple[int, ...]:
        group = self._groups(kind, nranks)
        return tuple(np.flatnonzero(group == group[rank]).tolist())

    def _groups(self, kind: Kind, nranks: int) -> np.ndarray:
        """Return the communicator of this kind that each rank is in, numbered from 0."""
        sides = self.space.sides(nranks)
        c = coordinates(sides, np.arange(nranks))
        group = np.zeros(nranks, np.int64)
        for axis, side in enumerate(sides):
            if axis not in kind:
                group = group * side + c[axis]
        return group

    def numbers(self, nranks: np.ndarray, rank: np.ndarray, comm: np.ndarray) -> np.ndarray:
        """Return the numbers of recorded communicators, by event; -1 where there is none."""
        found = np.full(len(comm), -1)
        columns = zip(nranks.tolist(), rank.tolist(), comm.tolist(), strict=True)
        for at, (n, r, number) in enumerate(columns):
            if number >= 0:
                found[at] = self._places[n, r].index(number)
        return found

    def size(self, nranks: int, rank: int, comm: int) -> int:
        """Return the number of members of a recorded communicator."""
        number = self._places[nranks, rank].index(comm)
        return int(np.prod([self.space.sides(nranks)[axis] for axis in self.kinds[number]]))

    def at(self, nranks: int) -> tuple[tuple[tuple[int, ...], ...], np.ndarray]:
        """Return the members of all communicators, and the communicator of each number and rank, numbers x ranks."""
        members: list[tuple[int, ...]] = []
        index = np.empty((len(self.kinds), nranks), np.int64)
        for number, kind in enumerate(self.kinds):
            group = self._groups(kind, nranks)
            index[number] = group + len(members)
            order = np.argsort(group, kind="stable")
            cuts = np.flatnonzero(np.diff(group[order])) + 1
            members += [tuple(part.tolist()) for part in np.split(order, cuts)]
        return tuple(members), index
