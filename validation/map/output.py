"""Output of a sweep: text or JSON on standard output, CSV files and figures in a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from platforms.files.writing import write_csv, written_into
from platforms.plotting.charts import write_figures
from platforms.terminal.prose import folded_lines
from predictor.registry import HCF_FAMILY
from validation.comparison.dataframes import records
from validation.comparison.metrics import published_errors
from validation.map.figure import regimes_figure
from validation.map.sweep import results_table
from validation.map.text import coverage_text, means_text, sentences
from validation.map.thresholds import RANDOM_NETWORK, mean_curve, published_shares, thresholds
from validation.series.output import SeriesOutput

if TYPE_CHECKING:
    import pandas as pd


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
