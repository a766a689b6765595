"""The validity map, which gives predictions their error range: errors by predicted compute share."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from platforms.simgrid.installed import simgrid_version
from predictor.answers.regime import COVERAGE, MAP_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

BINS_PER_DECADE = 2  # bins per decade of computation over communication
LEAST_SAMPLES = round(2 / (1 - COVERAGE)) - 1  # 19: smallest and largest enclose a further error with COVERAGE


def error_map(results: pd.DataFrame) -> pd.DataFrame:
    """Return the validity map, with MAP_COLUMNS, from the results of a sweep.

    The cases of an app and predictor are ordered by the compute share c of the prediction itself, and cut into pieces
    at the half decades of computation over communication, c / (1 - c).  A piece in which no network has LEAST_SAMPLES
    cases is joined with the next piece.

    The range of n cases lies between the order statistics between which a further case falls with a probability of
    COVERAGE: the k-th smallest and the k-th largest with k = (1 - COVERAGE) (n + 1) / 2, rounded down, but at least 1
    (S. S. Wilks, "Determination of sample sizes for setting tolerance limits", Ann. Math. Stat. 12, 1941).  With
    several networks, of which the random grids are one, the range of a piece spans the ranges of all networks, so that
    it is valid on each network and not only on their mixture.

    The last piece extends to 1, no communication.  The ranks are those of all cases of the app and predictor.
    """
    # Imported here because it is slow to import.
    import pandas as pd

    usable = results[results["error_pct"].notna() & results["predicted_compute_share"].notna()]
    rows = []
    for (predictor, app), cases in usable.groupby(["predictor", "app"], sort=False):
        cases = cases.sort_values("predicted_compute_share", kind="stable")
        ranks = {"ranks_low": cases["ranks"].min(), "ranks_high": cases["ranks"].max()}
        rows += [{"predictor": predictor, "app": app, **_row(*piece), **ranks} for piece in _pieces(cases)]
    return pd.DataFrame(rows, columns=list(MAP_COLUMNS))


def map_text(results: pd.DataFrame, command: str) -> str:
    """Return the contents of a map file: comments on its origin, then the rows.

    Args:
        results: The results of a sweep.
        command: The command that makes the map again.
    """
    programs = dict.fromkeys(zip(results["app"], results["class"], strict=True))
    networks = results["base_network"].value_counts(sort=False)
    of = ", ".join(f"{app} {preset}" for app, preset in programs)
    lines = [
        "# The validity map: errors of predictions, 100 (predicted - simulated) / simulated, by the compute share that",
        f"# the prediction itself says; {100 * COVERAGE:g} % of cases like these lie between low_pct and high_pct.",
        f"# Made by: {command}",
        f"# From the simulated runs of {of}",
        f"# on {', '.join(dict.fromkeys(results['scenario'].map(_family)))};",
        f"# networks {', '.join(networks.index)}; SimGrid {simgrid_version()}; docs/validation/regimes.md.",
        error_map(results).to_csv(index=False, float_format="%.9g").rstrip("\n"),
    ]
    return "\n".join(lines) + "\n"


def _family(scenario: str) -> str:
    """Return one name for all random grids of a seed, and the name of any other scenario."""
    return re.sub(r"^random-(\d+)-\d+$", r"random grids of seed \1", scenario)


def _pieces(cases: pd.DataFrame) -> list[tuple[float, float, pd.DataFrame]]:
    """Cut ordered cases into pieces (share from, share to, cases); empty if there are too few cases."""
    bins = cases["predicted_compute_share"].map(_bin)
    groups: list[list[int]] = [[]]  # bins of each piece; the last piece is still incomplete
    for number in sorted(bins.unique()):
        groups[-1].append(number)
        if cases["base_network"][bins.isin(groups[-1])].value_counts().max() >= LEAST_SAMPLES:
            groups.append([])
    left = groups.pop()
    if not groups:
        return []
    groups[-1] += left
    begins = [_floor(cases["predicted_compute_share"].min()), *(_edge(group[-1] + 1) for group in groups[:-1])]
    ends = [*begins[1:], 1.0]
    return [(begin, end, cases[bins.isin(group)]) for begin, end, group in zip(begins, ends, groups, strict=True)]


def _row(share_from: float, share_to: float, cases: pd.DataFrame) -> dict[str, Any]:
    by_network = [coverage_range(errors_pct.to_list()) for _, errors_pct in cases.groupby("base_network")["error_pct"]]
    low_pct, high_pct = min(low for low, _ in by_network), max(high for _, high in by_network)
    true_shares = cases["compute_share"]
    return {
        "share_from": share_from,
        "share_to": share_to,
        "low_pct": _rounded(low_pct),
        "high_pct": _rounded(high_pct),
        "samples": len(cases),
        "true_share_low": _rounded(true_shares.min()),
        "true_share_high": _rounded(true_shares.max()),
    }


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def coverage_range(errors_pct: list[float]) -> tuple[float, float]:
    """Return the order statistics between which a further error falls with probability COVERAGE, or about that."""
    ordered = sorted(errors_pct)
    k = max(1, math.floor((1 - COVERAGE) * (len(ordered) + 1) / 2 + 1e-9))
    return ordered[k - 1], ordered[-k]


def _bin(share: float) -> int:
    """Return the half decade of share / (1 - share), counted from 1; shares of 0 and 1 are beyond all others."""
    if share >= 1:
        return 1000
    if share <= 0:
        return -1000
    return math.floor(BINS_PER_DECADE * math.log10(share / (1 - share)))


def _edge(number: int) -> float:
    """Return the share at which a half decade begins, to nine digits, as in the file."""
    if number > 900:
        return 1.0
    odds = 10 ** (number / BINS_PER_DECADE)
    return float(f"{odds / (1 + odds):.9g}")


def _floor(share: float) -> float:
    """Return a share rounded down to three digits."""
    if share <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(share)) - 2)
    return float(f"{math.floor(share / unit) * unit:.3g}")
