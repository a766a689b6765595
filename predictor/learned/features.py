"""Features of a row: what numbers of a program may depend on.

Their names, for a rank at coordinate c of p along axis 0 and a known number n, in loop 0 at index i of t turns:

``P``, ``1/P``, ``lg P``, ``sqrt P``, ``q0``, ``q1``
    The number of ranks, and the sides of the most square grid.
``lp0``, ``lc0``, ``ld0``, ``lm0``
    The number of bits of p - 1, of c, of the places that follow c, and the larger of both.
``r``, ``c0``, ``d0``, ``p0``, ``1/p0``, ``lg p0``, ``lo0``, ``hi0``, ``nb0``, ``inner``
    The rank, its coordinate and that from the end, the side, whether there are neighbours below and above, their
    number, and the number of axes with neighbours.
``e0:n``, ``s0:n``, ``E:n``, ``W:n``, ``V:n``
    Shares of n: n // p + (c < n % p); (c + 1) n // p - c n // p; the first over all ranks; over all but rank 0, with
    the rest to the first or to the last ones.  ``e0-2:n`` is the first without 2.
``F:n``, ``C:n``, ``N:n``
    n / P, rounded down and up, and n itself, where it is another one on other numbers of ranks.
``u0:n``, ``v0:n``
    ``e0:n`` and ``s0:n`` without the points on the boundary of the whole, one at each end of the axis.
``i0``, ``j0``, ``t0``, ``n0``, ``2^i0``, ``2^-i0``
    The index, the turns that follow, the turns before and their number in a loop, and powers of two of the index.
``e(c0+i0):n``, ``w(i0):n``
    The share of n at a place that moves with the index, and that of a part of P - 1.
``V+-0(i1)u:n``, ...
    Volumes and faces of the cells of a multi-partition (module ``cells``).
``kl0@m1``, ...
    Receivers of a rank in a tree along an axis, and its place from the root (module ``trees``).
``g0:n``, ``g0+1:n``
    n // p, and 1 more.
``s0>i1+1:n``, ...
    Points of levels (module ``points``).
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import numpy as np

from predictor.learned import cells, points, trees
from predictor.learned.cells import share
from predictor.learned.errors import CannotContinue
from predictor.learned.grids import GRIDS, Sides, coordinates, most_cubic
from predictor.learned.rows import Rows

NO_SIZES: Mapping[int, Sequence[int]] = MappingProxyType({})
_LEAST_NUMBER = 4  # smaller known numbers explain too much by chance
_LARGEST_POWER = 40
_MOST_BLOCKS = 3  # pairs of known numbers of which one may be the size of blocks
_LOOP = re.compile(r"(2\^-?)?([ijtn])(\d+)$")
_MOVING = re.compile(r"([ew])\((?:c(\d)([+-]))?([ij])(\d+)([+-]1)?\):(\d+)$")
_NEXT = ("", "+1", "-1")
_SHARE = re.compile(r"([esuvgEFCWVN])(\d?)([+-]\d)?:(\d+)$")
_EDGES = (-2, -1, 1, 2)  # lengths without or with edges


class Space:
    """The features under one rule for the grid of ranks.

    Args:
        grid: The rule.
        numbers: Known sizes of the problem.  They also name the features that have them.
        recorded: Numbers of ranks on which the problem has other sizes: those in the place of ``numbers``.
    """

    def __init__(self, grid: str, numbers: Sequence[int], recorded: Mapping[int, Sequence[int]] = NO_SIZES):
        self.grid = grid
        self.recorded = {nranks: dict(zip(numbers, sizes, strict=True)) for nranks, sizes in recorded.items()}
        self.numbers = tuple(dict.fromkeys(n for n in numbers if n >= _LEAST_NUMBER))
        self.levels = False  # whether the program has levels on which ranks drop out
        self.roots: set[str] = set()  # statements about moving roots that hold for the calls of the program
        self._of_ranks: dict[tuple[int, str], np.ndarray] = {}

    def learn_numbers(self, formula_names: Iterable[str]) -> None:
        """Take the numbers of these features for known: what messages depend on, the computation depends on too."""
        used = (int(name.partition(":")[2]) for name in formula_names if ":" in name)
        self.numbers += tuple(n for n in dict.fromkeys(used) if n not in self.numbers)

    def sides(self, nranks: int) -> Sides:
        """Return the sides of the grid."""
        return GRIDS[self.grid](nranks)

    @cached_property
    def axes(self) -> int:
        """Number of axes."""
        return len(self.sides(4))

    def length(self, n: int, nranks: int) -> int:
        """Return the size that a problem on a number of ranks has where it is ``n`` at the target."""
        return self.recorded.get(nranks, {}).get(n, n)

    def lengths(self, n: int, rows: Rows) -> np.ndarray:
        """Return ``length`` by row."""
        by_count = np.zeros(int(rows.nranks.max(initial=0)) + 1, np.int64)
        by_count[rows.counts] = [self.length(n, nranks) for nranks in rows.counts.tolist()]
        found: np.ndarray = by_count[rows.nranks]
        return found

    @cached_property
    def derived(self) -> tuple[int, ...]:
        """Numbers beside the known ones: without or with edges, halves, and numbers of blocks of another known size."""
        made: dict[int, None] = {}
        near = [(n, 1, 1, by) for n in self.numbers for by in (-1, -2, 1, 2)]
        blocks = [(n, size, 1, 0) for n in self.numbers for size in self.numbers if n > size]
        halves = [(n, 1, 2, 0) for n in self.numbers]
        for n, size, parts, by in (*near, *halves, *(blocks if len(blocks) <= _MOST_BLOCKS else ())):
            other = -(-n // size) // parts + by
            if other >= _LEAST_NUMBER and other not in self.numbers and other not in made:
                made[other] = None
                for sizes in self.recorded.values():
                    sizes[other] = -(-sizes.get(n, n) // sizes.get(size, size)) // parts + by
        return tuple(made)

    def place(self, rows: Rows, ranks: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates of ranks (None: those of the rows) and the sides, both axes x rows."""
        if ranks is None:
            if self.grid not in rows.places:
                rows.places[self.grid] = self._place(rows, rows.rank)
            c, sides = rows.places[self.grid]
            return c.copy(), sides  # rules for partners change the coordinates
        return self._place(rows, ranks)

    def _place(self, rows: Rows, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        c, sides = np.empty((self.axes, len(rows)), np.int64), np.empty((self.axes, len(rows)), np.int64)
        for nranks in rows.counts.tolist():
            which = rows.nranks == nranks
            c[:, which] = coordinates(self.sides(nranks), ranks[which])
            sides[:, which] = np.array(self.sides(nranks))[:, None]
        return c, sides

    def names(self, loops: int) -> list[str]:
        """Return the names of the common features."""
        names = ["P", "1/P", "lg P", "sqrt P", "r"]
        for a in range(self.axes):
            names += [f"{name}{a}" for name in ("p", "1/p", "lg p", "c", "d", "lo", "hi", "nb")]
        names += ["inner"]
        for n in self.numbers:
            names += [*(f"{kind}{a}:{n}" for kind in "eu" for a in range(self.axes)), f"E:{n}", f"F:{n}", f"C:{n}"]
            names += [*(f"g{a}:{n}" for a in range(self.axes)), *([f"N:{n}"] if self.recorded else [])]
            names += [f"e{a}{by:+d}:{n}" for a in range(self.axes) for by in _EDGES]
        for k in range(loops):
            names += [f"{name}{k}" for name in ("i", "j", "n", "2^i", "2^-i")]
        return names

    def level_names(self, rows: Rows) -> list[str]:
        """Return the names of features of levels, if ranks drop out of some."""
        return points.names(self.axes, self.numbers, points.levels(rows)) if self.levels else []

    def level_statements(self, rows: Rows) -> list[str]:
        """Return statements about levels, if ranks drop out of some."""
        return points.statements(self.axes, self.numbers, points.levels(rows)) if self.levels else []

    def further_names(self, loops: int) -> list[str]:
        """Return the names of the less common features."""
        names = ["q0", "q1", *(f"{bits}{a}" for a in range(self.axes) for bits in ("lp", "lc", "ld", "lm"))]
        for n in self.numbers:
            names += [*(f"{kind}{a}:{n}" for kind in "sv" for a in range(self.axes)), f"W:{n}", f"V:{n}"]
            names += [f"g{a}+1:{n}" for a in range(self.axes)]
        names += [f"t{k}" for k in range(loops)]
        places = [f"{i}{k}" for k in range(loops) for i in "ij"]
        names += [f"w({place}):{n}" for n in self.numbers for place in places]
        if self.axes < 3:
            axes = range(self.axes)
            places += [f"c{a}{sign}{place}{by}" for place in places for a in axes for sign in "+-" for by in _NEXT]
            names += [f"e({place}):{n}" for n in self.numbers for place in places]
        return names

    def names_near(self, n: int) -> list[str]:
        """Return the names of features of a number that is near a known one, and of the place alone."""
        axes = range(self.axes)
        names = ["P", "1/P", *(f"{name}{a}" for a in axes for name in ("p", "1/p", "lo", "hi", "nb"))]
        names += [f"E:{n}", f"F:{n}", *(f"{kind}{a}:{n}" for kind in "esug" for a in axes)]
        return [*names, *(f"{kind}{a}{by:+d}:{n}" for kind in "es" for a in axes for by in _EDGES)]

    def value(self, name: str, rows: Rows) -> np.ndarray:
        """Return a feature of the rows."""
        if name not in rows.columns:
            rows.columns[name] = self._value(name, rows)
        return rows.columns[name]

    def _value(self, name: str, rows: Rows) -> np.ndarray:
        loop = _LOOP.match(name)
        if loop:
            return _of_loop(rows, loop[1] or "", loop[2], int(loop[3]))
        moving = _MOVING.match(name)
        if moving:
            return self._moving(rows, *moving.groups())
        if trees.TREE.match(name):
            return trees.value(name, rows, *self.place(rows)).astype(float)
        if points.LEVEL.match(name):
            finest = self.lengths(int(name.partition(":")[2]), rows)
            return points.value(name, rows, *self.place(rows), finest).astype(float)
        found = np.empty(len(rows))
        for nranks in rows.counts.tolist():
            which = rows.nranks == nranks
            if cells.CELL.match(name):
                some = rows.take(which)
                n = self.length(int(name.partition(":")[2]), nranks)
                found[which] = cells.value(name, some, *self._square(nranks, some.rank), n)
            else:
                found[which] = self._ranks(nranks, name)[rows.rank[which]]
        return found

    def _square(self, nranks: int, ranks: np.ndarray) -> tuple[np.ndarray, int]:
        sides = self.sides(nranks)
        if len(sides) != 2 or sides[0] != sides[1]:
            raise CannotContinue("its ranks would form no square, as for a multi-partition")
        return coordinates(sides, ranks), sides[0]

    def _moving(
        self, rows: Rows, parts: str, axis: str | None, sign: str, kind: str, loop: str, by: str | None, number: str
    ) -> np.ndarray:
        n = self.lengths(int(number), rows)
        sides = self.value("p0", rows) if parts == "e" else np.maximum(rows.nranks - 1.0, 1.0)
        place = self.value(kind + loop, rows)
        if axis is not None:
            c = self.value(f"c{axis}", rows)
            place = ((c + place if sign == "+" else c - place) + int(by or 0)) % sides
        share_there: np.ndarray = n // sides + (place < n % sides)
        return share_there

    def _ranks(self, nranks: int, name: str) -> np.ndarray:
        """Return a feature of all ranks of one number of ranks."""
        if (nranks, name) not in self._of_ranks:
            made = self._share(nranks, name) if ":" in name else self._of_place(nranks, name)
            self._of_ranks[nranks, name] = np.broadcast_to(np.asarray(made, float), (nranks,))
        return self._of_ranks[nranks, name]

    def _share(self, nranks: int, name: str) -> np.ndarray:
        match = _SHARE.match(name)
        assert match is not None
        kind, by, r = match[1], int(match[3] or 0), np.arange(nranks)
        n = self.length(int(match[4]), nranks)
        if kind == "N":
            return np.full(nranks, n)
        if kind in "EFC":
            return n // nranks + {"E": r < n % nranks, "F": 0 * r, "C": 0 * r + (n % nranks > 0)}[kind]
        if kind in "WV":
            workers = max(nranks - 1, 1)
            place = r - 1 if kind == "W" else nranks - 1 - r
            return np.where(r > 0, n // workers + (place < n % workers), 0)
        c, p = coordinates(self.sides(nranks), r)[int(match[2])], self.sides(nranks)[int(match[2])]
        return (n // p + 0 * c if kind == "g" else share(kind, n, c, p)) + by

    def _of_place(self, nranks: int, name: str) -> np.ndarray | float:
        simple = {"P": nranks, "1/P": 1 / nranks, "lg P": math.log2(nranks), "sqrt P": math.sqrt(nranks)}
        if name in simple:
            return simple[name]
        r = np.arange(nranks)
        if name == "r":
            return r
        if name in ("q0", "q1"):
            return most_cubic(nranks, 2)[int(name[1])]
        sides = self.sides(nranks)
        if name == "inner":
            return sum(p > 1 for p in sides)
        kind, a = name[:-1], int(name[-1])
        p = sides[a]
        if kind in ("p", "1/p", "lg p"):
            return {"p": p, "1/p": 1 / p, "lg p": math.log2(p)}[kind]
        c = coordinates(sides, r)[a]
        low, high = (c > 0) * 1.0, (c < p - 1) * 1.0
        if kind[0] == "l" and kind != "lo":
            bits = {"lp": p - 1 + 0 * c, "lc": c, "ld": p - 1 - c, "lm": np.maximum(c, p - 1 - c)}
            return trees.length(bits[kind])
        of_coordinate: dict[str, np.ndarray] = {"c": c, "d": p - 1 - c, "lo": low, "hi": high, "nb": low + high}
        return of_coordinate[kind]


def _of_loop(rows: Rows, power: str, kind: str, loop: int) -> np.ndarray:
    columns = {
        "i": rows.index[:, loop],
        "j": rows.turns[:, loop] - 1 - rows.turn[:, loop],
        "t": rows.turn[:, loop],
        "n": rows.turns[:, loop],
    }
    values: np.ndarray = columns[kind].astype(float)
    if not power:
        return values
    exponent: np.ndarray = np.minimum(values, _LARGEST_POWER)
    powers: np.ndarray = 2.0**exponent if power == "2^" else 2.0**-exponent
    return powers


def holds(atom: str, space: Space, rows: Rows) -> np.ndarray:
    """Return for which rows a statement holds: ``c0=0``, ``c0=c1``, ``i1 odd`` or ``t0<ld0``."""
    true: np.ndarray
    left, _, right = atom.partition("=")
    if atom.endswith(" odd"):
        true = space.value(atom[:-4], rows) % 2 == 1
    elif atom.endswith("<workers"):
        true = space.value(atom[:-8], rows) < rows.nranks - 1
    elif "<" in atom:
        less, _, more = atom.partition("<")
        true = space.value(less, rows) < space.value(more, rows)
    elif right == "last":
        true = rows.rank == rows.nranks - 1 if left == "r" else space.value(f"d{left[1:]}", rows) == 0
    else:
        true = space.value(left, rows) == (float(right) if right.isdigit() else space.value(right, rows))
    return true
