"""Sizes of datatypes in DUMPI's text: predefined ones, and those that the program makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from apps.traces.dumpi_text import PREDEFINED, Call

_NULL = 1  # MPI_DATATYPE_NULL; where a type has no meaning, as with MPI_IN_PLACE
_MOST_NUMBER = 1 << 62


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
        if not 0 <= size_bytes < _MOST_NUMBER:
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
