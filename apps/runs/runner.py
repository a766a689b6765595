"""Execution of many runs in parallel, each at most once; records in the store are reused."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from apps.errors import Stopped
from apps.probes.plan import Measurement, carry_out
from apps.probes.plan import Plan as ExperimentPlan
from apps.programs.problem import Problem
from apps.recording.events import Recording
from apps.results.cautions import Cautions
from apps.results.energy import idle_added
from apps.results.record import RunRecord, misfit
from apps.runs.cautions import experiments_cautions, recording_cautions, run_cautions
from apps.runs.computation import with_work
from apps.runs.engines import run_identity
from apps.runs.limits import EvidenceLimit
from apps.runs.neutral import recording_identity
from apps.runs.record_events import record_events
from apps.runs.run_progress import RunProgress
from apps.runs.simulate import simulate as _simulate
from apps.spec.run_spec import RunSpec
from apps.store import Store
from apps.store.codec import as_fields, from_fields
from apps.store.identity import identity_hash
from platforms.read.routes import part_hash
from platforms.terminal.progress import doing

if TYPE_CHECKING:
    from apps.recording.totals import Totals  # NumPy, which it needs, is slow to import
    from apps.spec.choices import RealMachine

_RECORDINGS_KEPT = 8  # in memory
_STEP_S = 0.1  # interval between two checks while waiting for a run


class Runner:
    """Makes the records of specs, running ``jobs`` simulations at a time.

    Known records come from the store, and new ones are stored as soon as they are made.  Two specs that use equal parts
    of generated platforms in the same way, such as the probes of grid4x2 and grid4x8, share one run.  If another
    process is making a result for the same store, the runner does its other work first and then waits for that result.
    Leaving the context ends all running simulations and begins no more.

    Args:
        jobs: Number of simulations at a time.
        store: Source of known results, and destination of new ones; None: none.
        simulate: Makes the record of a spec; None: apps.runs.simulate, which stores its comparisons.  Its argument
            ``stop`` is set when the context is left; it must then raise Stopped at once.
        identify: Returns the identity of a spec's run.
        progress: Display of the runs; None: none.
        time_limit_s: Limit of the wall time of a recording or a measurement; None: none.
        cautions: Collects the cautions about all results that are returned; None: the runner's own collection.
        evidence_limit: Limit of the evidence of a prediction; it also ends recordings and measurements here.
    """

    def __init__(
        self,
        *,
        jobs: int,
        store: Store | None = None,
        simulate: Callable[..., RunRecord] | None = None,  # (spec, *, stop: threading.Event)
        identify: Callable[[RunSpec], dict[str, Any]] = run_identity,
        progress: RunProgress | None = None,
        time_limit_s: float | None = None,
        cautions: Cautions | None = None,
        evidence_limit: EvidenceLimit | None = None,
    ):
        self.evidence_limit = EvidenceLimit() if evidence_limit is None else evidence_limit
        self.cautions = Cautions() if cautions is None else cautions
        self._pool = ThreadPoolExecutor(jobs, thread_name_prefix="simulation")
        self.store = store
        self._simulate = partial(_simulate, store=store) if simulate is None else simulate
        self.identify = identify
        self._progress = progress
        self._time_limit_s = time_limit_s
        self._futures: dict[str, Future[RunRecord]] = {}
        self._measurements: dict[str, Measurement] = {}
        self._recordings: OrderedDict[str, Recording] = OrderedDict()  # the latest
        self._totals: dict[tuple[Problem, int], Totals] = {}  # of recordings of users' programs
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    @property
    def finished(self) -> int:
        """Number of requested runs with a record, new or from the store."""
        with self._lock:
            return sum(
                future.done() and not future.cancelled() and future.exception() is None
                for future in self._futures.values()
            )

    def start(self, specs: Iterable[RunSpec]) -> None:
        """Begin these runs, in their order, as simulation slots become free."""
        with self._lock:
            self._begin(specs)

    def has(self, spec: RunSpec) -> bool:
        """Return whether a run has begun and ended, so that ``record`` does not wait."""
        with self._lock:
            future = self._futures.get(self._key(spec, self.identify(spec)))
        return future is not None and future.done()

    def record(self, spec: RunSpec) -> RunRecord:
        """Wait for the record of a run and return it.

        The store then has it under the identity of this spec, even if the run was made for another spec.  Errors of the
        engine are raised here, the same for every spec that shares the run.
        """
        with self._lock:
            (future,) = self._begin((spec,))
        # In steps: this thread must handle signals, but a signal delivered to another thread does not wake it.
        while not future.done():
            if self._stop.is_set():
                raise Stopped(f"{spec.target.problem} on {spec.target.platform.name}: its runner was closed")
            if self._progress is not None:
                self._progress.check()
            wait([future], timeout=_STEP_S)
        made = future.result()
        record = _on_its_platform(replace(made, identity=self.identify(spec)), spec, made.identity)
        if self.store is not None and record.identity != made.identity and not self._known(record.identity):
            self.store.put_record(record)
        record = replace(record, cautions=run_cautions(spec, record))
        self.cautions.add(str(spec.target), record.cautions, key=caution_key(spec))
        self._compare(spec, record)
        return record

    def _compare(self, spec: RunSpec, record: RunRecord) -> None:
        """Add a caution if a recording of a user's program differs from the run."""
        recorded = self._totals.get((spec.target.problem, spec.target.nranks))
        if recorded is None or spec.machine is not None:
            return
        from apps.recording.totals import totals_of_record  # imported here because NumPy is slow to import

        difference = recorded.difference(totals_of_record(record))
        if difference is not None:
            said = f"recording and run differ: {difference}. The program's course depends on the time or on its hosts"
            self.cautions.add(str(spec.target), [said], key=caution_key(spec))

    def timed(self, spec: RunSpec) -> RunSpec:
        """Return the spec with the measured computation replayed by its runs (computation.py)."""
        return with_work(spec, store=self.store, time_limit_s=self._time_limit_s, stop=self._stop)

    def recording(self, spec: RunSpec, iterations: int) -> Recording:
        """Wait for a recording of a number of iterations of the spec's problem (record_events.py) and return it."""
        key = identity_hash({**recording_identity(spec, iterations), "flop_scale": spec.flop_scale})
        if key not in self._recordings:
            with doing(f"recording {spec.target}"), self._alone("recording", key):
                self._recordings[key] = record_events(
                    spec, iterations, store=self.store, time_limit_s=self._evidence_s(spec.machine), stop=self._stop
                )
            if len(self._recordings) > _RECORDINGS_KEPT:
                self._recordings.popitem(last=False)
        self._recordings.move_to_end(key)
        recording, problem = self._recordings[key], spec.target.problem
        if problem.program is not None and spec.machine is None:
            from apps.recording.totals import totals_of_recording  # imported here because NumPy is slow to import

            whole = problem.iterations_on(spec.target.nranks) if problem.iterative else 0
            self._totals[problem, spec.target.nranks] = totals_of_recording(recording, whole)
        said = recording_cautions(spec, recording)
        self.cautions.add(f"recording of {spec.target.problem.on(spec.target.nranks)}", said, key=key)
        return recording

    def measure(self, plan: ExperimentPlan) -> Measurement:
        """Wait for the result of experiments with messages or blocks and return it."""
        identity = plan.identity()
        key = identity_hash(identity)
        if key not in self._measurements:
            with doing(f"measuring {plan.measured} on {plan.platform.name}"), self._alone("probe", key):
                self._measurements[key] = self._measured(plan, key, identity)
        self.cautions.add(f"{plan.measured} on {plan.platform.name}", experiments_cautions(plan), key=key)
        return self._measurements[key]

    def _measured(self, plan: ExperimentPlan, key: str, identity: dict[str, Any]) -> Measurement:
        """Return the result of a plan from the store, or execute it now."""
        if self.store is not None and (known := self.store.get("probe", key)) is not None:
            try:
                measured = from_fields(Measurement, known)
                plan.check(measured)
            except ValueError as err:
                self.store.refuse("probe", key, str(err))
            else:
                return measured
        made = carry_out(plan, time_limit_s=self._evidence_s(plan.machine), stop=self._stop)
        if self.store is not None:
            summary = f"{len(plan.experiments)} experiments"
            self.store.put("probe", key, identity, as_fields(made), summary=summary)
        return made

    def _evidence_s(self, machine: RealMachine | None) -> float | None:
        """Return the limit of the wall time of a recording or a measurement, s; None: none."""
        limits = [self._time_limit_s, None if machine is not None else self.evidence_limit.time_s]
        least = min((limit for limit in limits if limit is not None), default=math.inf)
        return None if math.isinf(least) else least

    @contextmanager
    def _alone(self, kind: str, key: str) -> Iterator[None]:
        """Hold the store's claim on an entry, after waiting for any other process that makes the same entry."""
        claim = None
        while self.store is not None and (claim := self.store.claim(kind, key)) is None:
            if self._stop.wait(_STEP_S):
                raise Stopped("not started, because its runner was closed")
        with claim or nullcontext():
            yield

    def _begin(self, specs: Iterable[RunSpec]) -> list[Future[RunRecord]]:
        """Return the futures of these specs' runs; new runs are announced to the progress before the first begins."""
        keys: list[str] = []
        new: dict[str, tuple[RunSpec, dict[str, Any]]] = {}
        for spec in specs:
            identity = self.identify(spec)
            keys.append(self._key(spec, identity))
            if keys[-1] not in self._futures:
                new.setdefault(keys[-1], (spec, identity))
        if new and self._progress is not None:
            self._progress.expect(len(new))
        for key, (spec, identity) in new.items():
            self._futures[key] = Future()
            self._pool.submit(self._fulfil, self._futures[key], spec, identity)
        return [self._futures[key] for key in keys]

    @staticmethod
    def _key(spec: RunSpec, identity: dict[str, Any]) -> str:
        """Return what equal runs on any platform have in common."""
        part = part_hash(spec.target.platform, spec.target.placement)
        return identity_hash({**identity, "platform_hash": part})

    def _fulfil(self, future: Future[RunRecord], spec: RunSpec, identity: dict[str, Any]) -> None:
        """Give the future its record or error; if another process is making the record, try again later."""
        try:
            record = self._made(spec, identity)
            if record is None:
                if self._progress is not None:
                    self._progress.waits(spec)
                if self._stop.wait(_STEP_S):
                    raise Stopped(f"{spec.target.problem}: not started, because its runner was closed")
                self._pool.submit(self._fulfil, future, spec, identity)  # after all waiting runs
                return
        except BaseException as err:
            future.set_exception(err)
        else:
            future.set_result(record)

    def _made(self, spec: RunSpec, identity: dict[str, Any]) -> RunRecord | None:
        """Return the record from the store or a new run; None if another process is making it."""
        record, known = self._known(identity), True
        if record is None:
            claim = None
            if self.store is not None:
                claim = self.store.claim("record", identity_hash(identity))
                if claim is None:
                    return None
            with claim or nullcontext():
                record = self._known(identity)  # another process may have made it in the meantime
                if record is None:
                    record, known = replace(self._simulate(spec, stop=self._stop), identity=identity), False
                    if self.store is not None:
                        self.store.put_record(record)
        if self._progress is not None:
            self._progress(spec, known=known)
        return record

    def _known(self, identity: dict[str, Any]) -> RunRecord | None:
        measured = identity.get("source") == "measurement"  # the store then reports that it is reused
        record = None if self.store is None else self.store.get_record(identity, inexact=measured)
        if self.store is not None and record is not None and (wrong := misfit(record)) is not None:
            self.store.refuse("record", identity_hash(identity), wrong)
            return None
        return record


def caution_key(spec: RunSpec) -> tuple[object, ...]:
    """Return what distinguishes the spec from others of a command whose targets have the same name."""
    return spec.target.platform.content_hash, spec.target.placement, spec.efficiency


def _on_its_platform(record: RunRecord, spec: RunSpec, made_identity: dict[str, Any]) -> RunRecord:
    """Return the record with the energy of this platform's idle hosts, if the run was made on another platform.

    Both platforms have an equal part for the run; only their hosts without ranks differ.
    """
    if record.energy_j is None or record.energy_span_s is None:
        return record
    if made_identity["platform_hash"] == spec.target.platform.content_hash:
        return record
    energy_j = idle_added(record.energy_j, spec.target.platform, used=record.host, span_s=record.energy_span_s)
    return replace(record, energy_j=energy_j)
