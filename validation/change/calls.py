"""Amounts of what a program sends, calls and computes, by the functions that call MPI, and their differences.

Lines move when a source is edited, so that calls are known by their operation and the function that makes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.programs.problem import Problem
from apps.recording.events import Kind, Op, Recording
from platforms.errors import UserError
from predictor.graph.places import places_of

if TYPE_CHECKING:  # NumPy is slow to import
    import numpy as np

COMPUTATION = "computation"
_MOST_SHOWN = 8
_SAME = 1e-9  # relative
_BY_MEMBER = (Op.ALLGATHERV, Op.ALLTOALLV, Op.REDUCE_SCATTER)  # every rank's bytes stand in its counts


@dataclass(frozen=True)
class Amount:
    """Number and amount of what all ranks of a recording do."""

    times: int
    amount: float  # bytes; of computation, flops
    most: float  # amount of the rank that has most


def amounts_of(problem: Problem, recording: Recording) -> dict[str, Amount]:
    """Return what the ranks of a recording send, call and compute, by operation and calling function."""
    functions = _functions(problem, recording)
    found: dict[str, list[float]] = {}
    most: dict[str, float] = {}
    for events, counts in zip(recording.events, recording.counts, strict=True):
        of_rank: dict[str, list[float]] = {}
        for name, chosen, sizes in _parts(events, counts, recording.communicators, functions):
            sums = of_rank.setdefault(name, [0, 0.0])
            sums[0] += int(chosen.sum())
            sums[1] += float(sizes[chosen].sum())
        for name, (times, amount) in of_rank.items():
            sums = found.setdefault(name, [0, 0.0])
            sums[0] += times
            sums[1] += amount
            most[name] = max(most.get(name, 0.0), amount)
    return {name: Amount(int(times), amount, most[name]) for name, (times, amount) in sorted(found.items())}


def _functions(problem: Problem, recording: Recording) -> list[str]:
    """Return the function that makes the calls of each site; the first is that of calls whose place is not known."""
    try:
        places = places_of(problem, recording.paths)
    except UserError:  # no binutils: the operations alone
        places = (None,) * len(recording.paths)
    # A place is "file.c:12 function", or what is known of it.
    return ["", *("" if place is None else place.rpartition(" ")[2] for place in places)]


def _parts(
    events: np.ndarray, counts: np.ndarray, communicators: Sequence[Sequence[int]], functions: Sequence[str]
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield a name, which events have it, and their amounts."""
    # Imported here because it is slow to import.
    import numpy as np

    kinds = events["kind"]
    yield COMPUTATION, kinds == Kind.COMPUTE, events["amount"]
    sizes = events["size_bytes"].astype(float)
    vectors = (kinds == Kind.COLLECTIVE) & np.isin(events["op"], _BY_MEMBER)
    for place in np.flatnonzero(vectors):
        first, members = int(events["request"][place]), len(communicators[events["comm"][place]])
        sizes[place] = float(counts[first : first + members].sum())
    for kind in (Kind.SEND, Kind.COLLECTIVE):
        of_kind = kinds == kind
        for op in np.unique(events["op"][of_kind]) if kind == Kind.COLLECTIVE else (0,):
            of_op = of_kind & (events["op"] == op) if kind == Kind.COLLECTIVE else of_kind
            name = Op(int(op)).name.lower() if kind == Kind.COLLECTIVE else "send"
            for site in np.unique(events["site"][of_op]):
                function = functions[site] if 0 <= site < len(functions) else ""
                yield f"{name} in {function}" if function else name, of_op & (events["site"] == site), sizes


def differences(
    before: Mapping[str, Amount], after: Mapping[str, Amount], *, without: Set[str] = frozenset()
) -> list[str]:
    """Return what differs, one line each, at most a few; what is named in ``without`` is left out."""
    lines = []
    for name in sorted({*before, *after} - without, key=lambda name: (name == COMPUTATION, name)):
        old, new = before.get(name), after.get(name)
        unit = "flops" if name == COMPUTATION else "bytes"
        if old is None and new is not None:
            lines.append(f"{name}: new, {_times(new)}, {new.amount:,.0f} {unit}")
        elif new is None and old is not None:
            lines.append(f"{name}: gone, was {_times(old)}, {old.amount:,.0f} {unit}")
        elif old is not None and new is not None:
            lines += _changed(name, old, new, unit)
    more = len(lines) - _MOST_SHOWN
    return lines if more <= 0 else [*lines[:_MOST_SHOWN], f"and {more} more"]


def _changed(name: str, old: Amount, new: Amount, unit: str) -> Iterator[str]:
    said = []
    if name != COMPUTATION and old.times != new.times:
        said.append(f"{old.times:,} -> {_times(new)}")
    if abs(new.amount - old.amount) > _SAME * max(old.amount, new.amount):
        said.append(f"{old.amount:,.0f} -> {new.amount:,.0f} {unit}")
    if abs(new.most - old.most) > _SAME * max(old.most, new.most):
        said.append(f"of one rank at most {old.most:,.0f} -> {new.most:,.0f}")
    if said:
        yield f"{name}: {', '.join(said)}"


def _times(amount: Amount) -> str:
    return f"{amount.times:,} call" if amount.times == 1 else f"{amount.times:,} calls"
