"""The ways of many pairs of hosts as arrays, beside those that are made one by one."""

import numpy as np
import pytest

from apps.recording.events import Mode
from platforms.grids.scenario import named_grid
from platforms.read.read import materialise, read_route_table, read_routes
from predictor.dpgraph.instructions import RECV, SEND, WAIT_RECEIVED
from predictor.dpgraph.known import known_network, known_table
from predictor.dpgraph.program import Program


@pytest.fixture(scope="module")
def grid():
    return materialise(named_grid("grid2x3", "infiniband", [40e9, 50e9]))


def ring(nranks):
    """Return a program in which each rank sends 1,000 bytes to the next one."""
    to_next = [
        [(SEND, rank), (RECV, (rank - 1) % nranks), (WAIT_RECEIVED, (rank - 1) % nranks)] for rank in range(nranks)
    ]
    code, argument = zip(*(step for steps in to_next for step in steps), strict=True)
    rank = np.arange(nranks, dtype=np.int32)
    return Program(
        code=np.array(code, np.uint8), argument=np.array(argument, np.int32), value=np.zeros(3 * nranks),
        first=np.arange(nranks + 1) * 3, source=rank, destination=(rank + 1) % nranks,
        size_bytes=np.full(nranks, 1000), mode=np.full(nranks, Mode.STANDARD, np.uint8),
    )  # fmt: skip


def test_ways_from_a_table_of_routes_are_those_from_single_routes(grid):
    names = [host.name for host in grid.hosts]
    pairs = [(a, b) for a in names for b in names]
    options = dict(grid.options)
    single = known_network(read_routes(grid, pairs), options)
    table = known_table(pairs, read_route_table(grid, pairs), options)
    assert dict(table.capacity_Bps) == dict(single.capacity_Bps)
    for pair in pairs:
        mine, theirs = table.ways[pair], single.ways[pair]
        assert dict(mine.links) == pytest.approx(dict(theirs.links), rel=1e-15)
        assert (mine.bound_Bps, mine.penalty) == pytest.approx((theirs.bound_Bps, theirs.penalty), rel=1e-15)
        assert (table.timing.latency_s[mine.timing_class] == single.timing.latency_s[theirs.timing_class]).all()
    program = ring(len(names))
    (messages, paths), (others, known) = (network.carry(program, tuple(names)) for network in (table, single))
    assert (messages.kinds == others.kinds).all()
    assert paths.bound_Bps.tolist() == known.bound_Bps.tolist() and paths.first.tolist() == known.first.tolist()
