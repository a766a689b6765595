"""Output of a campaign of choices: a table on standard output, CSV files and figures in a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from apps.results.cautions import Cautions
from platforms.files.commented_csv import checked_rows
from platforms.files.writing import write_csv, written_into
from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import duration, significant
from platforms.terminal.table import table_lines
from validation.comparison.rows import grouped, records, rows_of
from validation.nodes.plots import write_figures
from validation.nodes.plots.axes import WITHIN
from validation.series.output import SeriesOutput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from predictor.nodes.drivers import Noise
    from predictor.npt.measurements import Measurements
    from validation.nodes.errors import Truth


@dataclass(frozen=True, kw_only=True)
class AllocationRow:
    """A choice or a static allocation with its truth.  None: there is no estimate, or no answer."""

    app: str
    size: int
    model: str
    small: bool = False  # the size is one of those without which the mean epsilon is given too
    noise: float = 0.0
    seed: int = 0
    chosen: str | None = None
    ranks: int | None = None
    estimated_s: float | None = None
    simulated_s: float | None = None
    optimum: str
    optimum_s: float
    epsilon: float | None = None
    delta: float | None = None
    configurations: int
    evidence_node_s: float = 0.0
    evidence_wall_s: float = 0.0
    measured_s: float = 0.0  # sum of the times of the evidence's runs
    gather_s: float = 0.0  # wall time of gathering the evidence on this computer
    fit_s: float = 0.0  # wall time of fitting the models
    search_s: float = 0.0  # wall time of estimating all configurations and choosing
    flags: str = ""


_FILE = Path(__file__).with_name("published.csv")
_COLUMNS = ("section", "app", "model", "software", "sizes", "epsilon_percent", "large_percent")


# Sections 5.1 to 5.7 and 5.8 are two campaigns of the paper with different compilers and MPI libraries; every value
# names its section.
@dataclass(frozen=True)
class Published:
    """One mean of the paper."""

    section: str
    epsilon_percent: float  # over all sizes of the section
    large_percent: float | None  # without the small ones; None: the paper does not say

    def __str__(self) -> str:
        return f"{significant(self.epsilon_percent)} % ({self.section})"


@cache
def published() -> Mapping[tuple[str, str], tuple[Published, ...]]:
    """Return the means of the paper by app and model, in the order of its sections."""
    found: dict[tuple[str, str], tuple[Published, ...]] = {}
    for _, row in checked_rows(str(_FILE), _COLUMNS, "Restore it"):
        section, app, model, _, _, epsilon, large = (row[name] or "" for name in _COLUMNS)
        one = Published(section, float(epsilon), float(large) if large else None)
        found[app, model] = (*found.get((app, model), ()), one)
    return found


def published_text(app: str, model: str) -> str:
    """Return the paper's means of a model with their sections; a hyphen where it gives none.

    >>> published_text("himeno", "NP-T/LS"), published_text("himeno", "dpgraph")
    ('25.0 % (5.1), 487 % (5.8)', '-')
    """
    return ", ".join(map(str, published().get((app, model), ()))) or "-"


_CONFIGURATION_COLUMNS = ("app", "size", "configuration", "time_s")
_MEASUREMENT_COLUMNS = ("app", "noise", "seed", "size", "configuration", "time_s", "work_flops")


class AllocationOutput(SeriesOutput):
    """The output of a campaign of choices.

    The files are choices.csv, choices-summary.csv, the times of all configurations (configurations.csv) and of all
    measurements (measurements.csv), and figures.
    """

    def __init__(self, folder: str | None, *, as_json: bool, cautions: Cautions, wide: bool = False):
        super().__init__(folder, as_json=as_json, cautions=cautions, wide=wide)
        self._configurations: list[dict[str, Any]] = []
        self._measurements: list[dict[str, Any]] = []

    def add_times(self, app: str, truths: Mapping[int, Truth], measured: Sequence[tuple[Noise, Measurements]]) -> None:
        """Keep the simulated times of all configurations, and the runs that the models were fitted to."""
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

    def show(self, *, finished: bool) -> None:
        """Print the table, and write the files."""
        if not self.rows:
            return

        rows = pd.DataFrame(self.rows, columns=[field.name for field in fields(AllocationRow)])
        summary = summarise(rows)
        if self.as_json:
            tables = {"choices": records(rows), "summary": records(summary)}
            print(json.dumps({**tables, "cautions": self.cautions.lines()}))
        else:
            print(summary_text(summary, wide=self.wide))
        if self.folder is not None:
            with written_into("--out", self.folder):
                write_csv(rows, self.folder / "choices.csv")
                write_csv(summary, self.folder / "choices-summary.csv")
                configurations = pd.DataFrame(self._configurations, columns=list(_CONFIGURATION_COLUMNS))
                measurements = pd.DataFrame(self._measurements, columns=list(_MEASUREMENT_COLUMNS))
                write_csv(configurations, self.folder / "configurations.csv")
                write_csv(measurements, self.folder / "measurements.csv")

                write_figures(rows, measurements, self.folder)


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    r"""Return the statistics of the choices per app, model and noise.

    ``sizes`` is the number of sizes of the app, and ``answered`` the number of sizes with a choice for every seed.
    ``epsilon_mean`` is the mean epsilon over the sizes that have an answer; means of models that answer at different
    sizes are not comparable.  ``epsilon_sd`` is the standard deviation, over the seeds, of the mean over the sizes.
    ``epsilon_without_small`` is the mean without the sizes below the study's ``small_below``.
    ``delta_within`` is the share of choices with \|delta\| at most 0.2.  ``optimal`` is the share of choices that are
    as fast as the optimum; there may be several optima.  Costs and times are those of one size: the largest cost and
    the median time.  The model "best constant ..." is the one configuration that, used at all sizes of the app, has the
    least mean epsilon: no choice that ignores the size can be better.
    """
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
                "epsilon_without_small": _without_small(group),
                "optimal": float((judged["epsilon"] == 0).mean()) if len(judged) else None,
                "published": published_text(app, model),
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


def _without_small(group: pd.DataFrame) -> float | None:
    """Return the mean epsilon of the rows whose size is not small, None where no size is small."""
    if not group["small"].any():
        return None
    return float(group[~group["small"].astype(bool)].groupby("seed")["epsilon"].mean().mean())


def summary_text(summary: pd.DataFrame, *, wide: bool = False) -> str:
    """Return the summary as a text table for a terminal; ``wide``: with all columns."""
    head = ["app", "model", "noise", "answered", "mean", *(["sd", "large N"] * wide), "paper", "largest", "optimal"]
    took = ["|delta|<=0.2", "evidence node-s", "measured", "fit", "search"]  # the last three as in Table III
    lines = [[*head, *(took if wide else ["evidence node-s"])]]
    for row in rows_of(summary):
        line = [row.app, row.model, _percent(row.noise), f"{row.answered} of {row.sizes}", _percent(row.epsilon_mean)]
        line += [_percent(row.epsilon_sd), _percent(row.epsilon_without_small)] if wide else []
        line += [published_text(row.app, row.model), _percent(row.epsilon_max), _percent(row.optimal, digits=0)]
        line += [_percent(row.delta_within, digits=0)] if wide else []
        line.append(significant(row.evidence_node_s))
        line += [duration(row.measured_s), duration(row.fit_s), duration(row.search_s)] if wide else []
        lines.append(line)
    head_line = (
        "epsilon over the sizes answered: how much longer the chosen configuration takes than the optimum; paper: its "
        "mean on its own cluster, by section"
    )
    return "\n".join([*prose_lines(head_line), "", *table_lines(lines, left={0, 1}, wide=wide)])


def _percent(share: float | None, *, digits: int = 2) -> str:
    return "-" if share is None or share != share else f"{100 * share:.{digits}f} %"
