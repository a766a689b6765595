"""Sizes of collectives from the bytes that Score-P counts.

The numbers of bytes are those of Score-P's own tests of its byte counts for four ranks (test_scan, test_bcast and so
on): elements of 4 bytes.
"""

import pytest

from apps.recording.events import Op
from apps.traces.assemble import Bytes, sizes_of


@pytest.mark.parametrize(
    ("op", "sent", "received", "size_bytes"),
    [
        (Op.BCAST, [1600, 0, 0, 0], [400] * 4, 400),
        (Op.ALLREDUCE, [1600] * 4, [1600] * 4, 400),
        (Op.SCAN, [1600, 1200, 800, 400], [400, 800, 1200, 1600], 400),
        (Op.EXSCAN, [1200, 800, 400, 0], [0, 400, 800, 1200], 400),
        (Op.REDUCE, [400] * 4, [1600, 0, 0, 0], 400),
        (Op.GATHER, [400] * 4, [1600, 0, 0, 0], 400),
        (Op.SCATTER, [1600, 0, 0, 0], [400] * 4, 400),
        (Op.BARRIER, [0] * 4, [0] * 4, 0),
    ],
)
def test_a_call_of_one_size_has_it_on_every_rank(op, sent, received, size_bytes):
    assert list(sizes_of(op, Bytes(sent, received, 0)).size_bytes) == [size_bytes] * 4


def test_a_root_in_place_does_not_change_the_size():
    # With MPI_IN_PLACE Score-P leaves out the root's own block.
    assert sizes_of(Op.GATHER, Bytes([0, 400, 400, 400], [1200, 0, 0, 0], 0)).size_bytes == [400] * 4
    assert sizes_of(Op.SCATTER, Bytes([1200, 0, 0, 0], [0, 400, 400, 400], 0)).size_bytes == [400] * 4


def test_a_reduce_scatter_has_the_counts_of_all_ranks():
    # Counts 10, 20, 30, 40: each rank sends 100 elements and receives its own from all four.
    found = sizes_of(Op.REDUCE_SCATTER, Bytes([400] * 4, [160, 320, 480, 640], -1))
    assert all(list(found.counts[rank]) == [40, 80, 120, 160] for rank in range(4))


def test_gathered_and_scattered_blocks_are_those_of_each_rank():
    blocks = [4, 8, 12, 16]
    gathered = sizes_of(Op.GATHERV, Bytes(blocks, [0, 40, 0, 0], 1))
    assert list(gathered.counts) == [1] and list(gathered.counts[1]) == blocks
    scattered = sizes_of(Op.SCATTERV, Bytes([40, 0, 0, 0], blocks, 0))
    assert list(scattered.counts) == [0] and list(scattered.counts[0]) == blocks
    shared = sizes_of(Op.ALLGATHERV, Bytes([4 * one for one in blocks], [40] * 4, -1))
    assert list(shared.size_bytes) == blocks and all(list(shared.counts[rank]) == blocks for rank in range(4))


def test_estimated_blocks_have_the_sums_that_are_known():
    # Rank 0 sends 6 bytes, rank 1 sends 12; 6 bytes go to rank 0 and 12 to rank 1.
    found = sizes_of(Op.ALLTOALLV, Bytes([6, 12], [6, 12], -1))
    assert [list(found.counts[rank]) for rank in (0, 1)] == [[2, 4], [4, 8]]
