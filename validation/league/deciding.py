"""Predictors judged by what is decided with them: do they order the candidates as the truth does, and what does it
cost to take the one that they like best?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from validation.league.standing import CASE, simulated
from validation.metrics import ALL_APPS, mean

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

CHANCE = "(chance)"  # takes any candidate
ALL_HOSTS = "(all hosts)"  # takes the first candidate of those with most ranks
_ALIKE = 1e-9  # relative: times closer than this are the same


@dataclass(frozen=True)
class Decision:
    """A kind of choice: candidates agree in ``fixed`` and differ in all of ``chosen``."""

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
class Choice:
    """Candidates: their true times, and the predicted ones by predictor, NaN without an answer."""

    app: str
    ranks: npt.NDArray[np.int64]
    times_s: npt.NDArray[np.float64]
    predicted_s: Mapping[str, npt.NDArray[np.float64]]

    @property
    def regrets(self) -> npt.NDArray[np.float64]:
        """Of every candidate: its true time over the best, minus 1."""
        regrets: npt.NDArray[np.float64] = self.times_s / self.times_s.min() - 1
        return regrets

    def taken(self, name: str) -> npt.NDArray[np.bool_]:
        """Which candidates a predictor, CHANCE or ALL_HOSTS may take: several where it likes them the same."""
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
    """Per kind of choice, app (``all``: over all apps) and predictor: rank correlations and regret; within a kind and
    app the least mean regret first.

    A choice is among candidates for the same problem: ``scenario``, on which platform to run it, network and mapping
    given; ``mapping``, how to place it on given hosts; ``clusters``, which clusters of a platform to use, mapping
    given; ``mapping and clusters``, both.  There are only the kinds of which the results hold choices, with at least
    two candidates that differ in their true time.

    ``choices``: how many; ``decided``: of these, how many the predictor has at least one answer in; ``candidates``:
    how many in all choices together, ``answered``: by this predictor.  The rest are statistics over the decided
    choices.  ``spearman``, ``kendall``: mean rank correlation of predicted with true times over the candidates that
    are answered (Spearman's rho; Kendall's tau-b); 0 in a choice whose candidates are all the same to the predictor.
    Regret: the true time of the candidate with the shortest predicted time over the best true time of all candidates,
    minus 1, in %; where several are predicted the same, the mean of theirs, as if one of them was drawn.
    ``best_taken``: share of the choices in which one of the best is taken, or the probability that it is drawn.

    Three rows are no predictors: ``simulate`` has simulated every candidate, where the truth is a simulation;
    ``(chance)`` takes any candidate, ``(all hosts)`` the first of those with most ranks.
    """
    import pandas as pd

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
            found = [
                {"decision": decision.name, "app": app, "predictor": name, **_outcome(of_app, name)}
                for name in (*dict.fromkeys(results["predictor"]), CHANCE, ALL_HOSTS)
            ]
            rows += sorted(found, key=lambda row: (math.isnan(row["mean_regret_pct"]), row["mean_regret_pct"]))
    return pd.DataFrame(rows, columns=list(DECISION_COLUMNS))


def _choices(cases: pd.DataFrame, predicted: pd.DataFrame, decision: Decision) -> Iterator[Choice]:
    """Those of a kind that there are.  A case is chosen as it stands but for one thing: scenarios are compared with all
    their hosts in use."""
    if decision.name == "scenario":
        most = cases.groupby([*_PROBLEM, *_GRID], dropna=False)["ranks"].transform("max")
        cases = cases[cases["ranks"] == most]
    for _, group in cases.groupby(list(decision.fixed), sort=False, dropna=False):
        if any(group[name].nunique() < 2 for name in decision.chosen):
            continue
        # Mappings that place the ranks alike, as on a single cluster, are one candidate.
        group = group.drop_duplicates([*_GRID, "clusters", "ranks", "simulated_s"])
        times_s = group["simulated_s"].to_numpy(float)
        if np.ptp(times_s) > _ALIKE * times_s.max():
            own = predicted.loc[group["case"]]
            answers = {str(name): own[name].to_numpy() for name in own}
            yield Choice(group["app"].iloc[0], group["ranks"].to_numpy(), times_s, answers)


def _outcome(choices: Sequence[Choice], name: str) -> dict[str, Any]:
    """The statistics of one predictor, or of CHANCE or ALL_HOSTS, over choices."""
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
    """Mean Spearman and Kendall correlation of predicted with true times; NaN where nothing can be compared."""
    from scipy.stats import kendalltau, spearmanr

    found = []
    for predicted_s, times_s in pairs:
        known = ~np.isnan(predicted_s)
        predicted, true = _told_apart(predicted_s[known]), _told_apart(times_s[known])
        order = np.lexsort((predicted, true))  # in whatever order the candidates come
        predicted, true = predicted[order], true[order]
        if len(true) < 2 or np.ptp(true) == 0:
            continue
        alike = np.ptp(predicted) == 0
        found.append((0.0, 0.0) if alike else (spearmanr(predicted, true)[0], kendalltau(predicted, true)[0]))
    return mean(spearman for spearman, _ in found), mean(kendall for _, kendall in found)


def _told_apart(times_s: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """To the digits in which times are told apart."""
    return np.array([float(f"{time_s:.8e}") for time_s in times_s])
