"""Fit the coefficients of Table 1's formulas and of the algorithms' shapes to a platform's measured blocks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from apps.probes.plan import Measurement
from apps.store.codec import DoesNotFit, as_fields, from_fields
from apps.traffic.collectives import ALGORITHMS
from platforms.files.reading import input_text
from platforms.files.writing import write_whole
from platforms.model.platform import Cluster, Platform
from platforms.simgrid.installed import simgrid_version
from predictor.blocks.calibration.experiments import Experiments, Sample
from predictor.blocks.calibration.fit import (
    CHOICE,
    Layout,
    Lines,
    NodeFit,
    Quality,
    Wires,
    fit_compute,
    fit_power,
    held_from,
    linear_fit,
    lines,
    quality,
)
from predictor.blocks.calibration.shapes import Observations, Shape, fit_shape, shape_of
from predictor.blocks.names import COLLECTIVES, SettingError
from predictor.blocks.published.formulas import REGRESSORS, communication_time

FORMAT = 3
TABLE, LINES, DISK = "table 1", "p2p-lines", "disk-and-network"  # formulas: t = T + K x, Wires, and both
DEFAULT_UNIT_BYTES = 2048.0  # D_tu of the paper's three clusters
_UNITS_TRIED = tuple(float(2**power) for power in range(17))


@dataclass(frozen=True)
class Fit:
    """A fitted formula of a communication block."""

    block: str
    formula: str  # TABLE, LINES with the kind of pairs, the name of a shape, or DISK
    error: str  # the minimised error, one of fit.ERRORS; "" for lines, which minimise none
    coefficients: dict[str, float]
    quality: Quality
    held_out: Quality | None  # for sizes and numbers of processes that the fit did not use


@dataclass(frozen=True)
class Calibration:
    """All coefficients fitted on a platform."""

    format: int
    name: str  # name of the platform
    platform_hash: str
    simgrid: str  # version of SimGrid
    options: dict[str, str]  # SimGrid's --cfg options
    layout: Layout
    D_tu_bytes: float
    nodes: tuple[NodeFit, ...]  # one for each cluster
    wires: Wires | None  # None: the platform has one host
    fits: tuple[Fit, ...]  # block by block, Table 1 first
    node_s: float  # cost of the measurements, node-seconds
    wall_s: float  # wall time of the measurements on this computer, s
    failure_rate_per_s: float | None = None  # 1/(node s); not measured, but given by the user

    @property
    def table(self) -> list[Fit]:
        """The fitted rows of Table 1."""
        return [fit for fit in self.fits if fit.formula == TABLE]

    @property
    def shapes(self) -> list[Fit]:
        """The fitted shapes of the collectives' algorithms."""
        return [fit for fit in self.fits if fit.formula in ALGORITHMS]

    @property
    def disks(self) -> list[Fit]:
        """The fitted disk blocks, t = T + K d + c t_p2p(d) for the request, the disk and the network."""
        return [fit for fit in self.fits if fit.formula == DISK]

    def text(self) -> str:
        """Return the content of a JSON file for read_calibration."""
        return json.dumps(self, default=as_fields, indent=1) + "\n"

    def write(self, path: str | Path) -> None:
        """Write a JSON file for read_calibration, completely or not at all.

        Raises:
            OSError: If the file cannot be written; an older file then stays as it was.
        """
        write_whole(path, self.text().encode())


def read_calibration(path: str | Path) -> Calibration:
    """Read a file that ``Calibration.write`` has written.

    Raises:
        UserError: If the file cannot be read, or is no calibration of this format.
    """
    remedy = "Make it by gridval blocks calibrate --out FILE"
    try:
        content = json.loads(input_text(path))
        if isinstance(content, dict) and isinstance(content.get("format"), int) and content["format"] != FORMAT:
            raise SettingError(f"calibration {path}", f"of format {content['format']}, not {FORMAT}", remedy)
        calibration = from_fields(Calibration, content)
    except OSError as err:
        raise SettingError(f"calibration {path}", f"cannot be read: {err.strerror}", remedy) from err
    except (ValueError, RecursionError) as err:
        reason = str(err) if isinstance(err, DoesNotFit) else "not JSON"
        raise SettingError(f"calibration {path}", f"not a calibration file ({reason})", remedy) from err
    return calibration


