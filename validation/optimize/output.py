"""Where the rows of a campaign of choices go: tables on standard output, CSV files and figures in a folder."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from platforms.writing import write_csv, written_into
from validation.frames import grouped, records, rows_of
from validation.output import usable_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from predictor.npt.measurements import Measurements
    from predictor.optimize.drivers import Noise
    from validation.optimize.campaign import Row
    from validation.optimize.truth import Truth

_CONFIGURATION_COLUMNS = ("app", "size", "configuration", "time_s")
_MEASUREMENT_COLUMNS = ("app", "noise", "seed", "size", "configuration", "time_s", "work_flops")
WITHIN = 0.2  # |delta| that the paper calls acceptable (section 6.2)


class AllocationOutput:
    """Collects rows; on leaving the context, by an error or interrupt too, writes and prints them.

    ``folder``: for choices.csv, choices-summary.csv, the times of all configurations and of all measurements
    (configurations.csv, measurements.csv) and figures; None: no files.
    """

    def __init__(self, folder: str | None, *, as_json: bool):
        self._folder = None if folder is None else usable_folder(folder)
        self._as_json = as_json
        self._rows: list[dict[str, Any]] = []
        self._configurations: list[dict[str, Any]] = []
        self._measurements: list[dict[str, Any]] = []

    def __enter__(self) -> AllocationOutput:
        return self

    def add(self, row: Row) -> None:
        """Keeps a row."""
        self._rows.append(asdict(row))

    def add_times(self, app: str, truths: Mapping[int, Truth], measured: Sequence[tuple[Noise, Measurements]]) -> None:
        """Keeps what all configurations really take, and the runs that models were made of."""
        for size, truth in truths.items():
            for row, time_s in enumerate(truth.times_s.tolist()):
                where = str(truth.space.configuration(row))
                self._configurations.append({"app": app, "size": size, "configuration": where, "time_s": time_s})
        for noise, runs in measured:
            for row, (size, time_s) in enumerate(zip(runs.size.tolist(), runs.time_s.tolist(), strict=True)):
                where = str(runs.configuration(row))
                self._measurements.append(
                    {
                        "app": app,
                        "noise": noise.sigma,
                        "seed": noise.seed,
                        "size": int(size),
                        "configuration": where,
                        "time_s": time_s,
                        "work_flops": float(runs.work_flops[row]),
                    }
                )

    def __exit__(self, *_: object) -> None:
        if not self._rows:
            return
        import pandas as pd

        from validation.optimize.campaign import Row

        rows = pd.DataFrame(self._rows, columns=[field.name for field in fields(Row)])
        summary = summarise(rows)
        if self._as_json:
            print(json.dumps({"choices": records(rows), "summary": records(summary)}))
        else:
            print(summary_text(summary))
        if self._folder is not None:
            with written_into("--out", self._folder):
                write_csv(rows, self._folder / "choices.csv")
                write_csv(summary, self._folder / "choices-summary.csv")
                configurations = pd.DataFrame(self._configurations, columns=list(_CONFIGURATION_COLUMNS))
                measurements = pd.DataFrame(self._measurements, columns=list(_MEASUREMENT_COLUMNS))
                write_csv(configurations, self._folder / "configurations.csv")
                write_csv(measurements, self._folder / "measurements.csv")
                from validation.optimize.plots import write_figures

                write_figures(rows, measurements, self._folder)


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    r"""Per program, model and noise: the mean epsilon over the sizes that have an answer, and the rest.

    sizes: of the program, and answered: how many of them have a choice with every seed; the means of models that
    answer at different sizes do not compare.  epsilon_sd: standard deviation, over the seeds, of the mean over the
    sizes.  delta_within: share of choices with \|delta\| at most 0.2.  optimal: share of choices as quick as the
    optimum, of which there may be several.  Costs and times are those of one size: the largest cost, the median time.
    """
    import pandas as pd

    summary = []
    sizes = rows.groupby("app")["size"].nunique()
    for (app, model, noise), group in grouped(rows, ["app", "model", "noise"]):
        by_seed = group.groupby("seed")["epsilon"].mean()
        judged = group.dropna(subset=["epsilon"])
        deltas = group["delta"].dropna()
        summary.append(
            {
                "app": app,
                "model": model,
                "noise": noise,
                "seeds": len(by_seed),
                "sizes": int(sizes.loc[app]),
                "answered": int(group["chosen"].notna().groupby(group["size"]).all().sum()),
                "epsilon_mean": by_seed.mean(),
                "epsilon_sd": by_seed.std(ddof=1) if len(by_seed) > 1 else None,
                "epsilon_max": judged["epsilon"].max(),
                "optimal": float((judged["epsilon"] == 0).mean()) if len(judged) else None,
                "delta_within": float((deltas.abs() <= WITHIN).mean()) if len(deltas) else None,
                "evidence_node_s": group["evidence_node_s"].max(),
                "evidence_wall_s": group["evidence_wall_s"].max(),
                "measured_s": group["measured_s"].max(),
                "gather_s": group["gather_s"].median(),
                "fit_s": group["fit_s"].median(),
                "search_s": group["search_s"].median(),
            }
        )
    return pd.DataFrame(summary)


def summary_text(summary: pd.DataFrame) -> str:
    """The summary as a table for a terminal."""
    columns = (
        "app",
        "model",
        "noise",
        "answered",
        "mean",
        "sd",
        "max",
        "optimal",
        "|delta|<=0.2",
        "evidence",
        "fit",
        "search",
    )
    lines: list[tuple[str, ...]] = [columns]
    for row in rows_of(summary):
        lines.append(
            (
                row.app,
                row.model,
                _percent(row.noise),
                f"{row.answered} of {row.sizes}",
                _percent(row.epsilon_mean),
                _percent(row.epsilon_sd),
                _percent(row.epsilon_max),
                _percent(row.optimal, digits=0),
                _percent(row.delta_within, digits=0),
                f"{row.evidence_node_s:.3g} node-s",
                f"{1000 * row.fit_s:.3g} ms",
                f"{1000 * row.search_s:.3g} ms",
            )
        )
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    text = ["epsilon over the sizes answered: how much longer the chosen configuration takes than the optimum"]
    for line in lines:
        cells = (
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        text.append("  ".join(cells).rstrip())
    return "\n".join(text)


def _percent(share: float | None, *, digits: int = 2) -> str:
    return "-" if share is None or share != share else f"{100 * share:.{digits}f} %"
