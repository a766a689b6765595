"""The time printed by a program: its place in the output, and the clock readings that bound it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from apps.errors import KernelError, OptionError

OPTION = "--time-from"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?"
_UNITS = {"time": 1.0, "time:s": 1.0, "time:ms": 1e-3, "time:us": 1e-6, "time:min": 60.0}
_REMEDY = "Write for example 'Time in seconds = {time}'; {time:ms} and {time:us} are other units"
_PLACEHOLDER = re.compile(r"\{(time[^{}]*)\}")


@dataclass(frozen=True)
class Printed:
    """A time that a program has printed."""

    time_s: float
    digit_s: float  # the worth of its last digit

    def is_near(self, time_s: float) -> bool:
        """Return whether a time equals the printed one, within its digits."""
        return abs(time_s - self.time_s) <= self.digit_s * (1 + 1e-9) + 1e-9 * abs(self.time_s)


@dataclass(frozen=True)
class Timer:
    """The clock readings that bound the printed time; each number has a constant part, and a part per iteration.

    The number of a reading or of a collective in a run of n iterations is ``base + n * slope``.
    """

    first: tuple[int, int]  # reading, counted from 1 on each rank
    last: tuple[int, int]
    rank: int | None  # the rank whose time is printed; None: the longest of all ranks
    read_by_all: bool  # all ranks read the clock there
    begin: tuple[int, int]  # collectives of all ranks before the first reading, for ranks that do not read the clock
    end: tuple[int, int]
    simulated: bool  # both readings are of the simulated time, so that the program prints it

    def settings(self, iterations: int) -> dict[str, str]:
        """Return the recorder's setting for a run of a number of iterations (recorder/timer.c)."""
        first, last, begin, end = (
            base + slope * iterations for base, slope in (self.first, self.last, self.begin, self.end)
        )
        rank = -1 if self.read_by_all or self.rank is None else self.rank
        return {"RECORDER_TIMER": f"{first} {last} {rank} {begin} {end}"}


def check_pattern(pattern: str) -> None:
    """Check the text around a printed time.

    Raises:
        OptionError: It does not say where the number stands, or names an unknown unit.
    """
    _compiled(pattern)


def printed_time(pattern: str, output: str) -> Printed | None:
    """Return the last time in the output that matches the pattern; None: nothing matches.

    >>> printed_time("Time in seconds = {time}", " Time in seconds =         1.80").time_s
    1.8
    """
    expression, unit_s = _compiled(pattern)
    matches = list(expression.finditer(output))
    if not matches:
        return None
    text = matches[-1].group("time").lower().replace("d", "e")
    digits, _, exponent = text.partition("e")
    decimals = len(digits.partition(".")[2])
    return Printed(float(text) * unit_s, 10.0 ** (int(exponent or 0) - decimals) * unit_s)


def checked(pattern: str, output: str, timer: Timer, time_s: float, where: str) -> None:
    """Check that a run's timed section takes the time that its program has printed.

    Raises:
        KernelError: It does not, so that the readings of the clock are others in this run.
    """
    printed = printed_time(pattern, output)
    if printed is None or (timer.simulated and not printed.is_near(time_s)):
        said = "nothing there" if printed is None else f"{printed.time_s:.9g} s"
        problem = f"the program prints {said}, and {time_s:.9g} s pass between its readings of the clock"
        remedy = "Mark the timed section instead (docs/programs/own-program.md)"
        raise KernelError(f"{OPTION} {pattern!r}, {where}", problem, remedy)


def _compiled(pattern: str) -> tuple[re.Pattern[str], float]:
    places = _PLACEHOLDER.findall(pattern)
    if len(places) != 1:
        raise OptionError(f"{OPTION} {pattern!r}", "it must have {time} once, in the place of the number", _REMEDY)
    if places[0] not in _UNITS:
        raise OptionError(f"{OPTION} {pattern!r}", f"no such unit: {{{places[0]}}}", _REMEDY)
    before, _, after = pattern.partition(f"{{{places[0]}}}")
    # Blanks in the pattern stand for any number of blanks: programs align their tables.
    parts = [r"\s*".join(map(re.escape, text.split())) for text in (before, after)]
    return re.compile(rf"{parts[0]}\s*(?P<time>{_NUMBER})\s*{parts[1]}"), _UNITS[places[0]]
