"""Skip the turns of loops that have become periodic.  A turn is one pass through the body of a loop.

An evaluation only adds times to clocks and takes the latest of several clocks (max-plus algebra; F. Baccelli, G. Cohen,
G. Olsder, J.-P. Quadrat, "Synchronization and Linearity", 1992).  So if all clocks are later by D, all later events are
later by D.  If all processes are at the same positions as some turns before, in turns that do the same, and all clocks
have advanced by the same D, then the turns in between repeat.  As many periods as fit before a loop ends are then
skipped in one step.  States are compared as in R. P. Brent's cycle detection ("An improved Monte Carlo factorization
algorithm", BIT 20, 1980): the reference is the state at turn 1, 2, 4, 8, ..., and only the few turns after it are
compared with it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from platforms.errors import UserError
from predictor.blocks.evaluation.cohort import Cohort
from predictor.blocks.evaluation.exchange import Side
from predictor.blocks.evaluation.line import Line

LEAST_TURNS = 8  # least number of turns of a loop whose turns are compared
MOST_TURNS = 1_000_000  # most turns of a process that are run one by one
PATIENCE_TURNS = 10_000  # turns after which a loop too long to be run one by one is given up
LONGEST_PERIOD = 16  # turns
_SAME = 1e-13  # difference, relative to a clock, up to which clocks have advanced by the same time
_SURE = 1e-8  # rounding error, relative to a period, above which nothing is skipped


Totals = Sequence[dict[Any, float]]


@dataclass(frozen=True)
class _Standing:
    """The state of a cohort or of buffered messages."""

    turns: tuple[int, ...]  # of the enclosing loops
    clock: Line
    who: Cohort | Side


@dataclass(frozen=True)
class _State:
    """The state of all cohorts and messages, by what has to be equal when states are compared, and the totals."""

    standing: dict[Hashable, _Standing]
    totals: Totals

    @staticmethod
    def of(standing: Iterable[tuple[Hashable, Cohort | Side]], totals: Totals) -> _State:
        """Return the present state; cohorts and messages come after what they wait for."""
        return _State(dict(_standing(*state) for state in standing), [dict(state) for state in totals])


def _standing(where: Hashable, who: Cohort | Side) -> tuple[Hashable, _Standing]:
    if isinstance(who, Side):
        return (where, who.group), _Standing((), who.clock, who)
    loops = tuple((begin, times) for begin, _, times in who.loops)
    key = (where, who.kind.number, who.part, who.pc, who.met, loops)
    return key, _Standing(tuple(turn for _, turn, _ in who.loops), who.clock, who)


@dataclass
class _Watch:
    """A loop of the watched process, whose turns are counted."""

    reference: _State | None = None  # at the last turn whose number is a power of two
    turns: int = 0

    @property
    def since(self) -> int:
        """Number of turns since the reference."""
        return self.turns - (1 << (self.turns.bit_length() - 1))


class Steady:
    """Detection of periodic turns: watches the turns of one process, and of another when that one has no more."""

    def __init__(self, classes: int):
        """Take the number of classes."""
        self._patience = 4 * classes + 64
        self._watched: int | None = None  # number of the class whose first process is watched
        self._others = 0  # turns of other classes since the last turn of the watched class
        self._watches: dict[int, _Watch] = {}  # by index of the loop's instruction
        self._turns: dict[int, int] = {}  # turns run so far, by class
        self._due: _Watch | None = None

    @property
    def due(self) -> bool:
        """True if the watched process has begun a new turn since the last look."""
        return self._due is not None

    def turned(self, cohort: Cohort, where: str) -> None:
        """Note that the first process of a class has begun another turn of its innermost loop, which is at ``where``.

        Raises:
            UserError: If too many turns have to be run one by one.
        """
        number = cohort.kind.number
        begin, turn, times = cohort.loops[-1]
        done = self._turns[number] = self._turns.get(number, 0) + 1
        if done > MOST_TURNS:
            self._refuse(where, f"more than {MOST_TURNS} turns of loops that have to be run one by one")
        if times < LEAST_TURNS:
            return
        if number != self._watched:
            self._others += 1
            if self._watched is not None and self._others <= self._patience:
                return
            self._watched, self._watches = number, {}
        self._others = 0
        watch = self._watches.setdefault(begin, _Watch())
        watch.turns += 1
        if watch.since < LONGEST_PERIOD:
            self._due = watch
        if watch.turns > PATIENCE_TURNS and times - turn > MOST_TURNS:
            self._refuse(where, f"{times} turns, of which the first {PATIENCE_TURNS} did not become periodic")

    @staticmethod
    def _refuse(where: str, problem: str) -> None:
        remedy = f"Give at most {MOST_TURNS}, or make all turns alike and let the labels wait for each other"
        raise UserError(where, problem, remedy)

    def look(self, standing: Iterable[tuple[Hashable, Cohort | Side]], totals: Totals) -> int:
        """Compare the state with an earlier one; if it is periodic, advance it by all periods before a loop ends.

        Args:
            standing: All cohorts and all buffered messages, each after what it waits for.
            totals: Sums over the processes so far, which are advanced too.

        Returns:
            The number of periods skipped; 0: nothing has been changed.
        """
        watch, self._due = self._due, None
        if watch is None:
            return 0
        now, before = _State.of(standing, totals), watch.reference
        if watch.since == 0:
            watch.reference = now
            return 0
        period = None if before is None else _period(before, now)
        if before is None or period is None:
            return 0
        periods, shift_s = period
        for key, process in now.standing.items():
            _move(before.standing[key], process, periods=periods, shift_s=shift_s)
        for total, earlier in zip(totals, before.totals, strict=True):
            for name, value in total.items():
                total[name] = value + periods * (value - earlier.get(name, 0.0))
        self._watches = {}
        return periods


def _period(before: _State, now: _State) -> tuple[int, float] | None:
    """Return how many more periods fit before a loop ends, and the length of a period, s; None: not periodic."""
    if before.standing.keys() != now.standing.keys():
        return None
    periods, shift_s = None, None
    for key, process in before.standing.items():
        other = now.standing[key]
        if process.turns == other.turns and process.clock == other.clock:
            continue  # it waits for something after the loop
        near = _SAME * other.clock.most
        moved_s = other.clock.first - process.clock.first
        shift_s = moved_s if shift_s is None else shift_s
        turned = abs(other.clock.step - process.clock.step) * other.clock.count > near
        if turned or abs(moved_s - shift_s) > near or (near > _SURE * shift_s and process.clock != other.clock):
            return None
        if isinstance(other.who, Cohort):
            again = _again(process, other, other.who)
            if not again:
                return None
            periods = again if periods is None else min(periods, again)
    return None if periods is None or shift_s is None else (periods, shift_s)


def _again(before: _Standing, now: _Standing, who: Cohort) -> int:
    """Return how many more periods fit into the rest of the loop; 0 if the turns were not those of one loop."""
    changed = [level for level, turn in enumerate(before.turns) if now.turns[level] != turn]
    if len(changed) != 1:
        return 0
    _, turn, times = who.loops[changed[0]]
    done = turn - before.turns[changed[0]]
    return (times - 1 - turn) // done if done > 0 else 0


def _move(before: _Standing, now: _Standing, *, periods: int, shift_s: float) -> None:
    """Advance a cohort or message by this number of periods."""
    who = now.who
    if before.turns == now.turns and before.clock == now.clock:
        return
    if isinstance(who, Side):
        who.sent = who.sent.plus(periods * shift_s)
    else:
        who.clock = who.clock.plus(periods * shift_s)
        who.loops = tuple(
            (begin, turn + periods * (turn - earlier), times)
            for (begin, turn, times), earlier in zip(who.loops, before.turns, strict=True)
        )
