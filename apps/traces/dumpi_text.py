"""DUMPI's text, as dumpi2ascii writes it: one file for each rank, with its calls, communicators and types of data.

A call is a line with its name and the time at which it is entered, one line for each argument, and a line with the time
of its return; SST's DUMPI documents them ("Building and using the DUMPI library", a simple example).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

from apps.errors import TraceError
from platforms.errors import UserError

_EDGE = re.compile(
    r"(MPIO?_\w+) (entering|returning) at walltime (\d{1,18})\.(\d{9}), cputime \S+ seconds in thread (\d+)\."
)
_ARGUMENT = re.compile(r"[A-Za-z]\w* (\w+)((?:\[-?\d+\])*)=(.*)")
_IGNORED = re.compile(r"(MPI_\w+) called \d{1,18} times and ignored (\d{1,18}) times")
_SIZE = re.compile(r"Datatype (\d{1,18}) \(.*\) has size (-?\d{1,18})")
_STATUS = re.compile(r"\{bytes=-?\d+, cancelled=-?\d+, source=(-?\d{1,18}), tag=(-?\d{1,18}), error=-?\d+\}")
_MOST_LINE_BYTES = 1 << 24
_MOST_NUMBER = 1 << 31  # DUMPI has numbers of 32 bits
_CONTINUED = ("[", "]", ",", "Perfcounters:")  # lines of arrays of arrays, and of counters


@dataclass(frozen=True)
class Status:
    """The status that a call has returned for a message."""

    source: int
    tag: int


@dataclass
class Call:
    """One call, with its arguments as text."""

    name: str
    entered_s: float
    broken: Callable[[str], UserError]  # makes the error for a fault in it
    returned_s: float = 0.0
    texts: dict[str, str] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """Return an argument that is a number or a handle."""
        numbers = self._numbers(name, self._text(name).partition(" (")[0].strip("[]"))
        if len(numbers) != 1:
            raise self.broken(f"{name} of {self.name} is no number")
        return numbers[0]

    def numbers(self, name: str) -> list[int]:
        """Return an argument that is an array; an empty one if it was not recorded."""
        text = self._text(name)
        return [] if text == "<IGNORED>" else self._numbers(name, text.strip("[]"))

    def statuses(self, name: str) -> list[Status]:
        """Return the statuses of the call; none if they were not recorded."""
        found_statuses = _STATUS.findall(self.texts.get(name, ""))
        return [Status(int(source), int(tag)) for source, tag in found_statuses]

    def _text(self, name: str) -> str:
        if name not in self.texts:
            raise self.broken(f"{self.name} has no {name}")
        return self.texts[name]

    def _numbers(self, name: str, text: str) -> list[int]:
        try:
            numbers = [int(part) for part in text.split(",") if part.strip()]
        except ValueError:
            raise self.broken(f"{name} of {self.name} is no number") from None
        if any(abs(value) >= _MOST_NUMBER for value in numbers):
            raise self.broken(f"{name} of {self.name} is too large")
        return numbers


@dataclass
class Extras:
    """The facts in a file that stand behind its calls."""

    ignored: dict[str, int] = field(default_factory=dict)  # calls that were made but not recorded, by name
    size_bytes: dict[int, int] = field(default_factory=dict)  # of datatypes


def extras_of(path: Path) -> Extras:
    """Return the contents of a file other than its calls.

    Raises:
        TraceError: The file cannot be read, or is no text.
    """
    extras = Extras()
    for _, line in _lines(path):
        if line.endswith(" times") and (ignored := _IGNORED.fullmatch(line)) is not None and int(ignored[2]):
            extras.ignored[ignored[1]] = int(ignored[2])
        elif line.startswith("Datatype ") and (size := _SIZE.fullmatch(line)) is not None:
            extras.size_bytes[int(size[1])] = int(size[2])
    return extras


def calls_in(path: Path) -> Iterator[Call]:
    """Yield the calls in a file.

    Raises:
        TraceError: The file cannot be read, or is no such text.
    """
    call: Call | None = None
    for number, line in _lines(path):

        def broken(problem: str, number: int = number) -> UserError:
            return TraceError(f"{path}:{number}", problem, "Write it again with dumpi2ascii -a")

        edge = _EDGE.match(line)
        if edge is None:
            if call is not None:
                _argument(call, line, broken)
            continue
        name, which, seconds, nanoseconds, thread = edge.groups()
        at_s = int(seconds) + int(nanoseconds) * 1e-9
        if thread != "0":
            raise broken(f"{name} is called in thread {thread}, and a recording has one thread per rank")
        if which == "entering":
            if call is not None:
                raise broken(f"{name} is entered within {call.name}")
            call = Call(name, at_s, broken)
        elif call is None or call.name != name:
            raise broken(f"{name} returns, but was not entered")
        else:
            call.returned_s = at_s
            yield call
            call = None
    if call is not None:
        raise TraceError(str(path), f"it ends within {call.name}", "Write it again with dumpi2ascii -a")


def _argument(call: Call, line: str, broken: Callable[[str], UserError]) -> None:
    match = _ARGUMENT.fullmatch(line)
    if match is not None:
        call.texts[match[1]] = match[3].strip()
    elif line.strip() and not line.startswith(_CONTINUED):
        raise broken(f"neither an argument nor the return of {call.name}")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            number = 0
            while line := file.readline(_MOST_LINE_BYTES):
                number += 1
                if len(line) == _MOST_LINE_BYTES or "\0" in line:
                    raise TraceError(f"{path}:{number}", "it is no text of dumpi2ascii", "Run dumpi2ascii on it")
                yield number, line.rstrip("\n")
    except OSError as err:
        raise TraceError(str(path), f"cannot be read: {err.strerror}", "Make it readable") from err


# Sizes on 64-bit Linux, for files without their table of sizes; by number of the predefined type (common/constants.h).
PREDEFINED: Mapping[int, int] = dict(
    zip(range(2, 28), (1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20), strict=True)
)


WORLD, SELF = 2, 3  # DUMPI's numbers (common/constants.h)
_FIRST_OF_USER = 4
SPLIT, DUP, CART = "MPI_Comm_split", "MPI_Comm_dup", "MPI_Cart_create"
MADE = frozenset({SPLIT, DUP, CART})


@dataclass(frozen=True)
class Making:
    """A call of one rank that makes a communicator."""

    how: str
    parent: int  # the rank's own number of the making of the parent; 0: MPI_COMM_WORLD, 1: MPI_COMM_SELF
    color: int = 0
    key: int = 0
    ranks: int = 0  # of a Cartesian communicator


class OwnComms:
    """The communicators of a rank: every one that it makes gets the next number, from 2 on."""

    def __init__(self) -> None:
        self.made: list[Making] = []
        self._numbers = {WORLD: 0, SELF: 1}  # by DUMPI's number, which may be used again

    def number(self, call: Call, name: str = "comm") -> int:
        """Return the rank's own number of the communicator in an argument."""
        handle = call.number(name)
        if handle not in self._numbers:
            raise call.broken(f"{call.name} names the communicator {handle}, which the rank has not made")
        return self._numbers[handle]

    def note(self, call: Call) -> None:
        """Take note of a call that makes a communicator."""
        parent = self.number(call, "oldcomm")
        if call.name == SPLIT:
            making = Making(SPLIT, parent, color=call.number("color"), key=call.number("key"))
        elif call.name == CART:
            making = Making(CART, parent, ranks=prod(call.numbers("dims")))
        else:
            making = Making(DUP, parent)
        self.made.append(making)
        new = call.number("newcomm")
        if new >= _FIRST_OF_USER:
            self._numbers[new] = len(self.made) + 1


