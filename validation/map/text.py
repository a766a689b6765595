"""The results of a sweep as text: the compute share from which a predictor is valid, and its mean errors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from platforms.terminal.prose import prose_lines
from validation.comparison.dataframes import grouped
from validation.map.thresholds import LIMITS_PCT, mean_curve
from validation.presentation.tables import error_cell, table_of

_NEVER = "never"


def share_text(share: float | None) -> str:
    """Return a share in %, rounded up, or ``never`` for None and NaN.

    It has two digits of the share or, if that is smaller, of the difference to 100 %.
    """
    if share is None or math.isnan(share):
        return _NEVER
    percent = 100 * share
    if percent >= 100:
        return "100 %"
    least = min(percent, 100 - percent)
    decimals = max(0, 1 - math.floor(math.log10(least))) if least > 0 else 0
    return f"{math.ceil(round(percent * 10**decimals, 6)) / 10**decimals:.{decimals}f} %"


def sentences(thresholds: pd.DataFrame, published: pd.DataFrame, *, errors_pct: dict[str, float]) -> list[str]:
    """Return lines on the compute shares of the simulated run from which errors stay below LIMITS_PCT, by app.

    Args:
        thresholds: The table of ``thresholds``.
        published: The table of ``published_shares``.
        errors_pct: The published mean errors by app.
    """
    lines = []
    for app, rows in grouped(thresholds, "app"):
        lines.append(
            f"{app}: the compute share of the run from which on |error| stays below "
            f"{_listed([f'{limit:g}' for limit in LIMITS_PCT])} %, in every case and in the mean over the scenarios:"
        )
        for predictor, part in grouped(rows, "predictor"):
            lines.append(
                f"    {predictor}: {_held(part, 'cases_from')} in every case; {_held(part, 'mean_from')} in the mean"
            )
        if (published["app"] == app).any():
            lines.append(_published_line(published[published["app"] == app], errors_pct[app]))
    return lines


def _held(rows: pd.DataFrame, column: str) -> str:
    texts = []
    for share, least in zip(rows[column], rows["least_share"], strict=True):
        everywhere = share is not None and not math.isnan(share) and share <= least
        texts.append("everywhere" if everywhere else share_text(share))
    return texts[0] if len(set(texts)) == 1 else " / ".join(texts)


def _published_line(rows: pd.DataFrame, error_pct: float) -> str:
    said = []
    for predictor, part in grouped(rows, "predictor"):
        shares = sorted(share for share in part["compute_share"] if share is not None and not math.isnan(share))
        said.append(f"{predictor} {'at ' + _listed([share_text(s) for s in shares]) if shares else _NEVER}")
    return f"    the published mean error of {error_pct:g} % is that of: {'; '.join(said)}"


def _listed(texts: Sequence[str]) -> str:
    unique = list(dict.fromkeys(texts))
    return unique[0] if len(unique) == 1 else f"{', '.join(unique[:-1])} and {unique[-1]}"


def means_text(results: pd.DataFrame, app: str) -> str:
    """Return a table with a line per network and step.

    It has the scales, the compute shares of the runs and each predictor's mean absolute error over the scenarios.
    """
    means = mean_curve(results[results["app"] == app])
    if means.empty:
        return "no scenarios, no means"
    shares = _share_ranges(results[results["app"] == app])
    lines = []
    for (network, ratio), part in grouped(means, ["base_network", "ratio"]):
        lines.append(
            {
                "network": network,
                "speed": ratio_text(ratio),
                "compute %": shares[network, ratio],
                **{
                    name: error_cell(error, signed=False)
                    for name, error in zip(part["predictor"], part["abs_error_pct"], strict=True)
                },
            }
        )
    table = pd.DataFrame(lines).sort_values("network", kind="stable").fillna("-")
    head = (
        f"{app}, mean |error| % by the speed of the network over that of the nodes (1: as they are), and the share of "
        "computation in the runs"
    )
    lines_of_table = table_of({str(name): list(table[name]) for name in table}, left=("network",))
    return "\n".join([*prose_lines(head), "", *lines_of_table])


def ratio_text(ratio: float) -> str:
    """Return the ratio with three significant digits and commas between thousands."""
    return f"{float(f'{ratio:.3g}'):,.10g}"


def _share_ranges(results: pd.DataFrame) -> dict[tuple[str, float], str]:
    ratio = results["network_scale"] / results["efficiency_scale"]
    groups = results.assign(ratio=ratio).groupby(["base_network", "ratio"])["compute_share"]
    return {
        key: f"{_percent(least)} to {_percent(most)}" for key, least, most in groups.agg(["min", "max"]).itertuples()
    }


def _percent(share: float) -> str:
    return share_text(share).removesuffix(" %")


def coverage_text(results: pd.DataFrame) -> str | None:
    """Return a line on how many errors lie in the range of the project's map; None: the map gave no ranges."""
    ranged = results[results["in_range"].notna()]
    if ranged.empty:
        return None
    inside = ranged.groupby("predictor", sort=False)["in_range"].agg(["sum", "count"])
    by_name = [f"{name} {100 * row['sum'] / row['count']:.0f} % of {row['count']}" for name, row in inside.iterrows()]
    return "\n".join(prose_lines(f"inside the range that the map of this project gives: {', '.join(by_name)}"))
