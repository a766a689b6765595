"""Measurements of the user's own: a CSV file of runs that were made on a real cluster."""

from collections.abc import Mapping

import numpy as np

from platforms.errors import UserError
from platforms.files.commented_csv import checked_rows
from platforms.files.writing import write_text
from predictor.allocation.configuration import Configuration
from predictor.base import Cost
from predictor.nodes.drivers import Measured
from predictor.npt.measurements import Measurement, Measurements

COLUMNS = ("size", "configuration", "time_s")


def read_measured(path: str, app: str, sub_clusters: int) -> Measured:
    """Return the runs of a file with the columns of COLUMNS, charged with their node-seconds.

    The column ``work_flops`` may be there too, and ``app``: rows of other programs are left out.  A run that was made
    several times has several rows.

    Raises:
        UserError: The file cannot be read or a line is wrong; the error names the line.
    """
    rows = checked_rows(path, COLUMNS, "Name a CSV file of measured runs")
    runs = [
        _run(f"{path}:{number}", row, sub_clusters) for number, row in rows if row.get("app", app) in (app, None, "")
    ]
    if not runs:
        raise UserError(path, f"no runs of {app}", "Give a line for each measured run")
    measurements = Measurements.of(runs)
    nodes = measurements.pes.sum(axis=1)
    costs = tuple(Cost(float(cost)) for cost in nodes * measurements.time_s)
    return Measured(measurements, costs, measurements.time_s, 0.0)


def write_measured(path: str, measurements: Measurements) -> None:
    """Write runs as a file that ``read_measured`` reads, with their work where it is known."""
    lines = [",".join((*COLUMNS, "work_flops"))]
    for row in range(len(measurements)):
        work = measurements.work_flops[row]
        size, time_s = measurements.size[row], measurements.time_s[row]
        known = "" if np.isnan(work) else f"{work:.17g}"
        lines.append(f'{size:.17g},"{measurements.configuration(row)}",{time_s:.17g},{known}')
    write_text("--write-measurements", path, "\n".join(lines) + "\n")


def alone(measured: Measured) -> Measured:
    """Return the runs on single sub-clusters, to which models are fitted."""
    return measured.where(np.asarray(measured.measurements.sub_cluster >= 0))


def _run(where: str, row: Mapping[str, str | None], sub_clusters: int) -> Measurement:
    try:
        configuration = Configuration.parse(row["configuration"] or "")
    except UserError as err:
        raise UserError(f"{where}, {err.where}", err.problem, err.remedy) from None
    if len(configuration.shares) != sub_clusters:
        problem = f"{configuration} has {len(configuration.shares)} clusters, the platform has {sub_clusters}"
        raise UserError(f"{where}, configuration", problem, "Write P_1,M_1,P_2,M_2,... for every cluster")
    size, time_s = _number(where, row, "size"), _number(where, row, "time_s")
    work_flops = _number(where, row, "work_flops") if row.get("work_flops") else None
    try:
        return Measurement(configuration, size, time_s, work_flops)
    except UserError as err:
        raise err.at(f"{where}, {err.where}") from None


def _number(where: str, row: Mapping[str, str | None], name: str) -> float:
    text = row.get(name) or ""
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{where}, {name}", f"{text!r} is not a number", "Give a positive number") from None
