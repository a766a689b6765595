"""Interval around the message times of the fitted platform that contains 90 % of new measurements.

The ratios measured / modelled of the 19 nearest sizes define 20 gaps between and outside them; the ratio of a new size
is equally likely to lie in each, if the sizes are exchangeable.  The range of the 19 thus contains it in 18 of 20 cases
(distribution-free prediction intervals: V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random World",
2005).
"""

from __future__ import annotations

import re

import numpy as np

from apps.probes.segments import Array
from platforms.model.platform import Platform

NEAREST = 19
PROPERTY = "message_error"  # of the outermost zone: bounds of the ratio for 90 % of all sizes, LOW:HIGH
_ENDS = (0.05, 0.95)
_FEWEST = 10  # ratios needed for such bounds
_WRITTEN = re.compile(rf'<prop id="{PROPERTY}" value="([0-9.e+-]+):([0-9.e+-]+)"'.encode())


def near_ratios(sizes: Array, ratios: Array, asked: Array) -> tuple[Array, Array]:
    """Return the smallest and the largest ratio of the NEAREST sizes around each given size, by their logarithms."""
    apart = np.abs(np.log1p(sizes)[None, :] - np.log1p(asked)[:, None])
    near = ratios[np.argsort(apart, axis=1, kind="stable")[:, :NEAREST]]
    return near.min(axis=1), near.max(axis=1)


def ends(ratios: Array) -> tuple[float, float] | None:
    """Return bounds that contain 90 % of similar ratios; None: there are too few of them."""
    if len(ratios) < _FEWEST:
        return None
    ordered, more = np.sort(ratios), len(ratios) + 1
    low, high = max(1, int(_ENDS[0] * more)), min(len(ratios), int(np.ceil(_ENDS[1] * more)))
    return float(ordered[low - 1]), float(ordered[high - 1])


def property_of(found: tuple[float, float] | None) -> dict[str, str]:
    """Return the property of the platform's outermost zone; empty if the bounds are not known."""
    return {} if found is None else {PROPERTY: f"{found[0]:.4g}:{found[1]:.4g}"}


def message_error(platform: Platform) -> tuple[float, float] | None:
    """Return the bounds in the platform file; None: it has none."""
    content = (platform.kept or platform.path).read_bytes()
    match = _WRITTEN.search(content)
    return None if match is None else (float(match[1]), float(match[2]))
