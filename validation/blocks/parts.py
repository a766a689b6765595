"""Parts of the times of each label's processes, evaluated and simulated.

A simulated run tells the time inside MPI from the time outside it, which is that of computations and disks; a process
that waits for a message is inside MPI, as is one whose message is on its way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from predictor.blocks.parts import total

if TYPE_CHECKING:
    from apps.results.record import RunRecord
    from predictor.blocks.application import Application
    from predictor.blocks.evaluation.evaluate import Result

PARTS = {
    "working_s": "computing, disk",
    "messages_s": "sending, waiting",
    "idle_s": "idle",
}  # columns, and their names in tables


@dataclass(frozen=True)
class LabelParts:
    """Parts of the time until the end of a label's last process, s, the mean over its processes."""

    processes: int
    working_s: float  # computing and disks
    messages_s: float  # sending and waiting
    idle_s: float  # after the end of a process


def evaluated_parts(result: Result) -> dict[str, LabelParts]:
    """Return the parts by label of an evaluation that has found the parts."""
    by_label = {}
    for label in result.labels:
        parts, n = total(label.steps), label.processes
        working_s, messages_s = parts.computing_s + parts.disk_s, parts.sending_s + parts.waiting_s
        by_label[label.label] = LabelParts(n, working_s / n, messages_s / n, label.idle_s / n)
    return by_label


def simulated_parts(application: Application, record: RunRecord) -> dict[str, LabelParts]:
    """Return the parts by label of a simulated run."""
    by_label, first = {}, 0
    ended_s = np.add(record.compute_s, record.comm_s)
    for label, count in application.counts().items():
        ranks = slice(first, first + count)
        if count:
            working_s, messages_s = float(np.mean(record.compute_s[ranks])), float(np.mean(record.comm_s[ranks]))
            idle_s = float(ended_s[ranks].max() - ended_s[ranks].mean())
            by_label[label] = LabelParts(count, working_s, messages_s, idle_s)
        first += count
    return by_label


def mean_parts(parts: Mapping[str, LabelParts], time_s: float, prefix: str) -> dict[str, float]:
    """Return the parts by column, s, the mean over all processes; here idle lasts until the overall end."""
    processes = sum(part.processes for part in parts.values())
    working_s, messages_s = (
        sum(part.processes * getattr(part, name) for part in parts.values()) / processes
        for name in ("working_s", "messages_s")
    )
    values = working_s, messages_s, max(0.0, time_s - working_s - messages_s)
    return {f"{prefix}{name}": value for name, value in zip(PARTS, values, strict=True)}
