"""The loops and branches of a program, found again in the elements of its graph.

The graph has one execution, element by element.  Here repeated sequences of elements of a process become a loop with
its number of turns, also inside other loops, and processes that do the same become one row.  Where some processes do
something else between elements that all of them have, that is a branch.  Elements are alike if they are of one kind, at
one place in the program, to the same neighbour (counted from the process's own number) with as many bytes; segments at
one place are alike regardless of their flops, and the view has the mean of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from apps.recording.events import Mode
from predictor.graph.graph import DPGraph, Element, Node

MOST_PERIOD = 500  # longest body of a detected loop, in items


@dataclass(frozen=True)
class Step:
    """An element of a process, or equal ones in all turns of loops."""

    what: str  # what makes elements alike, in words
    place: str | None
    flops: float = field(default=0.0, compare=False)  # of all turns together
    count: int = field(default=1, compare=False)  # elements that it stands for

    @property
    def mean_flops(self) -> float:
        """Mean flops of a turn."""
        return self.flops / self.count


@dataclass(frozen=True)
class Loop:
    """Items that follow each other some times."""

    turns: int
    body: tuple[Row, ...]


@dataclass(frozen=True)
class Branch:
    """Items that only some processes have, between items that all have."""

    ranks: tuple[int, ...]
    items: tuple[Row, ...]


Row = Step | Loop | Branch


def folded(graph: DPGraph) -> tuple[Row, ...]:
    """Return the program of all processes: steps, loops, and branches of some processes."""
    groups: dict[tuple[Row, ...], list[int]] = {}
    made: dict[int, tuple[Row, ...]] = {}
    for rank, row in enumerate(graph.processes):
        items = fold([_step(graph.nodes[at], rank) for at in row[1:-1]])
        groups.setdefault(items, []).append(rank)
        made[rank] = items
    means = [(_mean([made[rank] for rank in ranks]), tuple(ranks)) for ranks in groups.values()]
    return _merged(means)


def fold(items: Sequence[Row]) -> tuple[Row, ...]:
    """Return the items with those that follow each other again folded into loops, the shortest bodies first."""
    now = list(items)
    period = 1
    while period <= min(len(now) // 2, MOST_PERIOD):
        shorter = _fold_period(now, period)
        period = 1 if len(shorter) < len(now) and period > 1 else period + 1
        now = shorter
    return tuple(now)


def _fold_period(items: list[Row], period: int) -> list[Row]:
    """Return the items with all repetitions of ``period`` items folded."""
    made: list[Row] = []
    at = 0
    while at < len(items):
        turns = 1
        body = items[at : at + period]
        while len(body) == period and items[at + turns * period : at + (turns + 1) * period] == body:
            turns += 1
        if turns == 1:
            made.append(items[at])
            at += 1
            continue
        whole = _mean([tuple(items[at + k * period : at + (k + 1) * period]) for k in range(turns)])
        made.append(Loop(turns, whole))
        at += turns * period
    return made


def _mean(rows: Sequence[tuple[Row, ...]]) -> tuple[Row, ...]:
    """Return equal rows of items as one, with the flops and counts of all."""
    if len(rows) == 1:
        return rows[0]
    made: list[Row] = []
    for alike in zip(*rows, strict=True):
        first = alike[0]
        if isinstance(first, Loop):
            made.append(Loop(first.turns, _mean([item.body for item in alike if isinstance(item, Loop)])))
        else:
            steps = [item for item in alike if isinstance(item, Step)]
            made.append(Step(first.what, first.place, sum(s.flops for s in steps), sum(s.count for s in steps)))
    return tuple(made)


def _merged(groups: Sequence[tuple[tuple[Row, ...], tuple[int, ...]]]) -> tuple[Row, ...]:
    """Return the items of groups of processes as one program with branches."""
    rows: tuple[Row, ...] = groups[0][0] if groups else ()
    known = groups[0][1] if groups else ()
    for items, ranks in groups[1:]:
        rows = _joined(rows, known, items, ranks)
        known = (*known, *ranks)
    return rows


def _joined(
    rows: Sequence[Row], known: tuple[int, ...], items: Sequence[Row], ranks: tuple[int, ...]
) -> tuple[Row, ...]:
    """Return a program of some processes joined with the items of further ones."""
    common = [at for at, row in enumerate(rows) if not isinstance(row, Branch)]
    numbers: dict[object, int] = {}
    old, new = (
        [numbers.setdefault(_key(row), len(numbers)) for row in some] for some in ([rows[at] for at in common], items)
    )
    made: list[Row] = []
    done = 0  # rows
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            for at, item in zip(common[a:b], items[c:d], strict=True):
                made += [*rows[done:at], _both(rows[at], known, item, ranks)]
                done = at + 1
            continue
        end = common[b - 1] + 1 if b > a else done
        made += [row if isinstance(row, Branch) else Branch(tuple(sorted(known)), (row,)) for row in rows[done:end]]
        made += [Branch(ranks, tuple(items[c:d]))] if d > c else []
        done = end
    return tuple(_tidy([*made, *rows[done:]]))


def _key(row: Row) -> object:
    """Return what makes two items of different processes one: steps alike, and loops of as many turns."""
    return ("loop", row.turns) if isinstance(row, Loop) else row


def _both(row: Row, known: tuple[int, ...], other: Row, ranks: tuple[int, ...]) -> Row:
    """Return an item that both some processes and further ones have."""
    if isinstance(row, Loop) and isinstance(other, Loop):
        return Loop(row.turns, _joined(row.body, known, other.body, ranks))
    assert isinstance(row, Step) and isinstance(other, Step)
    return Step(row.what, row.place, row.flops + other.flops, row.count + other.count)


def _tidy(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with neighbouring branches of the same processes, or of the same items, as one."""
    made: list[Row] = []
    for row in rows:
        last = made[-1] if made else None
        if isinstance(row, Branch) and isinstance(last, Branch) and last.ranks == row.ranks:
            made[-1] = Branch(row.ranks, (*last.items, *row.items))
        elif isinstance(row, Branch) and isinstance(last, Branch) and last.items == row.items:
            made[-1] = Branch(tuple(sorted((*last.ranks, *row.ranks))), row.items)
        else:
            made.append(row)
    return made


