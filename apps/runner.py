"""Many runs: side by side, each at most once, and none that the store knows."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace

from apps.blockprobe.measure import BlockPlan, carry_out
from apps.energy import idle_added
from apps.engine import simulate
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
    parts of generated platforms in the same way, such as the probes of grid4x2 and grid4x8, are one run.  Leaving the
    context ends every simulation that is still running, and no other is begun.

    ``simulate`` makes the record of a spec; its ``stop`` is set when the context is left, and it is then to raise
    Stopped at once.
    """

    def __init__(
        self,
        *,
        jobs: int,
        store: Store | None = None,
        simulate: Callable[..., RunRecord] = simulate,  # (spec, *, stop: threading.Event)
        identify: Callable[[RunSpec], dict] = run_identity,
        progress: Progress | None = None,
    ):
        self._pool = ThreadPoolExecutor(jobs, thread_name_prefix="simulation")
        self._store = store
        self._simulate = simulate
        self._identify = identify
        self._progress = progress
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
            self._recordings[key] = record_events(spec, iterations, store=self._store)
            if len(self._recordings) > _RECORDINGS_KEPT:
                self._recordings.popitem(last=False)
        self._recordings.move_to_end(key)
        return self._recordings[key]

    def measure(self, plan: Plan | BlockPlan) -> Measurement:
        """The result of experiments with messages or blocks, waited for."""
        identity = plan.identity()
        key = identity_hash(identity)
        if key not in self._measurements:
            known = self._store.get("measurement", key) if self._store is not None else None
            if known is not None:
                made = Measurement(
                    tuple(map(tuple, known["times_s"])),
                    known["node_s"],
                    known["wall_s"],
                    tuple(known.get("energies_j", ())),
                )
            else:
                made = carry_out(plan)
                if self._store is not None:
                    summary = f"{len(plan.experiments)} experiments"
                    self._store.put("measurement", key, identity, as_fields(made), summary=summary)
            self._measurements[key] = made
        return self._measurements[key]

    def _begin(self, specs: Iterable[RunSpec]) -> list[Future[RunRecord]]:
        """The runs of these specs; those that are new are counted before the first of them begins."""
        keys, new = [], {}
        for spec in specs:
            identity = self._identify(spec)
            part = part_hash(spec.target.platform, spec.target.placement)
            keys.append(identity_hash({**identity, "platform_hash": part}))
            if keys[-1] not in self._futures:
                new.setdefault(keys[-1], (spec, identity))
        if new and self._progress is not None:
            self._progress.expect(len(new))
        for key, (spec, identity) in new.items():
            self._futures[key] = self._pool.submit(self._make, spec, identity)
        return [self._futures[key] for key in keys]

    def _make(self, spec: RunSpec, identity: dict) -> RunRecord:
        known = self._store.get_record(identity) if self._store is not None else None
        record = known or replace(self._simulate(spec, stop=self._stop), identity=identity)
        if known is None and self._store is not None:
            self._store.put_record(record)
        if self._progress is not None:
            self._progress(spec, known=known is not None)
        return record


def _on_its_platform(record: RunRecord, spec: RunSpec, made_identity: dict) -> RunRecord:
    """The record of a run that was made on an equal part of another platform: the hosts without ranks are others."""
    if record.energy_j is None or made_identity["platform_hash"] == spec.target.platform.content_hash:
        return record
    energy_j = idle_added(record.energy_j, spec.target.platform, used=record.host, span_s=record.energy_span_s)
    return replace(record, energy_j=energy_j)
