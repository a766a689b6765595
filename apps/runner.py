"""Many runs: side by side, each at most once, and none that the store knows."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

from apps.blockprobe.measure import BlockPlan, carry_out
from apps.energy import idle_added
from apps.engine import simulate
from apps.errors import Stopped
from apps.identity import identity_hash
from apps.netprobe.measure import Measurement, Plan
from apps.progress import Progress
from apps.record import RunRecord
from apps.record_events import record_events, recording_identity
from apps.recording import Recording
from apps.smpi import run_identity
from apps.spec import RunSpec
from apps.store import Store
from apps.store.codec import as_fields
from platforms.part import part_hash

_RECORDINGS_KEPT = 8  # in memory
_STEP_S = 0.1  # of waiting for a run


class Runner:
    """Makes records of specs with ``jobs`` simulations at a time.

    Records come from the store where it knows them, and go there as soon as they are made.  Two specs that use equal
    parts of generated platforms in the same way, such as the probes of grid4x2 and grid4x8, are one run.  What another
    process is making for the same store is waited for, while there is other work before it.  Leaving the context ends
    every simulation that is still running, and no other is begun.

    ``simulate`` makes the record of a spec; its ``stop`` is set when the context is left, and it is then to raise
    Stopped at once.  ``time_limit_s`` is the wall time that a recording or a measurement may take.
    """

    def __init__(
        self,
        *,
        jobs: int,
        store: Store | None = None,
        simulate: Callable[..., RunRecord] = simulate,  # (spec, *, stop: threading.Event)
        identify: Callable[[RunSpec], dict[str, Any]] = run_identity,
        progress: Progress | None = None,
        time_limit_s: float | None = None,
    ):
        self._pool = ThreadPoolExecutor(jobs, thread_name_prefix="simulation")
        self._store = store
        self._simulate = simulate
        self._identify = identify
        self._progress = progress
        self._time_limit_s = time_limit_s
        self._futures: dict[str, Future[RunRecord]] = {}
        self._measurements: dict[str, Measurement] = {}
        self._recordings: OrderedDict[str, Recording] = OrderedDict()  # the latest
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def start(self, specs: Iterable[RunSpec]) -> None:
        """Begins these runs, in their order as places become free."""
        with self._lock:
            self._begin(specs)

    def record(self, spec: RunSpec) -> RunRecord:
        """The record of a run, waited for.  Raises what the engine raises; the same for every spec of that run.

        It is in the store under the identity of this spec, whichever spec the run was made for.
        """
        with self._lock:
            (future,) = self._begin((spec,))
        # In steps: a signal that the system gives to another thread does not wake this one, which has to handle it.
        while not future.done():
            if self._stop.is_set():
                raise Stopped(f"{spec.target.problem} on {spec.target.platform.name}: not started, its runner was left")
            if self._progress is not None:
                self._progress.check()
            wait([future], timeout=_STEP_S)
        made = future.result()
        record = _on_its_platform(replace(made, identity=self._identify(spec)), spec, made.identity)
        if self._store is not None and record.identity != made.identity and not self._store.get_record(record.identity):
            self._store.put_record(record)
        return record

    def trace(self, spec: RunSpec, iterations: int) -> Recording:
        """What so many iterations of the spec's program do (apps/record_events.py), waited for."""
        key = identity_hash({**recording_identity(spec, iterations), "flop_scale": spec.flop_scale})
        if key not in self._recordings:
            with self._alone("trace", key):
                self._recordings[key] = record_events(
                    spec, iterations, store=self._store, time_limit_s=self._time_limit_s
                )
            if len(self._recordings) > _RECORDINGS_KEPT:
                self._recordings.popitem(last=False)
        self._recordings.move_to_end(key)
        return self._recordings[key]

    def measure(self, plan: Plan | BlockPlan) -> Measurement:
        """The result of experiments with messages or blocks, waited for."""
        identity = plan.identity()
        key = identity_hash(identity)
        if key not in self._measurements:
            with self._alone("measurement", key):
                self._measurements[key] = self._measured(plan, key, identity)
        return self._measurements[key]

    def _measured(self, plan: Plan | BlockPlan, key: str, identity: dict[str, Any]) -> Measurement:
        """From the store, or carried out now."""
        known = self._store.get("measurement", key) if self._store is not None else None
        if known is not None:
            return Measurement(
                tuple(map(tuple, known["times_s"])),
                known["node_s"],
                known["wall_s"],
                tuple(known.get("energies_j", ())),
            )
        made = carry_out(plan, time_limit_s=self._time_limit_s)
        if self._store is not None:
            summary = f"{len(plan.experiments)} experiments"
            self._store.put("measurement", key, identity, as_fields(made), summary=summary)
        return made

    @contextmanager
    def _alone(self, kind: str, key: str) -> Iterator[None]:
        """While no other process makes the same for the same store: until then it waits."""
        claim = None
        while self._store is not None and (claim := self._store.claim(kind, key)) is None:
            if self._stop.wait(_STEP_S):
                raise Stopped("not started, because its runner has been left")
        with claim or nullcontext():
            yield

    def _begin(self, specs: Iterable[RunSpec]) -> list[Future[RunRecord]]:
        """The runs of these specs; those that are new are counted before the first of them begins."""
        keys: list[str] = []
        new: dict[str, tuple[RunSpec, dict[str, Any]]] = {}
        for spec in specs:
            identity = self._identify(spec)
            part = part_hash(spec.target.platform, spec.target.placement)
            keys.append(identity_hash({**identity, "platform_hash": part}))
            if keys[-1] not in self._futures:
                new.setdefault(keys[-1], (spec, identity))
        if new and self._progress is not None:
            self._progress.expect(len(new))
        for key, (spec, identity) in new.items():
            self._futures[key] = Future()
            self._pool.submit(self._fulfil, self._futures[key], spec, identity)
        return [self._futures[key] for key in keys]

    def _fulfil(self, future: Future[RunRecord], spec: RunSpec, identity: dict[str, Any]) -> None:
        """Gives the future its record or error; where another process is making it, comes back to it later."""
        try:
            record = self._made(spec, identity)
            if record is None:
                if self._progress is not None:
                    self._progress.waits(spec)
                if self._stop.wait(_STEP_S):
                    raise Stopped(f"{spec.target.problem}: not started, because its runner has been left")
                self._pool.submit(self._fulfil, future, spec, identity)  # after all that waits already
                return
        except BaseException as err:
            future.set_exception(err)
        else:
            future.set_result(record)

    def _made(self, spec: RunSpec, identity: dict[str, Any]) -> RunRecord | None:
        """The record, known or made now; None: another process is making it."""
        record, known = self._known(identity), True
        if record is None:
            claim = None
            if self._store is not None and identity.get("compute") != "measured":  # such are never taken from the store
                claim = self._store.claim("record", identity_hash(identity))
                if claim is None:
                    return None
            with claim or nullcontext():
                record = self._known(identity)  # made since it was asked for
                if record is None:
                    record, known = replace(self._simulate(spec, stop=self._stop), identity=identity), False
                    if self._store is not None:
                        self._store.put_record(record)
        if self._progress is not None:
            self._progress(spec, known=known)
        return record

    def _known(self, identity: dict[str, Any]) -> RunRecord | None:
        return self._store.get_record(identity) if self._store is not None else None


def _on_its_platform(record: RunRecord, spec: RunSpec, made_identity: dict[str, Any]) -> RunRecord:
    """The record of a run that was made on an equal part of another platform: the hosts without ranks are others."""
    if record.energy_j is None or record.energy_span_s is None:
        return record
    if made_identity["platform_hash"] == spec.target.platform.content_hash:
        return record
    energy_j = idle_added(record.energy_j, spec.target.platform, used=record.host, span_s=record.energy_span_s)
    return replace(record, energy_j=energy_j)
