"""A project of volunteers: its work units, and the computers that do them, read from a TOML file."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from platforms.errors import UserError
from platforms.files.checked_toml import CheckedTable, read_checked
from predictor.blocks.volunteers.periods import LENGTH_RANGE_S, Drawn, Period, read_law, read_trace

CONTINUE, RESTART, ABANDON = LEAVES = ("continue", "restart", "abandon")
MOST_UNITS, MOST_VOLUNTEERS = 1_000_000, 100_000
_KEYS = {
    "": ("name", "source", "work", "volunteers"),
    "work": ("units", "operations", "timeout_s", "contact_s", "leave"),
    "volunteers": ("count", "speed_flops", "available", "absent", "begin", "trace"),
}
_Number = TypeVar("_Number", int, float)
_BEGINS = ("available", "anytime")
_AMOUNTS = (1e-3, 1e24)  # of operations, and of operations per second


@dataclass(frozen=True)
class Volunteer:
    """A computer that does one unit at a time while it is available."""

    unit_s: float  # time of a unit without interruption
    speed_flops: float
    drawn: Drawn | None  # None: ``trace``
    trace: tuple[Period, ...] = ()

    def units_per_s(self, leave: str) -> float | None:
        """Return the units per second in the long run, if there is always one to do; None: it has a trace."""
        if self.drawn is None:
            return None
        cycle_s = self.drawn.available.mean_s + self.drawn.absent.mean_s
        if leave == CONTINUE:
            return self.drawn.available.mean_s / self.unit_s / cycle_s
        return self.drawn.available.whole_stretches(self.unit_s) / cycle_s


@dataclass(frozen=True)
class Project:
    """Work units, and volunteers to which a master hands them out.

    Attributes:
        name: Its name.
        units: Number of units.
        operations: Operations of a unit.
        timeout_s: Time after which a unit without a result is handed out again; infinite: never.
        leave: What happens to a unit when its volunteer leaves, one of LEAVES: it continues at the next period, it
            begins again then, or it is lost.
        volunteers: The volunteers.
        contact_s: Time after which a volunteer that waits hears of a unit that is handed out again.
    """

    name: str
    units: int
    operations: float
    timeout_s: float
    leave: str
    volunteers: tuple[Volunteer, ...]
    contact_s: float = 1.0

    @property
    def random(self) -> bool:
        """True if two draws may differ."""
        return any(volunteer.drawn is not None and volunteer.drawn.random for volunteer in self.volunteers)

    @property
    def units_per_s(self) -> float | None:
        """Units per second in the long run; None: some volunteers have a trace."""
        rates = [volunteer.units_per_s(self.leave) for volunteer in self.volunteers]
        known = [rate for rate in rates if rate is not None]
        return math.fsum(known) if len(known) == len(rates) else None

    def periods(self, seed: int, draw: int) -> list[Iterator[Period]]:
        """Return the periods of each volunteer in a draw, which does not depend on other draws or volunteers."""
        # Imported here because it is slow to import.
        import numpy as np

        def of(number: int, volunteer: Volunteer) -> Iterator[Period]:
            if volunteer.drawn is None:
                return iter(volunteer.trace)
            sequence = np.random.SeedSequence(entropy=seed, spawn_key=(draw, number))
            return volunteer.drawn.periods(np.random.default_rng(sequence))

        return [of(number, volunteer) for number, volunteer in enumerate(self.volunteers)]


def read_project(path: str | Path) -> Project:
    """Return the project that a file describes.

    Raises:
        UserError: The file cannot be read, or a value is wrong.
    """
    path = Path(path)
    table = read_checked(path, _KEYS, "description of volunteers")
    table.text("source", "")  # checked only; people who read the file use it
    work = table.table("work", "work")
    units = _between(work, "units", work.integer("units"), 1, MOST_UNITS)
    operations = _between(work, "operations", work.number("operations"), *_AMOUNTS)
    timeout_s = math.inf
    if work.has("timeout_s"):
        timeout_s = _between(work, "timeout_s", work.number("timeout_s"), *LENGTH_RANGE_S)
    contact_s = _between(work, "contact_s", work.number("contact_s", 1.0), 0, LENGTH_RANGE_S[1])
    leave = work.text("leave", CONTINUE)
    if leave not in LEAVES:
        raise UserError(work.of("leave"), f"leave is {leave!r}", f"Give one of {', '.join(LEAVES)}")
    if leave == ABANDON and timeout_s == math.inf:
        raise UserError(work.where, "units are lost, and never handed out again", "Give timeout_s")
    groups = table.value("volunteers", None)
    if not isinstance(groups, dict) or not groups or not all(isinstance(group, dict) for group in groups.values()):
        raise UserError(table.of("volunteers"), "no [volunteers.NAME]", "Give at least one, with count and speed_flops")
    volunteers: list[Volunteer] = []
    for name in groups:
        group = CheckedTable(groups[name], f"{table.where}, volunteers {name}", _KEYS, "volunteers")
        volunteers += _volunteers(group, operations, path.parent)
    if len(volunteers) > MOST_VOLUNTEERS:
        raise UserError(table.where, f"{len(volunteers)} volunteers", f"Give at most {MOST_VOLUNTEERS}")
    made = Project(table.text("name", path.stem), units, operations, timeout_s, leave, tuple(volunteers), contact_s)
    if made.units_per_s == 0:
        remedy = f'Give units fewer operations, or write leave = "{CONTINUE}"'
        raise UserError(work.where, "no volunteer stays long enough for a unit", remedy)
    return made


def _volunteers(table: CheckedTable, operations: float, folder: Path) -> list[Volunteer]:
    speed_flops = _between(table, "speed_flops", table.number("speed_flops"), *_AMOUNTS)
    unit_s = _between(table, "speed_flops", operations / speed_flops, *LENGTH_RANGE_S, "a unit takes")
    if table.has("trace"):
        for key in ("count", "available", "absent", "begin"):
            if table.has(key):
                raise UserError(table.of(key), f"{key} beside a trace", "Leave one of them out")
        trace = read_trace(folder / table.text("trace"))
        return [Volunteer(unit_s, speed_flops, None, periods) for periods in trace.values()]
    begin = table.text("begin", _BEGINS[0])
    if begin not in _BEGINS:
        raise UserError(table.of("begin"), f"begin is {begin!r}", f"Give one of {', '.join(_BEGINS)}")
    drawn = Drawn(read_law(table, "available"), read_law(table, "absent"), begin == "anytime")
    count = _between(table, "count", table.integer("count"), 1, MOST_VOLUNTEERS)
    return [Volunteer(unit_s, speed_flops, drawn)] * count


def _between(table: CheckedTable, key: str, value: _Number, low: float, high: float, what: str = "") -> _Number:
    if not low <= value <= high:
        raise UserError(table.of(key), f"{what or f'{key} is'} {value:g}", f"Give {low:g} to {high:g}")
    return value
