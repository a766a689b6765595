"""Frequency levels of nodes: speed is proportional to the frequency, dynamic power follows a power law.

J.-C. Charr, R. Couturier, A. Fanfakh, A. Giersch, "Energy consumption reduction for message passing iterative
applications in heterogeneous architecture using DVFS", 2015: with the scaling factor S = f_max / f, computation takes S
times as long; dynamic power is proportional to V^2 f with V proportional to f, and is therefore P_d S^-3; static power
is constant.
"""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from platforms.errors import PlatformError
from platforms.model.platform import Power

CUBIC = 3.0  # exponent of f in the dynamic power
MOST_LEVELS = 1000
_SAME = 5e-3  # relative tolerance: a requested frequency this close to a level means that level


@dataclass(frozen=True)
class Frequencies:
    """The frequency levels of a node: max_hz, max_hz - step_hz, ..., and min_hz.

    Raises:
        PlatformError: The values do not describe a range of levels.

    >>> Frequencies(max_hz=2e9, min_hz=1.4e9, step_hz=0.3e9).levels_hz
    (2000000000.0, 1700000000.0, 1400000000.0)
    """

    max_hz: float  # > 0; the node's speed and power are given for this frequency
    min_hz: float  # > 0, <= max_hz
    step_hz: float  # > 0; published steps are rounded: a level less than half a step above min_hz is min_hz
    dynamic_exponent: float = CUBIC  # exponent of f in the dynamic power, >= 0
    assumed: tuple[str, ...] = ()  # keys of the values that are assumed because they are not published

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
        """All levels in Hz, from the highest to the lowest."""
        steps = round((self.max_hz - self.min_hz) / self.step_hz)
        upper = (float(f"{self.max_hz - k * self.step_hz:.12g}") for k in range(steps))
        return (*upper, self.min_hz) if steps or self.min_hz == self.max_hz else (self.max_hz, self.min_hz)

    def level_hz(self, frequency_hz: float, where: str) -> float:
        """Return the level in Hz that a frequency, which may be rounded, stands for.

        ``where`` begins the error message.

        Raises:
            PlatformError: No level is close to the frequency.
        """
        nearest_hz = min(self.levels_hz, key=lambda level_hz: abs(level_hz - frequency_hz))
        if not abs(nearest_hz - frequency_hz) <= _SAME * nearest_hz:
            levels = ", ".join(ghz(level_hz) for level_hz in self.levels_hz)
            raise PlatformError(where, f"no level of {frequency_hz / 1e9:g} GHz", f"Levels: {levels} GHz")
        return nearest_hz

    def slowdown(self, frequency_hz: float) -> float:
        """Return the scaling factor S = f_max / f, >= 1."""
        return self.max_hz / frequency_hz

    def power(self, at_max: Power, frequency_hz: float) -> Power:
        """Return the power at a level, given the power at the highest level.

        The power above idle is proportional to f^dynamic_exponent; the idle power does not change.
        """
        share = self.slowdown(frequency_hz) ** -self.dynamic_exponent
        return Power(
            at_max.idle_w,
            at_max.idle_w + share * (at_max.full_w - at_max.idle_w),
            at_max.idle_w + share * (at_max.epsilon_w - at_max.idle_w),
        )


def ghz(frequency_hz: float) -> str:
    """Return a frequency in GHz, rounded to four digits, for messages."""
    return f"{frequency_hz / 1e9:.4g}"


def known_frequencies(speed_flops: float) -> Frequencies | None:
    """Return the levels of the node type whose cores have this speed at their highest frequency, else None."""
    return next(
        (frequencies for speed, frequencies in _types() if math.isclose(speed, speed_flops, rel_tol=1e-9)), None
    )


def known_speeds_flops() -> list[float]:
    """Return the speeds, flop/s, for which ``known_frequencies`` has levels."""
    return sorted(speed for speed, _ in _types())


def parse_frequency(text: str, clusters: Sequence[tuple[str, Frequencies]]) -> tuple[float, ...]:
    """Return the frequency of each cluster, Hz, that the option --frequency asks for.

    Args:
        text: A frequency in GHz, ``min`` or ``max``: one for all clusters, or one per cluster separated by commas.
        clusters: Name and levels of each cluster.

    Raises:
        PlatformError: The text is not of this form, or a frequency is not a level of its cluster.
    """
    parts = [part.strip() for part in text.split(",")]
    where = f"--frequency {text}"
    if len(parts) == 1:
        parts *= len(clusters)
    if len(parts) != len(clusters):
        raise PlatformError(
            where, f"{len(parts)} frequencies for {len(clusters)} clusters", "Give one, or one for each"
        )
    frequencies = []
    for part, (name, levels) in zip(parts, clusters, strict=True):
        if part in ("min", "max"):
            frequencies.append(levels.min_hz if part == "min" else levels.max_hz)
            continue
        try:
            frequency_hz = float(part) * 1e9
        except ValueError:
            raise PlatformError(where, f"{part!r} is not a frequency", "Write GHz, min or max") from None
        frequencies.append(levels.level_hz(frequency_hz, f"{where}, cluster {name}"))
    return tuple(frequencies)


@functools.cache
def _types() -> tuple[tuple[float, Frequencies], ...]:
    """Return the speed at the highest frequency, flop/s, and the levels of every node type of frequencies.toml."""
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
