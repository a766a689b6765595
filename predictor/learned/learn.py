"""The structure of a program from its recordings at several numbers of ranks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from apps.recording.events import Kind, Op, Recording
from predictor.learned.branches import Branches, Learned
from predictor.learned.call_search import ComputationSearch, PartnerSearch
from predictor.learned.errors import CannotContinue
from predictor.learned.features import NO_SIZES, Space
from predictor.learned.grids import GRIDS, coordinates, rivals
from predictor.learned.loops import aligned, listed_loops, parse_by_period
from predictor.learned.models import Either, NumberModel, constant, features_of, parts_of_fit, statements_of
from predictor.learned.nest import Node, loop_nest, positions
from predictor.learned.noisy import fitted, fitted_by_turn, little, of_note, ratios_to
from predictor.learned.parsing import Parse, parse
from predictor.learned.rows import Rows
from predictor.learned.scatter import scatter_of
from predictor.learned.skeleton import Symbol, Text, traces_of
from predictor.learned.structure import ANY_KIND, FIRST_SYMBOL, NOTHING, AllOpen, Communicators, Leaf, Structure

_M = TypeVar("_M")
_LEAST_RECORDINGS = 2
_MANY = 1 << 30
_DOUBLE = 8  # bytes
_SEARCHES, _FEW_SEARCHES = 200, 40
_OF_NOTE = 0.02  # part of the computation of all ranks
_TALK = (Kind.SEND, Kind.RECV, Kind.COLLECTIVE)


def learn(
    recordings: Sequence[Recording],
    numbers: Sequence[int],
    text: Text | None = None,
    recorded: Mapping[int, Sequence[int]] = NO_SIZES,
) -> Structure:
    """Return the structure of a program, under the rule for the grid of its ranks by which most of it is sure.

    Every part is learned without the recording on the largest number of ranks and checked with it.

    Args:
        recordings: Recordings of the program at different numbers of ranks, at least two.
        numbers: Sizes that the problem is known to have.
        text: The calls by path, as far as the program's text is known.
        recorded: Numbers of ranks on which a problem of other sizes was recorded: those in the place of ``numbers``.

    Raises:
        CannotContinue: A call follows no rule; under the rule for the grid that explains most calls.
    """
    if len({recording.nranks for recording in recordings}) < _LEAST_RECORDINGS:
        raise CannotContinue("it takes recordings on at least two numbers of ranks")
    ordered = sorted(recordings, key=lambda recording: recording.nranks)
    best: Structure | None = None
    refused: list[CannotContinue] = []
    skeleton = skeleton_of(ordered, text)
    for grid in grids(ordered):
        space = Space(grid, numbers, recorded)
        try:
            if best is None:
                best = structure_on(ordered, space, skeleton)
            else:  # what the next rules for the grid explain better is found quickly
                best = structure_on(ordered, space, skeleton, len(best.unconfirmed) - 1, _FEW_SEARCHES)
        except CannotContinue as err:
            refused.append(err)
        # Levels are found by the neighbours of all ranks, so that another grid does not explain them better.
        if best is not None and (not best.unconfirmed or (skeleton.parsed.aligned and not best.fitted)):
            return best
    if best is None:
        raise max(refused, key=lambda err: err.explained)
    return best


class Skeleton(NamedTuple):
    """The text of a program, and its recordings read by it, which does not depend on the grid of its ranks."""

    symbols: Sequence[Symbol]
    parsed: Parse


def skeleton_of(recordings: Sequence[Recording], text: Text | None = None) -> Skeleton:
    """Return the text of a program that was recorded; ``text``: as in ``learn``.

    Raises:
        CannotContinue: The program polls for messages.
    """
    made = _skeleton(recordings, text)
    return made if not made.parsed.aligned else _skeleton(recordings, text, by_tag=True)


def _skeleton(recordings: Sequence[Recording], text: Text | None, *, by_tag: bool = False) -> Skeleton:
    symbols, traces = traces_of(recordings, by_tag=by_tag)
    position = positions(traces, symbols, text or {}, by_call=by_tag)
    root = loop_nest(traces, position, symbols, by_call=by_tag)
    return Skeleton(symbols, aligned(parse_by_period(parse(root, traces, position), position, symbols)))


def structure_on(
    recordings: Sequence[Recording],
    space: Space,
    skeleton: Skeleton,
    most_doubts: int = _MANY,
    searches: int = _SEARCHES,
) -> Structure:
    """Return the structure of a program under one rule for the grid of its ranks.

    ``space``: the features under this rule; ``skeleton``: that of the recordings;
    ``most_doubts``: number of parts that may be unsure; ``searches``: the most searches of formulas for each quantity.

    Raises:
        CannotContinue: A call follows no rule, or too much is unsure.
    """
    parsed = skeleton.parsed.copy()
    space.levels = bool(parsed.aligned)
    learner = _Learner(recordings, skeleton.symbols, parsed, space, (most_doubts, searches))
    return learner.learned()


def grids(recordings: Sequence[Recording]) -> list[str]:
    """Return the rules for grids, that under which messages go by the fewest different steps first."""
    unlike: dict[str, set[tuple[int, ...]]] = {grid: set() for grid in GRIDS}
    for recording in recordings:
        for rank, events in enumerate(recording.events):
            peers = np.unique(events["peer"][events["kind"] == Kind.SEND].astype(np.int64))
            for grid, sides_of in GRIDS.items() if len(peers) else ():
                sides = np.array(sides_of(recording.nranks))[:, None]
                here, there = (coordinates(sides_of(recording.nranks), ranks) for ranks in (np.array([rank]), peers))
                by = (there - here) % sides
                by = np.where(2 * by > sides, by - sides, by)  # along an axis of two ranks, left is right
                unlike[grid] |= set(map(tuple, by.T.tolist()))
    seen = [recording.nranks for recording in recordings]
    order = sorted(unlike, key=lambda grid: len(unlike[grid]))
    return [grid for at, grid in enumerate(order) if not set(rivals(grid, seen)) & set(order[:at])]


class _Learner:
    def __init__(
        self,
        recordings: Sequence[Recording],
        symbols: Sequence[Symbol],
        parsed: Parse,
        space: Space,
        limits: tuple[int, int],
    ):
        self._parsed, self._space = parsed, space
        traces = parsed.traces
        self._events = np.concatenate([trace.events for trace in traces])
        self._flops = np.concatenate([trace.flops for trace in traces])
        self._before = np.concatenate([np.append(NOTHING, trace.symbols[:-1]) for trace in traces])
        self._measured = any(recording.measured for recording in recordings)
        self._waited = np.concatenate([trace.waited for trace in traces])
        self._opened = np.concatenate([trace.opened for trace in traces])
        self._waited_alike = np.concatenate([trace.waited_alike for trace in traces])
        seen = tuple(sorted({recording.nranks for recording in recordings}))
        communicators = Communicators(space, recordings)
        self._made = Structure(symbols, parsed.root, space, communicators, seen)
        self._most_doubts, searches = limits
        self._branches = Branches(space, seen[-1], searches)
        self._computation: list[tuple[Node, Rows, np.ndarray, str]] = []  # indices of its events
        self._between = ComputationSearch(self._branches, symbols)
        self._partners = PartnerSearch(self._branches, seen[-1])

    def learned(self) -> Structure:
        self._made.lists = listed_loops(self._parsed, self._made.symbols, self._space)
        self._visit(self._made.root)
        for leaf, rows, which, what in self._computation:  # last: sizes of messages show what it may depend on
            self._learn_computation(leaf, rows, which, what)
        return self._made

    def _visit(self, node: Node) -> None:
        rows = self._parsed.rows(node)
        for child in node.children:
            if child.leaf:
                self._learn_leaf(child, rows)
            else:
                self._learn_loop(child, rows)
                self._visit(child)

    def _name(self, leaf: Node) -> str:
        assert leaf.symbol is not None
        return str(self._made.symbols[leaf.symbol])

    def _refuse(self, reason: str, leaf: Node) -> CannotContinue:
        return CannotContinue(reason, self._name(leaf), len(self._made.leaves))

    def _learn_loop(self, loop: Node, rows: Rows) -> None:
        if loop in self._made.lists:
            return
        turns, began = self._parsed.loops[loop]
        open_before = np.where(began[:, None] >= 0, self._opened[began], 0)
        kinds = {None if leaf.symbol is None else self._made.symbols[leaf.symbol].kind for leaf in loop.children}
        if kinds == {Kind.WAIT}:
            some, sends = open_before.T
            for kind, number in ((ANY_KIND, some), (Kind.SEND, sends), (Kind.RECV, some - sends)):
                if bool((turns == number).all() or (kind == ANY_KIND and (turns == number)[turns > 0].all())):
                    self._made.loops[loop] = AllOpen(kind)
                    return
        reason = "the number of turns of the loop that it begins follows no rule"
        self._made.loops[loop] = self._needed(rows, turns, reason, loop.first)

    def _learn_leaf(self, leaf: Node, rows: Rows) -> None:
        assert leaf.symbol is not None
        symbol, (at, which) = self._made.symbols[leaf.symbol], self._parsed.leaves[leaf]
        present = np.zeros(len(rows))
        present[at] = 1
        presence = self._sure(self._branches.truth(rows, present), "which ranks make the call follows no rule", leaf)
        self._space.roots |= {atom for atom in statements_of(presence) if "@" in atom}
        there = rows if len(at) == len(rows) and bool((at == np.arange(len(at))).all()) else rows.take(at)
        made = self._made.leaves[leaf] = Leaf(presence, constant(0))
        self._computation.append((leaf, there, which, f"flops before {symbol}"))
        values = self._events[which]
        if symbol.kind in _TALK:
            self._learn_message(leaf, made, there, values)
        elif symbol.kind == Kind.WAIT:
            self._learn_wait(leaf, made, there, which)
        elif symbol.kind == Kind.POLL:
            made.tag = self._needed(there, values["tag"], "the place of its look follows no rule", leaf)
        elif symbol.kind == Kind.ELAPSE:
            made.size = self._amount(there, values["amount"], f"seconds of {symbol}")

    def _learn_wait(self, leaf: Node, made: Leaf, rows: Rows, which: np.ndarray) -> None:
        """Learn the place of the operation that is waited for among the open ones, of both kinds or of its own."""
        kinds, of_kind, symbols, of_symbol = self._waited_alike[which].T
        if (kinds == kinds[0]).all():
            made.waits_for = int(kinds[0])
        ways = [(ANY_KIND, self._waited[which])]
        ways += [(FIRST_SYMBOL + int(symbols[0]), of_symbol)] if (symbols == symbols[0]).all() else []
        ways += [(int(kinds[0]), of_kind)] if (kinds == kinds[0]).all() else []
        ways.sort(key=lambda way: np.ptp(way[1]) > 0)  # always the oldest or the youngest: that is short
        tried = (self._branches.number(rows, places) for _, places in ways)
        found, made.waits_among = Learned[NumberModel](None), ANY_KIND
        for (among, _), learned in zip(ways, tried, strict=True):
            if learned.confirmed or (found.model is None and learned.model is not None):
                found, made.waits_among = learned, among
            if found.confirmed:
                break
        made.waited = self._sure(found, "the operation that it waits for follows no rule", leaf)

    def _learn_message(self, leaf: Node, made: Leaf, rows: Rows, values: np.ndarray) -> None:
        assert leaf.symbol is not None
        symbol = self._made.symbols[leaf.symbol]
        found = self._partners.partner(rows, values["peer"].astype(np.int64))
        made.partner = self._sure(found, "its partners follow no rule", leaf)
        made.tag = self._needed(rows, values["tag"], "its tags follow no rule", leaf)
        comm = self._made.communicators.numbers(rows.nranks, rows.rank, values["comm"])
        made.comm = self._needed(rows, comm, "its communicators follow no rule", leaf)
        made.filled = bool((values["size_bytes"] > 0).all())
        made.unit = int(np.gcd.reduce(np.append(values["size_bytes"].astype(np.int64), _DOUBLE)))
        if symbol.kind == Kind.COLLECTIVE and symbol.op == Op.ALLTOALL:
            made.spread_out = self._spread_out(rows, values, made.unit)
        vector = symbol.kind == Kind.COLLECTIVE and bool((values["request"] >= 0).any())
        if symbol.kind != Kind.COLLECTIVE:
            made.size = self._amount(rows, values["size_bytes"], f"bytes of {symbol}")
            self._space.learn_numbers(sorted(features_of(made.size)))
        else:
            made.size = self._amount(rows, values["size_bytes"], f"bytes of {symbol}")
        if vector:
            made.vector = "split" if symbol.op == Op.SPLIT else "members"
            has = values["request"] >= 0
            made.counted = self._sure(self._branches.truth(rows, has), "which ranks have counts follows no rule", leaf)
            made.counts = self._learn_counts(leaf, rows, values, made.vector)

    def _spread_out(self, rows: Rows, values: np.ndarray, unit: int) -> int:
        """Return the least block of an all-to-all that transposes data of one size; 0 where it does not.

        Its blocks shrink with the square of the number of ranks: each rank has a share, and a block for each member.
        """
        members = np.array(
            [
                self._made.communicators.size(n, rank, comm)
                for n, rank, comm in zip(*(x.tolist() for x in (rows.nranks, rows.rank, values["comm"])), strict=True)
            ]
        )
        sizes = values["size_bytes"].astype(np.int64)
        few, many = (members == of for of in (members.min(), members.max()))
        transposes = bool(2 * (sizes * members)[many].max() <= (sizes * members)[few].min())
        return int(sizes.min()) if transposes and bool((sizes >= unit * members).all()) else 0

    def _learn_counts(self, leaf: Node, rows: Rows, values: np.ndarray, vector: str) -> NumberModel:
        assert leaf.symbol is not None
        has = values["request"] >= 0
        trace = self._parsed.passes[self._parsed.body(leaf)].trace[self._parsed.leaves[leaf].row[has]]
        rows, values = rows.take(has), values[has]
        calls = zip(*(x.tolist() for x in (rows.nranks, rows.rank, values["comm"])), strict=True)
        lengths = [2 if vector == "split" else self._made.communicators.size(*call) for call in calls]
        counts = [
            self._parsed.traces[number].counts[first : first + length]
            for number, first, length in zip(trace.tolist(), values["request"].tolist(), lengths, strict=True)
        ]
        values = np.concatenate(counts)
        long = by_member(rows, np.array(lengths))
        if vector == "split":
            return self._needed(long, values, "its colors and keys follow no rule", leaf)
        return self._amount(long, values, f"bytes by member of {self._made.symbols[leaf.symbol]}", by_member=True)

    def _needed(self, rows: Rows, values: np.ndarray, reason: str, leaf: Node) -> NumberModel:
        return self._sure(self._branches.number(rows, values), reason, leaf)

    def _sure(self, found: Learned[_M], reason: str, leaf: Node) -> _M:
        if found.model is None:
            raise self._refuse(reason, leaf)
        if not found.confirmed:
            self._doubt(self._name(leaf))
        return found.model

    def _learn_computation(self, node: Node, rows: Rows, which: np.ndarray, what: str) -> None:
        leaf, flops = self._made.leaves[node], self._flops[which]
        leaf.seen_after = frozenset(np.unique(self._before[which]).tolist())
        assert node.symbol is not None
        self._branches.search.blank = True
        if not self._is_noisy(flops, what):
            short = self._between.short(rows, flops)
            if short is not None:
                leaf.flops = short
                return
            leaf.flops_after = self._between.by_symbol(node.symbol, rows, flops, self._before[which])
        if not leaf.flops_after:
            leaf.flops = self._amount(rows, flops, what)

    def _is_noisy(self, values: np.ndarray, what: str) -> bool:
        return self._measured and what.startswith("flops") and bool(np.ptp(values) > 0)

    def _amount(self, rows: Rows, values: np.ndarray, what: str, *, by_member: bool = False) -> NumberModel:
        noisy = self._is_noisy(values, what)
        found = Learned[NumberModel](None) if noisy else self._branches.number(rows, values)
        if not found.confirmed and not noisy:  # measured amounts are fitted under every rule for the grid
            self._doubt(what)
        if found.model is None:
            if noisy:
                made = self._measured_amount(rows, values)
                parts = parts_of_fit(made.yes if isinstance(made, Either) else made)
                self._made.fitted[what] = min(part.low for part in parts), max(part.high for part in parts)
                return made
            fit = fitted(self._space, rows, values)
            ratio = ratios_to(fit.middle(self._space, rows), values)
            fit = replace(fit, scatter=scatter_of(rows, values, ratio, by_member=by_member))
            self._made.fitted[what] = fit.low, fit.high
            return fit
        return found.model

    def _measured_amount(self, rows: Rows, values: np.ndarray) -> NumberModel:
        """Return fits of measured computation: where it follows a rule what is negligible, each side has its own."""
        large = of_note(values) if float(values.sum()) > _OF_NOTE * float(self._flops.sum()) else None
        if large is None:
            return fitted_by_turn(self._space, rows, values)
        truth = Branches(self._space, self._made.seen[-1], _FEW_SEARCHES).truth(rows, large).model
        if truth is None:
            return fitted_by_turn(self._space, rows, values)
        return Either(truth, fitted_by_turn(self._space, rows.take(large), values[large]), little(values[~large]))

    def _doubt(self, what: str) -> None:
        if what not in self._made.unconfirmed:
            self._made.unconfirmed.append(what)
        if len(self._made.unconfirmed) > self._most_doubts:
            raise CannotContinue("under another rule for the grid of ranks more is sure", what, len(self._made.leaves))


def by_member(rows: Rows, lengths: np.ndarray) -> Rows:
    """Return the rows of each member of a collective, which are turns of one more loop."""
    base = rows.take(np.repeat(np.arange(len(rows)), lengths))
    member = np.concatenate([np.arange(length) for length in lengths.tolist()])
    each = np.repeat(lengths, lengths)
    added = ((base.index, member), (base.turns, each), (base.turn, member))
    index, turns, turn = (np.column_stack([row, more]) for row, more in added)
    return Rows(base.nranks, base.rank, index, turns, turn, base.levels)
