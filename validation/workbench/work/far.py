"""Evaluations of points of applications on the workers of a Dask cluster, to which their files are sent."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apps.errors import SimulationError
from apps.runs.dask_cluster import Cluster, difference, place
from platforms.errors import UserError
from platforms.files.checked_toml import read_toml
from predictor.blocks.evaluation.evaluate import Result
from predictor.blocks.series.evaluations import evaluated, is_kept
from predictor.blocks.series.points import ApplicationOptions, Point

if TYPE_CHECKING:
    from apps.store import Store

_STEP_S = 2.0  # interval between two checks for workers


class EvaluatingCluster(Cluster):
    """A Dask cluster whose workers evaluate points of applications too."""

    def __init__(self, address: str, *tls_files: str):
        super().__init__(address, *tls_files)
        self._evaluations: dict[ApplicationOptions, Any] = {}  # futures

    def __enter__(self) -> EvaluatingCluster:
        return self

    def ask(self, points: Iterable[Point], store: Store) -> None:
        """Begin to evaluate points that the store does not have, whose files are relative to the current folder."""
        self._evaluations.clear()
        for point in points:
            with suppress(UserError, OSError):  # such a point is evaluated here, which says what is wrong
                if not is_kept(point, store):
                    files = _files(point.request)
                    future = self._client.submit(evaluate_there, point.request, files, place(), pure=False)
                    self._evaluations[point.request] = future

    def evaluated(self, request: ApplicationOptions) -> Result:
        """Return the result of a point: of the workers, where it was asked for.

        Raises:
            UserError: The point cannot be evaluated, or the worker is not like this machine.
            SimulationError: Every worker that evaluates it dies, or there have been none for some time.
        """
        future = self._evaluations.pop(request, None)
        if future is None:
            return evaluated(request)
        # Imported here for a quick start: it is slow to import.
        from distributed import KilledWorker

        what = f"{Path(request.application).name} on {Path(request.system).name}"
        while True:
            try:
                result: Result = future.result(timeout=_STEP_S)
                return result
            except KilledWorker:
                raise SimulationError(f"{what}: every worker that evaluated it died") from None
            except TimeoutError:
                self._check_workers(what)


def _files(request: ApplicationOptions) -> dict[str, bytes]:
    """Return the files that a point needs, by their names relative to the current folder.

    Raises:
        UserError: A file is outside the folder: it has no place in the folder that a worker makes.
    """
    names = [name for name in (request.application, request.system, request.model) if os.path.isfile(name)]
    if os.path.isfile(request.system):
        listed = read_toml(Path(request.system), "system").get("hardware", [])
        names += [os.path.join(os.path.dirname(request.system), name) for name in listed]
    outside = next((name for name in names if os.path.isabs(name) or os.path.normpath(name).startswith("..")), None)
    if outside is not None:
        raise UserError(outside, "outside the project folder", "Copy the file into it")
    return {name: Path(name).read_bytes() for name in names}


def evaluate_there(request: ApplicationOptions, files: dict[str, bytes], clients_place: dict[str, str]) -> Result:
    """Evaluate a point on a worker, with its files in a folder of its own.

    Raises:
        UserError: The worker is not like the client's machine, or the point cannot be evaluated.
    """
    differs = difference(clients_place, place())
    if differs is not None:
        remedy = "Start workers with the same code, or none that differ"
        raise UserError(f"the worker on {os.uname().nodename}", differs, remedy)
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        named = {key: getattr(request, key) for key in ("application", "system", "model")}
        moved: dict[str, Any] = {key: f"{folder}/{name}" for key, name in named.items() if name in files}
        try:
            return evaluated(replace(request, **moved))
        except UserError as err:
            raise err.renamed(f"{folder}/", "") from None
