"""Caution where an all-to-all sends blocks that wait for their receivers, on a platform calibrated from a machine.

Under TCP such blocks are announced first, and the answers wait behind other data: measured all-to-alls take longer than
simulated.  Where clusters of unlike speed share a link or a switch, slow ranks go on computing while what they have
sent is still under way: the run takes less time than simulated (docs/validation/league.md).  SMPI can express
neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from apps.results.record import RunRecord
from apps.spec.target import Target
from predictor.base import Evidence, Prediction

_OPERATIONS = {"alltoall": "MPI_Alltoall", "alltoallv": "MPI_Alltoallv"}  # by their names in records
_THRESHOLD = "smpi/async-small-thresh"
# Of measured over predicted times of FT and IS on emulated grids, without a higher limit of eager messages.
SEEN = (0.84, 1.28)


def with_handshakes(prediction: Prediction, target: Target, evidence: Sequence[Evidence]) -> Prediction:
    """Return the prediction, with a caution if the blocks of its all-to-alls wait for their receivers."""
    threshold = float(dict(target.platform.options).get(_THRESHOLD, "inf"))
    runs = [item.answer for item in evidence if isinstance(item.answer, RunRecord)]
    block, name = max(
        (
            (largest_block(run, operation, target.nranks), name)
            for run in runs
            for operation, name in _OPERATIONS.items()
        ),
        default=(0.0, ""),
    )
    if block < threshold or all(run.source != "measurement" for run in runs):
        return prediction
    flag = (
        f"{name} sends blocks of {block:.0f} bytes, and from {threshold:.0f} bytes on messages wait for their "
        f"receivers: measured runs took {SEEN[0]:g} to {SEEN[1]:g} times as long as predicted (a higher limit of eager "
        "messages avoids it)"
    )
    return replace(prediction, flags=(*prediction.flags, flag))


def largest_block(run: RunRecord, operation: str, ranks: int) -> float:
    """Return the bytes that a rank sends to each of ``ranks`` by one call, if all send as much together as in a run."""
    used = run.collectives.get(operation)
    if not used or not used["calls"]:
        return 0.0
    return float(sum(used["bytes"]) / used["calls"]) / (ranks * ranks)
