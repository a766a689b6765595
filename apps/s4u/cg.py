"""CG: the messages and flops of the C kernel (apps/cg/cg.c) in mode skeleton, in its order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from apps.s4u.layout import Layout, Plan, layout

if TYPE_CHECKING:
    from apps.s4u.ranks import Rank

DOUBLE_BYTES = 8
TAG_SUM, TAG_FETCH, TAG_SCALAR = range(3)


def refusal(parameters: Mapping[str, float], nranks: int) -> str | None:
    """Why so many ranks cannot run this problem."""
    na, nonzer = parameters["na"], parameters["nonzer"]
    if na < nranks:
        return f"{nranks} ranks need at least as many rows, na is {na}"
    if not 1 <= nonzer <= na // 4:
        return f"nonzer is {nonzer}, not between 1 and na / 4"
    return None


def main(rank: Rank) -> None:
    """Inverse power iteration, each solve by ``cgitmax`` steps of conjugate gradients."""
    program = _Cg(rank, int(rank.parameters["na"]), int(rank.parameters["nonzer"]))
    steps = int(rank.parameters["cgitmax"])
    rank.start()
    for _ in range(rank.iterations):
        program.iterate(steps)
        rank.iteration()
    rank.stop()


class _Cg:
    """One rank's part of the work."""

    def __init__(self, rank: Rank, na: int, nonzer: int):
        self._rank = rank
        self._layout: Layout = layout(na, rank.rank, rank.size)
        per_row = nonzer * (nonzer + 1.0)
        self._product_flops = 2 * per_row * self._layout.rows * (self._layout.columns / na)
        # Every group repeats vector operations, of two flops per element; the benchmark counts them once.
        self._vector_flops = 2.0 * self._layout.columns / self._layout.groups

    def iterate(self, steps: int) -> None:
        self._vectors(1)
        self._sum_scalars(1)  # rho
        for _ in range(steps):
            self._multiply()
            self._vectors(1)
            self._sum_scalars(1)  # p q
            self._vectors(2)
            self._vectors(1)
            self._sum_scalars(1)  # rho
            self._vectors(1)
        self._multiply()
        self._vectors(2)
        self._sum_scalars(1)  # |x - A z|^2
        self._vectors(2)
        self._sum_scalars(2)  # x z and z z
        self._vectors(1)

    def _vectors(self, operations: int) -> None:
        self._rank.compute(operations * self._vector_flops)

    def _multiply(self) -> None:
        self._rank.compute(self._product_flops)
        self._play(self._layout.sum, TAG_SUM)
        self._play(self._layout.fetch, TAG_FETCH)

    def _sum_scalars(self, count: int) -> None:
        self._play(self._layout.scalar, TAG_SCALAR, count)

    def _play(self, plan: Plan, tag: int, count: int | None = None) -> None:
        for phase in plan:
            requests = [self._rank.irecv(part.rank, tag=tag) for part in phase.receives]
            for part in phase.sends:
                self._rank.send(part.rank, DOUBLE_BYTES * (part.count if count is None else count), tag=tag)
            self._rank.waitall(requests)
