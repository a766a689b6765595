"""Compare HPL's own evaluation with the graph's of nearly the same messages: processor time of each.

Usage: python benchmarks/hpl_messages.py [--pivots]

The graph has the broadcasts of panels and the swaps of rows as messages.  It knows no closed form for the exchanges of
pivots in a panel, which are left out, or messages as well with ``--pivots`` (10 million by default).
"""

import argparse
import time

import numpy as np

from predictor.dpgraph import instructions as graph
from predictor.dpgraph.fluid import evaluate as evaluate_graph
from predictor.factorisation.evaluate import Problem, evaluate
from predictor.factorisation.machine import Curves, Machine

RATE_BPS, LATENCY_S, GEMM_S, EAGER = 1.25e9, 1e-5, 2e-11, 65536


class Program:
    """Instructions of ranks, each on a node of its own, and messages between them."""

    def __init__(self, ranks: int):
        self.ranks, self.messages = ranks, 0
        self.parts: list[tuple[np.ndarray, ...]] = []
        self.sent: list[tuple[np.ndarray, ...]] = []

    def add(self, rank, code, argument=0, value=0.0):
        """Append one instruction to each of these ranks."""
        shape = np.shape(rank)
        zero = np.zeros(shape)
        self.parts.append((rank, np.full(shape, code, np.uint8), argument + zero.astype(np.int32), value + zero))

    def exchange(self, source, target, size_bytes):
        """Append messages that begin together, and whose ranks wait for them."""
        number = self.messages + np.arange(len(source))
        self.messages += len(source)
        self.sent.append((source, target, size_bytes + np.zeros(len(source))))
        self.add(target, graph.RECV, number)
        self.add(source, graph.SEND, number)
        self.add(target, graph.WAIT_RECEIVED, number)
        self.add(source, graph.WAIT_SENT, number)

    def arguments(self):
        """Return the first three arguments of the graph's evaluation."""
        rank, code, argument, value = (np.concatenate(part) for part in zip(*self.parts, strict=True))
        order = np.argsort(rank, kind="stable")
        first = np.concatenate([[0], np.cumsum(np.bincount(rank, minlength=self.ranks))])
        source, target, size_bytes = (np.concatenate(part) for part in zip(*self.sent, strict=True))
        pairs, path = np.unique(source * self.ranks + target, return_inverse=True)
        kinds = np.zeros(len(path), graph.MESSAGE)
        kinds["amount_bytes"], kinds["latency_s"], kinds["factor"], kinds["path"] = size_bytes, 2 * LATENCY_S, 1.0, path
        kinds["detached"] = kinds["eager"] = size_bytes < EAGER
        links = np.stack([pairs // self.ranks, self.ranks + pairs % self.ranks], axis=1).ravel().astype(np.int32)
        paths = graph.Paths(
            np.full(len(pairs), RATE_BPS), np.ones(len(pairs)), 2 * np.arange(len(pairs) + 1), links,
            np.ones(len(links)), np.full(2 * self.ranks, RATE_BPS),
        )  # fmt: skip
        steps = graph.Instructions(code[order], argument[order].astype(np.int32), value[order], first)
        return steps, graph.Messages(kinds, np.arange(len(path), dtype=np.int32)), paths


def program_of(n: int, nb: int, rows: int, columns: int, pivots: bool) -> Program:
    """Return the messages and computations of a run, without look-ahead and without the substitution."""
    program, ranks = Program(rows * columns), np.arange(rows * columns)
    row, column = np.divmod(ranks, columns)
    for block in range(n // nb):
        left = n - (block + 1) * nb
        panel = ranks[column == block % columns]
        for _ in range(nb if pivots else 1):
            for distance in 1 << np.arange((rows - 1).bit_length() if pivots else 0):
                program.exchange(panel, (panel // columns ^ distance) * columns + panel % columns, 8.0 * (2 + 2 * nb))
            program.add(panel, graph.COMPUTE, value=GEMM_S * nb * nb / (nb if pivots else 1) * left / rows)
        for place in range(columns - 1):
            source = ranks[column == (block + place) % columns]
            target = source // columns * columns + (source + 1) % columns
            program.exchange(source, target, 8.0 * nb * (1 + nb + left / rows))
        for distance in 1 << np.arange((rows - 1).bit_length()):
            program.exchange(ranks, (row ^ distance) * columns + column, 8.0 * nb * left / columns / 2)
        program.add(ranks, graph.COMPUTE, value=GEMM_S * nb * (nb / 2 + left / rows) * left / columns)
    return program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=50_000)
    parser.add_argument("--nb", type=int, default=128)
    parser.add_argument("--grid", type=int, nargs=2, default=(32, 32), help="powers of two")
    parser.add_argument("--pivots", action="store_true", help="the exchanges for pivots are messages too")
    given = parser.parse_args()
    ranks = given.grid[0] * given.grid[1]
    curves = Curves(*[((0.0, 2 * LATENCY_S, 1 / RATE_BPS),)] * 2, eager_bytes=EAGER)
    machine = Machine(np.arange(ranks), np.full(ranks, GEMM_S), curves, RATE_BPS)
    begin = time.process_time()
    found = evaluate(Problem(given.n, given.nb, *given.grid), machine)
    print(f"HPL's own evaluation: {time.process_time() - begin:.2f} s, predicts {found.time_s:.2f} s")
    begin = time.process_time()
    program = program_of(given.n, given.nb, *given.grid, given.pivots)
    steps, messages, paths = program.arguments()
    made = time.process_time()
    end_s = evaluate_graph(steps, messages, paths, np.ones(ranks), np.empty((ranks, 0)))
    print(
        f"the graph, {program.messages:,} messages: {made - begin:.2f} s to make the program and "
        f"{time.process_time() - made:.2f} s to evaluate it, predicts {end_s.max():.2f} s"
    )


if __name__ == "__main__":
    main()
