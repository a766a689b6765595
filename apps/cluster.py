"""Simulations on the workers of a Dask cluster: one machine or many, that have SimGrid and this project installed."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from apps.engine import simulate
from apps.errors import Stopped
from apps.record import RunRecord
from apps.spec import RunSpec
from platforms.caching import cache_folder, write_atomically
from platforms.errors import UserError

_CONNECT_LIMIT = "20s"
_LONGEST_PAUSE_S = 0.05


class Cluster:
    """A Dask scheduler and its workers.  Raises UserError where none answers at the address, or it has no workers."""

    def __init__(self, address: str):
        try:
            from distributed import Client
        except ImportError:
            raise UserError("--scheduler", "Dask is not installed", "Run pip install '.[cluster]'") from None
        try:
            self._client = Client(address, timeout=_CONNECT_LIMIT, set_as_default=False)
        except (OSError, ValueError) as err:
            reason = str(err).splitlines()[0] if str(err) else type(err).__name__
            raise UserError(f"--scheduler {address}", reason.rstrip("."), "Give the address of a running one") from err
        if not self.places:
            self._client.close()
            raise UserError(f"--scheduler {address}", "it has no workers", "Start workers first")

    @property
    def places(self) -> int:
        """Simulations that the workers run at a time now."""
        return sum(self._client.nthreads().values())

    def simulate(self, spec: RunSpec, *, stop: threading.Event | None = None) -> RunRecord:
        """As apps.engine.simulate, on a worker.  A worker that dies has its run done again by another.

        Once ``stop`` is set this raises Stopped; a run that a worker has begun goes on there, and its result is
        dropped.
        """
        content = spec.target.platform.path.read_bytes()
        future = self._client.submit(_simulate_there, spec, content, pure=False)
        stop = threading.Event() if stop is None else stop
        pause_s = 0.001
        while not future.done():
            if stop.wait(pause_s):
                future.cancel()
                raise Stopped(f"{spec.target.problem} on {spec.target.platform.name}: its runner has been left")
            pause_s = min(1.3 * pause_s, _LONGEST_PAUSE_S)
        return future.result()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        """Lets go of the workers; runs that nobody waits for any more are dropped."""
        self._client.close()


def _simulate_there(spec: RunSpec, content: bytes) -> RunRecord:
    """The worker has its own disk: the platform file comes along."""
    platform = spec.target.platform
    path = cache_folder() / "platforms" / f"{platform.content_hash}{Path(platform.path).suffix}"
    if not path.is_file() or path.read_bytes() != content:
        write_atomically(path, content)
    return simulate(replace(spec, target=replace(spec.target, platform=replace(platform, path=path))))
