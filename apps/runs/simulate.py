"""Simulate a specification."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

from apps.errors import Departed
from apps.programs.kernel import named_kernel
from apps.results.inputs import Inputs, merged
from apps.results.record import NOT_SHOWN, UNIFORM, RunRecord
from apps.results.steady import extrapolate, settle
from apps.runs.cautions import run_cautions
from apps.runs.computation import with_timer, with_work
from apps.runs.engines import NATIVE, run_identity, run_iterations
from apps.spec.choices import REPLAY
from apps.spec.run_spec import RunSpec
from apps.store import Store
from platforms.addons import provided


def simulate(
    spec: RunSpec,
    *,
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
    store: Store | None = None,
    full_below_messages: int | None = None,
) -> RunRecord:
    """Simulate the spec and return its record, of all iterations of the problem.

    Iterations are extrapolated only if they are known to be alike: those of a kernel that is uniform by construction,
        and those of a user's program that were all found to repeat (apps/runs/repetition.py).  Otherwise all are
        simulated, unless the spec gives a number of them; then there is no error bound.

    Args:
        spec: The run.
        time_limit_s: Limit of the wall time of each simulation; None: none.
        stop: Set by another thread to end the run at once.
        store: Storage for fingerprints of a user's program.
        full_below_messages: User programs with fewer messages are simulated in full; None: whichever is cheaper.

    Raises:
        KernelError: The kernel or program refuses the problem.
        SimulationError: A simulation does not succeed, or takes too long.
        Stopped: ``stop`` was set.
    """
    limits: dict[str, Any] = {"time_limit_s": time_limit_s, "stop": stop}
    spec = with_timer(spec, store=store, **limits)
    timed = with_work(spec, store=store, **limits)
    try:
        record = _simulated(timed, store=store, full_below_messages=full_below_messages, **limits)
    except Departed as reason:
        again = replace(spec, work=None)
        record = _simulated(again, store=store, full_below_messages=full_below_messages, **limits)
        assert record.timed is not None  # measured in the run itself
        record = replace(record, timed=replace(record.timed, reason=str(reason)))
    record = replace(record, identity=run_identity(spec), seen=None)
    return replace(record, cautions=run_cautions(spec, record))


def _simulated(
    spec: RunSpec,
    *,
    time_limit_s: float | None,
    stop: threading.Event | None,
    store: Store | None,
    full_below_messages: int | None,
) -> RunRecord:
    """Return the record of all iterations; the arguments are those of ``simulate``."""
    # Imported here because it is slow to import.
    from apps.runs.repetition import FULL_BELOW_MESSAGES, NOT_SETTLED, repeating
    from apps.runs.surroundings import settled

    if spec.engine == REPLAY:  # replayed computation comes from the store if possible
        provided(NATIVE)(spec, store=store, time_limit_s=time_limit_s, stop=stop)
    official, problem = spec.full_iterations, spec.target.problem
    uniform = problem.program is None and named_kernel(problem.name).uniform
    read: list[Inputs | None] = []

    def run(iterations: int, of: RunSpec = spec) -> RunRecord:
        made = run_iterations(of, iterations, time_limit_s=time_limit_s, stop=stop)
        read.append(made.inputs)
        return made

    def settle_inputs(inputs: Inputs | None) -> Inputs | None:
        return settled(spec, inputs, store=store, time_limit_s=time_limit_s, stop=stop)

    if spec.iterations == "full" or not problem.iterative:
        record = run(official)
    elif isinstance(spec.iterations, int):
        record = extrapolate(run(spec.iterations), official)
        record = _with_basis(record, UNIFORM, None) if uniform else _not_shown(record)
    elif uniform:
        record = _with_basis(settle(run, official), UNIFORM, NOT_SETTLED)
    elif problem.program is None:
        record = replace(run(official), iterations_basis="the kernel's iterations differ from each other")
    else:
        record = repeating(
            spec,
            run,
            settle_inputs=settle_inputs,
            store=store,
            time_limit_s=time_limit_s,
            stop=stop,
            full_below_messages=FULL_BELOW_MESSAGES if full_below_messages is None else full_below_messages,
        )
    began_s = time.perf_counter()
    inputs = settle_inputs(merged(read))
    return replace(record, inputs=inputs, wall_s=record.wall_s + time.perf_counter() - began_s)


def _with_basis(record: RunRecord, extrapolated: str, in_full: str | None) -> RunRecord:
    return replace(record, iterations_basis=in_full if record.extrapolation is None else extrapolated)


def _not_shown(record: RunRecord) -> RunRecord:
    """Return the record without error bounds, for which there is no evidence."""
    if record.extrapolation is None:
        return record
    how = replace(record.extrapolation, bound_rel=None, energy_bound_rel=None)
    return replace(record, extrapolation=how, iterations_basis=NOT_SHOWN)
