"""The first lines of results: the time of every target, its interval, and bars of computation and communication."""

from __future__ import annotations

from collections.abc import Sequence

from platforms.terminal.quantities import NONE, duration, duration_beside, interval_text, percent
from platforms.terminal.table import table_lines
from validation.comparison.rows import Row, distinct, known, rows_by

MOST_TARGETS = 20  # more have no lines of their own
_TARGET = ("scenario", "network", "app", "class", "ranks", "mapping", "efficiency")
_BAR = 24  # characters


def name_of_times(targets: Sequence[Sequence[Row]]) -> str:
    """Return what to call the times of targets: communication times where none of them computes."""
    return "communication time" if all(of_target[0]["compute_share"] == 0 for of_target in targets) else "time"


def answers_lines(results: Sequence[Row]) -> list[str]:
    """Return a line for each simulated target; none if they are many, measured, or of several networks or sizes.

    The interval is the narrowest of its predictions'.

    Args:
        results: The results that have a prediction, with the columns of validation.comparison.compare.Result.
    """
    targets = list(rows_by(known(results, "compute_share"), *_TARGET).values())
    named = {(rows[0]["scenario"], rows[0]["app"], rows[0]["class"]) for rows in targets}
    alike = len(named) == len(targets)
    if not alike or not targets or len(targets) > MOST_TARGETS or {row["truth"] for row in results} == {"measurement"}:
        return []
    several = len(distinct(results, "scenario")) > 1
    rows: list[Sequence[str]] = [
        (
            "program",
            *(["platform"] if several else []),
            name_of_times(targets),
            "90 % interval",
            "computation #, rest .",
            "%",
            "by",
        )
    ]
    for of_target in targets:
        first = of_target[0]
        calibrated = known(of_target, "interval_low_s")
        time_text, interval, by = duration(first["simulated_s"]), NONE, ""
        if calibrated:
            best = min(calibrated, key=lambda row: row["interval_high_s"] - row["interval_low_s"])
            ends = best["interval_low_s"], best["interval_high_s"]
            time_text = duration_beside(first["simulated_s"], *ends)
            interval, by = interval_text(*ends, like_s=first["simulated_s"]), best["predictor"]
        share = min(1.0, max(0.0, first["compute_share"]))
        filled = round(_BAR * share)
        rows.append((
            f"{first['app']} {first['class']}" if first["class"] else first["app"],
            *([first["scenario"]] if several else []),
            time_text,
            interval,
            "#" * filled + "." * (_BAR - filled),
            percent(100 * share),
            by,
        ))  # fmt: skip
    last = len(rows[0]) - 1
    return table_lines(rows, left={0, last - 2, last, *({1} if several else ())})
