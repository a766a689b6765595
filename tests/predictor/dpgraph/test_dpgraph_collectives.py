"""Messages of collectives: conservation, numbers of messages by hand, and the simulator's own times."""

from collections import Counter

import pytest

from apps.recording.events import Op
from apps.traffic.collectives import Call, steps
from platforms.errors import UserError

SIZE = 1000
RANKS = (1, 2, 3, 4, 5, 8, 13, 16, 17, 32)


def traffic(op, ranks, *, root=0, size=SIZE, counts=None):
    """Messages by (source, destination), as sent and as received, and the sum of all bytes sent."""
    sent, received, total = Counter(), Counter(), 0
    for rank in range(ranks):
        own = counts[rank] if counts else [0, 0] * ranks if op is Op.SPLIT else [size] * ranks
        for step in steps(Call(op, rank, ranks, root, size, own)):
            for is_send, partner, size_bytes in step.operations:
                assert partner != rank
                (sent if is_send else received)[(rank, partner) if is_send else (partner, rank)] += 1
                total += size_bytes if is_send else 0
    return sent, received, total


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("op", list(Op))
def test_every_message_is_received(op, ranks):
    for root in {0, ranks - 1}:
        sent, received, _ = traffic(op, ranks, root=root)
        assert sent == received


@pytest.mark.parametrize("ranks", RANKS)
def test_numbers_of_messages_by_hand(ranks):
    others = ranks - 1
    for op, messages in {
        Op.BARRIER: 2 * others,
        Op.BCAST: others,
        Op.REDUCE: others,
        Op.ALLREDUCE: 2 * others,
        Op.GATHER: others,
        Op.SCATTER: others,
        Op.ALLGATHER: ranks * others,
        Op.ALLTOALLV: ranks * others,
        Op.SCAN: ranks * others // 2,
    }.items():
        sent, _, total = traffic(op, ranks)
        assert sum(sent.values()) == messages
        assert total == (0 if op == Op.BARRIER else messages * SIZE)


def test_small_blocks_among_many_go_by_bruck():
    # 16 ranks: 4 rounds, in each of which 8 of the 16 blocks move.
    sent, _, total = traffic(Op.ALLTOALL, 16, size=4)
    assert sum(sent.values()) == 16 * 4
    assert total == 16 * 4 * 8 * 4


def test_two_ranks_exchange_large_blocks_and_an_odd_number_cannot_by_pairs():
    sent, _, _ = traffic(Op.ALLTOALL, 2, size=2**21)
    assert sent == {(0, 1): 1, (1, 0): 1}
    with pytest.raises(UserError, match="power of two"):
        traffic(Op.ALLTOALL, 5, size=2**19)


def test_equal_blocks_of_reduce_scatter_go_through_rank_0():
    sent, _, total = traffic(Op.REDUCE_SCATTER, 4)
    assert sum(sent.values()) == 2 * 3
    assert total == 3 * 4 * SIZE + 3 * SIZE
    with pytest.raises(UserError, match="unequal"):
        traffic(Op.REDUCE_SCATTER, 3, counts=[[1, 2, 3]] * 3)
