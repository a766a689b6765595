"""Table 1's formulas fitted to measured samples, with the quality of each fit, and the file of their parameters.

Unlike a calibration of a simulated platform, an operation has a measured time here, and a node may have hardware
threads: P_low is its cores, P_hi its hardware threads.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from apps.store.codec import DoesNotFit, from_fields
from platforms.errors import UserError, nearest
from platforms.files.commented_csv import checked_rows
from platforms.files.reading import input_text
from platforms.terminal.table import table_lines
from predictor.blocks.calibration.fit import CHOICE, Quality, linear_fit, quality
from predictor.blocks.names import COMMUNICATION
from predictor.blocks.published.formulas import REGRESSORS, TableModel, communication_time, computation_time, node_power
from predictor.blocks.published.parameters import ComputeParameters, Line, Parameters, PowerParameters

COLUMNS = ("block", "size_bytes", "processes", "time_s")
BLOCKS = ("compute", "idle", *COMMUNICATION)
_REMEDY = "Give a CSV file of measured blocks (docs/predictors/blocks.md)"
KIND = "table-1"  # of the file
_ALIKE = 0.05  # threads have cores of their own as long as they take at most so much longer, relative


@dataclass(frozen=True)
class MeasuredBlock:
    """A measured time of a block, and the power of its node if it was measured.

    ``amount`` is d of Table 1, bytes, or for compute the operations of each thread; ``processes`` are the nodes that
    take part, or for compute the threads of the node.
    """

    block: str  # of BLOCKS
    amount: float
    processes: int
    time_s: float
    power_w: float | None = None
    held_out: bool = False  # from the fits


@dataclass(frozen=True)
class Samples:
    """Measured blocks."""

    name: str
    blocks: tuple[MeasuredBlock, ...]

    def of(self, block: str, *, held_out: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return amounts, processes and times of a block, sorted."""
        rows = sorted(
            (sample.amount, sample.processes, sample.time_s)
            for sample in self.blocks
            if sample.block == block and sample.held_out == held_out
        )
        table = np.array(rows, float).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]

    def watts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers of busy threads and the power of the node, W."""
        rows = sorted(
            (0 if sample.block == "idle" else sample.processes, sample.power_w)
            for sample in self.blocks
            if sample.block in ("compute", "idle") and sample.power_w is not None
        )
        table = np.array(rows, float).reshape(-1, 2)
        return table[:, 0], table[:, 1]


def read_samples(path: str, name: str) -> Samples:
    """Return the samples of a file.

    Rows with ``use`` other than "fit" and "check" are left out, as those that ``--table`` has for lines of messages; of
    point-to-point messages within a cluster and between two, the latter count.

    Raises:
        UserError: It cannot be read, lacks a column, or has a value that no block has; the error names the line.
    """
    rows = checked_rows(path, COLUMNS, _REMEDY)
    used = [(line, row) for line, row in rows if (row.get("use") or "fit") in ("fit", "check")]
    far = any(row["block"] == "p2p" and row.get("where") == "far" for _, row in used)
    clusters = dict.fromkeys(row.get("where") or "" for _, row in used if row["block"] == "compute")
    first = next(iter(clusters), "")
    made = [
        _sample(f"{path}:{line}", row)
        for line, row in used
        if not (row["block"] == "p2p" and far and row.get("where") == "near")
        and not (row["block"] in ("compute", "idle") and (row.get("where") or "") != first)
    ]
    if not made:
        raise UserError(path, "no measured blocks", _REMEDY)
    return Samples(name, tuple(made))


def samples_of(name: str, rows: Sequence[Mapping[str, object]]) -> Samples:
    """Return the samples of rows as ``predictor.blocks.calibration.calibrate.rows`` makes them."""
    far = any(row["block"] == "p2p" and row["where"] == "far" for row in rows)
    first = next((row["where"] for row in rows if row["block"] == "compute"), "")
    texts = [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]
    return Samples(
        name,
        tuple(
            _sample(name, row)
            for row in texts
            if row["use"] in ("fit", "check")
            and row["block"] in BLOCKS
            and not (row["block"] == "p2p" and far and row["where"] == "near")
            and not (row["block"] in ("compute", "idle") and row["where"] != first)
        ),
    )


def _sample(where: str, row: Mapping[str, str]) -> MeasuredBlock:
    block = row["block"]
    if block not in BLOCKS:
        raise UserError(where, f"no block {block!r}", nearest(block, BLOCKS))
    processes = _number(where, "processes", row["processes"], least=0 if block == "idle" else 1)
    if processes != int(processes):
        raise UserError(where, f"processes is {row['processes']}", "Give a whole number")
    power_w = None
    if row.get("node_power_w"):
        power_w = _number(where, "node_power_w", row["node_power_w"], least=0)
    amount = _number(where, "size_bytes", row["size_bytes"] or "0", least=0)
    time_s = _number(where, "time_s", row["time_s"], least=0)
    if block == "compute" and not (amount > 0 and time_s > 0):
        raise UserError(where, "a computation without operations or time", "Give both above 0")
    return MeasuredBlock(block, amount, int(processes), time_s, power_w, row.get("use") == "check")


def _number(where: str, column: str, text: str, *, least: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value < float("inf"):
        raise UserError(where, f"{column} is {text!r}", f"Give a number of at least {least:g}")
    return value


@dataclass(frozen=True)
class MeasuredFit:
    """The agreement of a fitted formula with its samples."""

    block: str  # as in the samples, or "power"
    error: str  # the minimised error, "mpe" or "mse"
    quality: Quality
    mse: float  # mean squared error, s^2 or W^2
    held_out_mpe_pct: float | None  # of samples that the fit did not use


@dataclass(frozen=True)
class MeasuredModel:
    """Fitted parameters, and the quality of the fits."""

    kind: str
    name: str
    D_tu_bytes: float
    compute: ComputeParameters | None
    power: PowerParameters | None
    lines: dict[str, Line]
    fits: tuple[MeasuredFit, ...]
    failure_rate_per_s: float | None = None

    @property
    def parameters(self) -> Parameters:
        """The parameters of Table 1's formulas."""
        return Parameters(
            self.name, self.compute, self.D_tu_bytes, dict(self.lines), self.power, self.failure_rate_per_s
        )  # fmt: skip

    @property
    def model(self) -> TableModel:
        """The model of these parameters."""
        return TableModel(self.parameters)

    def text(self) -> str:
        """Return the content of a file for ``--model``."""
        return json.dumps(asdict(self), indent=1) + "\n"


