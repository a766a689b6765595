"""Cautions about what recordings hold and models that add up flops and messages leave out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from apps.recording.events import Kind, Recording
from predictor.dpgraph.polls import has_polls


def left_out(recordings: Iterable[Recording]) -> Sequence[str]:
    """Return the cautions of a model that ignores time without flops and polls for messages."""
    used = list(recordings)
    seconds = max((_elapsed_s(events) for program in used for events in program.events), default=0.0)
    flags = []
    if seconds > 0:
        flags.append(
            f"time that the program spends without flops (sleep, smpi_execute_benched) is not counted: "
            f"up to {seconds:.3g} s of a rank in the recording"
        )
    if any(has_polls(program) for program in used):
        flags.append("polls for messages (MPI_Test, MPI_Iprobe and the like) are assumed to take no time")
    return flags


def _elapsed_s(events: np.ndarray) -> float:
    return float(events["amount"][events["kind"] == Kind.ELAPSE].sum())