def resolve(where: str, ranks: Sequence[OwnComms]) -> tuple[list[tuple[int, ...]], list[Mapping[int, int]]]:
    """Return the members of all communicators, and the index among them of each rank's own numbers.

    Raises:
        TraceError: Some members of a communicator do not take part in a call that makes another one.
    """
    communicators = [tuple(range(len(ranks))), *((rank,) for rank in range(len(ranks)))]
    known: list[dict[int, int]] = [{0: 0, 1: 1 + rank} for rank in range(len(ranks))]
    turns: dict[tuple[int, int], dict[int, Making]] = {}  # by parent and number of the call on it
    waiting = {rank: 0 for rank, calls in enumerate(ranks) if calls.made}  # place of the next making
    made_on: list[dict[int, int]] = [{} for _ in ranks]
    while waiting:
        before = dict(waiting)
        for rank in before:
            making = ranks[rank].made[before[rank]]
            if making.parent not in known[rank]:
                raise TraceError(where, f"rank {rank} uses a communicator of which it is no member", _REMEDY)
            parent = known[rank][making.parent]
            key = parent, made_on[rank].get(parent, 0)
            turn = turns.setdefault(key, {})
            turn[rank] = making
            if len(turn) < len(communicators[parent]):
                continue
            _make(where, communicators, known, turn, communicators[parent], waiting)
            for member in communicators[parent]:
                made_on[member][parent] = key[1] + 1
                waiting[member] += 1
                if waiting[member] == len(ranks[member].made):
                    del waiting[member]
            break  # the places of several ranks have changed
        if waiting == before:
            rank = min(waiting)
            problem = f"rank {rank} calls {ranks[rank].made[waiting[rank]].how}, and other members do not"
            raise TraceError(where, problem, _REMEDY)
    return communicators, [dict(numbers) for numbers in known]


_REMEDY = "Give the texts of all ranks of one run"


