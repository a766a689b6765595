"""Title and opening lines of a report, with its most important results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from platforms.terminal.quantities import duration, interval_text, known_duration, percent, range_text
from platforms.wording import number_of
from predictor.registry import SELF_CHECKS
from validation.comparison.metrics import ALL_APPS
from validation.presentation.sentences import interval_sentence
from validation.presentation.tables import truth_name
from validation.report.gather import Gathered
from validation.report.tables import known

if TYPE_CHECKING:
    import pandas as pd

_DIGITS = 4  # of times whose interval is not known


def title(results: pd.DataFrame) -> str:
    """Return the title of the report."""
    apps, platforms = (list(dict.fromkeys(results[name])) for name in ("app", "scenario"))
    return f"Predicted and {truth_name(results['truth'])} run times: {_listed(apps)} on {_listed(platforms)}"


def _listed(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _first_answer(gathered: Gathered) -> Iterator[str]:
    """Yield a sentence with the time of the only target, its interval and what takes it."""
    answered = [
        (row, note) for row, note in zip(gathered.rows, gathered.notes, strict=True) if known(row["predicted_s"])
    ]
    if gathered.targets != 1 or not answered:
        return
    row, note = answered[0]
    low_s, high_s, predicted_s = row["interval_low_s"], row["interval_high_s"], row["predicted_s"]
    predicted, interval = duration(predicted_s, digits=_DIGITS), ""
    if known(low_s):
        predicted = known_duration(predicted_s, low_s, high_s)
        interval = f", with 90 % probability {interval_text(low_s, high_s, like_s=predicted_s)}"
    program = f"{row['app']} {row['class']}" if known(row["class"]) else row["app"]
    where = f"{program} on {number_of(row['ranks'], 'rank')} of {row['scenario']}"
    yield f"{where}: {predicted} predicted by {row['predictor']}{interval}."
    yield f"{_true(row)}: {duration(row['simulated_s'], like_s=predicted_s, digits=_DIGITS)}."
    if note.bottleneck:
        yield f"What takes most of it: {note.bottleneck}."


def _true(row: dict[str, Any]) -> str:
    return "Measured" if row["truth"] == "measurement" else "Simulated"


def lede(gathered: Gathered, results: pd.DataFrame, summary: pd.DataFrame) -> list[str]:
    """Return sentences on the time of the only target, the predictions, their accuracy, and missing answers."""
    predictors = list(dict.fromkeys(results["predictor"]))
    truth = "measured on a real machine" if truth_name(results["truth"]) == "measured" else "simulated with SimGrid"
    lines = [
        *_first_answer(gathered),
        f"{number_of(gathered.answered, 'prediction')} of {number_of(gathered.targets, 'target')} by "
        f"{_listed(predictors, 20)}, compared with times that were {truth}.",
    ]
    over_all = summary[summary["app"] == ALL_APPS]
    rivals = over_all[~over_all["predictor"].isin(SELF_CHECKS)]  # a self-check is never called the most accurate
    over_all = rivals if len(rivals) else over_all
    complete = over_all[over_all["n"] == over_all["cases"]]
    answering = complete if len(complete) else over_all[over_all["n"] > 0]
    if len(answering):
        best = answering.iloc[int(answering["mean_abs_error_pct"].argmin())]
        low, high = best["mean_abs_error_low_pct"], best["mean_abs_error_high_pct"]
        interval = f" (95 % interval {range_text(percent(low), percent(high))} %)" if known(low) else ""
        who = "Most accurate" if len(over_all) > 1 else "Errors"
        mean, largest = percent(best["mean_abs_error_pct"]), percent(best["max_abs_error_pct"])
        lines.append(
            f"{who}: {best['predictor']}, with a mean absolute error of {mean} %{interval} "
            f"and a largest one of {largest} %, over {best['n']} of {best['cases']} cases."
        )
    covered = interval_sentence(gathered.rows)
    if covered is not None:
        lines.append(covered)
    refused = sum(note.refusal is not None for note in gathered.notes)
    if refused:
        lines.append(f"{number_of(refused, 'case')} without an answer; the reasons are given below.")
    if gathered.failures:
        lines.append(f"{number_of(len(gathered.failures), 'target')} failed.")
    return lines
