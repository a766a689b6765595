"""Times of a job from a few measured runs of it, by models with few terms (predictor/few_terms)."""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import median

from platforms.errors import UserError
from platforms.files.commented_csv import checked_rows
from predictor.job.sizes import Size, StepTime

_REMEDY = "Give a row per run, with its number of nodes and its time in seconds"


def read_runs(path: str) -> dict[int, list[float]]:
    """Return measured times in s by number of nodes.

    Raises:
        UserError: The file cannot be read, or has runs on fewer than two numbers of nodes.
    """
    runs: dict[int, list[float]] = defaultdict(list)
    for line, values in checked_rows(path, ("nodes", "time_s"), _REMEDY, where=f"--measured {path}"):
        where = f"{path}:{line}"
        nodes, time_s = values["nodes"], values["time_s"]
        try:
            count, seconds = int(nodes), float(time_s)
        except ValueError as err:
            raise UserError(where, f"nodes {nodes!r} and time_s {time_s!r} are no numbers", _REMEDY) from err
        if not (1 <= count <= 1_000_000 and 0 < seconds < math.inf):
            raise UserError(where, f"{count} nodes and {seconds} s", _REMEDY)
        runs[count].append(seconds)
    if len(runs) < 2:
        raise UserError(f"--measured {path}", "runs on fewer than two numbers of nodes", "Add runs on another number")
    return runs


def measured_size(runs: dict[int, list[float]], nodes: int, risk: float, factor: float) -> Size:
    """Return the job on a number of nodes, by the quantiles of what the measured runs leave possible.

    Args:
        runs: Measured times in s by number of nodes.
        nodes: The number of nodes.
        risk: Share of runs that the time to request leaves below.
        factor: By which the spread of runs raises that time.
    """
    # Imported here because NumPy is slow to import.
    import numpy as np

    from predictor.few_terms.model import QUANTILES, Small, quantiles
    from predictor.few_terms.model import Series as Runs
    from predictor.few_terms.model import Size as Count

    small = [Small(Count(count, count), median(times), len(times)) for count, times in sorted(runs.items())]
    (row,) = quantiles(Runs(small), [Count(nodes, nodes)])
    time_s, low_s, high_s, below_s = (float(np.interp(share, QUANTILES, row)) for share in (0.5, 0.05, 0.95, risk))
    step = StepTime(0, "the whole job", 0, nodes, 1, time_s, low_s, high_s, below_s * factor, "few terms")
    return Size(nodes, (step,), time_s, low_s, high_s, below_s * factor)