def _make(
    where: str,
    communicators: list[tuple[int, ...]],
    known: Sequence[dict[int, int]],
    turn: Mapping[int, Making],
    members: Sequence[int],
    places: Mapping[int, int],
) -> None:
    """Add the communicators that one collective call makes."""
    hows = {making.how for making in turn.values()}
    if len(hows) > 1:
        raise TraceError(where, f"members of a communicator call {' and '.join(sorted(hows))} together", _REMEDY)
    how = hows.pop()
    groups: dict[int, list[int]] = {}
    for place, rank in enumerate(members):
        making = turn[rank]
        if how == SPLIT and making.color >= 0:
            groups.setdefault(making.color, []).append(rank)
        elif how == DUP or (how == CART and place < making.ranks):
            groups.setdefault(0, []).append(rank)
    for group in groups.values():
        ordered = sorted(group, key=lambda rank: turn[rank].key)  # stable: equal keys keep the parent's order
        for rank in ordered:
            known[rank][places[rank] + 2] = len(communicators)
        communicators.append(tuple(ordered))


_NULL = 1  # MPI_DATATYPE_NULL; where a type has no meaning, as with MPI_IN_PLACE
_MOST_SIZE = 1 << 62


class Datatypes:
    """The sizes of a rank's datatypes by their numbers."""

    def __init__(self, table: Mapping[int, int]):
        self._made: dict[int, int | None] = {}  # None: its size is not known
        self._table = {**PREDEFINED, **{number: size for number, size in table.items() if size > 0}}

    def note(self, call: Call) -> None:
        """Take note of a call that makes a datatype; other calls change nothing."""
        rule = _RULES.get(call.name)
        if rule is not None:
            self._made[call.number("newtype")] = rule(call, self)
        elif call.name in _UNKNOWN:
            self._made[call.number("newtype")] = None

    def size(self, number: int, call: Call) -> int:
        """Return the size of an element, bytes.

        Raises:
            TraceError: The size is not known.
        """
        size_bytes = self._made.get(number, self._table.get(number))
        if size_bytes is None:
            raise call.broken(f"the size of datatype {number} of {call.name} is not known")
        return size_bytes

    def bytes_of(self, call: Call, count: str, datatype: str) -> int:
        """Return the bytes of these arguments: a number of elements and their type; 0 for no type."""
        number = call.number(datatype)
        return 0 if number <= _NULL else self._checked(call.number(count) * self.size(number, call), call)

    def vector(self, call: Call, counts: str, datatype: str) -> list[int]:
        """Return the bytes for each member of an array of numbers of elements."""
        number, elements = call.number(datatype), call.numbers(counts)
        return (
            [] if number <= _NULL else [self._checked(element * self.size(number, call), call) for element in elements]
        )

    def vector_of_types(self, call: Call, counts: str, datatypes: str) -> list[int]:
        """Return the bytes for each member, whose types differ."""
        elements, types = call.numbers(counts), call.numbers(datatypes)
        if len(elements) != len(types):
            raise call.broken(f"{call.name} has {len(elements)} counts and {len(types)} datatypes")
        return [
            self._checked(element * self.size(kind, call), call) for element, kind in zip(elements, types, strict=True)
        ]

    def _checked(self, size_bytes: int, call: Call) -> int:
        if not 0 <= size_bytes < _MOST_SIZE:
            raise call.broken(f"{call.name} of {size_bytes} bytes")
        return size_bytes


def _times(call: Call, types: Datatypes, elements: int) -> int:
    return elements * types.size(call.number("oldtype"), call)


def _blocks(name: str) -> Callable[[Call, Datatypes], int]:
    return lambda call, types: _times(call, types, sum(call.numbers(name)))


def _struct(name: str) -> Callable[[Call, Datatypes], int]:
    def size(call: Call, types: Datatypes) -> int:
        lengths: Sequence[int] = call.numbers(name)
        kinds = call.numbers("oldtypes")
        if len(lengths) != len(kinds):
            raise call.broken(f"{call.name} has {len(lengths)} lengths and {len(kinds)} datatypes")
        return sum(length * types.size(kind, call) for length, kind in zip(lengths, kinds, strict=True))

    return size


def _strided(call: Call, types: Datatypes) -> int:
    return _times(call, types, call.number("count") * call.number("blocklength"))


def _same(call: Call, types: Datatypes) -> int:
    return _times(call, types, 1)


_RULES: Mapping[str, Callable[[Call, Datatypes], int]] = {
    "MPI_Type_contiguous": lambda call, types: _times(call, types, call.number("count")),
    **dict.fromkeys(
        ("MPI_Type_vector", "MPI_Type_hvector", "MPI_Type_create_hvector", "MPI_Type_create_indexed_block"), _strided
    ),
    **dict.fromkeys(("MPI_Type_indexed", "MPI_Type_hindexed"), _blocks("lengths")),
    "MPI_Type_create_hindexed": _blocks("blocklengths"),
    "MPI_Type_struct": _struct("lengths"),
    "MPI_Type_create_struct": _struct("blocklengths"),
    "MPI_Type_create_subarray": lambda call, types: _times(call, types, prod(call.numbers("subsizes"))),
    **dict.fromkeys(("MPI_Type_create_resized", "MPI_Type_dup"), _same),
}
_UNKNOWN = frozenset({"MPI_Type_create_darray"})