def fit_samples(
    samples: Samples,
    *,
    cores: int | None = None,
    threads: int | None = None,
    unit_bytes: float = 2048.0,
    error: str | None = None,
    failure_rate_per_s: float | None = None,
) -> MeasuredModel:
    """Return the fitted parameters.

    Args:
        samples: The measured blocks.
        cores: P_low; None: the most threads that take at most 5 % longer than one.
        threads: P_hi; None: P_low, no hardware threads.
        unit_bytes: D_tu.
        error: The error that all fits minimise; None: as in fit.CHOICE.
        failure_rate_per_s: Failure rate of a node, which is kept with the parameters.

    Raises:
        UserError: A block has too few samples for its formula.
    """
    fits: list[MeasuredFit] = []
    compute, power = None, None
    operations, counts, time_s = samples.of("compute")
    if len(time_s):
        low = _cores(operations, counts, time_s) if cores is None else cores
        high = low if threads is None else threads
        if high < low:
            raise UserError(f"--threads {high}", f"fewer than the {low} cores", "Give the hardware threads of a node")
        compute = _compute(operations, counts, time_s, low, high, error or CHOICE["compute"])
        fits.append(_quality(samples, "compute", compute, unit_bytes, error or CHOICE["compute"]))
        busy, watts = samples.watts()
        if len(watts):
            power = _power(busy, watts, low, high, error or CHOICE["power"])
            fitted = _watts(busy, power, low, high)
            squares = _mse(fitted, watts)
            fits.append(MeasuredFit("power", error or CHOICE["power"], quality(fitted, watts), squares, None))
    lines = {}
    for block in COMMUNICATION:
        sizes, processes, time_s = samples.of(block)
        if not len(time_s):
            continue
        minimised = error or CHOICE[block]
        x = REGRESSORS[block](sizes, processes, unit_bytes)
        if len(time_s) < 2 or np.ptp(x) == 0:
            raise UserError(f"{samples.name}, {block}", "samples of one size and number alone", "Measure two or more")
        T_s, K = map(float, linear_fit(np.stack([np.ones_like(x), x], axis=1), time_s, error=minimised))
        lines[block] = Line(T_s, K)
        fits.append(_quality(samples, block, lines[block], unit_bytes, minimised))
    if not fits:
        raise UserError(samples.name, "no block that Table 1 has", "Give samples of compute, p2p, bcast and the like")
    return MeasuredModel(KIND, samples.name, unit_bytes, compute, power, lines, tuple(fits), failure_rate_per_s)


