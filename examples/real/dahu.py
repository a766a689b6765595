"""Predict measured runs of HPL on the cluster Dahu of Grid'5000, and say how wrong the predictions are.

    .venv/bin/python examples/real/dahu.py --out dahu

The machine is made from times of messages between two nodes and of matrix products on each CPU; no run of HPL is used,
except one row of each study, to which one factor of speed is fitted (see docs/validation/clusters.md).  What has been
predicted is kept in the folder and not predicted again.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from apps.calibrate.model import NEVER, model_of
from apps.calibrate.points import points_of
from apps.options.exit_status import exit_status
from apps.probes.segments import Curve
from platforms.command.parser import CommandParser
from platforms.errors import UserError
from predictor.factorisation.evaluate import BROADCASTS, SWAPS, Problem, evaluate
from predictor.factorisation.machine import Curves, Machine

HERE = Path(__file__).parent
P2P = HERE.parent / "calibration" / "p2p-grid5000.csv"
CORES, SOCKETS = 32, 2  # of a node
# Not in the data.  Two Xeon Gold 6130 have 12 channels of 21.3 GB/s; 180 GB/s of these 256 are what a stream gets.
MEMORY_BPS = 180e9
L2_BYTES = 2**20  # of a core
# A row is copied once: memory reads it, reads what it replaces, and writes it; a message inside a node is copied twice.
ROW_TRAFFIC, COPY_TRAFFIC = 3, 6
# Of a large message inside a node, while its cores compute: fitted to the grids of 1, 3, 5 and 8 process rows of
# hpl.csv, which are left out of the errors of the geometry; the other half of the grids is not fitted.
COPY_BPS = 1.3e9
FITTED_ROWS = ("1", "3", "5", "8")
WITHIN_S = 0.5e-6  # latency
# The row of each study to which its factor of speed is fitted, by its columns.
NAMED = {
    "matrix size": {"n": "250000"},
    "factorial": {"block": "128", "bcast": "2", "depth": "1", "swap": "0"},
    "geometry": {"p": "32", "q": "30"},
}
# The settings of a study where its rows leave them out: those of the matrix sizes, as the thesis says of the geometry.
DEFAULTS = {"bcast": "2", "depth": "1", "swap": "0"}
WORDS = {"2-ring": "2", "binary-exchange": "0"}


def table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file, without its comments."""
    try:
        lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    except (OSError, UnicodeDecodeError) as err:
        raise UserError(str(path), f"cannot be read: {err}", "Give a CSV file") from err
    return list(csv.DictReader(lines))


@cache
def curves() -> tuple[Curves, float]:
    """Return the times of messages, and the rate of a link, from the measured times of two nodes of Dahu."""
    measured: dict[str, list[tuple[int, float]]] = {}
    for row in table(P2P):
        if row["cluster"] == "dahu":
            measured.setdefault(row["call"], []).append((int(row["size_bytes"]), float(row["time_s"])))
    model = model_of({call: points_of(values) for call, values in measured.items()})
    within = ((0.0, WITHIN_S, 1 / COPY_BPS),)
    wire, send, receive = map(_segments, (model.transfer, model.send, model.receive))
    return Curves(wire, within, send, receive, model.thresholds.async_bytes), model.bandwidth_Bps


def _segments(curve: Curve | None) -> tuple[tuple[float, float, float], ...]:
    kept = [] if curve is None else [segment for segment in curve.segments if segment.from_bytes < NEVER]
    return tuple((float(one.from_bytes), float(one.base_s), float(one.per_byte_s)) for one in kept)


@cache
def products() -> dict[tuple[int, int], tuple[float, float]]:
    """Return, by node and CPU, seconds per m n k of a matrix product, and seconds of a call."""
    return {
        (int(row["node"]) - 1, int(row["cpu"])): (float(row["s_per_mnk"]), float(row["intercept_s"]))
        for row in table(HERE / "dahu" / "dgemm.csv")
    }


