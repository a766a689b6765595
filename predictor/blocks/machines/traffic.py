"""Messages that stay on a node, and messages that share links with others that begin at the same moment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd

from predictor.blocks.machines.machine import ALONE, Group, MessageLoad
from predictor.blocks.processes.pairs import Pairs
from predictor.blocks.processes.progression import Part, Progression, Split


@dataclass(frozen=True)
class Relation:
    """A part of a row of pairs in which sender and receiver share a node in every pair, or in none."""

    part: Part
    same_node: bool
    traffic: MessageLoad  # if all messages of the row begin at the same moment


def relations(source: Group, target: Group, pairs: Pairs) -> Iterator[Relation]:
    """Yield the parts of the row; together they have every pair once."""
    whole = Part(0, 1, pairs.count)
    if source.first_node + source.units <= target.first_node or target.first_node + target.units <= source.first_node:
        yield Relation(whole, False, _traffic(source, target, pairs))
        return
    if source == target and pairs.source_step == pairs.target_step:
        yield from _shifted(source, pairs)
        return
    between = _traffic(source, target, pairs)
    for same_node, part in _parts(source, target, pairs, whole):
        yield Relation(part, same_node, _within_nodes(source, target, pairs.part(part)) if same_node else between)


def _parts(source: Group, target: Group, pairs: Pairs, part: Part) -> Iterator[tuple[bool, Part]]:
    """Yield parts of the row with the answer whether sender and receiver share a node."""
    here = pairs.part(part)
    sender = Progression.of(here.source, here.source_step, here.count)
    receiver = Progression.of(here.target, here.target_step, here.count)
    try:
        yield source.node(sender) == target.node(receiver), part
    except Split as split:
        for inner in split.parts:
            yield from _parts(source, target, pairs, part.within(inner))


def _shifted(group: Group, pairs: Pairs) -> Iterator[Relation]:
    """Yield the parts of a row whose senders and receivers have the same distance in every pair.

    On nodes with c consecutive places, the receiver of the sender at place p is on the same node if
    0 <= p mod c + distance < c.  p mod c takes every g-th value, where g is the greatest common divisor of the row's
    step and c.
    """
    c = group.per_unit
    distance = (pairs.target - pairs.source) // group.stride
    if group.cyclic:
        same_node = distance % group.units == 0
        traffic = _within_nodes(group, group, pairs) if same_node else _traffic(group, group, pairs)
        yield Relation(Part(0, 1, pairs.count), same_node, traffic)
        return
    first, step = (pairs.source - group.first) // group.stride, pairs.source_step // group.stride
    period = c // gcd(step, c) if step else 1
    stays = [0 <= (first + step * j) % c + distance < c for j in range(min(period, pairs.count))]
    nodes = -(-pairs.count // period)  # at least so many nodes have pairs of the row: one per period of the places
    for same_node in (True, False):
        count = stays.count(same_node)
        if not count:
            continue
        each = count if step < c else 1
        together = min(pairs.count, count * nodes)
        traffic = MessageLoad(each, each, together)
        if count == len(stays):
            yield Relation(Part(0, 1, pairs.count), same_node, traffic)
            continue
        for j in (j for j, stay in enumerate(stays) if stay == same_node):
            yield Relation(Part(j, period, -(-(pairs.count - j) // period)), same_node, traffic)


def _within_nodes(source: Group, target: Group, pairs: Pairs) -> MessageLoad:
    here = _traffic(source, target, pairs)
    return replace(here, out=max(here.out, here.into))


def _traffic(source: Group, target: Group, pairs: Pairs) -> MessageLoad:
    if pairs.count == 1:
        return ALONE
    out = on_one_node(source, pairs.source_step, pairs.count)
    return MessageLoad(out, on_one_node(target, pairs.target_step, pairs.count), pairs.count)


def on_one_node(group: Group, step: int, count: int) -> int:
    """Return the number of a row's members on the busiest node."""
    places = abs(step) // group.stride
    if places == 0:
        return count
    if group.cyclic:
        return -(-count // (group.units // gcd(places, group.units)))
    return min(count, max(1, group.per_unit // places))