def _cores(operations: np.ndarray, counts: np.ndarray, time_s: np.ndarray) -> int:
    each_s = time_s / operations
    alone_s = float(np.median(each_s[counts == counts.min()]))
    fast = [int(count) for count in np.unique(counts) if np.median(each_s[counts == count]) <= (1 + _ALIKE) * alone_s]
    return max(fast)


def _compute(
    operations: np.ndarray, counts: np.ndarray, time_s: np.ndarray, low: int, high: int, error: str
) -> ComputeParameters:
    each_s = time_s / operations
    parts = counts <= low, (counts > low) & (counts <= high), counts > high
    if not parts[0].any():
        raise UserError("compute", f"no sample of at most {low} threads", "Measure one, or give --cores")
    T_min = float(linear_fit(np.ones((parts[0].sum(), 1)), each_s[parts[0]], error=error)[0])
    T_low = T_min
    if parts[1].any():
        T_low = float(linear_fit(np.ones((parts[1].sum(), 1)), each_s[parts[1]], error=error)[0])
    T_hi, K_hi = 0.0, T_low / high  # in proportion to the threads, without samples
    if len(np.unique(counts[parts[2]])) > 1:
        T_hi, K_hi = map(float, linear_fit(_line(counts[parts[2]]), each_s[parts[2]], error=error))
    elif parts[2].any():
        K_hi = float(np.mean(each_s[parts[2]] / counts[parts[2]]))
    return ComputeParameters(
        P_low=float(low), P_hi=float(high), T_min_s=T_min, T_low_s=T_low, T_hi_s=T_hi, K_hi_s=K_hi
    )  # fmt: skip


def _power(busy: np.ndarray, watts: np.ndarray, low: int, high: int, error: str) -> PowerParameters:
    parts = busy <= low, (busy > low) & (busy <= high), busy > high
    if len(np.unique(busy[parts[0]])) < 2:
        problem = f"watts of fewer than two numbers of threads up to {low}"
        raise UserError("power", problem, "Measure the idle node too, or leave node_power_w out")
    PW_low, KW_low = map(float, linear_fit(_line(busy[parts[0]]), watts[parts[0]], error=error))
    PW_hi, KW_hi = PW_low, KW_low
    if len(np.unique(busy[parts[1]])) > 1:
        PW_hi, KW_hi = map(float, linear_fit(_line(busy[parts[1]]), watts[parts[1]], error=error))
    most = float(np.mean(watts[parts[2]])) if parts[2].any() else float(watts.max())
    return PowerParameters(PW_low_w=PW_low, KW_low_w=KW_low, PW_hi_w=PW_hi, KW_hi_w=KW_hi, PW_max_w=most)


def _line(counts: np.ndarray) -> np.ndarray:
    return np.stack([np.ones_like(counts), counts], axis=1)


def _watts(busy: np.ndarray, power: PowerParameters, low: int, high: int) -> np.ndarray:
    watts: np.ndarray = node_power(
        busy, P_low=low, P_hi=high, PW_low=power.PW_low_w, KW_low=power.KW_low_w, PW_hi=power.PW_hi_w,
        KW_hi=power.KW_hi_w, PW_max=power.PW_max_w, law="printed",
    )  # fmt: skip
    return watts


