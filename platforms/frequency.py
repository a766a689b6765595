"""Frequency levels of nodes: speed in proportion to the frequency, dynamic power by a power law.

J.-C. Charr, R. Couturier, A. Fanfakh, A. Giersch, "Energy consumption reduction for message passing iterative
applications in heterogeneous architecture using DVFS", 2015: with the scaling factor S = f_max / f computation takes S
times as long and dynamic power, which goes as V^2 f with V in proportion to f, is P_d S^-3; static power stays.
"""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from platforms.errors import PlatformError
from platforms.platform import Power

CUBIC = 3.0  # exponent of f in the dynamic power
MOST_LEVELS = 1000
_SAME = 5e-3  # relative: a frequency that is asked for this close to a level is that level


@dataclass(frozen=True)
class Frequencies:
    """The levels of a node: max_hz, max_hz - step_hz, ..., and min_hz.  Checked when made: raises PlatformError.

    >>> Frequencies(max_hz=2e9, min_hz=1.4e9, step_hz=0.3e9).levels_hz
    (2000000000.0, 1700000000.0, 1400000000.0)
    """

    max_hz: float  # > 0; what the speed and the power of the node are given for
    min_hz: float  # > 0, <= max_hz
    step_hz: float  # > 0; published steps are rounded: a level less than half a step above min_hz is min_hz
    dynamic_exponent: float = CUBIC  # of f in the dynamic power, >= 0
    assumed: tuple[str, ...] = ()  # keys of what is not published

    def __post_init__(self) -> None:
        where = f"frequencies {ghz(self.max_hz)} to {ghz(self.min_hz)} GHz, step {ghz(self.step_hz)}"
        if not 0 < self.min_hz <= self.max_hz < math.inf:
            raise PlatformError(where, "not a range", "Give 0 < min_ghz <= max_ghz")
        if not 0 < self.step_hz < math.inf:
            raise PlatformError(where, "the step is not positive", "Give a positive one")
        if (self.max_hz - self.min_hz) / self.step_hz > MOST_LEVELS:
            raise PlatformError(where, f"more than {MOST_LEVELS} levels", "Give a larger step")
        if not 0 <= self.dynamic_exponent < math.inf:
            raise PlatformError(where, f"dynamic_exponent is {self.dynamic_exponent}", "Give 0 or more, such as 3")

    @functools.cached_property
    def levels_hz(self) -> tuple[float, ...]:
        """From the highest down."""
        steps = round((self.max_hz - self.min_hz) / self.step_hz)
        upper = (float(f"{self.max_hz - k * self.step_hz:.12g}") for k in range(steps))
        return (*upper, self.min_hz) if steps or self.min_hz == self.max_hz else (self.max_hz, self.min_hz)

    def level_hz(self, frequency_hz: float, where: str) -> float:
        """The level that is meant by a frequency, which may be rounded; raises PlatformError where there is none."""
        nearest_hz = min(self.levels_hz, key=lambda level_hz: abs(level_hz - frequency_hz))
        if not abs(nearest_hz - frequency_hz) <= _SAME * nearest_hz:
            levels = ", ".join(ghz(level_hz) for level_hz in self.levels_hz)
            raise PlatformError(where, f"no level of {frequency_hz / 1e9:g} GHz", f"Levels: {levels} GHz")
        return nearest_hz

    def slowdown(self, frequency_hz: float) -> float:
        """S = f_max / f, from 1."""
        return self.max_hz / frequency_hz

    def power(self, at_max: Power, frequency_hz: float) -> Power:
        """W at a level, from those at the highest: what is above idle goes as f^dynamic_exponent, idle stays."""
        share = self.slowdown(frequency_hz) ** -self.dynamic_exponent
        return Power(
            at_max.idle_w,
            at_max.idle_w + share * (at_max.full_w - at_max.idle_w),
            at_max.idle_w + share * (at_max.epsilon_w - at_max.idle_w),
        )


def ghz(frequency_hz: float) -> str:
    """GHz for a reader."""
    return f"{frequency_hz / 1e9:.4g}"


def known_frequencies(speed_flops: float) -> Frequencies | None:
    """The levels of the node type whose cores have this speed at their highest frequency; None: no such type."""
    return next((one for speed, one in _types() if math.isclose(speed, speed_flops, rel_tol=1e-9)), None)


def known_speeds_flops() -> list[float]:
    """The speeds that ``known_frequencies`` knows."""
    return sorted(speed for speed, _ in _types())


def parse_frequency(text: str, clusters: Sequence[tuple[str, Frequencies]]) -> tuple[float, ...]:
    """The frequency of each cluster, Hz, that an option asks for: GHz, ``min`` or ``max``, for all or one for each.

    ``clusters``: name and levels.  Raises PlatformError for what is no level.
    """
    parts = [part.strip() for part in text.split(",")]
    where = f"--frequency {text}"
    if len(parts) == 1:
        parts *= len(clusters)
    if len(parts) != len(clusters):
        raise PlatformError(
            where, f"{len(parts)} frequencies for {len(clusters)} clusters", "Give one, or one for each"
        )
    found = []
    for part, (name, levels) in zip(parts, clusters, strict=True):
        if part in ("min", "max"):
            found.append(levels.min_hz if part == "min" else levels.max_hz)
            continue
        try:
            frequency_hz = float(part) * 1e9
        except ValueError:
            raise PlatformError(where, f"{part!r} is not a frequency", "Write GHz, min or max") from None
        found.append(levels.level_hz(frequency_hz, f"{where}, cluster {name}"))
    return tuple(found)


@functools.cache
def _types() -> tuple[tuple[float, Frequencies], ...]:
    """Speed at the highest frequency, flop/s, and levels."""
    table = tomllib.loads(Path(__file__).with_name("frequencies.toml").read_text("utf-8"))
    return tuple(
        (
            entry["speed_gflops"] * 1e9,
            Frequencies(
                entry["max_ghz"] * 1e9,
                entry["min_ghz"] * 1e9,
                entry["step_ghz"] * 1e9,
                assumed=tuple(entry.get("assumed", ())),
            ),
        )
        for entry in table["types"]
    )