def machine(ranks: int, factor: float) -> Machine:
    """Return as many cores of Dahu, node by node, whose products take ``factor`` times as long as measured."""
    times, rank = products(), np.arange(ranks)
    node, cpu = rank // CORES, rank % CORES // (CORES // SOCKETS)
    own = np.array([times[place] for place in zip(node.tolist(), cpu.tolist(), strict=True)])
    shape, link_Bps = curves()
    return Machine(
        node,
        factor * own[:, 0],
        shape,
        node_Bps=link_Bps,
        memory_Bps=MEMORY_BPS / COPY_TRAFFIC,
        gemm_call_s=float(own[:, 1].mean()),
        copy_s_per_byte=ROW_TRAFFIC * CORES / MEMORY_BPS,
        panel_s_per_byte=CORES / MEMORY_BPS,
        cache_bytes=L2_BYTES,
    )


@dataclass(frozen=True)
class Row:
    """A row of the measured times."""

    study: str
    n: int
    block: int
    p: int
    q: int
    bcast: str
    depth: str
    swap: str
    measured_s: float

    @property
    def named(self) -> bool:
        """True for the row to which the factor of speed of its study is fitted, and those to which COPY_BPS is."""
        if self.study == "geometry" and str(self.p) in FITTED_ROWS:
            return True
        wanted = NAMED.get(self.study)
        return wanted is not None and all(str(getattr(self, name)) == value for name, value in wanted.items())

    @property
    def problem(self) -> Problem:
        """The run."""
        broadcast, swap = BROADCASTS[int(self.bcast)], SWAPS[int(self.swap)]
        return Problem(self.n, self.block, self.p, self.q, broadcast, int(self.depth), swap)

    def predict(self, factor: float) -> float:
        """Return the predicted time, s."""
        return evaluate(self.problem, machine(self.p * self.q, factor)).time_s


def rows_of(path: Path) -> list[Row]:
    """Return the rows of a file with the columns of examples/real/dahu/hpl.csv."""
    found = []
    for number, row in enumerate(table(path), 1):
        try:
            chosen: dict[str, Any] = {
                name: WORDS.get(row[name], row[name]) or value for name, value in DEFAULTS.items()
            }
            sizes: dict[str, Any] = {name: int(row[name]) for name in ("n", "block", "p", "q")}
            made = Row(row["study"], **sizes, **chosen, measured_s=float(row["time_mean_s"]))
            _ = made.problem
        except (KeyError, ValueError, IndexError, TypeError) as err:
            raise UserError(f"{path}, row {number}", f"is not a run of HPL: {err}", "See dahu/hpl.csv") from err
        if made.p * made.q > CORES * len(products()) // SOCKETS:
            raise UserError(f"{path}, row {number}", f"{made.p} x {made.q} ranks", "Dahu has 1024 cores")
        found.append(made)
    return found


@dataclass(frozen=True)
class Done:
    """A prediction."""

    row: Row
    factor: float
    predicted_s: float
    cpu_s: float

    @property
    def error(self) -> float:
        """Relative to the measured time."""
        return self.predicted_s / self.row.measured_s - 1


def predict(task: tuple[Row, float]) -> Done:
    """Return one prediction and the seconds of a core that it took."""
    row, factor = task
    started = time.process_time()
    predicted_s = row.predict(factor)
    return Done(row, factor, predicted_s, time.process_time() - started)


class Kept:
    """The predictions in a file, and new ones, which are added to it."""

    def __init__(self, path: Path, jobs: int):
        self.path, self.jobs = path, jobs
        self.done: dict[tuple[Row, float], Done] = {}
        names = [one.name for one in fields(Row)]
        for line in table(path) if path.exists() else []:
            row = Row(**{name: _typed(name, line[name]) for name in names})
            one = Done(row, float(line["factor"]), float(line["predicted_s"]), float(line["cpu_s"]))
            self.done[one.row, one.factor] = one

    def get(self, tasks: Iterable[tuple[Row, float]]) -> list[Done]:
        """Return the predictions of rows with factors of speed."""
        asked = list(tasks)
        missing = [task for task in dict.fromkeys(asked) if task not in self.done]
        with ProcessPoolExecutor(self.jobs) as pool:
            for one in pool.map(predict, missing):
                self.done[one.row, one.factor] = one
                self._add(one)
        return [self.done[task] for task in asked]

    def _add(self, one: Done) -> None:
        values = {**asdict(one.row), "factor": one.factor, "predicted_s": one.predicted_s, "cpu_s": one.cpu_s}
        new = not self.path.exists()
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, list(values), lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(values)