def _quality(
    samples: Samples, block: str, of: ComputeParameters | Line, unit_bytes: float, minimised: str
) -> MeasuredFit:
    def fitted_s(held_out: bool) -> tuple[np.ndarray, np.ndarray]:
        amounts, processes, time_s = samples.of(block, held_out=held_out)
        if isinstance(of, Line):
            made = communication_time(block, amounts, processes, T=of.T_s, K=of.K, D_tu=unit_bytes)
        else:
            made = computation_time(
                amounts, processes, P_low=of.P_low, P_hi=of.P_hi, T_min=of.T_min_s, T_low=of.T_low_s,
                T_hi=of.T_hi_s, K_hi=of.K_hi_s,
            )  # fmt: skip
        return np.asarray(made), time_s

    made, time_s = fitted_s(False)
    others, their_s = fitted_s(True)
    held_out = quality(others, their_s).mpe_pct if len(their_s) else None
    return MeasuredFit(block, minimised, quality(made, time_s), _mse(made, time_s), held_out)


def _mse(fitted: np.ndarray, measured: np.ndarray) -> float:
    return float(np.mean((fitted - measured) ** 2))


def read_measured(path: str | Path) -> MeasuredModel | None:
    """Return the model of a file that ``MeasuredModel.text`` made; None: it is a file of another kind.

    Raises:
        UserError: A file of this kind is broken.
    """
    try:
        content = json.loads(input_text(path))
    except (OSError, ValueError, RecursionError):
        return None  # which the reader of calibrations reports
    if not isinstance(content, dict) or content.get("kind") != KIND:
        return None
    try:
        return from_fields(MeasuredModel, content)
    except DoesNotFit as err:
        problem = f"not a file of parameters ({err})"
        raise UserError(f"model {path}", problem, "Make it by gridval blocks calibrate --csv") from err


def text(made: MeasuredModel, *, wide: bool = False) -> str:
    """Return the quality of the fits, as the paper's Table 2, and the parameters in the units of its Table 3."""
    rows: list[tuple[str, ...]] = [("block", "error", "points", "R2", "MPE, %", "worst, %", "MSE", "held-out, %")]
    for fit in made.fits:
        r2 = "" if fit.quality.r2 is None else f"{fit.quality.r2:.4f}"
        held_out = "" if fit.held_out_mpe_pct is None else f"{fit.held_out_mpe_pct:.2f}"
        unit = "W^2" if fit.block == "power" else "s^2"
        errors = f"{fit.quality.mpe_pct:.2f}", f"{fit.quality.worst_pct:.1f}", f"{fit.mse:.3g} {unit}"
        rows.append((fit.block, fit.error, str(fit.quality.points), r2, *errors, held_out))
    parameters = [("parameter", "value", "unit"), *_parameters(made)]
    title = f"{made.name}: Table 1 fitted to measured blocks, D_tu {made.D_tu_bytes:g} B"
    return "\n".join(
        [title, "", *table_lines(rows, left={0, 1}, wide=wide), "", *table_lines(parameters, left={0, 2}, wide=wide)]
    )


def _parameters(made: MeasuredModel) -> Iterator[tuple[str, str, str]]:
    if made.compute is not None:
        of = made.compute
        yield from (("P_low", f"{of.P_low:g}", "threads"), ("P_hi", f"{of.P_hi:g}", "threads"))
        for name, value in (("T_min", of.T_min_s), ("T_low", of.T_low_s), ("T_hi", of.T_hi_s), ("K_hi", of.K_hi_s)):
            yield name, f"{value * 1e6:.4g}", "us"
    for block, line in made.lines.items():
        yield f"T_{block}", f"{line.T_s * 1e6:.4g}", "us"
        yield f"K_{block}", f"{line.K * 1e6:.4g}", "us" if block == "barrier" else "us/B"
    if made.power is not None:
        for name, value in asdict(made.power).items():
            yield name.removesuffix("_w"), f"{value:.4g}", "W"
    if made.failure_rate_per_s is not None:
        yield "lambda", f"{made.failure_rate_per_s:.4g}", "1/(node s)"


def to_json(made: MeasuredModel) -> dict[str, Any]:
    """Return the model as JSON values."""
    return asdict(made) | {"cautions": []}
