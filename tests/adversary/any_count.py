"""``python -m tests.adversary.any_count N [FIRST [S]]``: learn N drawn programs; status 1 if one is silently wrong.

Each has S seconds of processor time.

A drawn program is a recipe that makes its recording at any number of ranks, so that what was learned can be compared
with the truth event by event.  Some have parts without a rule: these must be refused or flagged as doubtful.
"""

from __future__ import annotations

import math
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from apps.recording.events import EVENT, Kind, Mark, Op, Recording
from predictor.learned.errors import CannotContinue
from predictor.learned.generate import generate
from predictor.learned.grids import Sides, coordinates, most_cubic
from predictor.learned.learn import learn
from predictor.learned.matching import difference
from predictor.learned.models import Notes
from predictor.learned.structure import Structure

COUNTS, TARGETS = (4, 8, 12, 18, 27), (45, 60, 64)
POWERS, POWER_TARGETS = (4, 8, 16, 32), (64, 128)
ITERATIONS = 3
PATIENCE_S = 60.0  # of processor time for each program


@dataclass
class Rank:
    """The events of one rank, which are added one by one."""

    rank: int
    nranks: int
    sides: Sides
    at: tuple[int, ...]
    rows: list[tuple[object, ...]] = field(default_factory=list)
    operations: int = 0

    def add(self, kind: Kind, site: int, *, op: int = 0, comm: int = -1, peer: int = -1, tag: int = -1,
            request: int = -1, size: int = 0, amount: float = 0.0) -> None:  # fmt: skip
        """Add an event."""
        self.rows.append((kind, 0, op, comm, peer, tag, request, size, amount, 0.0, site))

    def start(self, kind: Kind, site: int, peer: int, tag: int, size: int) -> int:
        """Begin a message, and return the number of its operation."""
        self.add(kind, site, comm=0, peer=peer, tag=tag, request=self.operations, size=size)
        self.operations += 1
        return self.operations - 1

    def exchange(self, site: int, to: int | None, source: int | None, tag: int, sent: int, received: int) -> None:
        """Send and receive, where there are partners, and wait for both."""
        begun = []
        if source is not None:
            begun.append((site + 2, self.start(Kind.RECV, site, source, tag, received)))
        if to is not None:
            begun.append((site + 3, self.start(Kind.SEND, site + 1, to, tag, sent)))
        for wait_site, number in begun:
            self.add(Kind.WAIT, wait_site, request=number)


Part = Callable[[Rank, int], None]  # adds its events; the second argument is its first site


def mixed(*numbers: int) -> int:
    """Return a number that follows no rule from others."""
    value = 2166136261
    for number in numbers:
        value = (value ^ (number + 0x9E3779B9)) * 16777619 & 0xFFFFFFFF
        value ^= value >> 15
    return value


def share(n: int, place: int, parts: int) -> int:
    """Return the even share of a place."""
    return n // parts + (place < n % parts)


def halo(draw: random.Random, n: int) -> Part:
    """Draw an exchange with both neighbours along an axis of the grid, around its end or not."""
    around, unit, strong = draw.random() < 0.5, draw.choice((8, 16, 40)), draw.random() < 0.6

    def part(rank: Rank, site: int) -> None:
        for axis, side in enumerate(rank.sides):
            size = unit
            for other, sides in enumerate(rank.sides):
                size *= 1 if other == axis else share(n, rank.at[other], sides) if strong else n
            for way, step in enumerate((1, -1)):
                ends = []
                for by in (step, -step):
                    place = rank.at[axis] + by
                    inside = around or 0 <= place < side
                    there = (*rank.at[:axis], place % side, *rank.at[axis + 1 :])
                    ends.append(int(np.ravel_multi_index(there, rank.sides)) if inside else None)
                rank.exchange(site + 10 * axis + 5 * way, ends[0], ends[1], 2 * axis + way, size, size)

    return part


def ring(draw: random.Random, n: int) -> Part:
    """Draw a shift around all ranks."""
    by, size = draw.choice((1, 2, -1)), 8 * draw.choice((1, n))
    return lambda rank, site: rank.exchange(
        site, (rank.rank + by) % rank.nranks, (rank.rank - by) % rank.nranks, 50, size, size
    )


