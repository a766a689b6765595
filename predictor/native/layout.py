"""C structures of counts and arrays, filled from checked NumPy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt


class Layout:
    """The layout of a C structure: the counts, as int64_t, followed by pointers to the arrays.

    Args:
        counts: The names of the counts.
        arrays: By name, the type of an array's items and its dimensions: counts, counts + 1 or numbers.
        written: The arrays that C writes.

    >>> layout = Layout("ranks steps", {"at": ("i8", "ranks+1"), "flops": ("f8", "steps ranks")})
    >>> made = layout.filled(at=np.zeros(3, np.int64), flops=np.zeros((5, 2)))
    >>> made.ranks, made.steps
    (2, 5)
    """

    def __init__(
        self, counts: str, arrays: Mapping[str, tuple[npt.DTypeLike, str]], *, written: frozenset[str] = frozenset()
    ):
        self.counts = counts.split()
        self.arrays = {name: (np.dtype(kind), dimensions.split()) for name, (kind, dimensions) in arrays.items()}
        self.written = written
        self._lengths = {name: [_length(dimension) for dimension in of] for name, (_, of) in self.arrays.items()}
        fields = [(name, ctypes.c_int64) for name in self.counts] + [(name, ctypes.c_void_p) for name in self.arrays]
        self._type = type("Filled", (ctypes.Structure,), {"_fields_": fields})

    def filled(self, **arrays: np.ndarray) -> ctypes.Structure:
        """Return the structure of these arrays, which it keeps in memory.

        Raises:
            TypeError: An array is missing or unknown, or has items of another type.
            ValueError: An array has another shape, is not contiguous, or is not writable although C writes it.
        """
        if arrays.keys() != self.arrays.keys():
            raise TypeError(f"arrays {', '.join(arrays)}, not {', '.join(self.arrays)}")
        counts: dict[str, int] = {}
        for name, (kind, dimensions) in self.arrays.items():
            array = arrays[name]
            if array.dtype != kind:
                raise TypeError(f"array {name} has items of type {array.dtype}, not {kind}")
            if not _fits(array.shape, self._lengths[name], counts):
                raise ValueError(
                    f"array {name} has the shape {array.shape}, not ({', '.join(dimensions)}) with {counts}"
                )
            if not array.flags.c_contiguous or (name in self.written and not array.flags.writeable):
                raise ValueError(f"array {name} is not contiguous, or not writable")
        made: ctypes.Structure = self._type(**counts, **{name: array.ctypes.data for name, array in arrays.items()})
        made._arrays = arrays  # keeps them
        return made


def _length(dimension: str) -> tuple[str, int]:
    """Return the name of a dimension's count ("" for none) and the number added to it."""
    name, _, added = dimension.partition("+")
    return ("", int(name)) if name.isdecimal() else (name, int(added or 0))


def _fits(shape: tuple[int, ...], lengths: list[tuple[str, int]], counts: dict[str, int]) -> bool:
    """Return whether a shape agrees with the counts known so far; add new counts."""
    if len(shape) != len(lengths):
        return False
    for length, (name, more) in zip(shape, lengths, strict=True):
        wanted = counts.setdefault(name, length - more) + more if name else more
        if length != wanted or length < more:
            return False
    return True
