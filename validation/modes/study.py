"""The Li paper's method on simulated times: lines fitted to long messages and tested on longer and shorter ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from apps.recording.events import Mode
from apps.runs.runner import Runner
from platforms.model.platform import Platform
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
from validation.modes.machines import CLUSTERS
from validation.modes.messages import SEQUENTIAL_S, Message, MessageCosts, simulate_messages

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
