"""Limit of the evidence of a prediction: time and memory for its recordings and messages.

The time and memory of messages follow from their number before they are sent; those of a recording are observed while
it is made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from apps.probes.plan import Plan
from platforms.wording import number_of

TIME_S, MEMORY_GB = 900.0, 4.0
EXPERIMENT_S = 2e-4  # rough wall time of an experiment with messages or blocks
_EXPERIMENT_BYTES = 1300  # memory of its description and times; measured: 9.2 GB for 7 million


@dataclass(frozen=True)
class EvidenceLimit:
    """Largest time and memory that the evidence of a prediction may take; infinite: any."""

    time_s: float = TIME_S
    memory_bytes: float = MEMORY_GB * 1e9

    def excess(self, plan: Plan) -> str | None:
        """Return the needs of experiments that exceed the limit; None: they keep it."""
        count = len(plan.experiments)
        time_s, memory_bytes = EXPERIMENT_S * count, _EXPERIMENT_BYTES * count
        if time_s <= self.time_s and memory_bytes <= self.memory_bytes:
            return None
        return f"{count:,} measurements take about {rough_duration(time_s)} and {memory_bytes / 1e9:.2g} GB"

    def __str__(self) -> str:
        time = "any time" if math.isinf(self.time_s) else rough_duration(self.time_s)
        memory = "any memory" if math.isinf(self.memory_bytes) else f"{self.memory_bytes / 1e9:g} GB"
        return f"{time} and {memory}"


def rough_duration(time_s: float) -> str:
    """Return a rough time in words.

    >>> rough_duration(5), rough_duration(600)
    ('5 s', '10 minutes')
    """
    for unit, seconds in (("hour", 3600), ("minute", 60)):
        if time_s >= 2 * seconds:
            return number_of(round(time_s / seconds), unit)
    return f"{max(1, time_s):.0f} s"