def _step(node: Node, rank: int) -> Step:
    if node.element is Element.SEGMENT:
        return Step("segment", node.place, node.flops)
    if node.element is Element.SYNCHRONISATION:
        name = "synchronise" if node.op is None else node.op.name.lower()
        root = "" if node.peer is None else f" from {node.peer}"
        return Step(f"{name}{root}, {node.size_bytes} bytes", node.place)
    mode = "" if node.mode in (None, Mode.STANDARD) else f"{node.mode.name.lower()} "
    away = 0 if node.peer is None else node.peer - rank
    to = "to" if node.element is Element.SEND else "from"
    return Step(f"{mode}{node.element.value} {to} process {away:+d}, {node.size_bytes} bytes", node.place)


def folded_lines(rows: Sequence[Row], depth: int = 0) -> list[str]:
    """Return the program as indented lines of text."""
    lines: list[str] = []
    space = "  " * depth
    for row in rows:
        if isinstance(row, Step):
            work = f", {row.mean_flops:.4g} flop in the mean" if row.flops else ""
            lines.append(f"{space}{row.what}{work}{'' if row.place is None else f'  [{row.place}]'}")
        elif isinstance(row, Loop):
            lines += [f"{space}{row.turns} times:", *folded_lines(row.body, depth + 1)]
        else:
            lines += [f"{space}only {_processes(row.ranks)}:", *folded_lines(row.items, depth + 1)]
    return lines


def folded_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the program as JSON values."""
    values: list[dict[str, Any]] = []
    for row in rows:
        if isinstance(row, Step):
            values.append({"step": row.what, "place": row.place, "mean_flops": row.mean_flops})
        elif isinstance(row, Loop):
            values.append({"turns": row.turns, "body": folded_json(row.body)})
        else:
            values.append({"ranks": list(row.ranks), "items": folded_json(row.items)})
    return values


def _processes(ranks: Sequence[int]) -> str:
    """Return the numbers of processes in words, with runs such as 4 to 7."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return f"process{'es' * (len(ranks) > 1)} {', '.join(parts)}"
