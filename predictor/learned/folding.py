"""Iterations that are all alike as one that is repeated: a third of the events, or fewer, for the same run.

A recording has three iterations, because the first and the last may differ from those between.  Where no rule for what
an iteration does depends on its number, one stands for all.  Ranks are expected in blocks, of which only what an
evaluation needs is kept, so that 10^6 ranks fit into the memory of one machine.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from apps.recording.events import Elapse, Kind, Mark, Mode, Op, Recording
from predictor.dpgraph.expanding import Flat, expanded
from predictor.dpgraph.instructions import COMPUTE, RECV, WAIT_RECEIVED, WAIT_SENT
from predictor.dpgraph.members import of_members
from predictor.dpgraph.program import CODES, Program, Sections, find, first_mark, looped_once, operation_key, until_stop
from predictor.learned.generate import Part, check_room, generate_part
from predictor.learned.matching import AS_SENT
from predictor.learned.models import Formula, Notes, Numeric
from predictor.learned.nest import Node
from predictor.learned.structure import Structure

FIRST_BLOCK = 1 << 10  # ranks, which show how many events a rank has
BLOCK = 1 << 21  # events
_ONCE = Numeric((Formula((), 1.0),))
# Memory for each rank, and for each of its expected events, until the program is evaluated (docs/results/growth.md).
_RANK_BYTES, _EVENT_BYTES = 4000, 70
# Features and statements of the outermost loop: ``i0``, ``2^-i0``, ``e(c1+j0):n``, ``kl1@m0``.
_OUTERMOST = re.compile(r"(?<![A-Za-z])[ijtn]0(?!\d)|@[mo]0(?!\d)")
_OUTERMOST_ROOTS = ("m0", "o0")


def folded(structure: Structure) -> Structure | None:
    """Return the structure with one iteration in place of all; None where they may differ, or none are marked."""
    for before, loop in pairwise(structure.root.children):
        if loop.leaf or not any(_is_mark(structure, child, Mark.ITERATION) for child in loop.children):
            continue
        if not _is_mark(structure, before, Mark.START, Mark.FIRST_ITERATION) or loop in structure.lists:
            return None
        turns = structure.loops[loop]
        if not isinstance(turns, Numeric) or turns.formulas[0].terms or _varies(structure, loop):
            return None
        return replace(structure, loops={**structure.loops, loop: _ONCE})
    return None


def _is_mark(structure: Structure, node: Node, *marks: Mark) -> bool:
    return node.symbol is not None and structure.symbols[node.symbol].is_mark(*marks)


def _varies(structure: Structure, node: Node) -> bool:
    """Return whether anything inside a body depends on the turn of the outermost loop."""
    for child in node.children:
        if child.leaf:
            if depends_on_outermost(structure.leaves[child]):
                return True
        elif depends_on_outermost(structure.loops.get(child)) or _varies(structure, child):
            return True
    return False


def depends_on_outermost(model: object) -> bool:
    """Return whether a model depends on the turn of the outermost loop, or on their number."""
    if isinstance(model, str):
        return model in _OUTERMOST_ROOTS or _OUTERMOST.search(model) is not None
    if is_dataclass(model):
        if getattr(model, "loop", None) == 0:
            return True
        return any(depends_on_outermost(getattr(model, part.name)) for part in fields(model))
    if isinstance(model, Mapping):
        return any(map(depends_on_outermost, model.values()))
    return isinstance(model, tuple | list) and any(map(depends_on_outermost, model))


class _Amounts(NamedTuple):
    """Amounts of each rank in the timed section: outside of the iteration, and in it."""

    outside: np.ndarray
    inside: np.ndarray


class FoldedSections(Sections):
    """The sections of a program whose iterations are all one, which is repeated."""

    def __init__(self, once: Program, timed_rank: int | None, amounts: Mapping[Elapse | None, _Amounts]):
        self.iterations, self.timed_rank = 1, timed_rank
        self._repeated, self._amounts = once, amounts

    @property
    def polls(self) -> bool:
        """False: a program that polls has no iteration that stands for all."""
        return False

    def looped(self, iterations: int) -> Program:
        """Return the program with a number of iterations, all of them a loop."""
        assert self._repeated.loop is not None
        made = replace(self._repeated, loop=self._repeated.loop._replace(copies=iterations))
        # The same for any number of iterations, and slow to find for very many messages.
        vars(made).update(pairs=self._repeated.pairs, kinds=self._repeated.kinds)
        return made

    def program(self, iterations: int | None = None) -> Program:
        """Return the program with a number of iterations, 1 if it is not given."""
        return self.looped(iterations or 1)

    @cached_property
    def pairs(self) -> np.ndarray:
        """Pairs of ranks of which the first sends to the second, ascending, as pairs x 2."""
        return np.stack(np.divmod(self._repeated.pairs, self._repeated.nranks), axis=1)

    def _total(self, iterations: int, how: Elapse | None) -> np.ndarray:
        total: np.ndarray = self._amounts[how].outside + iterations * self._amounts[how].inside
        return total


def fold(
    short: Structure,
    nranks: int,
    notes: Notes,
    timed_rank: int | None,
    *,
    first_block: int = FIRST_BLOCK,
    block: int = BLOCK,
) -> FoldedSections | None:
    """Return the sections of a structure of one iteration that is repeated; None where it cannot be.

    Args:
        short: The structure, as ``folded`` gives it.
        nranks: Number of ranks.
        notes: As for ``generate``; so are the errors.
        timed_rank: As in Recording.
        first_block: Number of ranks that are expected first.
        block: Number of events that are expected at a time after that, about.
    """
    communicators = short.communicators.at(nranks)
    collected = _Collected(nranks, timed_rank)
    ranks = range(min(first_block, nranks))
    while ranks:
        part = generate_part(short, nranks, ranks, communicators, notes)
        each = max(1.0, len(part.events) / len(ranks))
        check_room(part, nranks, event_bytes=_EVENT_BYTES, rank_bytes=_RANK_BYTES)
        if not collected.add(ranks, part, communicators[0]):
            return None
        ranks = range(ranks.stop, min(ranks.stop + max(1, int(block / each)), nranks))
    of_members.cache_clear()  # they are as large as the largest communicator
    return collected.sections()


@dataclass
class _Collected:
    """Columns of what is kept of the ranks so far, each as a list of one array per block."""

    nranks: int
    timed_rank: int | None
    columns: dict[str, list[np.ndarray]] = field(default_factory=dict)
    instructions: int = 0
    sends: int = 0
    receives: int = 0

    def add(self, ranks: range, part: Part, members: tuple[tuple[int, ...], ...]) -> bool:
        """Add the ranks that come next; return whether their iteration may be one that is repeated."""
        if ((part.events["kind"] == Kind.COLLECTIVE) & (part.events["op"] == Op.SPLIT)).any():
            return False  # its messages depend on all ranks
        given = Flat(part.events, _for_all(part.bounds, ranks, self.nranks))
        counts: tuple[np.ndarray, ...] = ()
        if any(map(len, part.counts)):
            none = (np.zeros(0, np.int64),)
            counts = none * ranks.start + part.counts + none * (self.nranks - ranks.stop)
        flat = expanded(Recording((), counts, members), given)
        flat = until_stop(flat) if self.timed_rank is None else flat
        events, first = flat.events, flat.first[ranks.start : ranks.stop + 1]
        if (
            np.isin(events["kind"], (Kind.PROBE, Kind.POLL)).any()
            or np.isin(events["mode"], (Mode.PUT, Mode.GET)).any()
        ):
            return False
        is_mark = events["kind"] == Kind.MARK
        ends = np.flatnonzero(is_mark & (events["op"] == Mark.ITERATION)) + 1
        if not np.array_equal(np.searchsorted(ends, first[1:], side="right"), np.arange(1, len(ranks) + 1)):
            return False
        marks = np.flatnonzero(is_mark)
        begins = marks[np.searchsorted(marks, ends - 1) - 1] + 1
        rank = np.repeat(np.arange(len(ranks)), np.diff(first))
        self._add_amounts(flat, ranks, rank, begins, ends)
        self._add_instructions(events, first, ranks.start, rank, (begins, ends))
        return True

    def sections(self) -> FoldedSections | None:
        """Return the sections of all ranks; None where messages do not match, or go from one iteration to the next."""
        whole = {name: np.concatenate(self.columns.pop(name)) for name in list(self.columns)}
        of_receive = _matched_receives(whole)
        if of_receive is None:
            return None
        received = np.isin(whole["code"], (RECV, WAIT_RECEIVED))
        whole["argument"][received] = of_receive[whole["argument"][received]]
        program = Program(
            code=whole["code"],
            argument=whole["argument"],
            value=whole["value"],
            first=np.concatenate([whole["first"], [len(whole["code"])]]),
            source=whole["source"],
            destination=whole["destination"],
            size_bytes=whole["size_bytes"],
            mode=whole["mode"],
        )
        once = looped_once(program, whole["begin"], whole["end"])
        if once is None:
            return None
        amounts = {how: _Amounts(whole[f"outside {how}"], whole[f"inside {how}"]) for how in (None, *Elapse)}
        return FoldedSections(once, self.timed_rank, amounts)

    def _keep(self, **columns: np.ndarray) -> None:
        for name, column in columns.items():
            self.columns.setdefault(name, []).append(column)

    def _add_amounts(self, flat: Flat, ranks: range, rank: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> None:
        events, some = flat.events, slice(ranks.start, ranks.stop)
        start = first_mark(flat, Mark.START, flat.first[:-1])[some]
        stop = first_mark(flat, Mark.STOP, flat.first[1:])[some]
        at = np.flatnonzero(np.isin(events["kind"], (Kind.COMPUTE, Kind.ELAPSE)))
        at = at[(at >= start[rank[at]]) & (at < stop[rank[at]])]
        inside = (at >= begins[rank[at]]) & (at < ends[rank[at]])
        for how in (None, *Elapse):
            kind = events["kind"][at]
            mine = kind == Kind.COMPUTE if how is None else (kind == Kind.ELAPSE) & (events["op"][at] == how)
            for name, which in (("inside", mine & inside), ("outside", mine & ~inside)):
                amount = np.bincount(rank[at[which]], events["amount"][at[which]], minlength=len(ranks))
                self._keep(**{f"{name} {how}": amount})

    def _add_instructions(
        self, events: np.ndarray, first: np.ndarray, start: int, rank: np.ndarray, loop: tuple[np.ndarray, np.ndarray]
    ) -> None:
        kind = events["kind"]
        sends, receives = (np.flatnonzero(kind == which) for which in (Kind.SEND, Kind.RECV))
        operation = np.full(len(events), -1, np.int32)  # numbers of sends and of receives, each from 0 over all ranks
        operation[sends] = self.sends + np.arange(len(sends))
        operation[receives] = self.receives + np.arange(len(receives))
        self.sends, self.receives = self.sends + len(sends), self.receives + len(receives)
        waits, posts = np.flatnonzero(kind == Kind.WAIT), np.flatnonzero(operation >= 0)
        keys = (operation_key(rank[at], events["request"][at]) for at in (waits, posts))
        post_of_wait = posts[find(*keys)]
        operation[waits] = operation[post_of_wait]
        code = np.full(len(events), COMPUTE, np.uint8)
        for which, instruction in CODES.items():
            code[kind == which] = instruction
        code[waits] = np.where(kind[post_of_wait] == Kind.SEND, WAIT_SENT, WAIT_RECEIVED)
        named = (kind == Kind.MARK) | (kind == Kind.ELAPSE)
        timed = (kind == Kind.COMPUTE) | (kind == Kind.ELAPSE)
        keep = ~((kind == Kind.COMPUTE) & (events["amount"] == 0))
        kept = self.instructions + np.concatenate([[0], np.cumsum(keep)])
        self.instructions = int(kept[-1])
        self._keep(
            code=code[keep],
            argument=np.where(named, events["op"], operation)[keep].astype(np.int32),
            value=np.where(timed, events["amount"], 0.0)[keep],
            first=kept[first[:-1]],
            begin=kept[loop[0]],
            end=kept[loop[1]],
            mode=events["mode"][sends],
            source=(start + rank[sends]).astype(np.int32),
            destination=events["peer"][sends],
            size_bytes=events["size_bytes"][sends],
            sent=_ticket(events[sends]),
            receiver=(start + rank[receives]).astype(np.int32),
            sender=events["peer"][receives],
            length=np.where(events["tag"][receives] < 0, AS_SENT, events["size_bytes"][receives]),  # not in collectives
            received=_ticket(events[receives]),
        )


def _ticket(events: np.ndarray) -> np.ndarray:
    """Return tag and communicator of messages as one number."""
    ticket: np.ndarray = (events["comm"].astype(np.int64) << 32) + events["tag"]
    return ticket


def _for_all(bounds: np.ndarray, ranks: range, nranks: int) -> np.ndarray:
    """Return where the events of each rank begin, if ranks outside a range have none."""
    before, behind = np.zeros(ranks.start, np.int64), np.full(nranks - ranks.stop, bounds[-1])
    return np.concatenate([before, bounds, behind])


def _matched_receives(whole: dict[str, np.ndarray]) -> np.ndarray | None:
    """Return the send of each receive, by pair, communicator and tag in the order of the program; None: none matches.

    What only this needs is taken out of the columns.
    """
    sent, received, length = (whole.pop(name) for name in ("sent", "received", "length"))
    receiver, sender = whole.pop("receiver"), whole.pop("sender")
    if len(sent) != len(received):
        return None
    sends = np.lexsort((sent, whole["destination"], whole["source"]))
    receives = np.lexsort((received, receiver, sender))
    for mine, theirs in ((whole["source"], sender), (whole["destination"], receiver), (sent, received)):
        if not np.array_equal(mine[sends], theirs[receives]):
            return None
    expected = length[receives]
    if ((expected != AS_SENT) & (expected != whole["size_bytes"][sends])).any():
        return None
    of_receive = np.empty(len(sends), np.int32)
    of_receive[receives] = sends
    return of_receive
