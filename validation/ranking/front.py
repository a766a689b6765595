"""The Pareto front: predictors that no other predictor dominates in error and cost."""

from __future__ import annotations

import pandas as pd

from predictor.series.front import dominates, pareto_front

COSTS = ("evidence_share", "wall_s")  # columns of the ranking that are compared with the error
PARETO_COLUMNS = ("cost", "predictor", "mean_abs_error_pct", "value", "on_front", "dominated_by")


def pareto(table: pd.DataFrame) -> pd.DataFrame:
    """Return the ranked predictors for each of COSTS, the cheapest first.

    Column ``value`` has the cost that column ``cost`` names.  A predictor dominates another one if it is worse neither
    in error nor in cost and better in at least one of them.  ``dominated_by`` is the dominating predictor with the
    smallest error, the first by name if there are several; it is missing on the front.  A predictor whose cost is
    unknown has no row of that cost.

    Here b costs more and has a larger error than a:

    >>> import pandas as pd
    >>> table = pd.DataFrame({
    ...     "predictor": ["a", "b", "c"], "rank": [2, 3, 1], "mean_abs_error_pct": [5.0, 9.0, 1.0],
    ...     "evidence_share": [0.1, 0.2, 0.9], "wall_s": [1.0, 2.0, 9.0],
    ... })
    >>> front = pareto(table)
    >>> list(front["predictor"][(front["cost"] == "evidence_share") & front["on_front"]])
    ['a', 'c']

    Args:
        table: The ranking, as ``ranking`` returns it.
    """
    ranked = table[table["rank"].notna()]
    rows = []
    for cost in COSTS:
        ordered = ranked.dropna(subset=[cost]).sort_values([cost, "mean_abs_error_pct"])
        errors, values, names = (ordered[name].tolist() for name in ("mean_abs_error_pct", cost, "predictor"))
        points = list(zip(errors, values, strict=True))
        front = set(pareto_front(points))
        for at, (name, point) in enumerate(zip(names, points, strict=True)):
            above = [(other[0], names[k]) for k, other in enumerate(points) if dominates(other, point)]
            by = min(above, default=(0.0, None))[1]
            rows.append((cost, name, *point, at in front, by))
    return pd.DataFrame(rows, columns=list(PARETO_COLUMNS))
