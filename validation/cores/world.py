"""Simulation of the assumptions of eq. (1) to (5) with SimGrid actors (world.cpp), to check the model's implementation.

A node has q cores and a memory behind a bus that the cores share.  The cores compute, fetch and send in phases that are
equal on all cores.  If beta(q, p) = beta_0 p^k / q, every core sends #x / p bytes, so that the cores of a node share
its bandwidth; if beta does not depend on q, every core sends #x / (q p) bytes.  For k = 1 each node has a link of
bandwidth beta_0 b_cl; otherwise all nodes share a link of bandwidth beta_0 p^k b_cl.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from apps.child.process import run_bounded
from apps.child.run_folder import environment
from apps.child.verdict import final_record
from platforms.errors import UserError
from platforms.files.scratch import scratch_folder
from platforms.simgrid.compiling import compile_once
from platforms.simgrid.installed import check_simgrid
from predictor.hierarchical.applications import application
from predictor.hierarchical.model import DERIVED, Beta
from predictor.hierarchical.multicore_cluster import MulticoreCluster
from predictor.hierarchical.surface import Surface, terms_of

_SOURCE = Path(__file__).with_name("world.cpp")
# A message takes latency + bytes / share of the bandwidth: no correction factors by size, headers or acknowledgements.
_PLAIN_NETWORK = {
    "network/model": "CM02",
    "network/latency-factor": "1",
    "network/bandwidth-factor": "1",
    "network/weight-S": "0",
    "network/crosstraffic": "no",
    "network/TCP-gamma": "0",
}
_ROUNDS = 3  # phases of computation, memory and exchange
POINT_S = 0.008  # rough wall time of a q and p of a case
TOLERANCE = 0.02  # largest relative error
# Sizes large enough that rounding messages to whole bytes is negligible.
SIZES = {"scalar-product": 10**9, "matrix-product": 20_000, "hpl": 20_000, "fft": 40_000, "fftw": 40_000}


@dataclass(frozen=True)
class WorldCase:
    """A program of the paper's table on a machine, with the model's beta(q, p) and s(z)."""

    system: MulticoreCluster
    app: str
    n: int
    beta: Beta | None = None  # None: the program's own
    overlap: bool = False  # s(z) = min(1, z): memory access overlaps computation

    @property
    def shared(self) -> Beta:
        """The model's beta(q, p)."""
        return self.beta or application(self.app).beta

    def surface(self) -> Surface:
        """Return the model, as derived from the paper's definitions."""
        app = application(self.app)
        return app.surface(self.n, self.system, variant=DERIVED, beta=self.beta, overlap=self.overlap)

    def line(self, q: int, p: int) -> str:
        """Return the case for q and p as an input line of world.cpp."""
        app, beta = application(self.app), self.shared
        op, b, x = (float(terms_of(amount, self.n)(q, p)) for amount in (app.op, app.b, app.x))
        bandwidth_Bps = float(beta.scale * self.system.network_Bps)
        links = (bandwidth_Bps, 0.0) if beta.power == 1 else (0.0, bandwidth_Bps * p ** float(beta.power))
        sent = x / p if beta.per_core else x / (p * q)
        memory = 0.0 if self.system.memory_Bps is None else b
        numbers = (*links, op, memory, sent)
        return f"{q} {p} {_ROUNDS} {int(self.overlap)} " + " ".join(f"{number:.17g}" for number in numbers)


@dataclass(frozen=True)
class WorldPoint:
    """Times of one q and p of a case."""

    case: WorldCase
    q: int
    p: int
    model_s: float
    simulated_s: float

    @property
    def error(self) -> float:
        """Relative error (model - simulated) / simulated."""
        return (self.model_s - self.simulated_s) / self.simulated_s


def simulate_world(
    cases: Sequence[WorldCase], cores: Iterable[int], nodes: Iterable[int], *, time_limit_s: float | None = None
) -> list[WorldPoint]:
    """Simulate every case on every q of ``cores`` and p of ``nodes``.

    Raises:
        ValueError: The cases have different machines.
        UserError: A q or p is less than 1.
        SimulationError: The simulation failed.
    """
    system = cases[0].system
    if any(case.system != system for case in cases):
        raise ValueError("the cases have different machines")
    places = [(case, q, p) for case in cases for q in cores for p in nodes]
    for _, q, p in places:
        if q < 1 or p < 1:
            raise UserError(f"q = {q}, p = {p}", "q and p must be positive", "Give whole numbers from 1 on")
    check_simgrid()
    program = compile_once(
        "hierarchical-world", [_SOURCE], compiler=["g++"], flags=["-O2", "-std=gnu++17"], libraries=["-lsimgrid"]
    )
    memory_Bps = system.memory_Bps or system.network_Bps  # unused if memory is no limit
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
            environment=environment(folder),
        )
        times_s = final_record(done, f"the world of the model, {system.name}")["times_s"]
    return [
        WorldPoint(case, q, p, model_time_s(case, q, p), time_s)
        for (case, q, p), time_s in zip(places, times_s, strict=True)
    ]


def model_time_s(case: WorldCase, q: int, p: int) -> float:
    """Return the model's time #op / (l_c S), s."""
    operations = application(case.app).operations(case.n)
    return operations / (float(case.system.core_flops) * float(case.surface().speedup(q, p)))
