"""Compute shares from which a predictor's errors stay below a limit, and at which its mean has a given value."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from validation.comparison.metrics import mean

RANDOM_NETWORK = "random"  # name of the network of random grids (platforms/grids/random_grid.py)
LIMITS_PCT = (5.0, 10.0, 20.0)
_LEAST_SHARE = 1e-9  # smallest distance of a share from 0 and 1, so that its odds are finite
_LEAST_PCT = 1e-9  # smallest error, so that its logarithm is finite


def log_odds(share: float) -> float:
    """Return the log odds of a share, ln(share / (1 - share)).

    >>> log_odds(0.5)
    0.0
    """
    share = min(max(share, _LEAST_SHARE), 1 - _LEAST_SHARE)
    return math.log(share / (1 - share))


def share_of(odds: float) -> float:
    """Return the share with these log odds."""
    return 1 / (1 + math.exp(-odds))


def mean_curve(results: pd.DataFrame) -> pd.DataFrame:
    """Return the means over the scenarios of a step, with a row per app, predictor, network and step.

    The columns are app, predictor, base_network, ratio, compute_share, abs_error_pct, error_pct and cases; the rows
    are in the order of the shares.  The means do not include random grids, each of which has a step of its own.
    """
    rows = results[(results["base_network"] != RANDOM_NETWORK) & results["error_pct"].notna()]
    rows = rows.assign(ratio=rows["network_scale"] / rows["efficiency_scale"])
    groups = rows.groupby(["app", "predictor", "base_network", "ratio"], sort=False)
    means = groups.agg(
        compute_share=("compute_share", mean),
        abs_error_pct=("abs_error_pct", mean),
        error_pct=("error_pct", mean),
        cases=("error_pct", "count"),
    )
    return means.reset_index().sort_values("compute_share", kind="stable", ignore_index=True)


def cases_hold_from(shares: list[float], errors_pct: list[float], limit_pct: float) -> float | None:
    """Return the smallest share from which no ``|error|`` exceeds the limit, %; None if there is none.

    Cases with equal shares are treated as one.

    >>> cases_hold_from([0.2, 0.5, 0.9], [40.0, -8.0, 3.0], limit_pct=10.0)
    0.5
    """
    holds = None
    worst = math.inf
    by_share: dict[float, float] = {}
    for share, error_pct in zip(shares, errors_pct, strict=True):
        by_share[share] = max(abs(error_pct), by_share.get(share, 0.0))
    for share, worst in sorted(by_share.items(), reverse=True):
        if worst > limit_pct:
            break
        holds = share
    return holds


def mean_holds_from(shares: list[float], errors_pct: list[float], limit_pct: float) -> float | None:
    """Return the share from which the curve of mean ``|errors|`` through these points stays within the limit, %.

    Between two points the logarithm of the error is linear in the log odds of the share.  None: there is no such share.
    """
    points = sorted(zip(shares, errors_pct, strict=True))
    if not points or points[-1][1] > limit_pct:
        return None
    holds = points[-1][0]
    for i in range(len(points) - 1, -1, -1):
        if points[i][1] > limit_pct:
            return _crossing(points[i], points[i + 1], limit_pct)
        holds = points[i][0]
    return holds


def shares_with_mean(shares: list[float], errors_pct: list[float], wanted_pct: float) -> list[float]:
    """Return the shares at which the curve of ``mean_holds_from`` has this mean ``|error|``, %, in ascending order."""
    points = sorted(zip(shares, errors_pct, strict=True))
    crossings = []
    for a, b in pairwise(points):
        if (a[1] - wanted_pct) * (b[1] - wanted_pct) < 0:
            crossings.append(_crossing(a, b, wanted_pct))
        elif a[1] == wanted_pct:
            crossings.append(a[0])
    if points and points[-1][1] == wanted_pct:
        crossings.append(points[-1][0])
    return crossings


def _crossing(a: tuple[float, float], b: tuple[float, float], error_pct: float) -> float:
    """Return the share at which the line between two points (share, ``|error|`` in %) has this error."""
    low, high, wanted = (math.log(max(value, _LEAST_PCT)) for value in (a[1], b[1], error_pct))
    part = (wanted - low) / (high - low)
    return share_of(log_odds(a[0]) + part * (log_odds(b[0]) - log_odds(a[0])))


def thresholds(results: pd.DataFrame) -> pd.DataFrame:
    """Return the compute shares of the simulated run from which errors stay within the limits.

    There is a row per app, predictor and limit (limit_pct).  ``cases_from`` is the share from which every case is
    within the limit, random grids included; ``mean_from`` is the share from which the mean over the scenarios of a step
    is within the limit on every network, the largest of the networks' shares; None: there is no such share.
    ``least_share`` is the smallest share of all cases; a threshold equal to it means that all cases are within the
    limit.  ``cases`` is the number of cases.
    """
    curves = mean_curve(results)
    rows = []
    for (app, predictor), cases in _parts_of(results[results["error_pct"].notna()], results, ["app", "predictor"]):
        means = curves[(curves["app"] == app) & (curves["predictor"] == predictor)]
        shares, errors_pct = cases["compute_share"].to_list(), cases["error_pct"].to_list()
        for limit_pct in LIMITS_PCT if shares else ():
            cases_from = cases_hold_from(shares, errors_pct, limit_pct)
            mean_from = _means_hold_from(means, limit_pct, min(shares))
            rows.append((app, predictor, limit_pct, cases_from, mean_from, min(shares), len(shares)))
    columns = ["app", "predictor", "limit_pct", "cases_from", "mean_from", "least_share", "cases"]
    return pd.DataFrame(rows, columns=columns)


def _means_hold_from(means: pd.DataFrame, limit_pct: float, least_share: float) -> float | None:
    """Return the largest of the networks' shares, or ``least_share`` if all means are within the limit."""
    if means.empty:
        return None
    if (means["abs_error_pct"] <= limit_pct).all():
        return least_share
    networks = [part for _, part in means.groupby("base_network", sort=False)]
    holds_from = [
        mean_holds_from(part["compute_share"].to_list(), part["abs_error_pct"].to_list(), limit_pct)
        for part in networks
    ]
    shares = [share for share in holds_from if share is not None]
    return max(shares) if len(shares) == len(holds_from) else None


def published_shares(results: pd.DataFrame, published: dict[str, float]) -> pd.DataFrame:
    """Return the shares at which the mean ``|error|`` equals the published one.

    The columns are app, predictor, base_network, published_pct and compute_share.  There is a row per crossing, or one
    row without a share if there is no crossing.
    """
    curves = mean_curve(results)
    rows = []
    for (app, predictor), means in _parts_of(curves, results, ["app", "predictor"]):
        for network, part in means.groupby("base_network", sort=False) if app in published else ():
            shares = shares_with_mean(part["compute_share"].to_list(), part["abs_error_pct"].to_list(), published[app])
            crossings: list[float | None] = [*shares] or [None]
            rows += [(app, predictor, network, published[app], share) for share in crossings]
    return pd.DataFrame(rows, columns=["app", "predictor", "base_network", "published_pct", "compute_share"])


def _parts_of(
    table: pd.DataFrame, results: pd.DataFrame, columns: list[str]
) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    """Yield the parts of a table with equal values in these columns, in the order of the results."""
    for values in dict.fromkeys(zip(*(results[column] for column in columns), strict=True)):
        same = [table[column] == value for column, value in zip(columns, values, strict=True)]
        yield values, table[np.logical_and.reduce(same)]
