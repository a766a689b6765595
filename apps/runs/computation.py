"""The measured computation of users' programs: timed in a few runs, kept in the store, and replayed by simulations."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from apps.errors import KernelError, SimulationError, Stopped
from apps.results.inputs import Inputs
from apps.runs.neutral import kept_options, neutral_platform, program_identity
from apps.spec.machine_speed import processor_model
from apps.spec.run_spec import RunSpec
from apps.spec.settings import samples
from apps.spec.target import Target
from apps.store import Store
from apps.store.identity import identity_hash
from platforms.addons import provided
from platforms.files.caching import cache_folder, unusable
from platforms.files.scratch import scratch_folder, try_lock

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from apps.child.process import Finished
    from apps.recording.work import Work  # NumPy, which it needs, is slow to import

_STEP_S = 0.1  # interval between two tries
RUNS, RUNS_S = 3, 2.0  # largest number of timed runs, and the wall time after which no further one begins
_THREADS_REL = 0.05  # share of the computation in other threads that is ignored


def with_timer(spec: RunSpec, **limits: Any) -> RunSpec:
    """Return the spec with the timer of its program, if the program's own timer is used (timer.py)."""
    program = spec.target.problem.program
    if program is None or program.time_from is None:
        return spec
    timed: RunSpec = provided("apps.runs.timer:with_timer")(spec, **limits)
    return timed


def with_work(
    spec: RunSpec, *, store: Store | None = None, time_limit_s: float | None = None, stop: threading.Event | None = None
) -> RunSpec:
    """Return the spec with the measured computation of its program, which its simulations replay.

    It is timed now and stored, or taken from the store.  A spec that measures nothing is returned unchanged, as is one
    whose program samples itself (SMPI_SAMPLE), which is timed in every run.

    Raises:
        KernelError: The program refuses to run, or computes in several threads.
        SimulationError: The run does not succeed.
        Stopped: ``stop`` was set.
    """
    if not needs_work(spec):
        return spec
    spec = with_timer(spec, store=store, time_limit_s=time_limit_s, stop=stop)
    identity = work_identity(spec)
    known = _kept(spec, store, identity)
    if known is None:
        with _alone(stop):
            known = _kept(spec, store, identity)  # another process may have timed it in the meantime
            if known is None:
                known = _timed(spec, store, identity, time_limit_s=time_limit_s, stop=stop)
    return replace(spec, work=known)


def needs_work(spec: RunSpec) -> bool:
    """Return whether the computation of the spec's program must be timed before it is simulated.

    Raises:
        UserError: The program cannot be compiled or read.
    """
    program = spec.target.problem.program
    return spec.compute == "measured" and spec.work is None and program is not None and not samples(program)


def work_identity(spec: RunSpec) -> dict[str, Any]:
    """Return everything that determines the computation of the spec's program, except this computer's current state."""
    iterations = timed_iterations(spec)
    return {**program_identity(spec, iterations), "work": spec.measurement, "processor": processor_model()}


def timed_iterations(spec: RunSpec) -> int:
    """Return the number of iterations of the timed run: all, unless the spec gives a number."""
    return spec.iterations if isinstance(spec.iterations, int) else spec.full_iterations


def _kept(spec: RunSpec, store: Store | None, identity: dict[str, Any]) -> Work | None:
    from apps.recording.work import from_bytes  # imported here because NumPy is slow to import

    if store is None or not store.unchanged("computation", identity):
        return None
    content = store.get_bytes("computation", identity)
    if content is None:
        return None
    try:
        return from_bytes(content, nranks=spec.target.nranks)
    except ValueError as err:
        store.refuse("computation", identity_hash(identity), str(err))
        return None


def _timed(
    spec: RunSpec,
    store: Store | None,
    identity: dict[str, Any],
    *,
    time_limit_s: float | None,
    stop: threading.Event | None,
) -> Work:
    from apps.recording.work import to_bytes, typical  # imported here because NumPy is slow to import

    problem, nranks, iterations = spec.target.problem, spec.target.nranks, timed_iterations(spec)
    platform = neutral_platform(nranks)
    plain = RunSpec(Target(problem, platform, tuple(host.name for host in platform.hosts)), options=kept_options(spec))
    done, first, others_s = _once(plain, iterations, time_limit_s=time_limit_s, stop=stop)
    if others_s > _THREADS_REL * max(first.total_s, 1e-3):
        reason = f"its other threads compute for {others_s:.2g} s, which the time of a rank does not include"
        raise KernelError(f"--compute measured, {problem}", reason, "Set OMP_NUM_THREADS=1 or a similar variable")
    works = [first]
    while len(works) < RUNS and (len(works) + 1) * done.wall_s < RUNS_S:
        works.append(_once(plain, iterations, time_limit_s=time_limit_s, stop=stop)[1])
    work = typical(works)
    inputs: Inputs | None = done.inputs
    if store is not None:
        kept = store.put_bytes(
            "computation", identity, to_bytes(work), inputs=inputs, summary=f"{work.total_s:.4g} s of computation"
        )
        if kept:
            return work
    return replace(work, kept=False)


def _once(
    plain: RunSpec, iterations: int, *, time_limit_s: float | None, stop: threading.Event | None
) -> tuple[Finished, Work, float]:
    """Return a timed run, its computation, and the computation time of additional threads, s."""
    from apps.recording.work import measured_work  # imported here because NumPy is slow to import

    try:
        done, steps, others_s = _noted(plain, iterations, apart=True, time_limit_s=time_limit_s, stop=stop)
    except Stopped:
        raise
    except SimulationError:  # the program cannot be restored for repetitions, or it fails itself and will do so again
        done, steps, others_s = _noted(plain, iterations, apart=False, time_limit_s=time_limit_s, stop=stop)
    return done, measured_work(steps, iterations), others_s


def _noted(
    plain: RunSpec, iterations: int, *, apart: bool, time_limit_s: float | None, stop: threading.Event | None
) -> tuple[Finished, tuple[npt.NDArray[np.void], ...], float]:
    """Return a timed run, its steps by rank, and the computation time of additional threads, s."""
    # Imported here because they are slow to import.
    from apps.recording.files import Incomplete
    from apps.recording.work import read_steps
    from apps.smpi.engine import note_work

    what = f"timing of {plain.target.problem.on(plain.target.nranks)}"
    with scratch_folder("computation") as notes:
        done = note_work(plain, iterations, notes, apart=apart, what=what, time_limit_s=time_limit_s, stop=stop)
        try:
            steps = read_steps(notes, plain.target.nranks)
            process_s, thread_s = map(float, (notes / "clocks").read_text().split())
        except (Incomplete, OSError, ValueError) as err:
            raise SimulationError(f"{what}: {err}", done.log) from err
    return done, steps, process_s - thread_s


@contextmanager
def _alone(stop: threading.Event | None) -> Iterator[None]:
    """Wait until no other computation is timed on this computer by this user: two at once would slow each other."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / "timing.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as err:
        raise unusable(folder, err.strerror or str(err)) from err
    waiting = threading.Event() if stop is None else stop
    try:
        while try_lock(handle) is False:  # this file system has no locks: several computations may be timed at once
            if waiting.wait(_STEP_S):
                raise Stopped("not timed, because its runner was closed")
        yield
    finally:
        os.close(handle)
