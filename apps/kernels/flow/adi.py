"""The declared traffic of BT and SP (apps/kernels/flow/adi.c): halos of tiles, and passes up and down every axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.kernels.flow.tiles import Cut, Ints, cut_for
from apps.traffic.steps import Compute, Exchange, Step, Traffic
from platforms.wording import number_of

_COMPONENTS = 5  # numbers at each point
_HALO = 2  # layers of points
_TAG_HALO, _TAG_UP, _TAG_DOWN = 0, 6, 9
_LEAST, _MOST, _LEAST_OF_TILE = 6, 10000, 2  # points along an axis
RESIDUAL, SCALE, UPDATE = 134, 5, 5  # operations per unknown; the residual's along an axis
Flops = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Method:
    """The numbers of a Method of apps/kernels/flow/adi.h: operations per unknown, and numbers per line in messages."""

    all: float
    eliminate: float
    substitute: float
    begin: float
    turn: tuple[float, float, float]
    official_flops: Callable[[float], float]  # of an iteration
    up: int
    down: int
    whole: bool


def refusal(params: dict[str, Any], nranks: int) -> str | None:
    """Return the program's reason for refusing the problem on this number of ranks; None if it does not refuse."""
    n, cuts = int(params["n"]), cut_for(nranks).cuts
    if not _LEAST <= n <= _MOST:
        return f"n is {n}, not between {_LEAST} and {_MOST}"
    if n // max(cuts) < _LEAST_OF_TILE:
        tiles = f"{number_of(nranks, 'rank')} would cut the cube into {cuts[0]} x {cuts[1]} x {cuts[2]} tiles"
        return f"{tiles}, each of at least {_LEAST_OF_TILE} points per direction, n is {n}"
    if not params["dt"] > 0:
        return "dt is not positive"
    return None


def traffic(method: Method, params: dict[str, Any], nranks: int) -> Traffic:
    """Return the traffic for a cube of n points along each axis."""
    iteration = tuple(_Program(method, int(params["n"]), cut_for(nranks)).iteration())
    return Traffic(nranks, before=(), iteration=iteration, last=iteration, after=())


class _Program:
    """A problem on a number of ranks."""

    def __init__(self, method: Method, n: int, cut: Cut):
        self._method, self._n, self._cut = method, n, cut
        self._points, self._unknowns = cut.points(n), cut.unknowns(n)
        known = 3 * RESIDUAL + SCALE + UPDATE + method.begin
        for turn in method.turn:  # added up in the kernel's order, so that flops are equal to the last bit
            known += method.eliminate + method.substitute + turn
        unknowns = (n - 2.0) * (n - 2.0) * (n - 2.0)
        self._unit = method.official_flops(float(n)) / unknowns / method.all
        self._form = (method.all - known) / 3

    def iteration(self) -> Iterator[Step]:
        """Yield the steps of an iteration."""
        method, unknowns = self._method, self._all_unknowns
        if halo := self._halo():
            yield halo
        yield self._compute(unknowns, 3 * RESIDUAL)
        yield self._compute(unknowns, SCALE + method.begin)
        for axis in range(3):
            yield from self._pass(axis, up=True)
            yield from self._pass(axis, up=False)
        yield self._compute(unknowns, UPDATE)

    @cached_property
    def _all_unknowns(self) -> Flops:
        return self._by_rank(self._unknowns.prod(axis=0)).astype(float)

    def _by_rank(self, of_tiles: Ints, chosen: npt.NDArray[np.bool_] | slice = slice(None)) -> Ints:
        """Return the sum of a number of tiles over the chosen tiles of each rank."""
        return np.bincount(self._cut.rank[chosen], of_tiles[chosen], self._cut.nranks).astype(np.int64)

    def _flops(self, unknowns: Flops, operations: float) -> Flops:
        return unknowns * operations * self._unit

    def _compute(self, unknowns: Flops, operations: float) -> Compute:
        return Compute(self._flops(unknowns, operations))

    def _halo(self) -> Exchange | None:
        """Return the exchange of the layers around the tiles: a message for each neighbour of a rank."""
        cut, ranks = self._cut, np.arange(self._cut.nranks)
        messages: list[tuple[np.int64, np.int64, np.int64]] = []
        tags: list[int] = []
        posted: list[Ints] = []
        for axis in (axis for axis in range(3) if cut.cuts[axis] > 1):
            face = np.delete(self._points, axis, axis=0).prod(axis=0)
            first = len(tags) * cut.nranks
            for ahead in (True, False):
                sends = cut.place[axis] < cut.cuts[axis] - 1 if ahead else cut.place[axis] > 0
                size_bytes = 8 * _COMPONENTS * _HALO * self._by_rank(face, sends)
                messages += list(zip(ranks, cut.neighbour(axis, ahead), size_bytes, strict=True))
                tags.append(_TAG_HALO + 2 * axis + ahead)
            # The message that the neighbour ahead sends back comes first.
            posted += [first + cut.nranks + ranks, first + ranks]
        if not tags:
            return None
        tag = np.repeat(np.array(tags, np.int32), cut.nranks)
        return Exchange.of(messages, at_once=True, tag=tag, posted=np.concatenate(posted))

    def _pass(self, axis: int, *, up: bool) -> Iterator[Step]:
        """Yield a pass through the layers of tiles across an axis."""
        method, cut = self._method, self._cut
        layers = list(range(cut.cuts[axis])) if up else list(range(cut.cuts[axis] - 1, -1, -1))
        numbers, tag = (method.up, _TAG_UP + axis) if up else (method.down, _TAG_DOWN + axis)
        unknowns = [self._layer(axis, layer) for layer in layers]
        ranks, after = np.arange(cut.nranks), cut.neighbour(axis, up)
        if up:
            yield self._compute(unknowns[0], self._form)
        for step, layer in enumerate(layers):
            yield self._compute(unknowns[step], method.eliminate if up else method.substitute)
            if step == len(layers) - 1:
                break
            meanwhile = self._flops(unknowns[step + up], self._form if up else method.turn[axis])
            messages = zip(ranks, after, 8 * numbers * self._lines(axis, layer), strict=True)
            yield self._exchange(messages, tag, meanwhile)
        if not up and method.turn[axis]:
            yield self._compute(unknowns[-1], method.turn[axis])

    def _exchange(self, messages: Any, tag: int, meanwhile: Flops) -> Exchange:
        made = Exchange.of(messages, at_once=True, tag=tag)
        return Exchange(made.source, made.destination, made.size_bytes, True, tag, meanwhile=meanwhile)

    def _layer(self, axis: int, layer: int) -> Flops:
        """Return the unknowns of each rank in a layer."""
        return self._in_layer(self._unknowns.prod(axis=0), axis, layer).astype(float)

    def _in_layer(self, of_tiles: Ints, axis: int, layer: int) -> Ints:
        """Return the sum of a number of tiles over each rank's tiles in a layer."""
        rank, number = (
            np.take(numbers.reshape(self._cut.cuts), layer, axis).ravel() for numbers in (self._cut.rank, of_tiles)
        )
        return np.bincount(rank, number, self._cut.nranks).astype(np.int64)

    def _lines(self, axis: int, layer: int) -> Ints:
        """Return the lines of each rank in a layer for which messages have room."""
        cut = self._cut
        across = [other for other in range(3) if other != axis]
        if self._method.whole:
            each = cut.cuts[across[0]] * cut.cuts[across[1]] // cut.nranks
            return np.full(cut.nranks, each * np.prod([self._n // cut.cuts[other] + 1 for other in across]))
        return self._in_layer(self._unknowns[across].prod(axis=0), axis, layer)
