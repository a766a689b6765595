"""Simulations on the workers of a Dask cluster: one machine or many, that have SimGrid and this project installed."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path

from apps.engine import simulate
from apps.errors import SimulationError, Stopped
from apps.record import RunRecord
from apps.spec import RunSpec
from platforms.caching import cache_folder, write_atomically
from platforms.errors import UserError

_CONNECT_LIMIT_S = 20.0
_LONGEST_PAUSE_S = 0.05
_LOOK_EVERY_S = 2.0  # for workers
NO_WORKERS_S = 60.0  # until those that are to do the runs are given up: a batch system may restart some


class Cluster:
    """A Dask scheduler and its workers.  Raises UserError where none answers at the address, or it has no workers."""

    def __init__(self, address: str):
        try:
            from distributed import Client
        except ImportError:
            raise UserError("--scheduler", "Dask is not installed", "Run pip install '.[cluster]'") from None
        try:
            self._client = Client(address, timeout=_CONNECT_LIMIT_S, set_as_default=False)
        except (OSError, ValueError) as err:
            reason = str(err).splitlines()[0] if str(err) else type(err).__name__
            raise UserError(f"--scheduler {address}", reason.rstrip("."), "Give the address of a running one") from err
        try:
            self._client.wait_for_workers(1, timeout=_CONNECT_LIMIT_S)  # those just started take some seconds to join
        except TimeoutError:
            self._client.close()
            problem = f"no worker has joined it in {_CONNECT_LIMIT_S:g} s"
            raise UserError(f"--scheduler {address}", problem, "Start workers first") from None
        self._lock = threading.Lock()
        self._looked_s = self._alive_s = time.monotonic()

    @property
    def places(self) -> int:
        """Simulations that the workers run at a time now."""
        return sum(self._client.nthreads().values())

    def simulate(
        self, spec: RunSpec, *, time_limit_s: float | None = None, stop: threading.Event | None = None
    ) -> RunRecord:
        """As apps.engine.simulate, on a worker.  A worker that dies has its run done again by another.

        Raises SimulationError too where a run ends one worker after the other, where none has been left for
        NO_WORKERS_S, and where the scheduler is gone.  Once ``stop`` is set this raises Stopped; a run that a worker
        has begun goes on there, and its result is dropped.
        """
        from distributed import KilledWorker

        what = f"{spec.target.problem} on {spec.target.platform.name}"
        content = spec.target.platform.path.read_bytes()
        future = self._client.submit(_simulate_there, spec, content, time_limit_s, pure=False)
        stop = threading.Event() if stop is None else stop
        pause_s = 0.001
        while not future.done():
            if stop.wait(pause_s):
                future.cancel()
                raise Stopped(f"{what}: its runner has been left")
            pause_s = min(1.3 * pause_s, _LONGEST_PAUSE_S)
            self._check_workers(what)
        try:
            record: RunRecord = future.result()
        except KilledWorker:
            raise SimulationError(f"{what}: every worker that ran it died, for lack of memory for example") from None
        except CancelledError:  # by nobody here
            raise SimulationError(f"{what}: the scheduler of the workers is gone") from None
        return record

    def _check_workers(self, what: str) -> None:
        """Raises SimulationError once there have been no workers for too long, as far as anyone has looked."""
        with self._lock:
            now_s = time.monotonic()
            if now_s - self._looked_s < _LOOK_EVERY_S:
                return
            looked_s, self._looked_s = self._looked_s, now_s
            if now_s - looked_s > NO_WORKERS_S or (self._client.status == "running" and self.places):
                self._alive_s = now_s
            if now_s - self._alive_s < NO_WORKERS_S:
                return
        raise SimulationError(f"{what}: there have been no workers for {NO_WORKERS_S:g} s")

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        """Lets go of the workers; runs that nobody waits for any more are dropped."""
        self._client.close()


def _simulate_there(spec: RunSpec, content: bytes, time_limit_s: float | None) -> RunRecord:
    """The worker has its own disk: the platform file comes along."""
    platform = spec.target.platform
    path = cache_folder() / "platforms" / f"{platform.content_hash}{Path(platform.path).suffix}"
    if not path.is_file() or path.read_bytes() != content:
        write_atomically(path, content)
    there = replace(spec, target=replace(spec.target, platform=replace(platform, path=path)))
    return simulate(there, time_limit_s=time_limit_s)
