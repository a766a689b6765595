"""Results of comparisons as a DataFrame that draws itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from platforms.errors import UserError
from platforms.plotting.charts import Figure, rendered
from platforms.plotting.pictures import write_picture
from validation.comparison.rows import numbers_known
from validation.presentation.plots import results_figure

if TYPE_CHECKING:
    from validation.interactive.asking import PathLike


class Frame(pd.DataFrame):
    """Results with their cautions.  A selection of rows or columns is an ordinary DataFrame."""

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return pd.DataFrame

    @property
    def cautions(self) -> list[str]:
        """The cautions about the runs, each a sentence."""
        lines: list[str] = self.attrs.get("cautions", [])
        return lines


# The columns that a notebook shows; the DataFrame has all columns of results.csv.
SHOWN = (
    *("app", "class", "scenario", "ranks", "predictor", "predicted_s", "simulated_s", "error_pct"),
    *("interval_low_s", "interval_high_s"),
    *("evidence_node_s", "simulated_node_s", "flags"),
)


class Results(Frame):
    """One row per prediction and its truth, with the columns of results.csv, whose names end with their units.

    A selection of rows or columns is an ordinary DataFrame.
    """

    def plot(self, app: str | None = None) -> Picture:  # type: ignore[override]  # pandas has an accessor here
        """Draw predicted and true times of one program; ``app`` may be left out if there is only one.

        Raises:
            UserError: There are several programs, or none of that name.
        """
        apps = list(dict.fromkeys(self["app"]))
        if app is None and len(apps) == 1:
            app = apps[0]
        if app is None or app not in apps:
            problem = "there are several programs" if app is None else f"there is no program {app!r}"
            raise UserError("plot", problem, f"Give one of {', '.join(apps)}")
        return Picture(results_figure(pd.DataFrame(self), app))

    def _repr_html_(self) -> str:
        shown = pd.DataFrame(self)[[name for name in SHOWN if name in self.columns]]
        html: str = shown.to_html(index=False, float_format="{:.4g}".format, na_rep="")
        return html


@dataclass(frozen=True)
class Picture:
    """A figure that a notebook shows."""

    figure: Figure

    def save(self, path: PathLike) -> None:
        """Write the picture to a file; the ending of its name decides the format.

        Raises:
            UserError: The file cannot be written, or the format is not known.
        """
        write_picture("save", str(path), self.figure)

    def _repr_svg_(self) -> str:
        return rendered(self.figure, "svg").decode()


def results(rows: list[dict[str, Any]], columns: tuple[str, ...], cautions: list[str]) -> Results:
    """Return the results of these rows."""
    table = Results(numbers_known(pd.DataFrame(rows, columns=list(columns))))
    table.attrs["cautions"] = cautions
    return table
