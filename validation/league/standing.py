"""The ranking: errors and costs of all predictors on the same cases, with simulation itself among them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from validation.metrics import SEED, mean, statistics

if TYPE_CHECKING:
    import pandas as pd

SIMULATE = "simulate"  # the row of the truth's own simulation, which is no predictor
LEAST_COVERAGE = 0.75  # of the cases: whoever answers fewer is not ranked, and takes no case from the others
# What tells one case from another, besides the predictor.
CASE = ("scenario", "platform_hash", "network", "app", "class", "ranks", "mapping", "clusters", "efficiency")
RANKING_COLUMNS = (
    *("rank", "predictor", "cases", "answered", "counted", "mean_error_pct", "mean_abs_error_pct"),
    *("mean_abs_error_low_pct", "mean_abs_error_high_pct", "median_abs_error_pct", "max_abs_error_pct", "r2"),
    *("evidence_node_s", "evidence_share", "wall_s", "prediction_wall_s", "cost_rank", "wall_rank"),
)


def ranking(results: pd.DataFrame, *, seed: int = SEED) -> pd.DataFrame:
    """One row per predictor, the least mean absolute error first; those that are not ranked last.

    A predictor that refuses the hard cases must not win by it: all are judged on the same cases, those that every
    ranked predictor answers.  Ranked is who answers at least three quarters of all cases; the others have the
    statistics of what they answer and no rank.  ``cases``: all of them; ``answered``: by this predictor; ``counted``:
    behind the statistics and costs of its row.

    Costs are means over the counted cases, of predicting each of them alone: evidence that two cases could share is
    charged to both.  ``evidence_node_s``: node-seconds of all runs and measurements on the machines;
    ``evidence_share``: mean of their share in the target's full run; ``wall_s``: seconds of this computer to gather
    them and to answer, ``prediction_wall_s`` for the answer alone.

    ``simulate`` is the simulation of the target itself, where the truth is one.  Its error is the bound of its
    extrapolation, at most; its evidence is the target's full run, a share of 1, as other runs are charged in full
    however few of their iterations are simulated; its wall seconds are those of the simulation.  It is ranked as the
    others are, but takes no case from them, and where they have none in common it is judged on its own.
    """
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
    order = table.sort_values(["rank", "mean_abs_error_pct"], na_position="last")  # equals stay in order
    return order[list(RANKING_COLUMNS)].reset_index(drop=True)


def simulated(results: pd.DataFrame) -> pd.DataFrame:
    """A row of SIMULATE for every case whose truth is a simulation."""
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
    """The cases that all of these have an answer for."""
    sets = [set(answers["case"][answers["predictor"] == name]) for name in ranked]
    return set.intersection(*sets) if sets else set()


def _standing(answers: pd.DataFrame, common: set[int] | None, seed: int) -> dict[str, Any]:
    """Statistics and mean costs of answers to the common cases; None: to all."""
    counted = answers if common is None else answers[answers["case"].isin(common)]
    found = statistics(counted["error_pct"], counted["predicted_s"], counted["simulated_s"], seed=seed)
    numbers = {
        "mean_error_pct": found.mean_pct,
        "mean_abs_error_pct": found.mean_abs_pct,
        "mean_abs_error_low_pct": found.low_pct,
        "mean_abs_error_high_pct": found.high_pct,
        "median_abs_error_pct": found.median_abs_pct,
        "max_abs_error_pct": found.max_abs_pct,
        "r2": found.r2,
    }
    return {
        "counted": found.n,
        **{name: math.nan if value is None else value for name, value in numbers.items()},
        "evidence_node_s": mean(counted["evidence_node_s"]),
        "evidence_share": mean(counted["evidence_share"]),
        "wall_s": mean(counted["evidence_wall_s"] + counted["prediction_wall_s"]),
        "prediction_wall_s": mean(counted["prediction_wall_s"]),
    }
