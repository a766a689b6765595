"""The engine: what a spec asks for becomes a record."""

from __future__ import annotations

import threading
from dataclasses import replace

from apps.errors import NoIterations
from apps.record import RunRecord
from apps.s4u.engine import run_iterations as run_s4u
from apps.smpi import run_identity
from apps.smpi import run_iterations as run_smpi
from apps.spec import RunSpec
from apps.steady import extrapolate, settle


def simulate(spec: RunSpec, *, time_limit_s: float | None = None, stop: threading.Event | None = None) -> RunRecord:
    """Simulates the spec and returns its record, of all iterations of the problem.

    Raises KernelError where the program refuses the problem, and SimulationError where a run does not succeed or
    takes more than ``time_limit_s`` of wall time; Stopped as soon as another thread sets ``stop``, whatever is left to
    be tried.  A program of the user's own whose iterations cannot be told apart is simulated in full, unless the spec
    asks for a number of them.
    """
    problem = spec.target.problem
    official = spec.full_iterations

    def run(iterations: int) -> RunRecord:
        if spec.engine == "s4u":
            return run_s4u(spec, iterations, identity=run_identity(spec), time_limit_s=time_limit_s, stop=stop)
        return run_smpi(spec, iterations, time_limit_s=time_limit_s, stop=stop)

    if spec.iterations == "full" or not problem.iterative:
        record = run(official)
    elif isinstance(spec.iterations, int):
        record = extrapolate(run(spec.iterations), official)
    else:
        try:
            record = settle(run, official)
        except NoIterations:
            record = run(official)
    return replace(record, identity=run_identity(spec))