def collective(draw: random.Random, n: int) -> Part:
    """Draw a collective, whose size may shrink with the number of ranks."""
    op = draw.choice((Op.ALLREDUCE, Op.BCAST, Op.BARRIER, Op.ALLTOALL, Op.ALLGATHER))
    shrinks, unit = draw.random() < 0.5, draw.choice((8, 24))
    root = 0 if op == Op.BCAST else -1

    def part(rank: Rank, site: int) -> None:
        size = 0 if op == Op.BARRIER else unit * (max(1, n // rank.nranks) if shrinks else n)
        rank.add(Kind.COLLECTIVE, site, op=op, comm=0, peer=root, size=size)

    return part


def gathered(draw: random.Random, n: int) -> Part:
    """Draw a loop in which rank 0 receives from all others."""
    size = 8 * draw.choice((1, n))

    def part(rank: Rank, site: int) -> None:
        if rank.rank:
            rank.add(Kind.WAIT, site + 1, request=rank.start(Kind.SEND, site, 0, 60, size))
        for other in range(1, rank.nranks) if not rank.rank else ():
            rank.add(Kind.WAIT, site + 3, request=rank.start(Kind.RECV, site + 2, other, 60, size))

    return part


def doubled(draw: random.Random, n: int) -> Part:
    """Draw an exchange with the ranks that differ in one bit, one after the other; for powers of two."""
    size = 8 * draw.choice((1, n))

    def part(rank: Rank, site: int) -> None:
        for bit in range(rank.nranks.bit_length() - 1):
            other = rank.rank ^ (1 << bit)
            rank.exchange(site, other, other, 70, size, size)

    return part


def tree(draw: random.Random, n: int) -> Part:
    """Draw panels that go down a binomial tree along an axis, from the owner of the panel or always from place 0."""
    size, moving, panels = 8 * draw.choice((1, n)), draw.random() < 0.5, draw.choice((1, 24))
    last = draw.random() < 0.5  # whether the axis is the last one

    def part(rank: Rank, site: int) -> None:
        axis = len(rank.sides) - 1 if last else 0
        side, at = rank.sides[axis], rank.at[axis]

        def rank_at(place: int) -> int:
            return int(np.ravel_multi_index((*rank.at[:axis], place % side, *rank.at[axis + 1 :]), rank.sides))

        for panel in range(panels):
            root = panel % side if moving else 0
            place, bit = (at - root) % side, 1
            while bit < side and not place & bit:
                bit <<= 1
            if place:
                there = rank_at(place - bit + root)
                rank.add(Kind.WAIT, site + 1, request=rank.start(Kind.RECV, site, there, 95, size))
            while bit := bit >> 1:
                if place + bit < side:
                    there = rank_at(place + bit + root)
                    rank.add(Kind.WAIT, site + 3, request=rank.start(Kind.SEND, site + 2, there, 95, size))

    return part


def random_partners(draw: random.Random, n: int) -> Part:
    """Draw messages along edges that follow no rule."""
    seed = draw.randrange(1 << 20)

    def part(rank: Rank, site: int) -> None:
        for other in range(rank.nranks):
            low, high = sorted((rank.rank, other))
            if other != rank.rank and mixed(seed, low, high, rank.nranks) % 4 == 0:
                rank.exchange(site, other, other, 80, 8, 8)

    return part


def random_sizes(draw: random.Random, n: int) -> Part:
    """Draw a ring of messages whose sizes depend on data."""
    seed = draw.randrange(1 << 20)

    def part(rank: Rank, site: int) -> None:
        sent, received = (8 * (1 + mixed(seed, r % rank.nranks, rank.nranks) % 100) for r in (rank.rank, rank.rank - 1))
        to, source = (rank.rank + 1) % rank.nranks, (rank.rank - 1) % rank.nranks
        rank.exchange(site, to, source, 90, sent, received)

    return part


def farm(draw: random.Random, n: int) -> Part:
    """Draw work that rank 0 sends to whoever has finished, so that the order follows from time."""
    seed, tasks = draw.randrange(1 << 20), draw.choice((12, 40))

    def part(rank: Rank, site: int) -> None:
        served = [1 + mixed(seed, task, rank.nranks) % max(rank.nranks - 1, 1) for task in range(tasks)]
        for worker in served:
            if rank.rank == 0:
                rank.add(Kind.WAIT, site + 1, request=rank.start(Kind.RECV, site, worker, 96, 8))
                rank.add(Kind.WAIT, site + 3, request=rank.start(Kind.SEND, site + 2, worker, 97, 64))
            elif worker == rank.rank:
                rank.add(Kind.WAIT, site + 5, request=rank.start(Kind.SEND, site + 4, 0, 96, 8))
                rank.add(Kind.WAIT, site + 7, request=rank.start(Kind.RECV, site + 6, 0, 97, 64))

    return part


def mesh(draw: random.Random, n: int) -> Part:
    """Draw an adaptive mesh: each rank has some blocks, and sends a message for each to the next rank."""
    seed, size = draw.randrange(1 << 20), 8 * draw.choice((1, n))

    def part(rank: Rank, site: int) -> None:
        to, source = (rank.rank + 1) % rank.nranks, (rank.rank - 1) % rank.nranks
        mine, theirs = (1 + mixed(seed, r, rank.nranks) % 6 for r in (rank.rank, source))
        for _ in range(theirs):
            rank.add(Kind.WAIT, site + 3, request=rank.start(Kind.RECV, site + 2, source, 98, size))
        for _ in range(mine):
            rank.add(Kind.WAIT, site + 1, request=rank.start(Kind.SEND, site, to, 98, size))

    return part


def solver(draw: random.Random, n: int) -> Part:
    """Draw an iterative solver that takes as many steps as the data need."""
    seed = draw.randrange(1 << 20)

    def part(rank: Rank, site: int) -> None:
        for _ in range(5 + mixed(seed, rank.nranks) % 20):
            rank.add(Kind.COMPUTE, site, amount=1000.0 / rank.nranks)
            rank.add(Kind.COLLECTIVE, site, op=Op.ALLREDUCE, comm=0, size=8)

    return part


def computed(draw: random.Random, n: int) -> Part:
    """Draw a computation: points, planes, edges, or an amount without a rule."""
    kind, unit = draw.choice(("points", "even", "edges", "weak", "log", "random")), draw.choice((2.0, 34.0, 7.5))
    seed = draw.randrange(1 << 20)

    def part(rank: Rank, site: int) -> None:
        lengths = [share(n, place, side) for place, side in zip(rank.at, rank.sides, strict=True)]
        amount = {
            "points": float(np.prod(lengths)),
            "even": n * n / rank.nranks,
            "edges": float(
                sum((place > 0) + (place < side - 1) for place, side in zip(rank.at, rank.sides, strict=True))
            ),
            "weak": float(n),
            "log": n * np.log2(rank.nranks),
            "random": float(1 + mixed(seed, rank.rank, rank.nranks) % 1000),
        }[kind]
        if amount:
            rank.add(Kind.COMPUTE, site, amount=unit * amount)

    return part


_RULED = (halo, halo, ring, tree, collective, collective, gathered, computed, computed)
_UNRULED = (random_partners, random_sizes, farm, mesh, solver)


@dataclass(frozen=True)
class Drawn:
    """A drawn program."""

    parts: tuple[Part, ...]
    names: tuple[str, ...]
    axes: int
    n: int
    powers: bool

    def recorded(self, nranks: int) -> Recording:
        """Return its recording."""
        sides = most_cubic(nranks, self.axes)
        places = coordinates(sides, np.arange(nranks)).T.tolist()
        ranks = [Rank(r, nranks, sides, tuple(place)) for r, place in enumerate(places)]
        for rank in ranks:
            rank.add(Kind.MARK, 1, op=Mark.START)
            for _ in range(ITERATIONS):
                for at, part in enumerate(self.parts):
                    part(rank, 10 + 40 * at)
                rank.add(Kind.MARK, 2, op=Mark.ITERATION)
            rank.add(Kind.MARK, 3, op=Mark.STOP)
        none = np.zeros(0, np.int64)
        paths = tuple((address,) for address in range(1, 10 + 40 * len(self.parts)))
        events = tuple(np.array(rank.rows, EVENT) for rank in ranks)
        return Recording(events, (none,) * nranks, (tuple(range(nranks)),), paths=paths)


def drawn(seed: int) -> Drawn:
    """Return the program of a seed."""
    draw = random.Random(seed)
    powers, n = draw.random() < 0.3, draw.choice((60, 64, 100, 129, 240))
    makers = list(draw.choices(_RULED, k=draw.randint(1, 4)))
    if powers and draw.random() < 0.5:
        makers.append(doubled)
    if draw.random() < 0.2:
        makers.append(draw.choice(_UNRULED))
    draw.shuffle(makers)
    return Drawn(
        tuple(make(draw, n) for make in makers), tuple(make.__name__ for make in makers), draw.randint(1, 3), n, powers
    )


def _held(structure: Structure, target: int, true: Recording) -> bool:
    """Return whether the sums of the true recording are inside the range of the fits, widened as that of the time."""
    beyond = 1 + math.log(target / structure.seen[-1])
    low, middle, high = (_sums(generate(structure, target, notes=Notes(lean=lean))) for lean in (-1, 0, 1))
    sums = _sums(true)
    return bool((middle - beyond * (middle - low) <= sums).all() and (sums <= middle + beyond * (high - middle)).all())


def _sums(recording: Recording) -> np.ndarray:
    events = np.concatenate(recording.events)
    computes = events["kind"] == Kind.COMPUTE
    return np.array([events["size_bytes"][~computes].sum(), events["amount"][computes].sum()]) * 1.0


def outcome(seed: int) -> tuple[str, str]:
    """Return what comes of a program: exact, doubtful, refused or WRONG; and why.

    For a fitted one the interval is given too: whether its ends hold the bytes and the computation of all ranks.
    """
    program = drawn(seed)
    counts, targets = (POWERS, POWER_TARGETS) if program.powers else (COUNTS, TARGETS)
    try:
        structure = learn([program.recorded(count) for count in counts], [program.n])
        for target in targets:
            notes = Notes()
            made = generate(structure, target, notes=notes)
            doubtful = structure.unconfirmed or structure.fitted or notes.differs or notes.assumed
            true = program.recorded(target)
            apart = difference(made, true)
            if apart is not None and doubtful and structure.fitted:
                return ("inside the interval" if _held(structure, target, true) else "beyond the interval"), apart
            if apart is not None:
                return ("doubtful" if doubtful else "WRONG"), f"{target} ranks: {apart}"
    except CannotContinue as err:
        return "refused", str(err)
    return "exact" if not doubtful else "right, called doubtful", ""


class _TooLong(Exception):
    """A program took longer than it may."""


def _too_long(number: int, frame: object) -> None:
    raise _TooLong


def main(number: int, first: int, patience_s: float) -> bool:
    """Print what comes of the programs, and return whether one is silently wrong."""
    outcomes: Counter[str] = Counter()
    signal.signal(signal.SIGPROF, _too_long)
    for seed in range(first, first + number):
        signal.setitimer(signal.ITIMER_PROF, patience_s)
        try:
            what, why = outcome(seed)
        except _TooLong:
            what, why = f"not learned within {patience_s:.0f} s", ""
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        outcomes[what] += 1
        if what == "WRONG":
            print(f"WRONG: seed {seed} ({', '.join(drawn(seed).names)}): {why}", flush=True)
        if (seed - first + 1) % 10 == 0:
            print(dict(outcomes), flush=True)
    print(", ".join(f"{count} {what}" for what, count in outcomes.most_common()))
    return outcomes["WRONG"] > 0


if __name__ == "__main__":
    NUMBERS = [*sys.argv[1:], *("0", str(PATIENCE_S))[len(sys.argv) - 2 :]]
    sys.exit(main(int(NUMBERS[0]), int(NUMBERS[1]), float(NUMBERS[2])))
