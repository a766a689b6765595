"""The structure of a program: what holds for its calls and loops on any number of ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from predictor.learned.communicators import Communicators
from predictor.learned.features import Space
from predictor.learned.models import NumberModel
from predictor.learned.nest import Node
from predictor.learned.partners import PartnerModel
from predictor.learned.skeleton import Symbol

ANY_KIND = 0  # of open operations: sends and receives
NOTHING = -1  # in the place of a symbol: that before the first event
FIRST_SYMBOL = 3  # of open operations: those that began with symbol 0


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
