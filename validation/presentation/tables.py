"""Text tables of results for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from predictor.registry import HCF_FAMILY
from validation.comparison.dataframes import Column
from validation.comparison.metrics import ALL_APPS

if TYPE_CHECKING:
    import pandas as pd

_NONE = "-"
_CASE_COLUMNS = ("network", "class", "ranks", "mapping", "efficiency")


def results_text(results: pd.DataFrame, *, energy: bool = False) -> str:
    """Return a table with one line per prediction; an exclamation mark means that the prediction carries a caution.

    Class, ranks and the other case columns are shown only if they differ between lines of the same scenario and app.

    Args:
        results: The results, with the columns of validation.comparison.compare.Result.
        energy: Show energies instead of the probe, the iterations and the evidence.
    """
    if energy:
        return table_text(_energy_columns(results))
    columns: dict[str, Column] = {
        "scenario": results["scenario"],
        "app": results["app"],
        **{name: results[name].map(str) for name in told_apart_by(results)},
        "predictor": results["predictor"],
        "probe T_cp s": format_column(results["probe_cp_s"], "{:.4g}"),
        "probe T_cm s": format_column(results["probe_cm_s"], "{:.4g}"),
        "compute %": format_column(100 * results["compute_share"], "{:.1f}"),
        "predicted s": format_column(results["predicted_s"], "{:.5g}"),
        truth_name(results) + " s": format_column(results["simulated_s"], "{:.5g}"),
        "iterations": [
            f"{simulated}/{all_}" if all_ else _NONE
            for simulated, all_ in zip(results["iterations_simulated"], results["iterations"], strict=True)
        ],
        "bound": format_column(results["extrapolation_bound"], "{:.0e}"),
        "error %": format_column(results["error_pct"], "{:+z.2f}"),
        "": results["flags"].map(lambda flags: "!" if flags else " "),
        "evidence % of run": format_column(100 * results["evidence_share"], "{:.1f}"),
    }
    return table_text(columns)


def _energy_columns(results: pd.DataFrame) -> dict[str, Column]:
    truth = truth_name(results)
    return {
        "scenario": results["scenario"],
        "app": results["app"],
        **{name: results[name].map(str) for name in told_apart_by(results)},
        "predictor": results["predictor"],
        "predicted s": format_column(results["predicted_s"], "{:.5g}"),
        truth + " s": format_column(results["simulated_s"], "{:.5g}"),
        "error %": format_column(results["error_pct"], "{:+z.2f}"),
        "": results["flags"].map(lambda flags: "!" if flags else " "),
        "predicted J": format_column(results["energy_predicted_j"], "{:.5g}"),
        truth + " J": format_column(results["energy_simulated_j"], "{:.5g}"),
        "energy error %": format_column(results["energy_error_pct"], "{:+z.2f}"),
        "EDP predicted J s": format_column(results["edp_predicted_js"], "{:.5g}"),
        "EDP " + truth + " J s": format_column(results["edp_simulated_js"], "{:.5g}"),
    }


def summary_text(summary: pd.DataFrame, published: Mapping[str, float], *, energy: bool = False) -> str:
    """Return a table with one line per predictor and app, and one per predictor over all apps.

    Args:
        summary: The statistics, as ``summarise`` returns them.
        published: The HCF paper's errors by app, shown in the lines of the HCF predictors; empty: not applicable.
        energy: Show the errors of the energy too.
    """
    if summary["app"].nunique() == 2:  # with a single app the rows over all apps repeat it
        summary = summary[summary["app"] != ALL_APPS]
    columns: dict[str, Column] = {
        "predictor": summary["predictor"],
        "app": summary["app"],
        "n": [
            str(n) if n == cases else f"{n} of {cases}" for n, cases in zip(summary["n"], summary["cases"], strict=True)
        ],
        "mean error %": format_column(summary["mean_error_pct"], "{:+z.2f}"),
        "mean |error| %": format_column(summary["mean_abs_error_pct"], "{:.2f}"),
        "its 95 % interval": format_interval(summary),
        "median |error| %": format_column(summary["median_abs_error_pct"], "{:.2f}"),
        "max |error| %": format_column(summary["max_abs_error_pct"], "{:.2f}"),
        "R²": format_column(summary["r2"], "{:.4g}"),
    }
    if energy:
        columns["mean |energy error| %"] = format_column(summary["mean_abs_energy_error_pct"], "{:.2f}")
        columns["max |energy error| %"] = format_column(summary["max_abs_energy_error_pct"], "{:.2f}")
    if published:
        of_hcf = summary["predictor"].isin(HCF_FAMILY)
        columns["paper's mean |error| %"] = format_column(summary["app"].map(published).where(of_hcf), "{:.2f}")
    return table_text(columns)


def told_apart_by(results: pd.DataFrame, names: Sequence[str] = _CASE_COLUMNS) -> list[str]:
    """Return those columns of ``names`` that differ between lines of one scenario and app."""
    alike = results.groupby(["scenario", "app"])
    return [name for name in names if (alike[name].nunique(dropna=False) > 1).any()]


def truth_name(results: pd.DataFrame) -> str:
    """Return the kind of truth of these results: simulated or measured."""
    return "measured" if set(results["truth"]) == {"measurement"} else "simulated"


def format_interval(summary: pd.DataFrame, form: str = "{:.2f}") -> list[str]:
    """Return a column with the interval of the mean absolute error."""
    ends = zip(summary["mean_abs_error_low_pct"], summary["mean_abs_error_high_pct"], strict=True)
    return [_NONE if math.isnan(low) else f"{form} to {form}".format(low, high) for low, high in ends]


def format_column(values: pd.Series[Any], form: str) -> pd.Series[str]:
    """Return the formatted values, with a dash for missing ones."""
    return values.map(lambda value: _NONE if value != value or value is None else form.format(value))


def table_text(columns: Mapping[str, Column]) -> str:
    """Return the columns side by side under their names."""
    # Imported here for a quick start: it is slow to import.
    import pandas as pd

    return pd.DataFrame(columns).to_string(index=False)
