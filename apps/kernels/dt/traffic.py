"""The declared traffic of DT (apps/kernels/dt): arrays that travel along the layers of a graph."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from apps.traffic.steps import Compute, Exchange, Step, Traffic
from platforms.wording import number_of

FEATURES = 4  # numbers of a sample
# As in apps/kernels/dt/dt.c, which says where the draws come from.
_DRAWN = (450, 221, 928, 128, 521, 55, 614, 15, 0, 956, 0, 664, 957, 9, 95, 12)
_SEED, _MULTIPLIER, _BITS = 314159265, 5**13, 46  # of the further draws: apps/kernels/harness/random.h
_TAG_LENGTH, _TAG_ARRAY, _TAG_RESULT = range(3)
_FAN = 4  # most arcs into or out of a node


def samples_of_sources(sources: int, mean: int, deviation: int) -> list[int]:
    """Return the number of samples of every source, at most ``deviation`` from the mean."""
    known = [drawn % (2 * deviation) for drawn in _DRAWN[:sources]]
    states = (_SEED * pow(_MULTIPLIER, source + 1, 2**_BITS) % 2**_BITS for source in range(len(known), sources))
    return [mean - deviation + drawn for drawn in (*known, *(state * 2 * deviation >> _BITS for state in states))]


def refusal(params: dict[str, Any], nranks: int) -> str | None:
    """Return the program's reason for refusing the problem on this number of ranks; None if it does not refuse."""
    nodes = sum(_widths(params))
    if nranks < nodes:
        held = number_of(nranks, "rank")
        return f"the graph has {nodes} nodes and needs a rank for each, {held} cannot hold them"
    return None


def traffic(params: dict[str, Any], nranks: int) -> Traffic:
    """Return the traffic along the graph.  DT has no iterations: all steps belong to the last one."""
    return Traffic(nranks, before=(), iteration=(), last=tuple(_steps(params, nranks)), after=())


def _widths(params: dict[str, Any]) -> list[int]:
    """Return the numbers of nodes of the layers."""
    widths = [int(params["num_sources"])]
    if params["graph"] == "SH":
        return widths * widths[0].bit_length()
    while widths[-1] > 1:
        widths.append(max(1, widths[-1] // _FAN))
    return widths if params["graph"] == "BH" else widths[::-1]


def _after(graph: str, layer: int, place: int, widths: list[int]) -> list[int]:
    """Return the places of the next layer to which a place sends, in the order in which it does."""
    here, following = widths[layer : layer + 2]
    if graph == "BH":
        return [place // (here // following)]
    if graph == "WH":
        each = following // here
        return [each * place + i for i in reversed(range(each))]
    return sorted((place, place ^ 1 << layer))


def _steps(params: dict[str, Any], nranks: int) -> Iterator[Step]:
    graph, widths = str(params["graph"]), _widths(params)
    mean, deviation = int(params["num_samples"]), int(params["std_deviation"])
    samples = samples_of_sources(widths[0], mean, deviation)
    yield _computed(nranks, 0, samples)
    first = 0
    for layer, width in enumerate(widths[:-1]):
        following = first + width
        arcs = [(place, to) for place in range(width) for to in _after(graph, layer, place, widths)]
        lengths = [[samples[place] for place, to in arcs if to == node] for node in range(widths[layer + 1])]
        yield from _exchanges(arcs, samples, first, following)
        yield _computed(nranks, following, [sum(received) for received in lengths])
        samples = [max(mean, *received) for received in lengths]
        first = following
    yield _computed(nranks, first, samples)
    for place in range(widths[-1]):
        yield Exchange.of([(first + place, 0, 8)], tag=_TAG_RESULT)


def _computed(nranks: int, first: int, samples: list[int]) -> Compute:
    """Return one operation for each of these numbers of samples, on the ranks from ``first`` on."""
    flops = np.zeros(nranks)
    flops[first : first + len(samples)] = FEATURES * np.array(samples, float)
    return Compute(flops)


def _exchanges(arcs: list[tuple[int, int]], samples: list[int], first: int, following: int) -> Iterator[Exchange]:
    """Yield the messages along the arcs of a layer: a length and then an array for each.

    A step posts all its receives at once, but nodes receive one message after the other.  So the arcs are taken in
    turns, in each of which a node receives from one node and sends to one.
    """
    received, sent = Counter[int](), Counter[int]()
    turns = defaultdict(list)
    for place, to in sorted(arcs, key=lambda arc: arc[0]):
        turns[received[to], sent[place]].append((place, to))
        received[to] += 1
        sent[place] += 1
    for turn in sorted(turns):
        ends = [(first + place, following + to) for place, to in turns[turn]]
        yield Exchange.of([(*end, 4) for end in ends], tag=_TAG_LENGTH)
        sizes = [8 * FEATURES * samples[place] for place, _ in turns[turn]]
        yield Exchange.of([(*end, size) for end, size in zip(ends, sizes, strict=True)], tag=_TAG_ARRAY)
