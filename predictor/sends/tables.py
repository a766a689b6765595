"""The tables of the Li paper, as printed.

K.-C. Li, H.-H. Wang and J.-L. Gaudiot, "A Strategy for Point-to-point Node Communication Performance Prediction in
Cluster Environments".  Each table is a CSV file beside this module.  A printed number comes with its possible rounding
error.  The paper's errors stay as printed; docs/predictors/dpgraph-li.md lists them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from apps.recording.events import Mode
from platforms.files.commented_csv import commented_rows
from predictor.sends.send_model import Line, SendModel, Side

INTEGER_BYTES = 4  # the paper counts messages in MPI_INT
CLUSTERS = (1, 2)
_TIME_HALF_UNIT_S = 5e-5  # Tables 2 and 4 give times to 1e-4 s; Table 4 omits trailing zeros


@dataclass(frozen=True)
class Printed:
    """A number of the paper."""

    value: float
    half_unit: float  # the number before rounding lies within value +- half_unit


@dataclass(frozen=True)
class ClusterRow:
    """A column of Table 1."""

    nodes: int
    processor: str
    memory_mb: int
    network: str
    os: str
    mpi: str


@dataclass(frozen=True)
class ModelRow:
    """An entry of Table 3, t(n) = c n + k_l, in SI units."""

    cluster: int
    mode: Mode
    side: Side
    c_s_per_byte: Printed
    k_l_s: Printed


@dataclass(frozen=True)
class PredictionRow:
    """A column of Table 4: the sender's time for one message size.

    The error is 100 (predicted - measured) / measured.
    """

    cluster: int
    mode: Mode
    size_bytes: int
    measured_s: Printed
    predicted_s: Printed
    error_pct: Printed


@cache
def clusters() -> dict[int, ClusterRow]:
    """Return Table 1, by cluster."""
    return {
        int(row["cluster"]): ClusterRow(
            int(row["nodes"]), row["processor"], int(row["memory_mb"]), row["network"], row["os"], row["mpi"]
        )
        for row in _rows("li_clusters.csv")
    }


@cache
def sizes_bytes() -> tuple[int, ...]:
    """Return the message sizes of Table 2, 100,000 to 1,000,000 integers."""
    return tuple(dict.fromkeys(INTEGER_BYTES * int(row["integers"]) for row in _rows("li_times.csv")))


@cache
def times_s(cluster: int) -> dict[Mode, dict[Side, tuple[float, ...]]]:
    """Return Table 2 (a) or (b): the times of both processes in s, by send mode, in the order of sizes_bytes."""
    rows = [row for row in _rows("li_times.csv") if int(row["cluster"]) == cluster]
    modes = dict.fromkeys(row["mode"] for row in rows)
    return {
        Mode[mode.upper()]: {
            side: tuple(float(row[f"{side}_s"]) for row in rows if row["mode"] == mode) for side in Side
        }
        for mode in modes
    }


@cache
def model(cluster: int) -> SendModel:
    """Return this project's least-squares fit of Table 2; the paper's Table 3 is such a fit for two of the modes."""
    return SendModel.fit(sizes_bytes(), times_s(cluster))


def rounding_interval(line: Line) -> tuple[float, float]:
    """Return the largest errors of c (s/byte) and k_l (s) of a fit of Table 2 that its rounding can cause."""
    return line.error_bound(_TIME_HALF_UNIT_S)


@cache
def published_models() -> tuple[ModelRow, ...]:
    """Return Table 3, which counts integers for cluster 1 and thousands of integers for cluster 2."""
    return tuple(
        ModelRow(
            int(row["cluster"]),
            Mode[row["mode"].upper()],
            Side(row["side"]),
            _printed(row["c_s"], INTEGER_BYTES * int(row["per_integers"])),
            _printed(row["k_l_s"]),
        )
        for row in _rows("li_models.csv")
    )


@cache
def predictions() -> tuple[PredictionRow, ...]:
    """Return Table 4 (a) and (b)."""
    return tuple(
        PredictionRow(
            int(row["cluster"]),
            Mode[row["mode"].upper()],
            INTEGER_BYTES * int(row["integers"]),
            Printed(float(row["measured_s"]), _TIME_HALF_UNIT_S),
            Printed(float(row["predicted_s"]), _TIME_HALF_UNIT_S),
            _printed(row["error_pct"]),
        )
        for row in _rows("li_predictions.csv")
    )


def _printed(text: str, unit: float = 1) -> Printed:
    """Return the printed number divided by ``unit``, which is rounded at its last digit."""
    digits, _, exponent = text.lower().partition("e")
    half = 0.5 * 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
    return Printed(float(text) / unit, half / unit)


def _rows(name: str) -> list[dict[str, str]]:
    return commented_rows(Path(__file__).with_name(name))
