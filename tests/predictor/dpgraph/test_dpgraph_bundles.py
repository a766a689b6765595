"""Flows over hubs that count as one flow: the dates are those of flows that each have a rate of their own."""

import numpy as np
import pytest

from predictor.dpgraph import fluid
from predictor.dpgraph.instructions import COMPUTE, MESSAGE, RECV, SEND, WAIT_RECEIVED, Instructions, Messages, Paths

APART = 1 << 40  # paths that no link has
RANKS = 24


def star(node_Bps, hub_Bps, penalty):
    """All ranks on links up and down of their own around a hub, where receiving takes a little of the link up."""
    link, weight = [], []
    for source in range(RANKS):
        for destination in range(RANKS):
            link += [2 * source, 2 * RANKS, 2 * destination + 1, 2 * destination, 2 * source + 1]
            weight += [1.0, 1.05, 1.0, 0.05, 0.05]
    paths = RANKS * RANKS
    capacity = np.append(node_Bps, hub_Bps)
    bound = np.minimum.outer(node_Bps[0::2], node_Bps[1::2]).ravel()
    first = np.arange(paths + 1, dtype=np.int64) * 5
    return Paths(bound, penalty, first, np.array(link, np.int32), np.array(weight), capacity)


def drawn(seed, count):
    """Messages between drawn ranks, half of them to rank 0, received in the order in which they are sent."""
    draw = np.random.default_rng(seed)
    source = draw.integers(1, RANKS, count)
    destination = np.where(draw.random(count) < 0.5, 0, (source + draw.integers(1, RANKS - 1, count)) % RANKS)
    kinds = np.zeros(count, MESSAGE)
    kinds["amount_bytes"] = draw.choice([10.0, 100.0, 1000.0], count)
    kinds["latency_s"], kinds["factor"] = draw.choice([0.01, 0.02], count), draw.choice([0.5, 1.0], count)
    kinds["path"], kinds["detached"] = source * RANKS + destination, draw.random(count) < 0.5
    rows = [[] for _ in range(RANKS)]
    for number in range(count):
        rows[source[number]] += [(COMPUTE, 0, draw.exponential(2.0)), (SEND, number, 0.0)]
        rows[destination[number]] += [(RECV, number, 0.0)]
    for number in range(count):
        rows[destination[number]] += [(WAIT_RECEIVED, number, 0.0)]
    code, argument, value = (np.array([row[k] for rank in rows for row in rank]) for k in range(3))
    first = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    instructions = Instructions(code.astype(np.uint8), argument.astype(np.int32), value, first)
    return instructions, Messages(kinds, np.arange(count, dtype=np.int32))


def dates(instructions, messages, paths, hub_paths):
    done_s = np.full(len(messages.kind), np.nan)
    marks_s = np.zeros((RANKS, 1))
    fluid.evaluate(instructions, messages, paths, np.ones(RANKS), marks_s, done_s=done_s, hub_paths=hub_paths)
    return done_s


@pytest.mark.parametrize("hub_Bps", [200.0, 2000.0, 1e5])  # it limits all flows, some, or none
@pytest.mark.parametrize("seed", range(4))
def test_messages_arrive_when_they_do_without_bundles(seed, hub_Bps):
    draw = np.random.default_rng(100 + seed)
    node_Bps = np.full(2 * RANKS, 300.0) if seed % 2 else draw.choice([100.0, 300.0, 400.0], 2 * RANKS)
    penalty = np.ones(RANKS * RANKS) if seed < 2 else draw.choice([1.0, 1.5], RANKS * RANKS)
    paths, program = star(node_Bps, hub_Bps, penalty), drawn(seed, 600)
    apart = dates(*program, paths, APART)
    assert dates(*program, paths, 8) == pytest.approx(apart, rel=1e-12)


def test_equal_messages_to_one_rank_share_its_link():
    # By hand: 20 messages of 100 bytes over a link of 400 bytes/s take 5 s, after a latency of 0.01 s.
    paths = star(np.full(2 * RANKS, 400.0), 1e9, np.ones(RANKS * RANKS))
    kinds = np.zeros(1, MESSAGE)
    kinds["amount_bytes"], kinds["latency_s"], kinds["factor"], kinds["detached"] = 100.0, 0.01, 1.0, 1
    sources = np.arange(1, 21)
    kinds = np.repeat(kinds, 20)
    kinds["path"] = sources * RANKS
    code = np.array([RECV] * 20 + [WAIT_RECEIVED] * 20 + [SEND] * 20, np.uint8)
    first = np.clip(np.arange(RANKS + 1) + 39, 40, 60)
    first[0] = 0
    instructions = Instructions(code, np.tile(np.arange(20, dtype=np.int32), 3), np.zeros(60), first)
    arrived = dates(instructions, Messages(kinds, np.arange(20, dtype=np.int32)), paths, 8)
    assert arrived == pytest.approx(np.full(20, 5.01), rel=1e-12)
