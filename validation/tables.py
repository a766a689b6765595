"""Results as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from predictor.registry import HCF_FAMILY

if TYPE_CHECKING:
    import pandas as pd

_NONE = "-"
_CASE_COLUMNS = ("network", "class", "ranks", "mapping", "efficiency")


def results_text(results: pd.DataFrame, *, energy: bool = False) -> str:
    """One line per prediction; an exclamation mark where it carries a caution.

    Class, ranks and the like have a column where they differ between lines of the same scenario and program.
    ``energy``: energies take the place of what is said of the probe, the iterations and the evidence.
    """
    if energy:
        return _table(_energy_columns(results))
    columns = {
        "scenario": results["scenario"],
        "app": results["app"],
        **{name: results[name].map(str) for name in _told_apart_by(results)},
        "predictor": results["predictor"],
        "probe T_cp s": _format(results["probe_cp_s"], "{:.4g}"),
        "probe T_cm s": _format(results["probe_cm_s"], "{:.4g}"),
        "compute %": _format(100 * results["compute_share"], "{:.1f}"),
        "predicted s": _format(results["predicted_s"], "{:.5g}"),
        truth_name(results) + " s": _format(results["simulated_s"], "{:.5g}"),
        "iterations": [
            f"{simulated}/{all_}" if all_ else _NONE
            for simulated, all_ in zip(results["iterations_simulated"], results["iterations"], strict=True)
        ],
        "bound": _format(results["extrapolation_bound"], "{:.0e}"),
        "error %": _format(results["error_pct"], "{:+.2f}"),
        "": results["flags"].map(lambda flags: "!" if flags else " "),
        "evidence % of run": _format(100 * results["evidence_share"], "{:.1f}"),
    }
    return _table(columns)


def _energy_columns(results: pd.DataFrame) -> dict[str, pd.Series]:
    truth = truth_name(results)
    return {
        "scenario": results["scenario"],
        "app": results["app"],
        **{name: results[name].map(str) for name in _told_apart_by(results)},
        "predictor": results["predictor"],
        "predicted s": _format(results["predicted_s"], "{:.5g}"),
        truth + " s": _format(results["simulated_s"], "{:.5g}"),
        "error %": _format(results["error_pct"], "{:+.2f}"),
        "": results["flags"].map(lambda flags: "!" if flags else " "),
        "predicted J": _format(results["energy_predicted_j"], "{:.5g}"),
        truth + " J": _format(results["energy_simulated_j"], "{:.5g}"),
        "energy error %": _format(results["energy_error_pct"], "{:+.2f}"),
        "EDP predicted J s": _format(results["edp_predicted_js"], "{:.5g}"),
        "EDP " + truth + " J s": _format(results["edp_simulated_js"], "{:.5g}"),
    }


def summary_text(summary: pd.DataFrame, published: Mapping[str, float], *, energy: bool = False) -> str:
    """One line per predictor and app; beside those of HCF the paper's errors by app, where they apply.

    ``energy``: errors of the energy too.
    """
    columns = {
        "predictor": summary["predictor"],
        "app": summary["app"],
        "n": summary["n"].map(str),
        "mean error %": _format(summary["mean_error_pct"], "{:+.2f}"),
        "mean |error| %": _format(summary["mean_abs_error_pct"], "{:.2f}"),
        "max |error| %": _format(summary["max_abs_error_pct"], "{:.2f}"),
    }
    if energy:
        columns["mean |energy error| %"] = _format(summary["mean_abs_energy_error_pct"], "{:.2f}")
        columns["max |energy error| %"] = _format(summary["max_abs_energy_error_pct"], "{:.2f}")
    if published:
        of_hcf = summary["predictor"].isin(HCF_FAMILY)
        columns["paper's mean |error| %"] = _format(summary["app"].map(published).where(of_hcf), "{:.2f}")
    return _table(columns)


def _told_apart_by(results: pd.DataFrame) -> list[str]:
    """The columns that some lines of one scenario and program differ in."""
    alike = results.groupby(["scenario", "app"])
    return [name for name in _CASE_COLUMNS if (alike[name].nunique(dropna=False) > 1).any()]


def truth_name(results: pd.DataFrame) -> str:
    """What the truth of these results is: simulated or measured."""
    return "measured" if set(results["truth"]) == {"measurement"} else "simulated"


def _format(values: pd.Series, form: str) -> pd.Series:
    return values.map(lambda value: _NONE if value != value or value is None else form.format(value))


def _table(columns: Mapping[str, pd.Series]) -> str:
    import pandas as pd

    return pd.DataFrame(columns).to_string(index=False)