@dataclass(frozen=True)
class Measured:
    """The samples of a calibration, with a time and a power for each."""

    samples: tuple[Sample, ...]
    time_s: np.ndarray
    power_w: np.ndarray  # mean power of the first node, its energy over the time; NaN: not measured

    def of(self, block: str, use: str, where: str | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return sizes, numbers of processes and times of a block's samples, sorted by size."""
        rows = [
            (sample.size_bytes, sample.processes, time_s)
            for sample, time_s in zip(self.samples, self.time_s, strict=True)
            if sample.block == block and sample.use == use and where in (None, sample.where)
        ]
        table = np.array(sorted(rows), dtype=float).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]

    def power_by_threads(self, cluster: str) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers of threads and power of a cluster's node, W, the idle node first; empty without power data."""
        rows = [
            (sample.processes, power_w)
            for sample, power_w in zip(self.samples, self.power_w, strict=True)
            if sample.block in ("idle", "compute") and sample.where == cluster and np.isfinite(power_w)
        ]
        table = np.array(sorted(rows), dtype=float).reshape(-1, 2)
        return table[:, 0], table[:, 1]


def measured(asked: Experiments, measurement: Measurement) -> Measured:
    """Return the measured samples as a table."""
    time_s = np.array([times_s[0] for times_s in measurement.times_s])
    energies_j = measurement.energies_j or (None,) * len(time_s)
    counted = np.array([joules is not None for joules in energies_j])
    power_w = np.full(len(time_s), np.nan)
    power_w[counted] = np.array([joules for joules in energies_j if joules is not None]) / time_s[counted]
    return Measured(asked.samples, time_s, power_w)


def calibrate(
    platform: Platform,
    asked: Experiments,
    measurement: Measurement,
    *,
    D_tu_bytes: float | None = DEFAULT_UNIT_BYTES,
    error: str | None = None,
    failure_rate_per_s: float | None = None,
) -> Calibration:
    """Fit all coefficients of a platform.

    Args:
        platform: The platform.
        asked: The experiments.
        measurement: Their measured times and energies.
        D_tu_bytes: The data transfer unit; None: it is fitted, to a power of two.
        error: The error that all fits of Table 1's formulas minimise, one of fit.ERRORS; None: as in fit.CHOICE.
        failure_rate_per_s: Failure rate of a node, 1/s, which is stored with the calibration.
    """
    table = measured(asked, measurement)
    several = len(platform.hosts) > 1
    where = ("far" if len(platform.clusters) > 1 else "near") if several else None
    unit = _best_unit(table, where, error) if D_tu_bytes is None else D_tu_bytes
    layout = Layout(tuple(len(cluster.hosts) for cluster in platform.clusters))
    wires = _wires(table) if several else None
    disks = ("disk_read", "disk_write") if len(table.of("disk_read", "fit")[0]) else ()
    blocks = (("p2p", *COLLECTIVES) if several else ()) + disks

    def row(block: str) -> Fit:
        return _row(block, table, where=where, unit=unit, error=error)

    return Calibration(
        format=FORMAT,
        name=platform.name,
        platform_hash=platform.content_hash,
        simgrid=simgrid_version(),
        options=dict(asked.plan.options),
        layout=layout,
        D_tu_bytes=unit,
        nodes=tuple(_node(cluster, table, error) for cluster in platform.clusters),
        wires=wires,
        fits=tuple(fit for name in blocks for fit in _fits(name, table, layout, wires, row=row)),
        node_s=measurement.node_s,
        wall_s=measurement.wall_s,
        failure_rate_per_s=failure_rate_per_s,
    )


def _node(cluster: Cluster, table: Measured, error: str | None) -> NodeFit:
    operations, threads, time_s = table.of("compute", "fit", cluster.name)
    compute = fit_compute(operations, threads, time_s, cores=cluster.cores, error=error)
    threads, power_w = table.power_by_threads(cluster.name)
    power = fit_power(threads, power_w, cores=cluster.cores, error=error) if len(threads) else None
    return NodeFit(cluster.name, compute, power)


def _fits(
    block: str, table: Measured, layout: Layout, wires: Wires | None, *, row: Callable[[str], Fit]
) -> Iterator[Fit]:
    """Yield the fits of a block: its row of Table 1, then what follows the network and the algorithms."""
    yield row(block)
    if block.startswith("disk_"):
        yield _disk(block, table, wires)
    elif wires is not None and block == "p2p":
        for where, fitted in (("near", wires.near), ("far", wires.far)):
            if fitted is not None:
                yield Fit(block, f"{LINES} ({where})", "", {}, *_agreement(table, block, _alone(fitted), where))
    elif wires is not None:
        yield from _shapes(block, table, layout, wires)


def _alone(fitted: Lines) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    return lambda size_bytes, processes: fitted.time(size_bytes)


