"""Simulations on the workers of a Dask cluster, on one or more machines with SimGrid and this project installed."""

from __future__ import annotations

import hashlib
import os
import platform as machine
import socket
import ssl
import subprocess
import threading
import time
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import apps
import platforms
from apps.errors import SimulationError, Stopped
from apps.results.record import RunRecord
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from platforms.errors import UserError, printable
from platforms.files.caching import cache_folder, write_atomically
from platforms.read.content import loadable, profiles
from platforms.simgrid.compiling import find_compiler, real_compiler
from platforms.simgrid.repairs import simgrid_identity

if TYPE_CHECKING:
    from distributed.security import Security


_CODE = {".py", ".c", ".h", ".cpp", ".hpp", ".toml", ".csv"}


@cache
def place() -> dict[str, str]:
    """Return what determines results here, by names for messages; equal places give equal results.

    Raises:
        UserError: SimGrid or its compiler is missing.
    """
    return {
        "version of this project's code": _code_hash(),
        "SimGrid": simgrid_identity(),
        "C compiler": _compiler_version(),
        "kind of processor": machine.machine(),
    }


def difference(here: dict[str, str], there: dict[str, str]) -> str | None:
    """Return how another place differs, as words for a message, or None."""
    for name in {**here, **there}:
        first, other = here.get(name, "none"), there.get(name, "none")
        if first != other:
            return f"another {name} ({other}, here {first})"
    return None


