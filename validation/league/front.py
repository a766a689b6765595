"""The Pareto front: predictors that no other beats in both error and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

COSTS = ("evidence_share", "wall_s")  # columns of the ranking that errors are weighed against
PARETO_COLUMNS = ("cost", "predictor", "mean_abs_error_pct", "value", "on_front", "dominated_by")


def pareto(table: pd.DataFrame) -> pd.DataFrame:
    """For each of COSTS the ranked predictors of a ranking, the cheapest first.

    ``table``: as ``ranking`` gives it.  ``cost``: which cost ``value`` is.  A predictor is dominated by one that is
    neither worse nor dearer, and better in at least one of the two; ``dominated_by`` is the least wrong of those, None
    on the front.
    """
    import pandas as pd

    ranked = table[table["rank"].notna()]
    rows = []
    for cost in COSTS:
        for one in ranked.sort_values([cost, "mean_abs_error_pct"], kind="stable").itertuples():
            error, value = one.mean_abs_error_pct, getattr(one, cost)
            no_worse = (ranked["mean_abs_error_pct"] <= error) & (ranked[cost] <= value)
            better = (ranked["mean_abs_error_pct"] < error) | (ranked[cost] < value)
            above = ranked[no_worse & better].sort_values("mean_abs_error_pct", kind="stable")
            by = None if above.empty else above["predictor"].iloc[0]
            rows.append((cost, one.predictor, error, value, by is None, by))
    return pd.DataFrame(rows, columns=list(PARETO_COLUMNS))
