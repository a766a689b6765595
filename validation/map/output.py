"""Output of a sweep: text or JSON on standard output, CSV files and figures in a folder."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from platforms.files.writing import write_csv, written_into
from platforms.plotting.charts import write_figures
from platforms.terminal.prose import folded_lines, prose_lines
from predictor.registry import HCF_FAMILY
from validation.comparison.metrics import published_errors
from validation.comparison.rows import grouped, records
from validation.map.figure import regimes_figure
from validation.map.sweep import results_table
from validation.map.thresholds import LIMITS_PCT, RANDOM_NETWORK, mean_curve, published_shares, thresholds
from validation.presentation.tables import error_cell, table_of
from validation.series.output import SeriesOutput

_NEVER = "never"


def share_text(share: float | None) -> str:
    """Return a share in %, rounded up, or ``never`` for None and NaN.

    It has two digits of the share or, if that is smaller, of the difference to 100 %.
    """
    if share is None or math.isnan(share):
        return _NEVER
    percent = 100 * share
    if percent >= 100:
        return "100 %"
    least = min(percent, 100 - percent)
    decimals = max(0, 1 - math.floor(math.log10(least))) if least > 0 else 0
    return f"{math.ceil(round(percent * 10**decimals, 6)) / 10**decimals:.{decimals}f} %"


def sentences(thresholds: pd.DataFrame, published: pd.DataFrame, *, errors_pct: dict[str, float]) -> list[str]:
    """Return lines on the compute shares of the simulated run from which errors stay below LIMITS_PCT, by app.

    Args:
        thresholds: The table of ``thresholds``.
        published: The table of ``published_shares``.
        errors_pct: The published mean errors by app.
    """
    lines = []
    for app, rows in grouped(thresholds, "app"):
        lines.append(
            f"{app}: the compute share of the run from which on |error| stays below "
            f"{_listed([f'{limit:g}' for limit in LIMITS_PCT])} %, in every case and in the mean over the scenarios:"
        )
        for predictor, part in grouped(rows, "predictor"):
            lines.append(
                f"    {predictor}: {_held(part, 'cases_from')} in every case; {_held(part, 'mean_from')} in the mean"
            )
        if (published["app"] == app).any():
            lines.append(_published_line(published[published["app"] == app], errors_pct[app]))
    return lines


def _held(rows: pd.DataFrame, column: str) -> str:
    texts = []
    for share, least in zip(rows[column], rows["least_share"], strict=True):
        everywhere = share is not None and not math.isnan(share) and share <= least
        texts.append("everywhere" if everywhere else share_text(share))
    return texts[0] if len(set(texts)) == 1 else " / ".join(texts)


def _published_line(rows: pd.DataFrame, error_pct: float) -> str:
    said = []
    for predictor, part in grouped(rows, "predictor"):
        shares = sorted(share for share in part["compute_share"] if share is not None and not math.isnan(share))
        said.append(f"{predictor} {'at ' + _listed([share_text(s) for s in shares]) if shares else _NEVER}")
    return f"    the published mean error of {error_pct:g} % is that of: {'; '.join(said)}"


def _listed(texts: Sequence[str]) -> str:
    unique = list(dict.fromkeys(texts))
    return unique[0] if len(unique) == 1 else f"{', '.join(unique[:-1])} and {unique[-1]}"


def means_text(results: pd.DataFrame, app: str) -> str:
    """Return a table with a line per network and step.

    It has the scales, the compute shares of the runs and each predictor's mean absolute error over the scenarios.
    """
    means = mean_curve(results[results["app"] == app])
    if means.empty:
        return "no scenarios, no means"
    shares = _share_ranges(results[results["app"] == app])
    lines = []
    for (network, ratio), part in grouped(means, ["base_network", "ratio"]):
        lines.append(
            {
                "network": network,
                "speed": ratio_text(ratio),
                "compute %": shares[network, ratio],
                **{
                    name: error_cell(error, signed=False)
                    for name, error in zip(part["predictor"], part["abs_error_pct"], strict=True)
                },
            }
        )
    table = pd.DataFrame(lines).sort_values("network", kind="stable").fillna("-")
    head = (
        f"{app}, mean |error| % by the speed of the network over that of the nodes (1: as they are), and the share of "
        "computation in the runs"
    )
    lines_of_table = table_of({str(name): list(table[name]) for name in table}, left=("network",))
    return "\n".join([*prose_lines(head), "", *lines_of_table])


def ratio_text(ratio: float) -> str:
    """Return the ratio with three significant digits and commas between thousands."""
    return f"{float(f'{ratio:.3g}'):,.10g}"


def _share_ranges(results: pd.DataFrame) -> dict[tuple[str, float], str]:
    ratio = results["network_scale"] / results["efficiency_scale"]
    groups = results.assign(ratio=ratio).groupby(["base_network", "ratio"])["compute_share"]
    return {
        key: f"{_percent(least)} to {_percent(most)}" for key, least, most in groups.agg(["min", "max"]).itertuples()
    }


def _percent(share: float) -> str:
    return share_text(share).removesuffix(" %")


def coverage_text(results: pd.DataFrame) -> str | None:
    """Return a line on how many errors lie in the range of the project's map; None: the map gave no ranges."""
    ranged = results[results["in_range"].notna()]
    if ranged.empty:
        return None
    inside = ranged.groupby("predictor", sort=False)["in_range"].agg(["sum", "count"])
    by_name = [f"{name} {100 * row['sum'] / row['count']:.0f} % of {row['count']}" for name, row in inside.iterrows()]
    return "\n".join(prose_lines(f"inside the range that the map of this project gives: {', '.join(by_name)}"))


class MapOutput(SeriesOutput):
    """The output of a sweep: the errors by compute share."""

    def show(self, *, finished: bool) -> None:  # noqa: D102
        if self.rows:
            show(
                results_table(self.rows), self.folder, as_json=self.as_json, cautions=self.cautions.lines()
            )  # fmt: skip


def show(results: pd.DataFrame, folder: Path | None, *, as_json: bool, cautions: Sequence[str] = ()) -> None:
    """Print the results, and write them into the folder unless it is None.

    ``cautions`` about the runs go into the JSON; they are not printed here.

    Raises:
        UserError: A file cannot be written.
    """
    published = published_errors(records(results[results["base_network"] != RANDOM_NETWORK]))
    tables = {
        "thresholds": thresholds(results),
        "published": published_shares(results[results["predictor"].isin(HCF_FAMILY)], published),
        "means": mean_curve(results),
        "results": results,
    }
    if as_json:
        shown = {name: records(table) for name, table in tables.items()}
        print(json.dumps({**shown, "cautions": list(cautions)}))
    else:
        print("\n".join(folded_lines(sentences(tables["thresholds"], tables["published"], errors_pct=published))))
        for app in dict.fromkeys(results["app"]):
            print(f"\n{means_text(results, app)}")
        if (inside := coverage_text(results)) is not None:
            print(f"\n{inside}")
    if folder is not None:
        _write(tables, published, folder)


def _write(tables: dict[str, pd.DataFrame], published: dict[str, float], folder: Path) -> None:
    results = tables["results"]
    with written_into("--out", folder):
        for name, table in tables.items():
            write_csv(table, folder / f"{name}.csv")
        apps = dict.fromkeys(results["app"])
        write_figures({f"regimes-{app}": regimes_figure(results, app, published.get(app)) for app in apps}, folder)
