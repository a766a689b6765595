"""The structure of a program: what holds for its calls and loops on any number of ranks."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from apps.recording.events import Recording
from predictor.learned.errors import CannotContinue
from predictor.learned.features import Space
from predictor.learned.grids import coordinates
from predictor.learned.models import NumberModel
from predictor.learned.nest import Node
from predictor.learned.partners import PartnerModel
from predictor.learned.skeleton import Symbol

Kind = tuple[int, ...]  # axes along which the members of a communicator differ
ANY_KIND = 0  # of open operations: sends and receives
NOTHING = -1  # in the place of a symbol: that before the first event
FIRST_SYMBOL = 3  # of open operations: those that began with symbol 0


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


@dataclass(frozen=True)
class AllOpen:
    """The number of turns of a loop that waits for all open operations of a kind."""

    kind: int  # Kind.SEND, Kind.RECV or ANY_KIND


@dataclass(eq=False)
class Leaf:
    """Models of one place of the text."""

    presence: NumberModel  # whether the event is there: 0 or 1
    flops: NumberModel  # of the computation before it
    flops_after: Mapping[int, NumberModel] = field(default_factory=dict)  # where it depends on it: by the symbol before
    seen_after: frozenset[int] = frozenset()  # the symbols that were recorded before it
    partner: PartnerModel | None = None
    size: NumberModel | None = None  # bytes; of an ELAPSE seconds
    unit: int = 1  # bytes that all recorded sizes are multiples of, at most those of a double
    tag: NumberModel | None = None
    comm: NumberModel | None = None
    waited: NumberModel | None = None  # place of a WAIT's operation among the open ones, or -1: the youngest
    waits_among: int = ANY_KIND  # the operations among which that place is: of a kind, or, from FIRST_SYMBOL on, symbol
    waits_for: int = ANY_KIND  # the kind of the operations that it waits for, if it is always the same
    counts: NumberModel | None = None  # of a vector collective: bytes by member, in one more loop
    filled: bool = False  # whether no recorded size is 0
    # Of an all-to-all that divides its data twice, the least recorded block in bytes, if each has an entry per member.
    spread_out: int = 0
    counted: NumberModel | None = None  # whether a rank has counts, such as the root of a gather alone: 0 or 1
    vector: str = ""  # "" none, "members": one entry each, "split": color and key


@dataclass(eq=False)
class Structure:
    """A program at any number of ranks."""

    symbols: Sequence[Symbol]
    root: Node
    space: Space
    communicators: Communicators
    seen: tuple[int, ...]  # the recorded numbers of ranks
    leaves: dict[Node, Leaf] = field(default_factory=dict)
    loops: dict[Node, NumberModel | AllOpen] = field(default_factory=dict)  # turns
    # Loops over the neighbours that lie inside the grid: steps to all neighbours.
    lists: Mapping[Node, Sequence[tuple[int, ...]]] = field(default_factory=dict)
    unconfirmed: list[str] = field(default_factory=list)  # what the largest recording was needed for, or is not exact
    fitted: dict[str, tuple[float, float]] = field(default_factory=dict)  # by quantity: ratios of recorded to fitted
