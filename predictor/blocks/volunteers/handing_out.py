"""One draw of a project, event by event: the master hands out units, volunteers join, leave and return results.

The master has one queue.  A volunteer without a unit takes the first one as soon as it is available; volunteers that
find the queue empty wait, and that of the lowest number gets the next unit that is handed out again.  A unit whose
result has not come within the timeout joins the end of the queue; the first result counts, and a volunteer that has a
unit of which there is a result finishes it all the same.  Messages take no time, except that a volunteer that waits
hears of a unit ``contact_s`` later.
"""

import heapq
import math
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from platforms.errors import UserError
from predictor.blocks.volunteers.periods import Period
from predictor.blocks.volunteers.project import ABANDON, RESTART, Project

MOST_EVENTS = 5_000_000  # of a draw
_FINISH, _TIMEOUT, _LEAVE, _JOIN = range(4)  # in the order in which those of one moment happen


@dataclass(frozen=True)
class Outcome:
    """A draw of a project."""

    time_s: float  # until each unit has a result
    handed_out: int  # units, with those that were handed out again
    computed_flops: float  # operations of the volunteers until then, with those that were lost


def outcome(project: Project, periods: Iterable[Iterator[Period]]) -> Outcome:
    """Return what happens with these periods of the volunteers.

    Raises:
        UserError: All volunteers leave for good before the end, or there are too many events.
    """
    return _Draw(project, tuple(periods)).run()


@dataclass
class _Draw:
    project: Project
    periods: tuple[Iterator[Period], ...]
    now_s: float = 0.0
    handed_out: int = 0
    computed_flops: float = 0.0
    open_units: int = field(init=False)
    events: list[tuple[float, int, int]] = field(default_factory=list)  # time, kind, volunteer or unit

    def __post_init__(self) -> None:
        count = len(self.periods)
        self.open_units = self.project.units
        self.queue = deque(range(self.project.units))
        self.has_result = bytearray(self.project.units)
        self.unit: list[int | None] = [None] * count  # of each volunteer
        self.left_s = [0.0] * count  # of that unit, when the volunteer last began to compute
        self.since_s = [0.0] * count
        self.from_s, self.until_s = [0.0] * count, [0.0] * count  # of the present period, or the next one
        self.idle: list[int] = []  # a heap of volunteers that wait; some may have left

    def run(self) -> Outcome:
        """Follow the events until each unit has a result."""
        for volunteer in range(len(self.periods)):
            self._next_period(volunteer)
        actions = (self._finish, self._timeout, self._leave, self._join)
        for _ in range(MOST_EVENTS):
            if not self.events:
                problem = f"the last volunteer leaves for good with {self.open_units} units without a result"
                raise UserError(f"volunteers {self.project.name}", problem, "Give a longer trace, or fewer units")
            self.now_s, kind, who = heapq.heappop(self.events)
            actions[kind](who)
            if not self.open_units:
                for volunteer, unit in enumerate(self.unit):
                    if unit is not None and self._is_there(volunteer):
                        self._stop(volunteer)
                return Outcome(self.now_s, self.handed_out, self.computed_flops)
        problem = f"{self.open_units} units without a result after {MOST_EVENTS} events, at {self.now_s:.3g} s"
        raise UserError(f"volunteers {self.project.name}", problem, "Give shorter units, or longer periods")

    def _stop(self, volunteer: int) -> float:
        """Count the computation of a volunteer since it began, and return its time, s."""
        done_s = max(0.0, self.now_s - max(self.since_s[volunteer], self.from_s[volunteer]))
        self.computed_flops += done_s * self.project.volunteers[volunteer].speed_flops
        return done_s

    def _next_period(self, volunteer: int) -> None:
        from_s, until_s = next(self.periods[volunteer], (math.inf, math.inf))
        self.from_s[volunteer], self.until_s[volunteer] = from_s, until_s
        if from_s < math.inf:
            heapq.heappush(self.events, (from_s, _JOIN, volunteer))

    def _join(self, volunteer: int) -> None:
        heapq.heappush(self.events, (self.until_s[volunteer], _LEAVE, volunteer))
        if self.unit[volunteer] is None:
            self._ask(volunteer)
        else:
            self._compute(volunteer)

    def _leave(self, volunteer: int) -> None:
        if self.unit[volunteer] is not None:
            done_s = self._stop(volunteer)
            if self.project.leave == ABANDON:
                self.unit[volunteer] = None
            elif self.project.leave != RESTART:
                self.left_s[volunteer] -= done_s
        self._next_period(volunteer)

    def _ask(self, volunteer: int, contact_s: float = 0.0) -> None:
        while self.queue and self.has_result[self.queue[0]]:
            self.queue.popleft()
        if not self.queue:
            heapq.heappush(self.idle, volunteer)
            return
        unit = self.queue.popleft()
        self.handed_out += 1
        self.unit[volunteer], self.left_s[volunteer] = unit, self.project.volunteers[volunteer].unit_s
        if self.project.timeout_s < math.inf:
            heapq.heappush(self.events, (self.now_s + self.project.timeout_s, _TIMEOUT, unit))
        self._compute(volunteer, contact_s)

    def _compute(self, volunteer: int, contact_s: float = 0.0) -> None:
        self.since_s[volunteer] = self.now_s + contact_s
        end_s = self.since_s[volunteer] + self.left_s[volunteer]
        if end_s <= self.until_s[volunteer]:
            heapq.heappush(self.events, (end_s, _FINISH, volunteer))

    def _finish(self, volunteer: int) -> None:
        unit = self.unit[volunteer]
        assert unit is not None
        self._stop(volunteer)
        self.unit[volunteer] = None
        self.open_units -= not self.has_result[unit]
        self.has_result[unit] = True
        if self.now_s < self.until_s[volunteer]:
            self._ask(volunteer)

    def _timeout(self, unit: int) -> None:
        if self.has_result[unit]:
            return
        self.queue.append(unit)
        while self.idle:
            volunteer = heapq.heappop(self.idle)
            if self.unit[volunteer] is None and self._is_there(volunteer):
                self._ask(volunteer, self.project.contact_s)
                return

    def _is_there(self, volunteer: int) -> bool:
        return self.from_s[volunteer] <= self.now_s < self.until_s[volunteer]
