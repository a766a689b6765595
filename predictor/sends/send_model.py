"""The time of a message for its two processes, in each of MPI's send modes, as a linear function of the size.

K.-C. Li, H.-H. Wang and J.-L. Gaudiot, "A Strategy for Point-to-point Node Communication Performance Prediction in
Cluster Environments", section 3.3: t_c(n) = c n + k_l, one line per send mode and process, by least squares (4.2).
The paper counts n in integers of 4 bytes; sizes here are bytes, so that c is a quarter of the paper's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from apps.recording.events import Mode
from platforms.errors import UserError
from predictor.base import OutOfRange


class Side(StrEnum):
    """The two processes of a message."""

    SENDER = "sender"
    RECEIVER = "receiver"


@dataclass(frozen=True)
class Line:
    """A line t(n) = c n + k_l, and the sizes to which it was fitted."""

    c_s_per_byte: float
    k_s: float  # k_l; a fit may make it negative, and then it is no latency
    sizes_bytes: tuple[float, ...]
    rms_s: float  # root mean square of the residuals

    @classmethod
    def fit(cls, sizes_bytes: Sequence[float], times_s: Sequence[float]) -> Line:
        """Return the least-squares line.

        Raises:
            UserError: There are fewer than two different sizes, the numbers of sizes and times differ, or a value is
                negative or not a number.
        """
        sizes, times = np.asarray(sizes_bytes, float), np.asarray(times_s, float)
        if sizes.shape != times.shape or sizes.ndim != 1:
            raise UserError("send times", f"{sizes.size} sizes for {times.size} times", "Give one time per size")
        if not (np.isfinite(sizes).all() and np.isfinite(times).all() and (sizes >= 0).all() and (times >= 0).all()):
            raise UserError("send times", "a size or time is negative or not a number", "Give bytes and seconds")
        if len(set(sizes)) < 2:
            raise UserError("send times", f"{len(set(sizes))} message sizes", "Give at least two different ones")
        slope, intercept = _weights(sizes)
        c, k = float(slope @ times), float(intercept @ times)
        return cls(c, k, tuple(sizes.tolist()), float(np.sqrt(np.mean((c * sizes + k - times) ** 2))))

    def time_s(self, size_bytes: float) -> float:
        """Return c n + k_l, in s; the line's value may be negative."""
        return self.c_s_per_byte * size_bytes + self.k_s

    def error_bound(self, time_error_s: float) -> tuple[float, float]:
        """Return the largest errors of c (s/byte) and k_l (s) if every time is off by at most ``time_error_s``.

        Least squares is linear in the times, so the bounds are exact: the error times the sum of ``|weights|``.
        """
        slope, intercept = _weights(np.asarray(self.sizes_bytes))
        return time_error_s * float(abs(slope).sum()), time_error_s * float(abs(intercept).sum())

    def prediction_bound(self, size_bytes: float, time_error_s: float) -> float:
        """Return the largest error of time_s(size_bytes), s.

        It is smaller than the sum of the effects of the two bounds of ``error_bound``.
        """
        slope, intercept = _weights(np.asarray(self.sizes_bytes))
        return time_error_s * float(abs(slope * size_bytes + intercept).sum())

    def covers(self, size_bytes: float) -> bool:
        """Tell whether the size lies in the range of the fit; outside it, the paper warns, the line may fail (4.2)."""
        return min(self.sizes_bytes) <= size_bytes <= max(self.sizes_bytes)


def _weights(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights w and v with c = w t and k_l = v t for times t of these sizes."""
    centred = sizes - sizes.mean()
    slope = centred / (centred @ centred)
    return slope, 1 / sizes.size - sizes.mean() * slope


@dataclass(frozen=True)
class SendModel:
    """The lines of some send modes, for both processes or for the one that was measured."""

    lines: Mapping[tuple[Mode, Side], Line]

    @classmethod
    def fit(cls, sizes_bytes: Sequence[float], times_s: Mapping[Mode, Mapping[Side, Sequence[float]]]) -> SendModel:
        """Return one line per mode and process, from times in s in the order of the sizes.

        Raises:
            UserError: As ``Line.fit``; the error names mode and process.
        """
        lines = {}
        for mode, sides in times_s.items():
            for side, times in sides.items():
                try:
                    lines[Mode(mode), Side(side)] = Line.fit(sizes_bytes, times)
                except UserError as err:
                    raise UserError(f"{err.where}, {mode.name.lower()} {side}", err.problem, err.remedy) from None
        return cls(lines)

    def line(self, mode: Mode, side: Side) -> Line:
        """Return the line of a mode and process.

        Raises:
            OutOfRange: The mode or process was not measured.
        """
        if (mode, side) not in self.lines:
            known = ", ".join(f"{m.name.lower()} {s}" for m, s in self.lines)
            raise OutOfRange(f"{mode.name.lower()} {side}", "its times were not measured", f"Known: {known}")
        return self.lines[mode, side]

    def time_s(self, size_bytes: float, mode: Mode, side: Side) -> float:
        """Return the process's time for one message, s.

        Raises:
            OutOfRange: The mode was not measured, or the size is so small that the line is below zero.
        """
        time_s = self.line(mode, side).time_s(size_bytes)
        if not time_s >= 0:  # refuses NaN too
            problem = f"the line of the {side}, mode {mode.name.lower()}, gives {time_s:.3g} s"
            raise OutOfRange(f"message of {size_bytes:g} bytes", problem, "Fit the line to sizes as small as this")
        return time_s
