"""The league of all predictors on all real clusters: what was computed again, and what other pages have kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from pictures.style import BLUE, GREEN, GREY, INK, NOTE, ORANGE, PALE, PURPLE, RED, card, style, svg
from write_results import first_rows

from apps.calibrate.patterns.platform_file import fitted_rows, sharing_of, sharing_options, sharing_platform
from apps.calibrate.patterns.rows import read_rows as read_pattern_rows
from apps.calibrate.patterns.rows import replayed
from apps.calibrate.platform_file import Cluster
from apps.calibrate.request import ALLTOALL, FIT_RANKS, LATENCY_US
from clusters import csd3, hpl
from clusters.published import CASES, DATA, rows_of
from platforms.options import read_platforms
from platforms.read.read import kept_file, read_platform
from validation.few_terms.judge import Judged, Run, judged, read_table
from validation.measured.judge import JUDGED
from validation.measured.judge import judged as judged_by_structure
from validation.measured.runs import choices, read_runs

ROOT = DATA.parents[2]
CALLS = [
    (Cluster("taurus", 12, 12, 18.4e9), ROOT / "examples" / "real" / "saturation-taurus.csv"),
    (Cluster("miriel", 16, 24, 18.4e9), ROOT / "examples" / "real" / "saturation-miriel.csv"),
]
MEASURED = ROOT / "docs" / "results" / "measured-league.toml"
PI, PI_CLUSTER = ROOT / "examples" / "real" / "npb-raspberry-pi.csv", ROOT / "examples" / "real" / "raspberry-pi.xml"
FEW, NAIVE, CONTENTION, FOLLOWED, STEPS = "few terms", "naive", "contention", "factorisation", "collectives"
COLOURS = {
    FEW: BLUE, NAIVE: GREY, CONTENTION: PURPLE, "simulate": GREEN, "structural": RED, "dpgraph": ORANGE,
    "hcf:constant": "#56B4E9", "hcf": "#999933", "hcf:printed": "#CC79A7", FOLLOWED: INK, STEPS: "#8C510A",
}  # fmt: skip
MARKERS = dict(zip(COLOURS, "oDs^vP<>X*p", strict=True))
TITLES = {
    "clusters-programs": "Median error of every predictor, by cluster and program",
    "clusters-costs": "Median error against the cost of the evidence, by cluster and predictor",
}
HPL_STUDIES = {
    "geometry": "HPL, grids", "geometry rest": "HPL, grids", "matrix size": "HPL, sizes", "factorial": "HPL, settings"
}  # fmt: skip
PI_EVIDENCE = "1,2,8@8,bt:16@16,sp:16@16,ft:64@16"  # as on the page of the Raspberry Pi
_LEAST, _MOST = 0.1, 300.0  # % of error that pictures show
_COSTED = ("CG", "MG", "LU", "EP")
# Node-seconds of the evidence over those of the run: docs/results/measured-league.toml, for CG, MG, LU and EP on free.
_EMULATED_COSTS = {"simulate": 0.59, "hcf": 0.59, "hcf:constant": 0.59, "hcf:printed": 0.59, "structural": 1.43}


@dataclass(frozen=True)
class Row:
    """One prediction of one measured run."""

    cluster: str
    program: str
    predictor: str
    error: float
    within: bool | None = None  # None: it has no interval
    cost: float | None = None  # node-seconds of the evidence over those of the run; None: not known, or none


def _cost(row: Judged, runs: Sequence[Run]) -> float:
    """Return node-seconds of one repeat of each evidence run over those of the judged run."""
    small = [run for run in runs if run.nodes in row.evidence]
    assert row.measured_s is not None
    return sum(run.nodes * run.time_s for run in small) / (row.nodes * row.measured_s)


def _few_terms(cluster: str, program: str, row: Judged, runs: Sequence[Run]) -> Iterator[Row]:
    assert row.error is not None and row.naive_error is not None
    yield Row(cluster, program, FEW, row.error, row.within, _cost(row, runs))
    last = [run for run in runs if run.nodes == row.evidence[-1]]
    assert row.measured_s is not None
    yield Row(
        cluster, program, NAIVE, row.naive_error, None, last[-1].nodes * last[-1].time_s / (row.nodes * row.measured_s)
    )


def _published() -> Iterator[Row]:
    for name, case in CASES.items():
        series = case.table().series
        for row in rows_of(name):
            known = dict(zip(case.series, row.name, strict=True))
            cluster = known.get("system", "alaska").removesuffix("-baseline")
            program = known.get("app", f"OpenSBLI {name.rpartition('-')[2]}")
            yield from _few_terms(cluster, program, row, series[row.name])


def _raspberry_pi() -> Iterator[Row]:
    platform = read_platforms([str(PI_CLUSTER)])[0]
    evidence = choices("", PI_EVIDENCE)
    runs = read_runs(str(PI))
    for made in judged_by_structure(runs, platform, evidence, ()):
        if made.role == JUDGED and made.error is not None:
            own = [run for run in runs if run.app == made.run.app and any(choice.has(run) for choice in evidence)]
            cost = sum(run.nodes * run.time_s for run in own) / (made.run.nodes * made.run.time_s)
            yield Row(
                "Raspberry Pi", f"{made.run.app.upper()} {made.run.preset}", CONTENTION, made.error, made.within, cost
            )
    table = read_table(str(PI), ("app", "class"), {})
    for row in judged(table, (1, 2), ()).judged:
        full = [run for run in table.series[row.name] if run.ranks / run.nodes == row.ranks / row.nodes]
        yield from _few_terms("Raspberry Pi", f"{row.name[0].upper()} {row.name[1]}", row, full)


def _emulated() -> Iterator[Row]:
    """Yield the first table of the measured league."""
    for cells in first_rows(MEASURED):
        for predictor in cells.keys() & COLOURS.keys():
            if re.fullmatch(r"[+-]?[\d.]+", cells[predictor]):
                costs = _EMULATED_COSTS if cells["grid"] == "free" and cells["run"].split()[0] in _COSTED else {}
                error = float(cells[predictor]) / 100
                yield Row(
                    f"emulated {cells['grid']}", cells["run"].split()[0], predictor, error, None, costs.get(predictor)
                )


def _hpl() -> Iterator[Row]:
    """Yield HPL on Dahu and gros without the rows to which something was fitted."""
    for run in hpl.dahu_runs():
        if not run.fitted:
            yield Row("Dahu", HPL_STUDIES[run.study], FOLLOWED, run.error, run.within)
    for run in hpl.gros_runs():
        if not run.fitted:
            yield Row("gros", "HPL, sizes", FOLLOWED, run.error, run.within)


def _csd3() -> Iterator[Row]:
    """Yield collective operations over RoCE; those over InfiniBand were fitted."""
    for line in csd3.lines():
        yield Row("csd3", line.operation, STEPS, line.asked_error, line.within)


def kept() -> tuple[Row, ...]:
    """Return the rows that other pages have kept."""
    return (*_emulated(), *_hpl())


def _calls(cluster: Cluster, path: Path) -> Iterator[Row]:
    """Yield the calls of many nodes, replayed on links whose sharing was fitted to calls of up to four nodes."""
    measured = read_pattern_rows([str(path)], cluster.name)
    few, latency_s = fitted_rows(measured, FIT_RANKS), 1e-6 * LATENCY_US
    options = sharing_options("ompi", ALLTOALL)
    content = sharing_platform(cluster, sharing_of(few, latency_s), latency_s, options, [])
    for made in replayed(read_platform(kept_file(content), cluster.name), measured, few):
        if not made.fitted:
            yield Row(cluster.name, made.row.call.pattern, "simulate", made.error)


@cache
def rows() -> tuple[Row, ...]:
    """Return all rows, by cluster and program."""
    calls = [row for cluster, path in CALLS for row in _calls(cluster, path)]
    found = [*kept(), *_csd3(), *calls, *_raspberry_pi(), *_published()]
    order = list(COLOURS)
    return tuple(sorted(found, key=lambda row: (row.cluster.lower(), row.program.lower(), order.index(row.predictor))))


def table() -> str:
    """Return all rows as CSV, which ``gridval report --public --clusters`` publishes."""
    lines = ["cluster,program,predictor,error,within,cost"]
    for row in rows():
        within = "" if row.within is None else str(row.within).lower()
        cost = "" if row.cost is None else f"{row.cost:.4g}"
        lines.append(f'{row.cluster},"{row.program}",{row.predictor},{row.error:.4g},{within},{cost}')
    return "\n".join(lines) + "\n"


def _grouped(key: Callable[[Row], tuple[str, ...]], some: Iterable[Row]) -> dict[tuple[str, ...], list[Row]]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in some:
        groups.setdefault(key(row), []).append(row)
    return groups


def _median(some: Sequence[Row]) -> float:
    return float(np.median([abs(row.error) for row in some]))


def by_cluster() -> str:
    """Return the table by cluster and predictor in Markdown."""
    lines = [
        "| cluster | predictor | rows | median error | largest error | in their 90 % interval | cost, median |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for (cluster, predictor), some in _grouped(lambda row: (row.cluster, row.predictor), rows()).items():
        judged_rows = [row for row in some if row.within is not None]
        within = f"{sum(bool(row.within) for row in judged_rows)} of {len(judged_rows)}" if judged_rows else "-"
        costs = [row.cost for row in some if row.cost is not None]
        cost = f"{100 * float(np.median(costs)):.0f} %" if costs else "-"
        errors = f"{100 * _median(some):.1f} % | {100 * max(abs(row.error) for row in some):.1f} %"
        lines.append(f"| {cluster} | `{predictor}` | {len(some)} | {errors} | {within} | {cost} |")
    return "\n".join(lines)


def best() -> str:
    """Return the table of the predictor that is nearest, by cluster and program, in Markdown."""
    lines = ["| cluster | program | rows | nearest | its median error | naive |", "|---|---|---:|---|---:|---:|"]
    for (cluster, program), some in _grouped(lambda row: (row.cluster, row.program), rows()).items():
        of = {name: _median(made) for (name,), made in _grouped(lambda row: (row.predictor,), some).items()}
        nearest = min(of, key=lambda name: of[name])
        naive = f"{100 * of[NAIVE]:.1f} %" if NAIVE in of else "-"
        count = sum(row.predictor == nearest for row in some)
        lines.append(f"| {cluster} | {program} | {count} | `{nearest}` | {100 * of[nearest]:.1f} % | {naive} |")
    return "\n".join(lines)


def intervals() -> str:
    """Return the table of all intervals of 90 %, by predictor and cluster, in Markdown."""
    lines = ["| predictor | cluster | rows | in their 90 % interval | share |", "|---|---|---:|---:|---:|"]
    known = [row for row in rows() if row.within is not None]
    groups = _grouped(lambda row: (f"`{row.predictor}`", row.cluster), known)
    for (predictor, cluster), some in {**dict(sorted(groups.items())), ("all", ""): known}.items():
        inside = sum(bool(row.within) for row in some)
        lines.append(f"| {predictor} | {cluster} | {len(some)} | {inside} | {inside / len(some):.0%} |")
    return "\n".join(lines)


PARTS: dict[str, Callable[[], str]] = {"by-cluster": by_cluster, "best": best, "intervals": intervals}


def pictures() -> dict[str, str]:
    """Return the figures as SVG, by name."""
    with style():
        figures = {"clusters-programs": _programs(), "clusters-costs": _costs()}
        return {name: svg(figure, TITLES[name]) for name, figure in figures.items()}


def _shown(error: float) -> float:
    return min(max(100 * error, _LEAST), _MOST)


def _programs() -> Any:
    groups = _grouped(lambda row: (row.cluster, row.program), rows())
    figure = card(1.1 + 0.19 * len(groups))
    axes = figure.subplots()
    seen: set[str] = set()
    for place, some in enumerate(groups.values()):
        axes.axhline(place, color=PALE, linewidth=0.8, zorder=0)
        for (name,), made in _grouped(lambda row: (row.predictor,), some).items():
            label = None if name in seen else name
            seen.add(name)
            axes.plot([_shown(_median(made))], [place], MARKERS[name], color=COLOURS[name], markersize=6, label=label)
    axes.grid(axis="x")
    axes.set_xscale("log")
    axes.set_xlim(_LEAST * 0.9, _MOST * 1.1)
    axes.set_yticks(range(len(groups)), [f"{cluster}, {program}" for cluster, program in groups])
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.set_xlabel("median error without sign, % of the measured time")
    axes.tick_params(axis="y", length=0, labelsize=NOTE)
    figure.legend(loc="outside upper left", ncols=5)
    _plain(axes.xaxis)
    return figure


def _plain(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _costs() -> Any:
    figure = card(4.6)
    axes = figure.subplots()
    seen: set[str] = set()
    places: list[tuple[float, float]] = []
    costed = _grouped(lambda row: (row.cluster, row.predictor), [row for row in rows() if row.cost is not None])
    points = {
        key: (100 * float(np.median([row.cost for row in some if row.cost is not None])), _shown(_median(some)))
        for key, some in costed.items()
    }
    for (cluster, name), at in points.items():
        label = None if name in seen else name
        seen.add(name)
        axes.plot(*[[value] for value in at], MARKERS[name], color=COLOURS[name], markersize=7, label=label)
        near = any(abs(at[0] - x) < 35 and abs(np.log(at[1] / y)) < 0.15 for x, y in places)
        over = any(name == NAIVE and abs(at[0] - x) < 35 and abs(np.log(at[1] / y)) < 0.15
                   for (_, name), (x, y) in points.items())  # fmt: skip
        places.append(at)
        aside: dict[str, Any] = {"xytext": (-6, -3), "ha": "right"} if near else {"xytext": (6, -3)}
        aside = {"xytext": (0, -15), "ha": "center"} if near and over else aside
        if name == NAIVE:
            axes.plot(*zip(at, points[cluster, FEW], strict=True), color=PALE, linewidth=1, zorder=0)
            continue
        axes.annotate(cluster, at, textcoords="offset points", fontsize=NOTE, color=COLOURS[name], **aside)
    axes.set_xlim(0, 230)
    axes.set_yscale("log")
    _plain(axes.yaxis)
    axes.grid()
    axes.set_xlabel("node-seconds of the evidence, % of those of the run")
    axes.set_ylabel("median error without sign, %")
    axes.margins(y=0.08)
    figure.legend(loc="outside upper left", ncols=4)
    return figure
