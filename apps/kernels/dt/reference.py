"""Reference for DT: the numbers of all sources, added up in numpy as often as paths lead from a source to a sink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from apps.errors import KernelError
from apps.kernels.dt.traffic import FEATURES, samples_of_sources
from apps.kernels.harness.random import advanced, states

MOST_NUMBERS = 2**27  # drawn by all sources; 1 GB


def references(params: Mapping[str, Any], nranks: int) -> dict[str, float]:
    """Return the sum of all sinks.

    Adding arrays loses no number, so every number of a source reaches the sum once by each path: by one path to the
    only sink of a black hole, and by as many paths as there are sinks in the other graphs.

    Raises:
        KernelError: The sources would need too much memory.
    """
    width, mean, deviation = (int(params[name]) for name in ("num_sources", "num_samples", "std_deviation"))
    sources = 1 if params["graph"] == "WH" else width
    paths = 1 if params["graph"] == "BH" else width
    most = FEATURES * (mean + deviation)  # numbers of the longest possible source
    if sources * most > MOST_NUMBERS:
        remedy = "Choose a smaller class, or mode skeleton"
        raise KernelError(f"{sources} sources of {mean} samples", "too large to be verified", remedy)
    first, total = states(most), 0
    for source, samples in enumerate(samples_of_sources(sources, mean, deviation)):
        drawn = advanced(first[: FEATURES * samples], source * most)
        total += int((drawn >> np.uint64(36)).sum())
    return {"checksum": float(paths * total)}
