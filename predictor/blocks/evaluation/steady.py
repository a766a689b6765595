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

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from platforms.errors import UserError
from predictor.blocks.evaluation.cohort import Cohort
from predictor.blocks.evaluation.exchange import Side
from predictor.blocks.evaluation.line import Line
from predictor.blocks.machines.machine import Group

LEAST_TURNS = 8  # least number of turns of a loop whose turns are compared
MOST_TURNS = 1_000_000  # most turns of a process that are run one by one
PATIENCE_TURNS = 10_000  # turns after which a loop too long to be run one by one is given up
LONGEST_PERIOD = 16  # turns
_SAME = 1e-13  # difference, relative to a clock, up to which clocks have advanced by the same time
_SURE = 1e-8  # rounding error, relative to a period, above which nothing is skipped


@dataclass(frozen=True)
class Standing:
    """The state of a cohort or of buffered messages."""

    place: tuple[Hashable, ...]  # everything that has to be equal when states are compared
    turns: tuple[int, ...]  # of the enclosing loops
    clock: Line
    who: Cohort | Side


@dataclass(frozen=True)
class State:
    """The state of all cohorts and messages, in a fixed order, and the computation time of each group, s."""

    standing: Sequence[Standing]
    compute_s: dict[Group, float]
    spent_s: dict[tuple[str, str, int], float]  # as predictor.blocks.parts.Ledger.sums_s

    def kept(self) -> State:
        """Return a copy that later changes do not affect."""
        return State(self.standing, dict(self.compute_s), dict(self.spent_s))


@dataclass
class _Watch:
    """A loop of the watched process, whose turns are counted."""

    reference: State | None = None  # at the last turn whose number is a power of two
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

    def look(self, state: State) -> int:
        """Compare the state with an earlier one; if it is periodic, advance it by all periods before a loop ends.

        Returns:
            The number of periods skipped; 0: nothing has been changed.
        """
        watch, self._due = self._due, None
        if watch is None:
            return 0
        if watch.since == 0:
            watch.reference = state.kept()
        elif watch.reference is not None:
            found = self._period(watch.reference, state)
            if found is not None:
                periods, shift_s = found
                for before, now in zip(watch.reference.standing, state.standing, strict=True):
                    _move(before, now, periods=periods, shift_s=shift_s)
                for group, before_s in watch.reference.compute_s.items():
                    state.compute_s[group] += periods * (state.compute_s[group] - before_s)
                for key, now_s in list(state.spent_s.items()):
                    state.spent_s[key] += periods * (now_s - watch.reference.spent_s.get(key, 0.0))
                self._watches = {}
                return periods
        return 0

    def _period(self, before: State, now: State) -> tuple[int, float] | None:
        """Return how many more periods fit before a loop ends, and the length of a period, s; None: not periodic."""
        if len(before.standing) != len(now.standing):
            return None
        periods, shift_s = None, None
        for one, other in zip(before.standing, now.standing, strict=True):
            if one.place != other.place:
                return None
            if one.turns == other.turns and one.clock == other.clock:
                continue  # it waits for something after the loop
            moved_s = _shift(one.clock, other.clock)
            if moved_s is None:
                return None
            near = _SAME * other.clock.most
            shift_s = moved_s if shift_s is None else shift_s
            if abs(moved_s - shift_s) > near or (near > _SURE * shift_s and one.clock != other.clock):
                return None
            if isinstance(other.who, Cohort):
                again = _again(one, other, other.who)
                if not again:
                    return None
                periods = again if periods is None else min(periods, again)
        return None if periods is None or shift_s is None else (periods, shift_s)


def _again(before: Standing, now: Standing, who: Cohort) -> int:
    """Return how many more periods fit into the rest of the loop; 0 if the turns were not those of one loop."""
    changed = [level for level, turn in enumerate(before.turns) if now.turns[level] != turn]
    if len(changed) != 1:
        return 0
    _, turn, times = who.loops[changed[0]]
    done = turn - before.turns[changed[0]]
    return (times - 1 - turn) // done if done > 0 else 0


def _shift(before: Line, now: Line) -> float | None:
    """Return the time by which all clocks have advanced, s; None if they differ."""
    same = before.count == now.count and abs(now.step - before.step) * now.count <= _SAME * now.most
    return now.first - before.first if same else None


def _move(before: Standing, now: Standing, *, periods: int, shift_s: float) -> None:
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
