"""The table of engines, and their common interface."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any, Protocol

from apps.child.failure import INFINITE
from apps.child.process import Finished
from apps.errors import SimulationError
from apps.results.record import RunRecord
from apps.spec.choices import MACHINE, REPLAY
from apps.spec.run_spec import RunSpec
from platforms.addons import provided
from platforms.simgrid.repairs import simgrid_identity


class Engine(Protocol):
    """Engine: a module with these three functions, which run problems."""

    def run_iterations(
        self,
        spec: RunSpec,
        iterations: int,
        *,
        identity: dict[str, Any],
        time_limit_s: float | None = None,
        stop: threading.Event | None = None,
    ) -> RunRecord:
        """Run a number of the problem's iterations, independent of the spec's policy, and return their record.

        Raises:
            KernelError: The kernel or program refuses the problem (too many ranks, say).
            SimulationError: The run does not succeed, or takes more wall time than ``time_limit_s``.
            NoIterations: Fewer iterations than all are requested, and those of the program cannot be identified.
            Stopped: Another thread has set ``stop``.
        """

    def note_events(
        self,
        spec: RunSpec,
        iterations: int,
        notes: Path,
        *,
        what: str,
        time_limit_s: float | None = None,
        stop: threading.Event | None = None,
    ) -> Finished:
        """Run a number of iterations and leave the ranks' events in the folder ``notes`` (apps/recording/files.py).

        ``what`` names the run in errors.

        Raises:
            KernelError: The kernel or program refuses the problem, or makes a call that cannot be recorded.
            SimulationError: The run does not succeed.
            Stopped: Another thread has set ``stop``.
        """

    def program_hash(self, spec: RunSpec) -> str:
        """Return the identity of the code executed by the spec's run."""


NATIVE = "apps.replay.native_recording:native_recording"  # records programs of an ordinary MPI
ENGINES = {
    "smpi": "apps.smpi.engine",
    "s4u": "apps.s4u.engine",
    MACHINE: "apps.measuring.engine",
    REPLAY: "apps.replay.engine",
}


def engine_named(name: str) -> Engine:
    """Return an engine.

    Raises:
        UserError: It belongs to an add-on that is not installed.
    """
    engine: Engine = provided(ENGINES[name])
    return engine


def run_identity(spec: RunSpec) -> dict[str, Any]:
    """Return everything that determines the result of a run: the spec, the program and the simulator, if it has one."""
    program_hash = engine_named(spec.engine).program_hash(spec)
    if spec.source == "measurement":
        return {**spec.identity(), "kernel_hash": program_hash}
    return {**spec.identity(), "kernel_hash": program_hash, "simgrid": simgrid_identity()}


def run_iterations(
    spec: RunSpec, iterations: int, *, time_limit_s: float | None = None, stop: threading.Event | None = None
) -> RunRecord:
    """Run a number of iterations with the spec's engine; see ``Engine.run_iterations``.

    Raises:
        SimulationError: Also if the simulated time is not a finite number.
    """
    engine = engine_named(spec.engine)
    record = engine.run_iterations(spec, iterations, identity=run_identity(spec), time_limit_s=time_limit_s, stop=stop)
    if not all(map(math.isfinite, (record.time_s, record.flops, *record.compute_s, *record.comm_s))):
        raise SimulationError(f"{spec.target}: {INFINITE}")
    return record