def _typed(name: str, text: str) -> Any:
    if name in ("n", "block", "p", "q"):
        return int(text)
    return float(text) if name == "measured_s" else text


def fitted_factor(kept: Kept, row: Row) -> float:
    """Return the factor with which the row's prediction is its measured time, to 0.1 %: regula falsi from 1."""
    factor, one = 1.0, kept.get([(row, 1.0)])[0]
    slope = one.predicted_s
    for _ in range(4):
        if abs(one.error) < 1e-3:
            break
        step = (row.measured_s - one.predicted_s) / slope
        after = kept.get([(row, factor + step)])[0]
        slope = (after.predicted_s - one.predicted_s) / step
        factor, one = factor + step, after
    return factor


def in_order(times: Sequence[tuple[float, float]]) -> tuple[int, int]:
    """Return how many pairs of runs that were measured more than 3 % apart are predicted in that order, of how many.

    ``times`` are the measured and the predicted time of each run.
    """
    apart = [(a, b) for a, b in combinations(times, 2) if abs(np.log(a[0] / b[0])) > np.log1p(0.03)]
    return sum((a[0] < b[0]) == (a[1] < b[1]) for a, b in apart), len(apart)


def summary(study: str, found: list[Done]) -> Iterator[str]:
    """Yield a line on the errors of a study's rows."""
    judged = [one for one in found if not one.row.named]
    errors = 100 * np.array([one.error for one in judged])
    right, pairs = in_order([(one.row.measured_s, one.predicted_s) for one in judged])
    mean, largest = np.abs(errors).mean(), errors[np.argmax(np.abs(errors))]
    line = f"{study:12} factor {found[0].factor:.3f}  rows {len(judged):3}  mean error {mean:5.1f} %"
    yield f"{line}  largest {largest:+6.1f} %  pairs in order {100 * right / max(1, pairs):5.1f} % of {pairs}"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(prog="examples/real/dahu.py", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("dahu"), help="folder for the results (default: dahu)")
    parser.add_argument(
        "--rows", type=Path, default=HERE / "dahu" / "hpl.csv", help="measured runs, as in dahu/hpl.csv"
    )
    parser.add_argument("--study", action="append", help="only this study; may be given several times")
    parser.add_argument("--no-factor", action="store_true", help="fit no factor of speed")
    parser.add_argument("--jobs", type=int, default=2, help="predictions at the same time (default: 2)")
    return parser


def run(args: argparse.Namespace) -> int:
    """Predict the rows and write the results."""
    rows = rows_of(args.rows)
    own = rows_of(HERE / "dahu" / "hpl.csv")
    studies = [
        study
        for study in dict.fromkeys(row.study for row in rows)
        if study in (args.study or [row.study for row in rows])
    ]
    args.out.mkdir(parents=True, exist_ok=True)
    kept = Kept(args.out / "predictions.csv", args.jobs)
    shown: dict[str, list[Done]] = {}
    for study in studies:
        mine = [row for row in rows if row.study == study]
        shown[study] = kept.get((row, 1.0) for row in mine)
        print(*summary(study, shown[study]), sep="\n", flush=True)
    for study in [] if args.no_factor else studies:
        mine = [row for row in rows if row.study == study]
        for named in [row for row in own if row.study == study and row.named and str(row.p) not in FITTED_ROWS][:1]:
            factor = fitted_factor(kept, named)
            shown[study] = kept.get((row, factor) for row in mine)
            print(*summary(study, shown[study]), sep="\n", flush=True)
    from picture import draw  # it lies beside this file

    draw(shown, args.out / "dahu.png")
    return 0


def main() -> int:
    """Run the command and return its exit status."""
    args = build_parser().parse_args()
    return exit_status(lambda: run(args))


if __name__ == "__main__":
    sys.exit(main())
