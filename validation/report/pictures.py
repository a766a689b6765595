"""The pictures of times and errors: each with its caption and the table of what it shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.wording import number_of
from validation.frames import grouped
from validation.plots import CASE_COLUMNS, DELAY_PRODUCTS, ENERGIES, TIMES, Quantity, case_labels, results_figure
from validation.report.figures.errors import distribution_figure, scatter_figure, share_figure
from validation.report.figures.parts import COMMUNICATION, COMPUTATION, OTHERS, Bar, Group, parts_figure, parts_of
from validation.report.gather import Gathered
from validation.report.svg import inline_svg
from validation.report.tables import Cell, Table, known, number, numbers, table, words
from validation.tables import truth_name

if TYPE_CHECKING:
    import pandas as pd

MOST_APPS = 12  # with figures of their own
MANY_CASES = 8  # more are spread over several figures of times, where they differ in more than their platform
MOST_CASES, MOST_GROUPS = 16, 6  # in a figure of times, and such figures of an app
FEW_CASES = 12  # of all apps, that share a figure of errors
MOST_BARS = 36


@dataclass(frozen=True)
class Picture:
    """A figure in the page."""

    name: str  # id
    svg: str
    caption: str
    data: Table | None = None
    themed: bool = True  # it takes the page's colours; else it stands on white

    @property
    def width(self) -> str:
        """Its own, as CSS has it."""
        return self.svg.partition("--width: ")[2].partition('"')[0]


def times_pictures(results: pd.DataFrame, *, energy: bool) -> Iterator[Picture]:
    """Predicted and true times of every case, and with ``energy`` energies where they are known; of apps with too many
    cases, how many are how wrong."""
    wanted = (TIMES, ENERGIES, DELAY_PRODUCTS) if energy else (TIMES,)
    for place, app in enumerate(_apps_drawn(results)):
        rows = results[results["app"] == app]
        groups = list(_groups_of_cases(rows))
        if not groups:
            yield _distribution_picture(results, app, place)
        for which, (told, own) in enumerate(groups):
            what = ", ".join([app, *told])
            for quantity in (one for one in wanted if own[one.simulated].notna().any()):
                yield _quantity_picture(own, app, what, quantity, f"{quantity.name}-{place}-{which}")


def _groups_of_cases(rows: pd.DataFrame) -> Iterator[tuple[list[str], pd.DataFrame]]:
    """Cases that share a figure, and what they have in common that others have not: all of them where they are few,
    else those that differ in their platform alone; none where these are too many."""
    cases = rows.groupby(list(CASE_COLUMNS), dropna=False).ngroups
    if cases <= MANY_CASES:
        yield [], rows
        return
    told_apart = [
        name for name in ("network", "class", "mapping", "efficiency") if rows[name].nunique(dropna=False) > 1
    ]
    groups: list[tuple[list[str], pd.DataFrame]] = [([], rows)]
    if told_apart:
        groups = [([str(one) for one in key], own) for key, own in grouped(rows, told_apart, dropna=False)]
    sizes = [own.groupby(list(CASE_COLUMNS), dropna=False).ngroups for _, own in groups]
    if len(groups) <= MOST_GROUPS and max(sizes) <= MOST_CASES:
        yield from groups


def _distribution_picture(results: pd.DataFrame, app: str, place: int) -> Picture:
    cases = results[results["app"] == app].groupby(list(CASE_COLUMNS), dropna=False).ngroups
    title = f"{app}: share of {cases} cases with at most so large an error"
    caption = (
        f"{title}. A case without an answer never comes in. There are too many for a picture of each; the table of all "
        "predictions has them."
    )
    return Picture(f"errors-{place}", inline_svg(distribution_figure(results, app), f"e{place}", title=title), caption)


def _quantity_picture(rows: pd.DataFrame, app: str, what: str, quantity: Quantity, name: str) -> Picture:
    truth = truth_name(rows)
    title = f"{what}: {quantity.label}, predicted and {truth}"
    svg = inline_svg(results_figure(rows, app, quantity), name, title=title)
    caption = f"{title}. The wide line is {truth}; logarithmic axis."
    return Picture(name, svg, caption, _values_table(rows, what, quantity, f"{name}-data"))


def _values_table(rows: pd.DataFrame, what: str, quantity: Quantity, name: str) -> Table:
    rows = rows.assign(place=rows.groupby(list(CASE_COLUMNS), sort=False, dropna=False).ngroup())
    cases = rows.drop_duplicates(subset="place")
    labels = [label.replace("\n", ", ") for label in case_labels(cases, told=("scenario", "ranks"))]
    predicted = {(one["place"], one["predictor"]): one[quantity.predicted] for one in rows.to_dict("records")}
    predictors = list(dict.fromkeys(rows["predictor"]))
    made: list[list[Cell | str]] = [
        [label, number(case[quantity.simulated], "{:.5g}"),
         *(number(predicted.get((case["place"], one)), "{:.5g}") for one in predictors)]
        for label, case in zip(labels, cases.to_dict("records"), strict=True)
    ]  # fmt: skip
    columns = [*words("case"), *numbers(truth_name(rows), *predictors)]
    return table(name, f"{what}: {quantity.label}", columns, made)


def scatter_pictures(results: pd.DataFrame) -> Iterator[Picture]:
    """Predicted over true times."""
    truth = truth_name(results)
    for place, app in enumerate(_together(results)):
        title = f"{_whose(app, results)}: predicted over {truth} time, with bands of 5 and 10 %"
        svg = inline_svg(scatter_figure(results, app), f"s{place}", title=title)
        caption = f"{title}. Both axes are logarithmic; on the line a prediction is right."
        yield Picture(f"scatter-{place}", svg, caption)


def share_pictures(results: pd.DataFrame) -> Iterator[Picture]:
    """Errors over the share of computation; none where that is not known."""
    for place, app in enumerate(_together(results)):
        rows = results if app is None else results[results["app"] == app]
        if not (rows["compute_share"].notna() & rows["error_pct"].notna()).any():
            continue
        title = f"{_whose(app, results)}: error over the share of computation"
        svg = inline_svg(share_figure(results, app), f"c{place}", title=title)
        yield Picture(f"share-{place}", svg, f"{title} in the simulated run. Hollow: a prediction with a caution.")


def _apps_drawn(results: pd.DataFrame) -> list[str]:
    """The apps that have figures."""
    return list(dict.fromkeys(results["app"]))[:MOST_APPS]


def _whose(app: str | None, results: pd.DataFrame) -> str:
    apps = _apps_drawn(results)
    return app or (apps[0] if len(apps) == 1 else "All programs")


def _together(results: pd.DataFrame) -> list[str | None]:
    """The apps that have figures of their own; None for all in one, where there are few cases."""
    apps = _apps_drawn(results)
    few = results.groupby(["app", *CASE_COLUMNS], dropna=False).ngroups <= FEW_CASES
    return [None] if few and len(apps) > 1 else [*apps]


def parts_pictures(gathered: Gathered) -> Iterator[Picture]:
    """What times are made of: of all apps in one figure where there is room, else app by app."""
    truth = truth_name(gathered.results)
    room = len(gathered.told) + len(gathered.cases) <= MOST_BARS
    for place, app in enumerate([None] if room else _apps_drawn(gathered.results)):
        groups, left_out = _groups(gathered, app, truth)
        title = f"{_whose(app, gathered.results)}: computation and communication, predicted and {truth}"
        caption = (
            f"{title}. Bars of one target are relative to its {truth} time; long ones are cut, and say how often they "
            "hold it."
        )
        caption += " The truth's computation is that of the rank that computes longest." if truth == "simulated" else ""
        if left_out:
            caption += f" Not drawn: {number_of(left_out, 'more target')}."
        svg = inline_svg(parts_figure(groups), f"p{place}", title=title)
        yield Picture(f"parts-{place}", svg, caption, _parts_table(groups, title, place))


def _groups(gathered: Gathered, app: str | None, truth: str) -> tuple[list[Group], int]:
    """The targets of an app, or of all, that fit into a figure, and how many do not."""
    rows_of: dict[int, list[int]] = {}
    for row, told in enumerate(gathered.told):
        if app in (None, gathered.rows[row]["app"]):
            rows_of.setdefault(told.case, []).append(row)
    labels = case_labels(gathered.results.iloc[[rows[0] for rows in rows_of.values()]], told=("scenario", "ranks"))
    groups: list[Group] = []
    bars = 0
    for (case_number, rows), label in zip(rows_of.items(), labels, strict=True):
        case = gathered.cases[case_number]
        parts = {} if case.compute_s is None else parts_of(case.time_s, {"compute_s": case.compute_s})
        made = [Bar(truth, case.time_s, parts, truth=True)]
        for row in rows:
            name, time_s = gathered.rows[row]["predictor"], gathered.rows[row]["predicted_s"]
            if known(time_s):
                made.append(Bar(name, time_s, parts_of(time_s, gathered.told[row].parts)))
        if groups and bars + len(made) > MOST_BARS:
            break
        bars += len(made)
        groups.append(Group(f"{case.target.problem.app}, {label}".replace("\n", ", "), made))
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
    seconds = numbers(f"{COMPUTATION}, s", f"{COMMUNICATION}, s", "in all, s", "relative to the truth")
    columns = [*words("target", "time"), *seconds]
    return table(f"parts-{place}-data", f"{title}; a dash: {OTHERS}", columns, rows)
