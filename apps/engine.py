"""The engine: what a spec asks for becomes a record."""

from __future__ import annotations

from dataclasses import replace

from apps.record import RunRecord
from apps.smpi import run_identity, run_iterations
from apps.spec import RunSpec
from apps.steady import extrapolate, settle


def simulate(spec: RunSpec, *, time_limit_s: float | None = None) -> RunRecord:
    """Simulates the spec and returns its record, of all iterations of the problem.

    Raises KernelError where the program refuses the problem, and SimulationError where a run does not succeed or
    takes more than ``time_limit_s`` of wall time.
    """
    official = spec.target.problem.iterations

    def run(iterations: int) -> RunRecord:
        return run_iterations(spec, iterations, time_limit_s=time_limit_s)

    if spec.iterations == "steady":
        record = settle(run, official)
    elif spec.iterations == "full":
        record = run(official)
    else:
        record = extrapolate(run(spec.iterations), official)
    return replace(record, identity=run_identity(spec))
