"""The Li paper's method on simulated times: lines fitted to long messages, tested on others, and written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from apps.recording.events import Mode
from apps.runs.runner import Runner
from platforms.files.writing import write_csv
from platforms.model.platform import Platform
from platforms.terminal.prose import prose_lines
from predictor.sends import tables as li_tables
from predictor.sends.components import (
    MessageComponents,
    execution_time_s,
    hidden_copy_share,
    identify_components,
    percentage_error,
)
from predictor.sends.send_model import SendModel, Side
from predictor.sends.tables import INTEGER_BYTES
from validation.comparison.rows import records
from validation.modes.machines import CLUSTERS
from validation.modes.messages import SEQUENTIAL_S, Message, MessageCosts, simulate_messages
from validation.presentation.tables import table_of

MODES = (Mode.STANDARD, Mode.BUFFERED, Mode.READY, Mode.SYNCHRONOUS)  # in the order of Table 2
# The sizes of Table 4 (a) and (b); SMALL_BYTES are sizes that the paper left out, 1 byte to 64 KiB.
PREDICTED_BYTES = tuple(INTEGER_BYTES * 1000 * n for n in (40, 60, 80, 1200, 1400, 1600, 1700, 2000))
_LEAST_S = 1e-6
SMALL_BYTES = (1, 4, 16, 64, 256, 1024, 4096, 16384, 32768, 65536)


@dataclass(frozen=True)
class Study:
    """The fitted model, and tables with one row per mode, size and process; times in s.

    - ``reproduced``: columns mode, side, integers, published_s (Table 2), simulated_s and its error_pct.
    - ``predicted`` (Table 4) and ``small``: columns mode, side, size_bytes, simulated_s, predicted_s, error_pct, and
      in ``predicted`` measured_s, as far as Table 4 has it.
    - ``programs``: columns mode, size_bytes, simulated_s, predicted_s and error_pct of the whole program (Figure 5).
    """

    cluster: str
    model: SendModel  # fitted to the simulated times of Table 2's sizes
    components: MessageComponents  # components of the standard mode
    hidden_copy_share: float  # hidden share of the copies in the standard mode
    reproduced: pd.DataFrame
    predicted: pd.DataFrame
    small: pd.DataFrame
    programs: pd.DataFrame


def messages() -> list[Message]:
    """Return the messages of a study."""
    return [(mode, size) for mode in MODES for size in (*li_tables.sizes_bytes(), *PREDICTED_BYTES, *SMALL_BYTES)]


def study(cluster: str, platform: Platform, costs: MessageCosts, runner: Runner) -> Study:
    """Simulate 100 messages on the platform of a scenario of CLUSTERS.

    Raises:
        SimulationError: A run failed.
    """
    fitted = li_tables.sizes_bytes()
    times = simulate_messages(platform, messages(), costs, runner)
    model = SendModel.fit(
        fitted, {mode: {side: [times[mode, size].of(side) for size in fitted] for side in Side} for mode in MODES}
    )
    measured = {
        (row.mode, row.size_bytes): row.measured_s.value
        for row in li_tables.predictions()
        if row.cluster == CLUSTERS[cluster]
    }

    def reproduced() -> Iterator[dict[str, Any]]:
        for mode, sides in li_tables.times_s(CLUSTERS[cluster]).items():
            for side, published in sides.items():
                for size, published_s in zip(fitted, published, strict=True):
                    simulated_s = times[mode, size].of(side)
                    yield {
                        **_key(mode, side),
                        "integers": size // INTEGER_BYTES,
                        "published_s": published_s,
                        "simulated_s": simulated_s,
                        "error_pct": percentage_error(simulated_s, published_s),
                    }

    def predicted(wanted: Sequence[int]) -> Iterator[dict[str, Any]]:
        for mode in MODES:
            for side in Side:
                for size in wanted:
                    simulated_s, predicted_s = times[mode, size].of(side), model.line(mode, side).time_s(size)
                    yield {
                        **_key(mode, side),
                        "size_bytes": size,
                        "simulated_s": simulated_s,
                        "predicted_s": predicted_s,
                        "error_pct": _relative(predicted_s, simulated_s),
                        "measured_s": measured.get((mode, size)) if side is Side.SENDER else None,
                    }

    def programs() -> Iterator[dict[str, Any]]:
        for mode in MODES:
            for size in PREDICTED_BYTES:
                parts = [(SEQUENTIAL_S, model.line(mode, side).time_s(size), SEQUENTIAL_S) for side in Side]
                simulated_s, predicted_s = times[mode, size].program_s, execution_time_s(parts)
                yield {
                    "mode": mode.name.lower(),
                    "size_bytes": size,
                    "simulated_s": simulated_s,
                    "predicted_s": predicted_s,
                    "error_pct": percentage_error(predicted_s, simulated_s),
                }

    return Study(
        cluster=cluster,
        model=model,
        components=identify_components(model),
        hidden_copy_share=hidden_copy_share(model),
        reproduced=pd.DataFrame(reproduced()),
        predicted=pd.DataFrame(predicted(PREDICTED_BYTES)).astype({"measured_s": float, "error_pct": float}),
        small=pd.DataFrame(predicted(SMALL_BYTES)).drop(columns="measured_s").astype({"error_pct": float}),
        programs=pd.DataFrame(programs()),
    )


def _relative(predicted_s: float, simulated_s: float) -> float | None:
    """Return the error in %, or None if the simulated time is too short for a relative error."""
    return percentage_error(predicted_s, simulated_s) if simulated_s >= _LEAST_S else None


def _key(mode: Mode, side: Side) -> dict[str, str]:
    return {"mode": mode.name.lower(), "side": side.value}


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
