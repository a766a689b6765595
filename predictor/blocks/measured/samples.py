"""Measured samples of blocks: the CSV file of ``gridval blocks calibrate --csv``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from platforms.errors import UserError, nearest
from platforms.files.commented_csv import checked_rows
from predictor.blocks.names import COMMUNICATION

COLUMNS = ("block", "size_bytes", "processes", "time_s")
BLOCKS = ("compute", "idle", *COMMUNICATION)
_REMEDY = "Give a CSV file of measured blocks (docs/predictors/blocks.md)"


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
