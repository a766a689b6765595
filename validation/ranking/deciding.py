"""Evaluation of predictors by the decisions based on them.

Do predictors order the candidates as the truth does, and how much time is lost by taking their favourite?
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from validation.comparison.metrics import ALL_APPS, mean
from validation.comparison.rows import CASE
from validation.ranking.standing import simulated

if TYPE_CHECKING:
    import numpy.typing as npt

CHANCE = "(chance)"  # takes a random candidate
ALL_HOSTS = "(all hosts)"  # takes the first of the candidates with the most ranks
_ALIKE = 1e-9  # relative difference up to which times count as equal


@dataclass(frozen=True)
class Decision:
    """A kind of choice: candidates are equal in the columns ``fixed`` and differ in all columns ``chosen``."""

    name: str
    fixed: tuple[str, ...]
    chosen: tuple[str, ...]


_PROBLEM = ("app", "class", "efficiency")
_GRID = ("scenario", "platform_hash", "network")
DECISIONS = (
    Decision("scenario", (*_PROBLEM, "network", "mapping"), ("scenario",)),
    Decision("mapping", (*_PROBLEM, *_GRID, "ranks", "clusters"), ("mapping",)),
    Decision("clusters", (*_PROBLEM, *_GRID, "mapping"), ("clusters",)),
    Decision("mapping and clusters", (*_PROBLEM, *_GRID), ("mapping", "clusters")),
)
DECISION_COLUMNS = (
    *("decision", "app", "predictor", "choices", "decided", "candidates", "answered", "spearman", "kendall"),
    *("mean_regret_pct", "max_regret_pct", "best_taken"),
)


@dataclass(frozen=True)
class Candidates:
    """Candidates with their true times and the times by predictor; NaN: no answer."""

    app: str
    ranks: npt.NDArray[np.int64]
    times_s: npt.NDArray[np.float64]
    predicted_s: Mapping[str, npt.NDArray[np.float64]]

    @property
    def regrets(self) -> npt.NDArray[np.float64]:
        """Regret of every candidate, which is its true time over the best one, minus 1."""
        regrets: npt.NDArray[np.float64] = self.times_s / self.times_s.min() - 1
        return regrets

    def taken(self, name: str) -> npt.NDArray[np.bool_]:
        """Return the candidates that a predictor, CHANCE or ALL_HOSTS may take; several if it rates them equal."""
        if name == CHANCE:
            return np.ones(len(self.times_s), bool)
        if name == ALL_HOSTS:
            most: npt.NDArray[np.bool_] = np.arange(len(self.ranks)) == np.argmax(self.ranks)
            return most
        predicted_s = self.predicted_s[name]
        if np.isnan(predicted_s).all():
            return np.zeros(len(self.times_s), bool)
        least_s = np.nanmin(predicted_s)
        liked: npt.NDArray[np.bool_] = predicted_s <= least_s + _ALIKE * abs(least_s)
        return liked


def decisions(results: pd.DataFrame) -> pd.DataFrame:
    """Return rank correlations and regrets per kind of choice, app (``all``: over all apps) and predictor.

    Within a kind and app, the rows are in ascending order of the mean regret.

    The candidates of a choice solve the same problem.  The kinds of choice are: ``scenario``, the platform to run on,
    for given network and mapping; ``mapping``, the mapping on given hosts; ``clusters``, the clusters of a platform to
    use, for a given mapping; ``mapping and clusters``, both.  A kind is present if the results have such choices
    with at least two candidates whose true times differ.

    ``choices`` is the number of choices, and ``decided`` the number of choices with at least one answer of the
    predictor.  ``candidates`` is the number of candidates in all choices, and ``answered`` the number of candidates
    that the predictor answers.  The other columns are statistics over the decided choices.  ``spearman`` and
    ``kendall`` are the mean rank correlations of predicted with true times over the answered candidates (Spearman's
    rho; Kendall's tau-b); they are 0 in a choice whose candidates all have the same predicted time.  Regret is the
    true time of the candidate with the shortest predicted time over the shortest true time of all candidates, minus 1,
    in %; if several candidates share the shortest predicted time, it is the mean of their regrets, as for a random
    draw.  ``best_taken`` is the share of the choices in which a best candidate is taken, or the probability of drawing
    one.

    Three rows are not predictors: ``simulate`` has simulated every candidate, if the truth is a simulation;
    ``(chance)`` takes a random candidate; ``(all hosts)`` takes the first of the candidates with the most ranks.
    """
    results = pd.concat([results, simulated(results)], ignore_index=True)
    cases = results.assign(case=results.groupby(list(CASE), sort=False, dropna=False).ngroup())
    predicted = cases.pivot_table("predicted_s", "case", "predictor", aggfunc="first", dropna=False).astype(float)
    cases = cases.drop_duplicates("case").set_index("case", drop=False)
    rows = []
    for decision in DECISIONS:
        choices = list(_choices(cases, predicted, decision))
        apps = list(dict.fromkeys(choice.app for choice in choices))
        for app in [*apps, ALL_APPS] if apps else ():
            of_app = [choice for choice in choices if app in (choice.app, ALL_APPS)]
            outcomes = [
                {"decision": decision.name, "app": app, "predictor": name, **_outcome(of_app, name)}
                for name in (*dict.fromkeys(results["predictor"]), CHANCE, ALL_HOSTS)
            ]
            rows += sorted(outcomes, key=lambda row: (math.isnan(row["mean_regret_pct"]), row["mean_regret_pct"]))
    return pd.DataFrame(rows, columns=list(DECISION_COLUMNS))


def _choices(cases: pd.DataFrame, predicted: pd.DataFrame, decision: Decision) -> Iterator[Candidates]:
    """Yield the choices of a kind.

    The candidates are the cases as they are, except that scenarios are compared only with all their hosts in use.
    """
    if decision.name == "scenario":
        most = cases.groupby([*_PROBLEM, *_GRID], dropna=False)["ranks"].transform("max")
        cases = cases[cases["ranks"] == most]
    for _, group in cases.groupby(list(decision.fixed), sort=False, dropna=False):
        if any(group[name].nunique() < 2 for name in decision.chosen):
            continue
        # Mappings with the same placement, as on a single cluster, are one candidate.
        group = group.drop_duplicates([*_GRID, "clusters", "ranks", "simulated_s"])
        times_s = group["simulated_s"].to_numpy(float)
        if np.ptp(times_s) > _ALIKE * times_s.max():
            of_group = predicted.loc[group["case"]]
            answers = {str(name): of_group[name].to_numpy() for name in of_group}
            yield Candidates(group["app"].iloc[0], group["ranks"].to_numpy(), times_s, answers)


def _outcome(choices: Sequence[Candidates], name: str) -> dict[str, Any]:
    """Return the statistics of a predictor, CHANCE or ALL_HOSTS over the choices."""
    taken = [choice.taken(name) for choice in choices]
    decided = [(choice.regrets, mask) for choice, mask in zip(choices, taken, strict=True) if mask.any()]
    regrets = [mean(regrets[mask]) for regrets, mask in decided]
    best = [(regrets[mask] <= _ALIKE).mean() for regrets, mask in decided]
    predicted = [(choice.predicted_s[name], choice.times_s) for choice in choices if name in choice.predicted_s]
    spearman, kendall = _correlations(predicted)
    candidates = sum(len(choice.times_s) for choice in choices)
    return {
        "choices": len(choices),
        "decided": len(decided),
        "candidates": candidates,
        "answered": sum(int((~np.isnan(answers)).sum()) for answers, _ in predicted) if predicted else candidates,
        "spearman": spearman,
        "kendall": kendall,
        "mean_regret_pct": 100 * mean(regrets),
        "max_regret_pct": 100 * max(regrets, default=math.nan),
        "best_taken": mean(best),
    }


def _correlations(pairs: Sequence[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]) -> tuple[float, float]:
    """Return the mean Spearman and Kendall correlations of predicted with true times; NaN if none is defined."""
    # Imported here because it is slow to import.
    from scipy.stats import kendalltau, spearmanr

    correlations = []
    for predicted_s, times_s in pairs:
        known = ~np.isnan(predicted_s)
        predicted, true = _rounded(predicted_s[known]), _rounded(times_s[known])
        order = np.lexsort((predicted, true))  # makes the result independent of the order of the candidates
        predicted, true = predicted[order], true[order]
        if len(true) < 2 or np.ptp(true) == 0:
            continue
        alike = np.ptp(predicted) == 0
        correlations.append((0.0, 0.0) if alike else (spearmanr(predicted, true)[0], kendalltau(predicted, true)[0]))
    return mean(spearman for spearman, _ in correlations), mean(kendall for _, kendall in correlations)


def _rounded(times_s: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """Round times to the nine digits in which they are compared."""
    return np.array([float(f"{time_s:.8e}") for time_s in times_s])
