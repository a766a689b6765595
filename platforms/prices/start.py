"""The start of a run with the least emissions.

The emissions of a run of a fixed length are an integral of piecewise constant profiles over a window, so that they are
piecewise linear in its start: a least value lies where the start or the end of the run meets a step of a profile, or at
an end of the times allowed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from platforms.errors import UserError, printable
from platforms.prices.carbon import DAY_S, HOUR_S, Profile, Site

_UNITS_S = {"min": 60.0, "h": HOUR_S, "d": DAY_S}
_SAME = 1e-12  # relative; a later start has to emit less by more than rounding


@dataclass(frozen=True)
class Start:
    """A start of a run and what is emitted for its energy."""

    start_s: float  # in the time of the profiles
    operational_g: float


def best_start(
    energies: Sequence[tuple[Site, float]], *, earliest_s: float, within_s: float, time_s: float, where: str
) -> Start:
    """Return the earliest start with the least emissions.

    Args:
        energies: Sites with the energies that the run takes there, J.
        earliest_s: The earliest start.
        within_s: How much later it may start.
        time_s: Length of the run.
        where: Place of errors.

    Raises:
        UserError: A series of values ends before a run that starts at the earliest time.
    """
    latest_s = earliest_s + within_s
    starts = {earliest_s, latest_s}
    for site, _ in energies:
        site.profile.check(earliest_s, earliest_s + time_s, where)
        starts |= set(site.profile.edges(earliest_s, latest_s))
        starts |= {edge - time_s for edge in site.profile.edges(earliest_s + time_s, latest_s + time_s)}
    lasting = [site.profile.end_s for site, _ in energies if not site.profile.repeats]
    ends_s = min(lasting, default=latest_s + time_s)
    allowed = sorted(start for start in starts if earliest_s <= start <= latest_s and start + time_s <= ends_s)
    best: Start | None = None
    for start_s in allowed or [earliest_s]:
        made = Start(start_s, emitted_g(energies, start_s=start_s, time_s=time_s))
        if best is None or made.operational_g < best.operational_g * (1 - _SAME):
            best = made
    assert best is not None
    return best


def emitted_g(energies: Sequence[tuple[Site, float]], *, start_s: float, time_s: float) -> float:
    """Return what is emitted for the energies of a run at sites, g."""
    return sum(site.operational_g(energy_j, start_s=start_s, time_s=time_s) for site, energy_j in energies)


def parse_start(text: str | None, profile: Profile) -> float:
    """Return a start in the time of a profile, s; without a text its first time.

    >>> parse_start("14:30", Profile((0.0,), (1.0,), DAY_S)) / HOUR_S
    14.5

    Raises:
        UserError: The text is no date and no hour, or an hour where the profile has dates.
    """
    if text is None:
        return profile.starts_s[0]
    where = f"--start {printable(text)}"
    clock = re.fullmatch(r"(\d{1,2})(?::(\d{2}))?", text.strip())
    if clock is not None:
        hours, minutes = int(clock[1]), int(clock[2] or 0)
        if profile.origin is not None:
            raise UserError(where, "an hour without a date, but the series has dates", "Write 2026-11-28 14:00")
        if hours < 24 and minutes < 60:
            return HOUR_S * hours + 60.0 * minutes
    try:
        date = datetime.fromisoformat(text.strip()).replace(tzinfo=None)
    except ValueError:
        raise UserError(where, "no date and no hour", 'Write "2026-11-28 14:00", or 14:00') from None
    if profile.origin is not None:
        return (date - profile.origin).total_seconds()
    if not profile.repeats:
        raise UserError(where, "a date, but the series counts hours", "Write an hour, such as 14")
    return (date - date.replace(hour=0, minute=0, second=0, microsecond=0)).total_seconds()


def parse_within(text: str) -> float:
    """Return a length of time such as 24h, 90min or 2d, s.

    Raises:
        UserError: It is none, or longer than a year.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(h|min|d)", text.strip())
    length_s = float(match[1]) * _UNITS_S[match[2]] if match else -1.0
    if not 0 <= length_s <= 366 * DAY_S:
        raise UserError(f"--start-within {printable(text)}", "no length of time up to a year", "Write 24h, 90min or 2d")
    return length_s
