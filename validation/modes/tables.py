"""Text, JSON and CSV files of a study."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from platforms.files.writing import write_csv
from platforms.terminal.prose import prose_lines
from predictor.sends.send_model import Side
from predictor.sends.tables import INTEGER_BYTES
from validation.comparison.rows import records
from validation.modes.study import Study
from validation.presentation.tables import table_of

TABLES = ("reproduced", "predicted", "small", "programs")


def study_text(study: Study) -> str:
    """Return the study as text with one section per table."""
    return "\n\n".join("\n".join([*prose_lines(title), "", text]) for title, text in _sections(study))


def study_json(study: Study) -> dict[str, Any]:
    """Return the fit and the tables, as lists of rows, as one JSON object."""
    return {
        "cluster": study.cluster,
        "model": _model_rows(study),
        "components": asdict(study.components),
        "hidden_copy_share": study.hidden_copy_share,
        **{name: records(getattr(study, name)) for name in TABLES},
    }


def write_tables(study: Study, folder: Path) -> None:
    """Write ``CLUSTER-TABLE.csv`` for every table.

    Raises:
        OSError: A file cannot be written.
    """
    for name in TABLES:
        write_csv(getattr(study, name), folder / f"{study.cluster}-{name}.csv")
    write_csv(pd.DataFrame(_model_rows(study)), folder / f"{study.cluster}-model.csv")


def _sections(study: Study) -> Iterator[tuple[str, str]]:
    reproduced = study.reproduced
    worst = reproduced["error_pct"].abs().max()
    yield (
        f"{study.cluster}: Table 2 simulated, error % against the published time (largest {worst:.1f} %)",
        _wide(reproduced, "integers", "error_pct", "{:+z.1f}"),
    )
    rows = [
        f"{mode.name.lower():>11} {side:8} c = {1e9 * line.c_s_per_byte:7.2f} ns/byte, k_l = {1e3 * line.k_s:+.3f} ms"
        for (mode, side), line in study.model.lines.items()
    ]
    yield "Lines fitted to the simulated times of 100,000 to 1,000,000 integers", "\n".join(rows)
    parts = study.components
    yield (
        f"Components, standard mode, if copies and transfer do not overlap (hidden share of c1: "
        f"{study.hidden_copy_share:.2f})",
        f"c1 = {parts.c1_s_per_byte * 1e9:.2f}, k_b = {parts.k_b_s_per_byte * 1e9:.2f}, "
        f"c2 = {parts.c2_s_per_byte * 1e9:.2f} ns/byte, k_l = {parts.k_l_s * 1e3:.3f} ms",
    )
    predicted = study.predicted.assign(integers=study.predicted["size_bytes"] // INTEGER_BYTES)
    yield (
        "As Table 4: error % of the lines against the simulated time, by integers",
        _wide(predicted, "integers", "error_pct", "{:+z.1f}"),
    )
    measured = predicted.dropna(subset=["measured_s"])
    measured = measured.assign(error_pct=100 * (measured["simulated_s"] / measured["measured_s"] - 1))
    yield (
        "Simulated time at the sizes of Table 4, error % against the time measured there (not used in any fit)",
        _wide(measured, "integers", "error_pct", "{:+z.1f}"),
    )
    yield (
        "Whole program, largest error % of T_exec over these sizes",
        "\n".join(
            f"{mode:>11} {rows['error_pct'].abs().max():.2f}"
            for mode, rows in study.programs.groupby("mode", sort=False)
        ),
    )
    yield (
        "Small messages: error % of the lines, by bytes (S: sender, R: receiver, Ki: 1024; below -100: negative time; "
        "-: simulated below 1 us)",
        _wide(study.small, "size_bytes", "error_pct", "{:+.0f}", ends=("S", "R")),
    )


def _wide(table: pd.DataFrame, columns: str, values: str, form: str, *, ends: tuple[str, str] | None = None) -> str:
    """Return a table with a line per mode and side, which ``ends`` abbreviates for wide tables."""
    wide = table.pivot(index=["mode", "side"], columns=columns, values=values)
    order = table.drop_duplicates(subset=["mode", "side"])[["mode", "side"]].itertuples(index=False, name=None)
    text = wide.loc[list(order)].map(lambda value: "-" if value != value else form.format(value))
    shown = text.reset_index().rename_axis(columns=None)
    by_heading = {_heading(name): list(shown[name]) for name in shown}
    if ends is not None:
        sides = [ends[side == Side.RECEIVER.value] for side in by_heading.pop("side")]
        by_heading["mode"] = [f"{mode}, {side}" for mode, side in zip(by_heading["mode"], sides, strict=True)]
    return "\n".join(table_of(by_heading, left=("mode", "side")))


def _heading(name: object) -> str:
    """Return a heading; numbers of thousands, and of 1024, are shortened."""
    for unit, many in (("k", 1000), ("Ki", 1024)):
        if isinstance(name, int) and name % many == 0 and name:
            return f"{name // many}{unit}"
    return str(name)


def _model_rows(study: Study) -> list[dict[str, Any]]:
    return [
        {"mode": mode.name.lower(), "side": side.value, "c_s_per_byte": line.c_s_per_byte, "k_l_s": line.k_s}
        for (mode, side), line in study.model.lines.items()
    ]
