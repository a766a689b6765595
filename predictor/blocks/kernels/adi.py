"""Descriptions of BT and SP in blocks (apps/kernels/flow/adi.c), on square numbers of ranks.

On q^2 ranks the tile at place (x, y, z) belongs to the rank a + q b with a = (x - z) mod q and b = (y + z) mod q, so
that a rank has one tile in each layer.  A tile has m = n // q points along an axis, the first r = n % q tiles one more.

The computation that a rank does while a message is on its way stands after the receive here.
"""

from __future__ import annotations

from apps.traffic import bt, sp
from apps.traffic.adi import RESIDUAL, SCALE, UPDATE, Method
from predictor.blocks.application import Application, Compute, Label, Receive, Repeat, Send, Step

_POINT_BYTES, _HALO = 40, 2  # five numbers; layers of points
MOST_UNEVEN = 9  # tiles along an axis that are not all alike: sizes are sums over them, and expressions have an end
_METHODS = {"bt": bt.METHOD, "sp": sp.METHOD}


def application(name: str, n: int, iterations: int, side: int) -> Application:
    """Return the application of BT or SP.

    Args:
        name: ``bt`` or ``sp``.
        n: Points along each axis.
        iterations: Number of iterations.
        side: Square root of the number of ranks.
    """
    method = _METHODS[name]
    steps = _Steps(method, side, uneven=n % side > 0)
    label = Label("rank", "q * q", (Repeat("iterations", tuple(steps.iteration())),))
    unit = method.official_flops(n) / (n - 2) ** 3 / method.all
    variables = {"iterations": iterations, "q": side, "m": n // side, "r": n % side, "unit": unit}
    return Application(name, (label,), variables)


def _place(axis: int, along: int, layer: int) -> str:
    """Return the place along ``axis`` of a rank's tile in a layer across the axis ``along``."""
    a, b, k = "index % q", "index // q", str(layer)
    return {
        0: {0: k, 1: f"({b} - {k} + {a}) % q", 2: f"({k} - {a}) % q"},  # x, y, z in layer k across x
        1: {0: f"({a} + {b} - {k}) % q", 1: k, 2: f"({b} - {k}) % q"},
        2: {0: f"({a} + {k}) % q", 1: f"({b} - {k}) % q", 2: k},
    }[along][axis]


def _has_more(axis: int, along: int, layer: int) -> str:
    """Return whether the tile in a layer has a point more along ``axis`` than the last tiles."""
    return f"(({_place(axis, along, layer)}) < r)"


def _unknowns(axis: int, along: int, layer: int) -> str:
    place = _place(axis, along, layer)
    return f"(m + ({place} < r) - ({place} == 0) - ({place} == q - 1))"


def _neighbour(axis: int, ahead: bool) -> str:
    """Return the rank of the tiles after this rank's along an axis, or of those before."""
    along_a, along_b = {0: (1, 0), 1: (0, 1), 2: (-1, 1)}[axis]
    way = 1 if ahead else -1
    return f"(index % q + {way * along_a}) % q + q * ((index // q + {way * along_b}) % q)"


class _Steps:
    def __init__(self, method: Method, side: int, *, uneven: bool):
        self._method, self._layers, self._uneven = method, range(side), uneven
        known = 3 * RESIDUAL + SCALE + UPDATE + method.begin + sum(method.turn)
        self._form = (method.all - known - 3 * (method.eliminate + method.substitute)) / 3

    def iteration(self) -> list[Step]:
        """Return the steps of an iteration."""
        method = self._method
        steps = [*self._halo(), *self._everywhere(3 * RESIDUAL + SCALE + method.begin)]
        for axis in range(3):
            steps += [*self._up(axis), *self._down(axis)]
        return [*steps, *self._everywhere(UPDATE)]

    def _in_layer(self, along: int, layer: int) -> str:
        return " * ".join(_unknowns(axis, along, layer) for axis in range(3))

    def _compute(self, operations: float, along: int, layer: int) -> Compute:
        return Compute(f"{operations!r} * unit * {self._in_layer(along, layer)}")

    def _everywhere(self, operations: float) -> list[Step]:
        """Return the computation of so many operations for each unknown of the rank's tiles."""
        return [self._compute(operations, 2, layer) for layer in self._layers]

    def _halo(self) -> list[Step]:
        """Return the exchange of the layers around the tiles, with all six neighbours at once."""
        if len(self._layers) == 1:
            return []
        sends: list[Step] = []
        for axis in range(3):
            for ahead in (True, False):
                size = f"{_POINT_BYTES * _HALO} * ({self._face_points(axis, ahead)})"
                sends.append(Send("rank", size, _neighbour(axis, ahead), buffered=True))
        return [*sends, *(Receive("rank", _neighbour(axis, ahead)) for axis in range(3) for ahead in (False, True))]

    def _face_points(self, axis: int, ahead: bool) -> str:
        """Return the points of the faces of the rank's tiles on one side of an axis, except on the cube's surface.

        A face has (m + e) (m + f) points, where e and f are 1 for tiles that have a point more, as r of q have.
        """
        own, end = (self._layers[:-1], self._layers[-1]) if ahead else (self._layers[1:], 0)
        across = [other for other in range(3) if other != axis]
        more = " - ".join(_has_more(other, axis, end) for other in across)
        both = (" * ".join(_has_more(other, axis, layer) for other in across) for layer in own)
        return f"(q - 1) * m ** 2 + m * (2 * r - {more}) + {' + '.join(both)}" if self._uneven else "(q - 1) * m ** 2"

    def _lines(self, along: int, layer: int) -> str:
        if self._method.whole:
            return "(m + 1) ** 2"
        return " * ".join(_unknowns(axis, along, layer) for axis in range(3) if axis != along)

    def _up(self, axis: int) -> list[Step]:
        method, steps = self._method, list[Step]()
        for layer in self._layers:
            if layer > 0:
                steps.append(Receive("rank", _neighbour(axis, False)))
            steps.append(self._compute(self._form + method.eliminate, axis, layer))
            if layer < self._layers[-1]:
                size = f"{8 * method.up} * {self._lines(axis, layer)}"
                steps.append(Send("rank", size, _neighbour(axis, True), buffered=True))
        return steps

    def _down(self, axis: int) -> list[Step]:
        method, steps = self._method, list[Step]()
        for layer in reversed(self._layers):
            if layer < self._layers[-1]:
                steps.append(Receive("rank", _neighbour(axis, True)))
                if method.turn[axis]:
                    steps.append(self._compute(method.turn[axis], axis, layer + 1))
            steps.append(self._compute(method.substitute, axis, layer))
            if layer > 0:
                size = f"{8 * method.down} * {self._lines(axis, layer)}"
                steps.append(Send("rank", size, _neighbour(axis, False), buffered=True))
        return [*steps, *([self._compute(method.turn[axis], axis, 0)] if method.turn[axis] else [])]
