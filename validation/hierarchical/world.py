"""The model's own world in SimGrid: what eq. (1) to (5) assume, done by actors (world.cpp).  Checks the implementation.

Nodes have q cores and a memory behind a bus that they share; cores compute, fetch and send in phases that are equal on
all.  For beta(q, p) = beta_0 p^k / q every core sends #x / p bytes, so that the cores of a node share its bandwidth;
without the q, #x / (q p).  For k = 1 each node has a link of beta_0 b_cl, else all share one of beta_0 p^k b_cl.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from apps.process import run_bounded
from apps.verdict import final_record
from platforms.compiling import compile_once
from platforms.errors import UserError
from platforms.scratch import scratch_folder
from platforms.simgrid import check_simgrid
from predictor.hierarchical.applications import application
from predictor.hierarchical.beta import Beta
from predictor.hierarchical.model import DERIVED
from predictor.hierarchical.multicore_cluster import MulticoreCluster
from predictor.hierarchical.surface import Surface, terms_of

_SOURCE = Path(__file__).with_name("world.cpp")
# Messages take latency + bytes / share of the bandwidth, nothing else: no factors by size, no headers, no answers.
_PLAIN_NETWORK = {
    "network/model": "CM02",
    "network/latency-factor": "1",
    "network/bandwidth-factor": "1",
    "network/weight-S": "0",
    "network/crosstraffic": "no",
    "network/TCP-gamma": "0",
}
_ROUNDS = 3  # phases of computation, memory and exchange
TOLERANCE = 0.02  # of the model's time
# Sizes for which a second is worth speaking of, so that whole bytes of messages are no matter.
SIZES = {"scalar-product": 10**9, "matrix-product": 20_000, "hpl": 20_000, "fft": 40_000, "fftw": 40_000}


@dataclass(frozen=True)
class WorldCase:
    """A program of the paper's table on a machine, and how the network and s(z) are taken."""

    system: MulticoreCluster
    app: str
    n: int
    beta: Beta | None = None  # None: the program's
    overlap: bool = False  # s(z) = min(1, z): memory is used while cores compute

    @property
    def shared(self) -> Beta:
        """beta(q, p)."""
        return self.beta or application(self.app).beta

    def surface(self) -> Surface:
        """The model, as derived from the paper's definitions."""
        one = application(self.app)
        return one.surface(self.n, self.system, variant=DERIVED, beta=self.beta, overlap=self.overlap)

    def line(self, q: int, p: int) -> str:
        """For world.cpp."""
        one, beta = application(self.app), self.shared
        op, b, x = (float(terms_of(amount, self.n)(q, p)) for amount in (one.op, one.b, one.x))
        bandwidth_Bps = float(beta.scale * self.system.network_Bps)
        links = (bandwidth_Bps, 0.0) if beta.power == 1 else (0.0, bandwidth_Bps * p ** float(beta.power))
        sent = x / p if beta.per_core else x / (p * q)
        memory = 0.0 if self.system.memory_Bps is None else b
        numbers = (*links, op, memory, sent)
        return f"{q} {p} {_ROUNDS} {int(self.overlap)} " + " ".join(f"{number:.17g}" for number in numbers)


@dataclass(frozen=True)
class WorldPoint:
    """One q and p of a case."""

    case: WorldCase
    q: int
    p: int
    model_s: float
    simulated_s: float

    @property
    def error(self) -> float:
        """(model - simulated) / simulated."""
        return (self.model_s - self.simulated_s) / self.simulated_s


def simulate_world(
    cases: Sequence[WorldCase], cores: Iterable[int], nodes: Iterable[int], *, time_limit_s: float | None = None
) -> list[WorldPoint]:
    """Every case, all of one machine, on every q of ``cores`` and p of ``nodes``.  Raises SimulationError."""
    system = cases[0].system
    if any(case.system != system for case in cases):
        raise ValueError("cases of several machines")
    places = [(case, q, p) for case in cases for q in cores for p in nodes]
    for _, q, p in places:
        if q < 1 or p < 1:
            raise UserError(f"q = {q}, p = {p}", "not cores and nodes", "Give whole numbers from 1 on")
    check_simgrid()
    program = compile_once(
        "hierarchical-world", [_SOURCE], compiler=["g++"], flags=["-O2", "-std=gnu++17"], libraries=["-lsimgrid"]
    )
    memory_Bps = system.memory_Bps or system.network_Bps  # unused where memory never limits
    most_q, most_p = max(q for _, q, _ in places), max(p for _, _, p in places)
    command = [
        str(program),
        *(f"{float(number):.17g}" for number in (system.core_flops, memory_Bps)),
        *(str(most_p), str(most_q)),
        *(f"--cfg={key}:{value}" for key, value in _PLAIN_NETWORK.items()),
    ]
    with scratch_folder("s4u") as folder:
        (folder / "cases").write_text("".join(f"{case.line(q, p)}\n" for case, q, p in places))
        done = run_bounded(
            ["sh", "-c", '"$@" < cases', "sh", *command],
            folder=folder,
            time_limit_s=time_limit_s,
            environment={**os.environ, "TMPDIR": str(folder)},
        )
        times_s = final_record(done, f"the world of the model, {system.name}")["times_s"]
    return [
        WorldPoint(case, q, p, model_time_s(case, q, p), time_s)
        for (case, q, p), time_s in zip(places, times_s, strict=True)
    ]


def model_time_s(case: WorldCase, q: int, p: int) -> float:
    """#op / (l_c S), s."""
    operations = application(case.app).operations(case.n)
    return operations / (float(case.system.core_flops) * float(case.surface().speedup(q, p)))
