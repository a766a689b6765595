"""Pictures of times and errors, each with a caption and a table of its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from platforms.wording import number_of
from validation.comparison.rows import grouped
from validation.presentation.numbering import predictor_numbers
from validation.presentation.plots import (
    CASE_COLUMNS,
    DELAY_PRODUCTS,
    ENERGIES,
    TIMES,
    Quantity,
    case_labels,
    results_figure,
)
from validation.presentation.tables import truth_name
from validation.report.figures.errors import distribution_figure, scatter_figure, share_figure
from validation.report.figures.parts import COMMUNICATION, COMPUTATION, OTHERS, Bar, Group, parts_figure, parts_of
from validation.report.gather import Gathered
from validation.report.svg import inline_svg
from validation.report.tables import Cell, Table, known, number, numbers, table, words

if TYPE_CHECKING:
    import pandas as pd

MOST_APPS = 12  # apps with figures of their own
MANY_CASES = 8  # more cases are split into several figures of times, by properties other than the platform
MOST_CASES, MOST_GROUPS = 16, 6  # cases in a figure of times, and such figures of an app
FEW_CASES = 12  # up to this number, the cases of all apps share a figure of errors
MOST_BARS = 36  # bars in a figure of parts


@dataclass(frozen=True)
class Picture:
    """A figure in the page."""

    name: str  # id in the page
    svg: str
    caption: str
    data: Table | None = None
    themed: bool = True  # drawn in the page's colours; otherwise on white
    timeline: str = ""  # data with which the page's script draws the figure (timelines/intervals.py)

    @property
    def width(self) -> str:
        """Width of the figure as a CSS length."""
        return self.svg.partition("--width: ")[2].partition('"')[0]


def times_pictures(results: pd.DataFrame, *, energy: bool) -> Iterator[Picture]:
    """Yield pictures of predicted and true times, and with ``energy`` of the known energies.

    An app with too many cases has a picture of the distribution of its errors instead.
    """
    numbers = predictor_numbers(results)
    wanted = (TIMES, ENERGIES, DELAY_PRODUCTS) if energy else (TIMES,)
    for place, app in enumerate(_apps_drawn(results)):
        rows = results[results["app"] == app]
        groups = list(_groups_of_cases(rows))
        if not groups:
            yield _distribution_picture(results, app, place)
        for which, (properties, group) in enumerate(groups):
            what = ", ".join([app, *properties])
            for quantity in (quantity for quantity in wanted if group[quantity.simulated].notna().any()):
                yield _quantity_picture(group, what, quantity, f"{quantity.name}-{place}-{which}", numbers)


def _groups_of_cases(rows: pd.DataFrame) -> Iterator[tuple[list[str], pd.DataFrame]]:
    """Yield groups of cases that share a figure, with the properties that distinguish a group from the others.

    A few cases form a single group; otherwise a group has the cases that differ only in their platform.  If these
    groups are too large or too many, there are none.
    """
    cases = rows.groupby(list(CASE_COLUMNS), dropna=False).ngroups
    if cases <= MANY_CASES:
        yield [], rows
        return
    distinguishing = [
        name for name in ("network", "class", "mapping", "efficiency") if rows[name].nunique(dropna=False) > 1
    ]
    groups: list[tuple[list[str], pd.DataFrame]] = [([], rows)]
    if distinguishing:
        groups = [([str(value) for value in key], group) for key, group in grouped(rows, distinguishing, dropna=False)]
    sizes = [group.groupby(list(CASE_COLUMNS), dropna=False).ngroups for _, group in groups]
    if len(groups) <= MOST_GROUPS and max(sizes) <= MOST_CASES:
        yield from groups


def _distribution_picture(results: pd.DataFrame, app: str, place: int) -> Picture:
    cases = results[results["app"] == app].groupby(list(CASE_COLUMNS), dropna=False).ngroups
    title = f"{app}: share of {cases} cases with an error up to a limit"
    caption = (
        f"{title}. Cases without an answer count as larger errors. There are too many cases to draw each of them; the "
        "table of all predictions has them."
    )
    return Picture(f"errors-{place}", inline_svg(distribution_figure(results, app), f"e{place}", title=title), caption)


def _quantity_picture(
    rows: pd.DataFrame, what: str, quantity: Quantity, name: str, numbers: Mapping[str, int]
) -> Picture:
    truth = truth_name(rows["truth"])
    single = rows.groupby(list(CASE_COLUMNS), dropna=False).ngroups == 1
    title = f"{what}: {quantity.label}, predicted and {truth}"
    svg = inline_svg(results_figure(rows, rows["app"].iloc[0], quantity, numbers=numbers), name, title=title)
    drawn = f"The line is {truth}; the closest prediction is at the top" if single else f"The wide line is {truth}"
    caption = f"{title}. {drawn}{'' if single else '; logarithmic axis'}."
    return Picture(name, svg, caption, _values_table(rows, what, quantity, f"{name}-data"))


def _values_table(rows: pd.DataFrame, what: str, quantity: Quantity, name: str) -> Table:
    rows = rows.assign(place=rows.groupby(list(CASE_COLUMNS), sort=False, dropna=False).ngroup())
    cases = rows.drop_duplicates(subset="place")
    labels = [label.replace("\n", ", ") for label in case_labels(cases, always=("scenario", "ranks"))]
    predicted = {(row["place"], row["predictor"]): row[quantity.predicted] for row in rows.to_dict("records")}
    predictors = list(dict.fromkeys(rows["predictor"]))
    made: list[list[Cell | str]] = [
        [label, number(case[quantity.simulated], "{:.5g}"),
         *(number(predicted.get((case["place"], predictor)), "{:.5g}") for predictor in predictors)]
        for label, case in zip(labels, cases.to_dict("records"), strict=True)
    ]  # fmt: skip
    columns = [*words("case"), *numbers(truth_name(rows["truth"]), *predictors)]
    return table(name, f"{what}: {quantity.label}", columns, made)


def scatter_pictures(results: pd.DataFrame) -> Iterator[Picture]:
    """Yield pictures of predicted over true times."""
    truth = truth_name(results["truth"])
    for place, app in enumerate(_together(results)):
        title = f"{_whose(app, results)}: predicted over {truth} time, with bands of 5 and 10 %"
        svg = inline_svg(scatter_figure(results, app), f"s{place}", title=title)
        caption = f"{title}. Both axes are logarithmic; predictions on the line are exact."
        yield Picture(f"scatter-{place}", svg, caption)


def share_pictures(results: pd.DataFrame) -> Iterator[Picture]:
    """Yield pictures of errors over the share of computation, if the share is known."""
    for place, app in enumerate(_together(results)):
        rows = results if app is None else results[results["app"] == app]
        if not (rows["compute_share"].notna() & rows["error_pct"].notna()).any():
            continue
        title = f"{_whose(app, results)}: error over the share of computation"
        svg = inline_svg(share_figure(results, app), f"c{place}", title=title)
        yield Picture(f"share-{place}", svg, f"{title} in the simulated run. Hollow: predictions with a caution.")


def _apps_drawn(results: pd.DataFrame) -> list[str]:
    """Return the apps that have figures."""
    return list(dict.fromkeys(results["app"]))[:MOST_APPS]


def _whose(app: str | None, results: pd.DataFrame) -> str:
    apps = _apps_drawn(results)
    return app or (apps[0] if len(apps) == 1 else "All programs")


def _together(results: pd.DataFrame) -> list[str | None]:
    """Return the apps that have figures of their own; None stands for one figure of all apps with few cases."""
    apps = _apps_drawn(results)
    few = results.groupby(["app", *CASE_COLUMNS], dropna=False).ngroups <= FEW_CASES
    return [None] if few and len(apps) > 1 else [*apps]


def parts_pictures(gathered: Gathered) -> Iterator[Picture]:
    """Yield pictures of computation and communication: one of all apps if it fits, otherwise one per app."""
    truth = truth_name(gathered.results["truth"])
    room = len(gathered.notes) + len(gathered.cases) <= MOST_BARS
    for place, app in enumerate([None] if room else _apps_drawn(gathered.results)):
        groups, left_out = _groups(gathered, app, truth)
        title = f"{_whose(app, gathered.results)}: computation and communication, predicted and {truth}"
        caption = (
            f"{title}. The bars of a target are relative to its {truth} time; long bars are cut and labelled with "
            "their length."
        )
        caption += " Its computation is that of the rank that computes longest." if truth == "simulated" else ""
        if left_out:
            caption += f" Not drawn: {number_of(left_out, 'more target')}."
        svg = inline_svg(parts_figure(groups), f"p{place}", title=title)
        yield Picture(f"parts-{place}", svg, caption, _parts_table(groups, title, place))


def _groups(gathered: Gathered, app: str | None, truth: str) -> tuple[list[Group], int]:
    """Return the targets of an app, or of all apps, that fit into a figure, and the number of the others."""
    rows_of: dict[int, list[int]] = {}
    for row, note in enumerate(gathered.notes):
        if app in (None, gathered.rows[row]["app"]):
            rows_of.setdefault(note.case, []).append(row)
    labels = case_labels(gathered.results.iloc[[rows[0] for rows in rows_of.values()]], always=("scenario", "ranks"))
    groups: list[Group] = []
    bars = 0
    for (case_number, rows), label in zip(rows_of.items(), labels, strict=True):
        case = gathered.cases[case_number]
        parts = {} if case.compute_s is None else parts_of(case.time_s, {"compute_s": case.compute_s})
        made = [Bar(truth, case.time_s, parts, truth=True)]
        for row in rows:
            name, time_s = gathered.rows[row]["predictor"], gathered.rows[row]["predicted_s"]
            if known(time_s):
                made.append(Bar(name, time_s, parts_of(time_s, gathered.notes[row].parts)))
        if groups and bars + len(made) > MOST_BARS:
            break
        bars += len(made)
        groups.append(Group(f"{case.target.problem.name}, {label}".replace("\n", ", "), made))
    return groups, len(rows_of) - len(groups)


def _parts_table(groups: list[Group], title: str, place: int) -> Table:
    rows: list[list[Cell | str]] = [
        [
            group.label,
            bar.label,
            *(number(bar.parts_s.get(name), "{:.5g}") for name in (COMPUTATION, COMMUNICATION)),
            number(bar.time_s, "{:.5g}"),
            number(bar.time_s / group.bars[0].time_s, "{:.4g}"),
        ]
        for group in groups
        for bar in group.bars
    ]
    seconds = numbers(f"{COMPUTATION}, s", f"{COMMUNICATION}, s", "total, s", "relative to the truth")
    columns = [*words("target", "time"), *seconds]
    return table(f"parts-{place}-data", f"{title}; a dash: {OTHERS}", columns, rows)
