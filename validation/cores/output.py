"""Text, CSV and JSON output of both validations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from platforms.files import writing
from platforms.terminal.prose import prose_lines
from platforms.terminal.table import table_lines
from predictor.hierarchical.model import COUNTED, DERIVED
from validation.cores.communication import SHOWN, Point, RegionError, Study
from validation.cores.world import TOLERANCE, WorldCase, WorldPoint


def _text(rows: Sequence[Sequence[str]], *, left: Collection[int] = (), wide: bool = False) -> str:
    """Return a table; the first row has the names of its columns."""
    return "\n".join(table_lines(rows, left=left, wide=wide))


# --- the model's own world ---


def world_table(points: Sequence[WorldPoint]) -> pd.DataFrame:
    """Return a table with a row per q, p and case."""
    return pd.DataFrame(
        {
            **_case_columns(point.case),
            "cores_per_node": point.q,
            "nodes": point.p,
            "model_s": point.model_s,
            "simulated_s": point.simulated_s,
            "error_pct": 100 * point.error,
        }
        for point in points
    )


def _case_columns(case: WorldCase) -> dict[str, Any]:
    scaling = "overlap" if case.overlap else "hockney"
    return {"system": case.system.name, "app": case.app, "n": case.n, "beta": str(case.shared), "scaling": scaling}


def world_text(points: Sequence[WorldPoint], *, wide: bool = False) -> str:
    """Return a text with the largest error of every case; ``wide``: also with the number of its points."""
    names = ("system", "app", "n", "beta(q, p)", "s(z)", *(["points"] if wide else []), "worst %", "at q x p")
    rows: list[tuple[str, ...]] = [names]
    cases = dict.fromkeys(point.case for point in points)
    for case in cases:
        of_case = [point for point in points if point.case == case]
        worst = max(of_case, key=lambda point: abs(point.error))
        columns = [*_case_columns(case).values(), *([len(of_case)] if wide else [])]
        rows.append((*map(str, columns), f"{100 * worst.error:+.4f}", f"{worst.q} x {worst.p}"))
    largest = max(abs(point.error) for point in points)
    verdict = "within" if largest <= TOLERANCE else "BEYOND"
    table = _text(rows, left={0, 1}, wide=wide)
    return f"{table}\nlargest error {100 * largest:.4f} %, {verdict} {100 * TOLERANCE:g} %"


# --- real communication ---


def points_table(points: Sequence[Point]) -> pd.DataFrame:
    """Return a table with a row per q and p: speed-ups, errors and the terms of 1 / eta."""
    return pd.DataFrame(_row(point) for point in points)


def _row(point: Point) -> dict[str, Any]:
    study, simulated = point.study, point.simulated
    row = {
        "system": study.system.name,
        "app": study.app,
        "n": study.n,
        "inside": study.inside,
        "bytes": study.bytes_from,
        "beta": str(study.shared),
        "cores_per_node": point.q,
        "nodes": point.p,
        "region": point.region,
        "time_s": point.record.time_s,
        "flops": point.record.flops,
        "speedup": point.speedup,
        "memory": simulated.memory,
        "network": simulated.network,
        "latency": point.latency,
        "imbalance": point.imbalance,
    }
    for variant in SHOWN:
        model = point.model(variant)
        row |= {
            f"{variant}_speedup": point.model_speedup(variant),
            f"{variant}_memory": model.memory,
            f"{variant}_network": model.network,
            f"{variant}_error_pct": 100 * point.error(variant),
            f"{variant}_cause": point.cause(variant),
        }
    return row


def study_text(study: Study, points: Sequence[Point], regions: Sequence[RegionError], *, wide: bool = False) -> str:
    """Return a text with the errors by region, then all points; ``wide``: with the terms of each point."""
    whose = "the kernel declares" if study.bytes_from == "declared" else "in the paper"
    way = "its memory" if study.inside == "memory" else "its network link"
    head = (
        f"{study.app}, n = {study.n}, on {study.system.name}: kernel {points[0].record.identity['app']}, "
        f"#b as {whose}, messages within a node through {way}; the paper's table with beta(q, p) = {study.shared}"
    )
    shown = SHOWN if wide else (COUNTED, DERIVED)
    terms = ("memory", "model", "network", "model", "latency", "uneven") if wide else ()
    speedups = [name for variant in shown for name in (f"S {variant}", "error %")]
    names = ("q", "p", "S simulated", *speedups, *terms, "what fails (counted)")
    rows: list[tuple[str, ...]] = [names]
    for point in points:
        simulated, model = point.simulated, point.model(COUNTED)
        numbers = (simulated.memory, model.memory, simulated.network, model.network, point.latency, point.imbalance)
        told = [(f"{point.model_speedup(variant):.4g}", f"{100 * point.error(variant):+z.1f}") for variant in shown]
        rows.append(
            (
                *(str(point.q), str(point.p), f"{point.speedup:.4g}"),
                *(cell for pair in told for cell in pair),
                *(f"{round(number, 9) + 0.0:.3g}" for number in numbers[: len(terms)]),
                point.cause(COUNTED),
            )
        )
    below: list[tuple[str, ...]] = [("region", "variant", "points", "mean %", "mean |%|", "largest %", "what fails")]
    below += [
        (
            *(error.region, error.variant, str(error.points)),
            *(f"{100 * error.mean:+z.1f}", f"{100 * error.mean_absolute:.1f}", f"{100 * error.largest:+z.1f}"),
            "; ".join(error.causes),
        )
        for error in regions
    ]
    note = ["memory, network, latency, uneven: relative to the ideal time of the operations on all cores"]
    below += [
        (
            *("all", variant, str(len(points))),
            *(
                f"{number:{form}}"
                for number, form in zip(_overall(points, variant), ("+z.1f", ".1f", "+z.1f"), strict=True)
            ),
            "",
        )
        for variant in SHOWN
    ]
    tables = (_text(below, left={0, 1, 6}, wide=wide), "", _text(rows, left={len(names) - 1}, wide=wide))
    return "\n".join((*prose_lines(head), "", *tables, *(note if wide else ())))


def _overall(points: Sequence[Point], variant: str) -> tuple[float, float, float]:
    """Return the mean, the mean absolute and the largest error of all points, %."""
    errors = [100 * point.error(variant) for point in points]
    return sum(errors) / len(errors), sum(map(abs, errors)) / len(errors), max(errors, key=abs)


def study_json(study: Study, points: Sequence[Point], regions: Sequence[RegionError]) -> dict[str, Any]:
    """Return the study, its points and the errors by region as one JSON object."""
    return {
        "system": study.system.name,
        "app": study.app,
        "n": study.n,
        "points": [_row(point) for point in points],
        "regions": [asdict(error) for error in regions],
        "mean_abs_error_pct": {variant: _overall(points, variant)[1] for variant in SHOWN},
    }


def write_csv(table: pd.DataFrame, folder: Path, name: str) -> Path:
    """Write the table to ``NAME.csv`` in the folder and return its path."""
    path = folder / f"{name}.csv"
    writing.write_csv(table, path)
    return path