def _agreement(
    table: Measured, block: str, formula: Callable[[np.ndarray, np.ndarray], np.ndarray], where: str | None = None
) -> tuple[Quality, Quality | None]:
    """Return the quality of a formula of sizes and processes for the samples it was fitted to and the held-out ones."""
    fitted, held_out = (table.of(block, use, where) for use in ("fit", "check"))
    others = quality(formula(*held_out[:2]), held_out[2]) if len(held_out[2]) else None
    return quality(formula(*fitted[:2]), fitted[2]), others


def _row(block: str, table: Measured, *, where: str | None, unit: float, error: str | None) -> Fit:
    kind = where if block == "p2p" else None
    sizes, processes, time_s = table.of(block, "fit", kind)
    minimised = error or CHOICE[block]
    x = REGRESSORS[block](sizes, processes, unit)
    features = np.stack([np.ones_like(x), x], axis=1)
    if np.ptp(x) == 0:  # with only two processes, a barrier has a single time
        features = features[:, :1]
    T_s, K = (*map(float, linear_fit(features, time_s, error=minimised)), 0.0)[:2]
    times = _agreement(table, block, lambda d, P: communication_time(block, d, P, T=T_s, K=K, D_tu=unit), kind)
    return Fit(block, TABLE, minimised, {"T_s": T_s, "K": K}, *times)


def _best_unit(table: Measured, where: str | None, error: str | None) -> float:
    """Return the D_tu with the least error of the point-to-point formula, bytes."""
    if where is None:
        return DEFAULT_UNIT_BYTES
    return min(_UNITS_TRIED, key=lambda unit: _row("p2p", table, where=where, unit=unit, error=error).quality.mpe_pct)


def _wires(table: Measured) -> Wires:
    wires = {}
    for where in ("near", "far"):
        sizes, _, time_s = table.of("p2p", "lines", where)
        wires[where] = lines(sizes, time_s) if len(sizes) else None
    sizes, _, held_s = table.of("send", "lines")
    _, _, time_s = table.of("p2p", "lines", "near" if wires["far"] is None else "far")
    return Wires(wires["near"], wires["far"], held_from(sizes, held_s, time_s))


def _shapes(block: str, table: Measured, layout: Layout, wires: Wires) -> Iterator[Fit]:
    seen, checked = (_by_shape(block, *table.of(block, use)) for use in ("fit", "check"))
    for name, observations in seen.items():
        shape = fit_shape(name, observations, layout=layout, wires=wires)

        def against(some: Observations, shape: Shape = shape) -> Quality:
            return quality(shape.time_s(some.block_bytes, some.processes, layout=layout, wires=wires), some.time_s)

        others = against(checked[name]) if name in checked else None
        yield Fit(block, name, "mpe", vars(shape.coefficients), against(observations), others)


def _by_shape(block: str, sizes: np.ndarray, processes: np.ndarray, time_s: np.ndarray) -> dict[str, Observations]:
    blocks = block_bytes(block, sizes, processes)
    names = np.array([shape_of(block, size, int(P)) for size, P in zip(blocks, processes, strict=True)])
    return {
        str(name): Observations(blocks[names == name], processes[names == name], time_s[names == name])
        for name in dict.fromkeys(names)
    }


def block_bytes(block: str, size_bytes: np.ndarray, processes: np.ndarray) -> np.ndarray:
    """Return the bytes that one process sends to another, where ``size_bytes`` is d of Table 1."""
    return size_bytes / processes if block in ("scatter", "gather") else size_bytes


def disk_features(sizes: np.ndarray, wires: Wires | None) -> np.ndarray:
    """Return the factors of T, K and c of a disk block: observations x 3."""
    network = np.zeros_like(sizes) if wires is None else wires.of(True).time(sizes)
    return np.stack([np.ones_like(sizes), sizes, network], axis=1)


def _disk(block: str, table: Measured, wires: Wires | None) -> Fit:
    sizes, _, time_s = table.of(block, "fit")
    coefficients = linear_fit(disk_features(sizes, wires), time_s, error="mpe", nonnegative=True)
    times = _agreement(table, block, lambda d, P: disk_features(d, wires) @ coefficients)
    return Fit(block, DISK, "mpe", dict(zip(("T_s", "K", "c"), coefficients.tolist(), strict=True)), *times)


def rows(table: Measured) -> Sequence[dict[str, Any]]:
    """Return the rows of the CSV file of measured samples."""
    return [
        {
            "block": sample.block,
            "size_bytes": sample.size_bytes,
            "processes": sample.processes,
            "where": sample.where,
            "use": sample.use,
            "time_s": float(time_s),
            "node_power_w": float(power_w) if np.isfinite(power_w) else None,
        }
        for sample, time_s, power_w in zip(table.samples, table.time_s, table.power_w, strict=True)
    ]
