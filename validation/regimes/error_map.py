"""The validity map that predictions carry: errors by the compute share that each predicts itself."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from platforms.simgrid import simgrid_version
from predictor.regime import COVERAGE, MAP_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

BINS_PER_DECADE = 2  # of computation over communication
LEAST_SAMPLES = round(2 / (1 - COVERAGE)) - 1  # so that smallest and largest hold COVERAGE of what comes: 19


def error_map(results: pd.DataFrame) -> pd.DataFrame:
    """Rows of MAP_COLUMNS from the results of a sweep.

    Cases of an app and predictor are put in order of the compute share c that the prediction itself says, and cut
    where computation over communication, c / (1 - c), passes half a decade; a piece in which no network has
    LEAST_SAMPLES cases is joined with what follows it.  The range of n cases is that of the order statistics between
    which a further case like them falls with a probability of COVERAGE: the k-th smallest to the k-th largest with
    k = (1 - COVERAGE) (n + 1) / 2, rounded down, but at least 1 (S. S. Wilks, "Determination of sample sizes for
    setting tolerance limits", Ann. Math. Stat. 12, 1941).  With several networks, random grids being one, a piece has
    the range from the smallest to the largest of theirs, so that it holds on each of them and not on their mixture
    alone.  The last piece reaches up to 1, no communication at all.  Ranks are those of all cases of the app and
    predictor.
    """
    import pandas as pd

    usable = results[results["error_pct"].notna() & results["predicted_compute_share"].notna()]
    rows = []
    for (predictor, app), cases in usable.groupby(["predictor", "app"], sort=False):
        cases = cases.sort_values("predicted_compute_share", kind="stable")
        ranks = {"ranks_low": cases["ranks"].min(), "ranks_high": cases["ranks"].max()}
        rows += [{"predictor": predictor, "app": app, **_row(*piece), **ranks} for piece in _pieces(cases)]
    return pd.DataFrame(rows, columns=list(MAP_COLUMNS))


def map_text(results: pd.DataFrame, command: str) -> str:
    """The map as a file: what it is of, then the rows.  ``command``: what makes it again."""
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
    """Random grids of one seed are one family."""
    return re.sub(r"^random-(\d+)-\d+$", r"random grids of seed \1", scenario)


def _pieces(cases: pd.DataFrame) -> list[tuple[float, float, pd.DataFrame]]:
    """The pieces of cases in order of their shares: from, to, cases.  Empty where there are too few in all."""
    bins = cases["predicted_compute_share"].map(_bin)
    groups: list[list[int]] = [[]]  # bins of each piece; the last one is not full yet
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
    by_network = [coverage_range(one.to_list()) for _, one in cases.groupby("base_network")["error_pct"]]
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
    """The order statistics between which a further error falls with a probability of COVERAGE, or as near as can be."""
    ordered = sorted(errors_pct)
    k = max(1, math.floor((1 - COVERAGE) * (len(ordered) + 1) / 2 + 1e-9))
    return ordered[k - 1], ordered[-k]


def _bin(share: float) -> int:
    """Half decades of share / (1 - share) from 1; a share of 1 is beyond all."""
    if share >= 1:
        return 1000
    if share <= 0:
        return -1000
    return math.floor(BINS_PER_DECADE * math.log10(share / (1 - share)))


def _edge(number: int) -> float:
    """The share at which a half decade begins, to nine digits, as it is written."""
    if number > 900:
        return 1.0
    odds = 10 ** (number / BINS_PER_DECADE)
    return float(f"{odds / (1 + odds):.9g}")


def _floor(share: float) -> float:
    """A little below a share: its first three digits, rounded down."""
    if share <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(share)) - 2)
    return float(f"{math.floor(share / unit) * unit:.3g}")
