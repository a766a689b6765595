"""The ranking: errors and costs of all predictors and of simulation on the same cases, and their Pareto front."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from predictor.series.front import dominates, pareto_front
from validation.comparison.metrics import SEED, mean, statistics
from validation.comparison.rows import CASE

SIMULATE = "simulate"  # name of the row of the simulation itself, which is not a predictor
LEAST_COVERAGE = 0.75  # a predictor that answers a smaller share of the cases is not ranked
RANKING_COLUMNS = (
    *("rank", "predictor", "cases", "answered", "counted", "mean_error_pct", "mean_abs_error_pct"),
    *("mean_abs_error_low_pct", "mean_abs_error_high_pct", "median_abs_error_pct", "max_abs_error_pct", "r2"),
    *("evidence_node_s", "evidence_share", "wall_s", "prediction_wall_s", "cost_rank", "wall_rank"),
)


def ranking(results: pd.DataFrame, *, seed: int = SEED) -> pd.DataFrame:
    """Return a row per predictor: the ranked ones by ascending mean absolute error, then the others.

    A predictor must not win by refusing the hard cases.  Therefore the statistics of all ranked predictors are those
    of the same cases, namely the cases that every ranked predictor answers.  A predictor is ranked if it answers at
    least three quarters of all cases; the others have the statistics of the cases they answer, and no rank.  ``cases``
    is the number of all cases, ``answered`` the number that this predictor answers, and ``counted`` the number in the
    statistics and costs of its row.

    Costs are means over the counted cases of predicting each case alone: evidence that two cases could share is
    charged to both.  ``evidence_node_s`` are the node-seconds of all runs and measurements on the machines,
    ``evidence_share`` is the mean of their ratio to the target's full run, ``wall_s`` are the seconds of this computer
    to gather the evidence and to answer, and ``prediction_wall_s`` those of the answer alone.

    ``simulate`` is the simulation of the target itself, if the truth is a simulation.  Its error is the bound of its
    extrapolation.  Its evidence is the target's full run, a share of 1, because all runs are charged in full however
    few of their iterations are simulated.  Its wall seconds are those of the simulation.  It is ranked like the
    predictors but does not restrict their common cases; without common cases its statistics are those of all its cases.

    Args:
        results: The results, with the columns of validation.comparison.compare.Result.
        seed: Seed of the resampling for the intervals.
    """
    # Imported here because it is slow to import.
    import pandas as pd

    rows = pd.concat([results, simulated(results)], ignore_index=True)
    rows = rows.assign(case=rows.groupby(list(CASE), sort=False, dropna=False).ngroup())
    cases = rows["case"].nunique()
    answers = rows[rows["error_pct"].notna()]
    answered = answers.groupby("predictor")["case"].nunique()
    ranked = [name for name in dict.fromkeys(rows["predictor"]) if answered.get(name, 0) >= LEAST_COVERAGE * cases]
    common = _common(answers, [name for name in ranked if name != SIMULATE])
    counted = dict.fromkeys(ranked, common) | ({} if common else {SIMULATE: None})
    table = pd.DataFrame(
        [
            {"predictor": name, "cases": cases, "answered": int(answered.get(name, 0)), "ranked": name in ranked}
            | _standing(answers[answers["predictor"] == name], counted.get(name), seed)
            for name in dict.fromkeys(rows["predictor"])
        ],
        columns=["ranked", *RANKING_COLUMNS],
    )
    is_ranked = table["ranked"] & (table["counted"] > 0)
    ranks = {"rank": "mean_abs_error_pct", "cost_rank": "evidence_node_s", "wall_rank": "wall_s"}
    for rank, measure in ranks.items():
        table[rank] = table[measure].where(is_ranked).rank(method="min").astype("Int64")
    order = table.sort_values(["rank", "mean_abs_error_pct"], na_position="last")  # a stable order for ties
    return order[list(RANKING_COLUMNS)].reset_index(drop=True)


def simulated(results: pd.DataFrame) -> pd.DataFrame:
    """Return a row of SIMULATE for every case whose truth is a simulation."""
    truths = results[results["truth"] == "simulation"].drop_duplicates(list(CASE))
    bound_pct = 100 * truths["extrapolation_bound"].astype(float)
    return truths.assign(
        predictor=SIMULATE,
        predicted_s=truths["simulated_s"],
        error_pct=bound_pct,
        abs_error_pct=bound_pct,
        evidence_node_s=truths["simulated_node_s"],
        evidence_share=1.0,
        evidence_wall_s=truths["simulation_wall_s"],
        prediction_wall_s=0.0,
        flags="",
    )


def _common(answers: pd.DataFrame, ranked: list[str]) -> set[int]:
    """Return the cases that all these predictors answer."""
    sets = [set(answers["case"][answers["predictor"] == name]) for name in ranked]
    return set.intersection(*sets) if sets else set()


def _standing(answers: pd.DataFrame, common: set[int] | None, seed: int) -> dict[str, Any]:
    """Return statistics and mean costs of the answers to the common cases, or to all cases if ``common`` is None."""
    counted = answers if common is None else answers[answers["case"].isin(common)]
    summary = statistics(counted["error_pct"], counted["predicted_s"], counted["simulated_s"], seed=seed)
    numbers = {
        "mean_error_pct": summary.mean_pct,
        "mean_abs_error_pct": summary.mean_abs_pct,
        "mean_abs_error_low_pct": summary.low_pct,
        "mean_abs_error_high_pct": summary.high_pct,
        "median_abs_error_pct": summary.median_abs_pct,
        "max_abs_error_pct": summary.max_abs_pct,
        "r2": summary.r2,
    }
    return {
        "counted": summary.n,
        **{name: math.nan if value is None else value for name, value in numbers.items()},
        "evidence_node_s": mean(counted["evidence_node_s"]),
        "evidence_share": mean(counted["evidence_share"]),
        "wall_s": mean(counted["evidence_wall_s"] + counted["prediction_wall_s"]),
        "prediction_wall_s": mean(counted["prediction_wall_s"]),
    }


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
