"""Runs that others have published, predicted from their small runs by few terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pictures.style import BLUE, GREY, INK, NOTE, ORANGE, PALE, card, style, svg

from validation.few_terms.judge import Judged, Table, judged, read_table, summary

DATA = Path(__file__).resolve().parents[2] / "examples" / "real" / "published"
TITLE = "Errors of predictions by few terms, and of naive scaling, for published runs"


@dataclass(frozen=True)
class Case:
    """A table of published runs and how its large runs are predicted."""

    file: str
    series: tuple[str, ...]  # columns
    evidence: tuple[int, ...]  # nodes; none: of each series the smaller half
    allreduces: bool = False

    def table(self) -> Table:
        """Return the runs."""
        known = str(DATA / "allreduce.csv") if self.allreduces else None
        return read_table(str(DATA / self.file), self.series, {}, known)


CASES = {
    "h3": Case("h3.csv", ("system", "app", "build"), (4, 8), allreduces=True),
    "clouds": Case("clouds.csv", ("system", "app"), (32, 64), allreduces=True),
    "alaska": Case("alaska.csv", ("app", "case"), (1, 2, 4)),
    "opensbli-512": Case("opensbli-512.csv", ("system",), (1, 2)),
    "opensbli-1024": Case("opensbli-1024.csv", ("system",), ()),
}


@cache
def rows_of(name: str) -> Sequence[Judged]:
    """Return the predictions of a case, made once."""
    return judged(CASES[name].table(), CASES[name].evidence, ()).judged


def table_of(name: str) -> str:
    """Return the table of a case in Markdown."""
    lines = [
        "| series | evidence, nodes | nodes | measured, s | predicted, s | 90 % interval, s | error | naive |",
        "|---|---|---:|---:|---:|---|---:|---:|",
    ]
    for row in rows_of(name):
        assert row.measured_s is not None and row.error is not None and row.naive_error is not None
        evidence, within = ", ".join(map(str, row.evidence)), "" if row.within else ", not in it"
        lines.append(
            f"| {', '.join(filter(None, row.name))} | {evidence} | {row.nodes} | {row.measured_s:.4g} | "
            f"{row.time_s:.4g} | {row.low_s:.4g} to {row.high_s:.4g}{within} | {100 * row.error:+.1f} % | "
            f"{100 * row.naive_error:+.1f} % |"
        )
    return "\n".join(lines)


def summaries() -> str:
    """Return the table of all cases, and of all rows."""
    lines = [
        "| file | rows | median error | naive | largest error | in their 90 % interval |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    rows = {f"`{case.file}`": rows_of(name) for name, case in CASES.items()}
    rows["all"] = [row for some in rows.values() for row in some]
    for name, some in rows.items():
        result = summary(some)
        assert result is not None
        lines.append(
            f"| {name} | {result.rows} | {100 * result.median_error:.1f} % | {100 * result.naive_median_error:.1f} % | "
            f"{100 * result.largest_error:.1f} % | {result.within} |"
        )
    return "\n".join(lines)


PARTS: dict[str, Callable[[], str]] = {
    "summaries": summaries,
    **{name: lambda name=name: table_of(name) for name in CASES},  # type: ignore[misc]
}


def picture() -> str:
    """Return the figure of all rows as SVG: errors with the intervals, and those of naive scaling."""
    with style():
        return svg(_figure(), TITLE)


def _figure() -> Any:
    rows = [row for name in CASES for row in rows_of(name)]
    figure = card(0.9 + 0.175 * len(rows))
    axes = figure.subplots()
    for place, row in enumerate(rows):
        assert row.measured_s is not None and row.error is not None and row.naive_error is not None
        ends = [min(100 * (end / row.measured_s - 1), 100.0) for end in (row.low_s, row.high_s)]
        axes.plot(ends, [place, place], color=PALE, linewidth=5, solid_capstyle="butt", zorder=1)
        axes.plot([100 * row.naive_error], [place], "D", color=ORANGE, markersize=4, zorder=2)
        axes.plot([100 * row.error], [place], "o", color=BLUE, markersize=5, zorder=3)
    axes.axvline(0, color=GREY, linewidth=1)
    axes.plot([], [], "o", color=BLUE, markersize=5, label="few terms")
    axes.plot([], [], color=PALE, linewidth=5, label="its 90 % interval, cut at +100 %")
    axes.plot([], [], "D", color=ORANGE, markersize=4, label="naive scaling")
    names = [f"{', '.join(filter(None, row.name))} on {row.nodes}" for row in rows]
    axes.set_yticks(range(len(rows)), names)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(-95, 104)
    axes.set_xlabel("error, % of the measured time", color=INK)
    axes.tick_params(axis="y", length=0, labelsize=NOTE)
    axes.legend(loc="lower left", bbox_to_anchor=(-0.3, 1.0), ncols=3)
    return figure
