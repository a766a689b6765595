"""Cautions about what recordings hold and models that add up flops and messages leave out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from apps.recording.events import Kind, Recording
from predictor.dpgraph.looks import has_looks


def left_out(recordings: Iterable[Recording]) -> Sequence[str]:
    """Return the cautions of a model that counts neither seconds without flops nor looks for messages."""
    used = list(recordings)
    seconds = max((_elapsed_s(events) for program in used for events in program.events), default=0.0)
    flags = []
    if seconds > 0:
        flags.append(
            f"time that the program lets pass without flops (sleep, smpi_execute_benched) is not counted: "
            f"up to {seconds:.3g} s of a rank in the recording"
        )
    if any(has_looks(program) for program in used):
        flags.append("looks for messages (MPI_Test, MPI_Iprobe and their kind) are taken to cost no time")
    return flags


def _elapsed_s(events: np.ndarray) -> float:
    return float(events["amount"][events["kind"] == Kind.ELAPSE].sum())