def _code_hash() -> str:
    """Return a hash of the files of the two simulating packages, independent of their folder."""
    digest = hashlib.sha256()
    for package in (platforms, apps):
        folder = Path(str(package.__file__)).parent
        for path in sorted(path for path in folder.rglob("*") if path.suffix in _CODE and path.is_file()):
            digest.update(f"\0{package.__name__}/{path.relative_to(folder).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def _compiler_version() -> str:
    done = subprocess.run(
        [real_compiler(find_compiler("smpicc")), "--version"], capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout.partition("\n")[0] or "unknown"


_CONNECT_LIMIT_S = 20.0
_STOP_S = 0.2  # in which a run notices that its runner was closed
_LOOK_EVERY_S = 2.0  # interval between two checks for workers
NO_WORKERS_S = 60.0  # time without workers after which a run fails; a batch system may restart some until then


class Cluster:
    """A Dask scheduler and its workers.

    Every worker must be like this machine: the same code of this project, the same SimGrid and compiler.

    Args:
        address: Address of the scheduler.
        tls_files: Names of the files (PEM) of the authority's certificate, the own certificate, and its key; none: as
            in Dask's configuration.

    Raises:
        UserError: Dask is not installed, no scheduler answers at the address, no worker has joined it in time, a
            worker is not like this machine, or certificates are missing or not accepted.
    """

    def __init__(self, address: str, *tls_files: str):
        try:
            # Imported here because it is slow to import.
            from distributed import Client
        except ImportError:
            raise UserError("--scheduler", "Dask is not installed", "Run pip install '.[cluster]'") from None
        _check_address(address)
        security = _security(address, tls_files)
        try:
            self._client = Client(address, timeout=_CONNECT_LIMIT_S, set_as_default=False, security=security)
        except (OSError, ValueError) as err:
            raise _no_answer(address, err) from err
        try:
            self._client.wait_for_workers(1, timeout=_CONNECT_LIMIT_S)  # new workers take some seconds to join
        except TimeoutError:
            self._client.close()
            problem = f"no worker has joined it in {_CONNECT_LIMIT_S:g} s"
            raise UserError(f"--scheduler {address}", problem, "Start workers first") from None
        self._check_places(address)
        self._lock = threading.Lock()
        self._looked_s = self._alive_s = time.monotonic()

    @property
    def places(self) -> int:
        """Number of simulations that the present workers can run at the same time; 0 if the scheduler is gone."""
        try:
            return sum(self._client.nthreads().values())
        except _lost():
            return 0

    def _check_places(self, address: str) -> None:
        """Refuse workers whose results could differ; workers that join later are checked at each of their runs."""
        for worker, found in self._client.run(place, on_error="return").items():
            unusable = isinstance(found, Exception)
            differs = f"no usable installation ({found!r})" if unusable else difference(place(), found)
            if differs is not None:
                self._client.close()
                raise _unlike(f"--scheduler {address}", f"worker {worker}", differs)

    def simulate(
        self, spec: RunSpec, *, time_limit_s: float | None = None, stop: threading.Event | None = None
    ) -> RunRecord:
        """Simulate on a worker, otherwise like ``apps.runs.simulate.simulate``.

        When a worker dies, another worker repeats its run.

        Raises:
            UserError: The worker is not like this machine.
            SimulationError: The simulation fails, every worker that runs it dies, there have been no workers for
                NO_WORKERS_S, or the scheduler is gone.
            Stopped: ``stop`` is set.  A run that a worker has already begun continues there; its result is dropped.
        """
        # Imported here because it is slow to import.
        from distributed import KilledWorker

        what = f"{spec.target.problem} on {spec.target.platform.name}"
        _end_if_set(stop, what)
        files = _files_to_send(loadable(spec.target.platform))
        try:
            future = self._client.submit(_simulate_there, spec, files, time_limit_s, place(), pure=False)
        except _lost():
            raise _gone(what) from None
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        while not done.wait(_STOP_S):
            if stop is not None and stop.is_set():
                future.cancel()
            _end_if_set(stop, what)
            self._check_workers(what)
        try:
            record: RunRecord = future.result()
        except KilledWorker:
            raise SimulationError(f"{what}: every worker that ran it died, perhaps for lack of memory") from None
        except CancelledError:  # not by this process
            raise _gone(what) from None
        except _lost():
            if self._client.status == "running":  # an error of the run itself
                raise
            raise _gone(what) from None
        return record

    def _check_workers(self, what: str) -> None:
        """Raise SimulationError when the checks of all threads have found no workers for too long."""
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
        """Close the connection to the scheduler, which drops the runs of this client."""
        with suppress(*_lost()):  # of a scheduler that is gone
            self._client.close()


def _end_if_set(stop: threading.Event | None, what: str) -> None:
    if stop is not None and stop.is_set():
        raise Stopped(f"{what}: its runner was closed")


def _check_address(address: str) -> None:
    """Refuse an invalid address; Dask's client would take 40 s to give up.

    Raises:
        UserError: It is invalid.
    """
    # Imported here because it is slow to import.
    from distributed.comm.addressing import get_address_host_port

    try:
        with suppress(NotImplementedError):  # kinds of addresses without a port
            get_address_host_port(address)
    except (ValueError, OSError, RuntimeError) as err:
        reason = str(err).partition("\n")[0].rstrip(".")
        remedy = "Give the address of a running scheduler, such as tcp://host:8786"
        raise UserError(f"--scheduler {printable(address)}", reason, remedy) from err


def _security(address: str, files: tuple[str, ...]) -> Security:
    """Return how to reach the scheduler: with these certificates, or by Dask's configuration.

    Raises:
        UserError: A file cannot be read or is not a certificate or key, or an encrypted scheduler needs some.
    """
    # Imported here because it is slow to import.
    from distributed.security import Security

    more = dict(zip(("tls_ca_file", "tls_client_cert", "tls_client_key"), files, strict=False))
    security = Security(require_encryption=address.startswith("tls://"), **more)
    where = f"--tls {printable(','.join(files))}" if files else f"--scheduler {address}"
    try:
        known = security.get_connection_args("client").get("ssl_context")
    except (OSError, ValueError) as err:  # SSLError is one of the system's
        raise UserError(where, f"no certificates: {_reason(err)}", "Give the files CA,CERT,KEY in PEM") from err
    if known is None and address.startswith("tls://"):
        raise UserError(where, "it accepts only clients with a certificate", "Give --tls CA,CERT,KEY")
    return security


def _no_answer(address: str, err: Exception) -> UserError:
    """Return the error for a client that does not reach the scheduler."""
    causes = [err]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and len(causes) < 10:
        causes.append(cause)  # type: ignore[arg-type]
    refused = next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None)
    if refused is not None:
        problem = f"the certificates of the two sides do not fit: {_reason(refused)}"
        return UserError(f"--scheduler {address}", problem, "Give those signed by the scheduler's authority")
    return UserError(f"--scheduler {address}", _reason(err).rstrip("."), "Give the address of a running scheduler")


def _reason(err: Exception) -> str:
    """Return the first line of an error message."""
    return str(err).splitlines()[0] if str(err) else type(err).__name__


def _lost() -> tuple[type[Exception], ...]:
    """Return the errors that Dask's client raises when the scheduler does not answer."""
    # Imported here because it is slow to import.
    from distributed.client import ClosedClientError

    return OSError, RuntimeError, TimeoutError, ClosedClientError


def _gone(what: str) -> SimulationError:
    return SimulationError(f"{what}: the scheduler of the workers is gone")


def _files_to_send(path: Path) -> dict[str, bytes]:
    """Return the content of a platform file and of its profiles, by their names in its folder.

    Raises:
        UserError: It names a profile outside its folder.
    """
    files = {path.name: path.read_bytes()}
    for name, file in profiles(path).items():
        if os.path.isabs(name) or ".." in Path(name).parts:
            problem = f"it names the profile {name!r}, which is outside its folder and does not reach the workers"
            raise UserError(f"--scheduler with {path}", problem, "Put the profile into the platform's folder")
        files[name] = file.read_bytes()
    return files


def _unlike(where: str, worker: str, differs: str) -> UserError:
    return UserError(where, f"{worker} has {differs}", "Install the same on all machines, then start the workers again")


def _simulate_there(
    spec: RunSpec, files: dict[str, bytes], time_limit_s: float | None, clients_place: dict[str, str]
) -> RunRecord:
    """Simulate on the worker, after writing the platform and its profiles to the worker's disk.

    Raises:
        UserError: The worker is not like the client's machine.
    """
    differs = difference(clients_place, place())
    if differs is not None:
        raise _unlike(str(spec.target), f"the worker on {socket.gethostname()}", differs)
    platform = spec.target.platform
    folder = cache_folder() / "platforms" / platform.content_hash
    for name, content in files.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            write_atomically(path, content)
    path = folder / Path(platform.path).name
    there = replace(spec, target=replace(spec.target, platform=replace(platform, path=path, kept=None, file_hash=None)))
    return simulate(there, time_limit_s=time_limit_s)
