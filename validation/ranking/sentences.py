"""Closing sentences of a validation, made from its figures: who is closest, who is farthest and why, who costs much."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from platforms.terminal.quantities import percent, range_text, significant
from platforms.wording import number_of
from predictor.answers.regime import TOLERATED_PCT
from predictor.registry import SELF_CHECKS
from validation.comparison.dataframes import grouped, rows_of
from validation.presentation.notes import listed
from validation.presentation.tables import truth_name
from validation.ranking.standing import CASE

if TYPE_CHECKING:
    import pandas as pd

_SAME = 0.01  # relative difference up to which communication grows in proportion to the nodes


def closing_sentences(results: pd.DataFrame) -> list[str]:
    """Return sentences on the closest predictor, the farthest one, and evidence that costs more than the run.

    Targets that were given to the same predictors are compared together.  A self-check is never called closest.

    Args:
        results: The results, with the columns of validation.comparison.compare.Result.
    """
    rivals = results[~results["predictor"].isin(SELF_CHECKS)]
    if rivals.empty:
        return []
    case = rivals.groupby(list(CASE), sort=False, dropna=False).ngroup()
    asked = rivals.groupby(case)["predictor"].agg(lambda names: " ".join(sorted(set(names))))
    parts = [part for _, part in grouped(rivals.assign(case=case, asked=case.map(asked)), "asked")]
    said: list[str] = []
    for part in parts:
        apps = f" on {listed(list(dict.fromkeys(part['app'])))}" if len(parts) > 1 else ""
        said += [*_closest(part, apps), *_farthest(part, apps)]
    return [*said, *_costly(rivals)]


def _closest(part: pd.DataFrame, apps: str) -> Iterator[str]:
    """Yield the sentence on the predictor with the smallest mean error among those that answer most targets."""
    errors = part.groupby("predictor", sort=False)["abs_error_pct"].agg(["count", "mean", "max"])
    most, cases = int(errors["count"].max()), part["case"].nunique()
    if most == 0:
        yield f"No predictor has an answer{apps}."
        return
    answering = errors[errors["count"] == most]
    least = percent(answering["mean"].min())
    best = answering[[percent(mean) == least for mean in answering["mean"]]]
    names = list(best.index)
    tie = f" (a tie of {len(names)})" if len(names) > 1 else ""
    who = f"Closest{apps}: {listed(names)}{tie}," if len(errors) > 1 else f"{names[0]} is"
    yield f"{who} {_within(best['max'].max())}{_on(most, cases)}."


def _within(error_pct: float) -> str:
    """Return a bound of an error, rounded up."""
    decimals = 2 if error_pct < 10 else 1 if error_pct < 100 else 0
    bound = math.ceil(round(error_pct * 10**decimals, 6)) / 10**decimals
    text = f"{max(bound, 0.01):.{decimals}f}"
    shown = text.rstrip("0").rstrip(".") if decimals else text
    return f"within {shown} %" if error_pct <= TOLERATED_PCT else f"off by up to {shown} %"


def _on(answered: int, cases: int) -> str:
    if cases == 1:
        return ""
    return f" on all {cases} targets" if answered == cases else f" on {answered} of {number_of(cases, 'target')}"


def _farthest(part: pd.DataFrame, apps: str) -> Iterator[str]:
    """Yield the sentence on the predictor with the largest mean error, if that is not tolerable."""
    means = part.groupby("predictor", sort=False)["abs_error_pct"].mean().dropna()
    if len(means) < 2 or not means.max() > TOLERATED_PCT or percent(means.min()) == percent(means.max()):
        return
    worst = {str(name): _answered(part, name) for name in means.index if percent(means[name]) == percent(means.max())}
    first = next(iter(worst.values()))
    ratios = _ratios(first)
    names = [name for name, rows in worst.items() if _ratios(rows) == ratios]
    says, they = (f"{names[0]} predicts", "it") if len(names) == 1 else (f"{listed(names)} predict", "they")
    times = "time" if len(first) == 1 else "times"
    why = _cause(first, they)
    yield f"{says}{apps} {ratios} times the {truth_name(first)} {times}{f': {why}' if why else ''}."


def _answered(part: pd.DataFrame, name: object) -> pd.DataFrame:
    return part[(part["predictor"] == name) & part["error_pct"].notna()]


def _ratios(rows: pd.DataFrame) -> str:
    return _range([row.predicted_s / row.simulated_s for row in rows_of(rows)])


def _cause(rows: pd.DataFrame, they: str) -> str | None:
    """Return which part of the predicted time is wrong and how; None: not known, or not the same on all targets.

    Args:
        rows: The results of one predictor.
        they: The pronoun of the predictors that the sentence is about: it or they.
    """
    if rows[["compute_share", "predicted_compute_share"]].isna().any(axis=None):
        return None
    true_s, predicted_s = rows["simulated_s"].astype(float), rows["predicted_s"].astype(float)
    share, own_share = rows["compute_share"].astype(float), rows["predicted_compute_share"].astype(float)
    compute_s, own_compute_s = share * true_s, own_share * predicted_s
    comm_s, own_comm_s = true_s - compute_s, predicted_s - own_compute_s
    by_comm = (own_comm_s - comm_s).abs() >= (own_compute_s - compute_s).abs()
    of_runs = "of the run" if len(rows) == 1 else "of the runs"
    expects, lets = (f"{they} expects", f"{they} lets") if they == "it" else (f"{they} expect", f"{they} let")
    if by_comm.all():
        said = f"{_shares(1 - share)} % {of_runs} is communication, "
        if _grows_with_nodes(rows, own_comm_s):
            return f"{said}and {lets} that grow with the nodes"
        if not (comm_s > 0).all():
            return None
        if not (own_comm_s > 0).any():
            return f"{said}and {expects} none"
        return f"{said}of which {expects} {_range(own_comm_s / comm_s)} times as much"
    if not by_comm.any() and (compute_s > 0).all():
        often = f"{_range(own_compute_s / compute_s)} times as much"
        return f"{_shares(share)} % {of_runs} is computation, of which {expects} {often}"
    return None


def _grows_with_nodes(rows: pd.DataFrame, own_comm_s: pd.Series[float]) -> bool:
    """Return whether the predicted communication is the probe's times the nodes of the run over those of the probe."""
    probed = [len(clusters.split()) for clusters in rows["clusters"]]  # the probe has a node of each cluster
    nodes = rows["ranks"] / probed
    probed_s = rows["probe_cm_s"].astype(float)
    return bool(((own_comm_s / probed_s / nodes - 1).abs() <= _SAME).all() and (nodes > 1).all())


def _costly(results: pd.DataFrame) -> Iterator[str]:
    """Yield the sentence on predictors whose evidence costs more than the run itself."""
    costly = results[(results["evidence_share"] > 1) & results["error_pct"].notna()]
    if costly.empty:
        return
    names = list(dict.fromkeys(costly["predictor"]))
    instead = "running the program" if truth_name(results) == "measured" else "simulating the run"
    times = _range(costly["evidence_share"])
    yield f"The evidence of {listed(names)} costs {times} times the run: {instead} itself is cheaper."


def _shares(shares: pd.Series[float]) -> str:
    return range_text(*(f"{100 * end:.0f}" for end in (shares.min(), shares.max())))


def _range(ratios: Sequence[float] | pd.Series[float]) -> str:
    return range_text(*(significant(end, 2) for end in (min(ratios), max(ratios))))
